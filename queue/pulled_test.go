package queue

import (
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/retry"
)

// TestAS4Row58PulledWithoutReceipt: what a partner fetched and did not acknowledge waits
// for him again (known fault 58), unless his settings forbid a second copy, its
// deadline passed, or he was given it as often as it would have been sent.
func TestAS4Row58PulledWithoutReceipt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		attempts int // before
		due      time.Time
		change   func(*Rules)
		dead     bool
	}{
		"waits to be fetched again":           {},
		"also the second time":                {attempts: 1},
		"also the last time but one":          {attempts: 5},
		"somebody hears of it in the end":     {attempts: 6, dead: true},
		"also if it was pushed before":        {attempts: 8, dead: true},
		"before its deadline":                 {due: t0.Add(time.Second)},
		"after its deadline":                  {due: t0.Add(-time.Second), dead: true},
		"after its deadline, which is kept":   {due: t0.Add(-time.Second), change: func(r *Rules) { r.KeepOverdue = true }},
		"where a second copy is not allowed":  {change: func(r *Rules) { r.OnUnknown = retry.Hold }, dead: true},
		"where a receipt was waited for only": {change: func(r *Rules) { r.OnUnknown = retry.Wait }, dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rules()
			r.Pulled, r.AckAsked = true, fault.AckAsync
			if tc.change != nil {
				tc.change(&r)
			}
			m := sending()
			m.State, m.NextAt, m.Incarnation, m.Attempts, m.DeliverBy = AwaitingAck, t0, "", tc.attempts, tc.due
			res, err := Next(m, Input{Trigger: OnAckOverdue, At: t0, LetterID: "l1"}, r)
			if err != nil {
				t.Fatal(err)
			}
			got := res.Message
			if !got.Uncertain || got.FirstFailure.IsZero() {
				t.Errorf("not known to be uncertain: %+v", got)
			}
			if tc.dead {
				if got.State != Dead || res.Opened == nil || res.Opened.Reason != fault.ReasonReceiptMissing || !res.Opened.Uncertain {
					t.Errorf("%s, letter %+v", got.State, res.Opened)
				}
				return
			}
			if got.State != Waiting || !got.NextAt.Equal(t0) || got.Attempts != tc.attempts+1 || got.Resent {
				t.Errorf("%+v", got)
			}
			if len(res.Events) != 1 || res.Events[0].Type != EventRetry || !strings.Contains(res.Events[0].Text, "it can be fetched again") {
				t.Errorf("events %+v", res.Events)
			}
		})
	}
}
