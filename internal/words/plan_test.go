package words_test

import (
	"testing"
	"time"

	"edigw/internal/words"

	"github.com/google/go-cmp/cmp"
)

func TestPlanTellsWhenDocumentsGoOut(t *testing.T) {
	t.Parallel()
	base := words.PlanFacts{Retries: "1 attempt.", Failures: 5, Within: time.Minute, Cooldown: 5 * time.Minute, MaxCooldown: 30 * time.Minute, Width: 1, Now: now, Zone: berlin}
	stop := "Stops after 5 failures within 1 min; a test after 5 min, later ones at most 30 min apart. "
	for name, tc := range map[string]struct {
		change func(*words.PlanFacts)
		want   []string
	}{
		"strict order": {func(*words.PlanFacts) {}, []string{"One at a time, first in, first out.", "1 attempt.", stop + "New documents become dead letters while it is down."}},
		"wide, paced, holding, with hours": {func(f *words.PlanFacts) {
			f.Width, f.Rate, f.Holds, f.Until, f.WarnBy, f.DeliverBy = 4, "10/s", true, at(20, 0, 0), 2*time.Hour, 48*time.Hour
		}, []string{"Up to 4 at once, at most 10/s.", "May send until 20:00.", "1 attempt.", stop + "Documents wait in line while it is down.",
			"Alert when a document is not delivered after 2 h.", "Due after 2 d, then it becomes a dead letter."}},
		"blackout": {func(f *words.PlanFacts) {
			f.Why, f.Until, f.Note, f.DeliverBy, f.KeepOverdue = "blackout", at(5, 0, 0), "their backup", time.Hour, true
		}, []string{"One at a time, first in, first out.", "Their maintenance now, until 05:00: their backup.", "1 attempt.", stop + "New documents become dead letters while it is down.",
			"Due after 60 min, then it goes on, marked as past its due time."}},
		"outside their hours": {func(f *words.PlanFacts) { f.Why, f.Until = "window", at(6, 0, 0) }, []string{"One at a time, first in, first out.", "Outside their hours now, sends again 06:00.", "1 attempt.",
			stop + "New documents become dead letters while it is down."}},
	} {
		f := base
		tc.change(&f)
		if d := cmp.Diff(tc.want, words.Plan(f)); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}
