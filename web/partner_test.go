package web

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

func TestAPartnerHasTheMembersThatScriptsRelyOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.accept("northwind", "a")
	b.bury("northwind", "b")
	since, next := now.Add(-time.Minute), now.Add(5*time.Minute)
	b.lanes.view["northwind"] = queue.LaneView{State: queue.LaneOpen, Since: since, Next: next, Outage: "OUT-231", Charged: []queue.Charge{{At: since, Message: "m1", Detail: "refused"}}}
	var got map[string]any
	b.get("/partners/northwind").want(http.StatusOK).json(&got)
	for name, want := range map[string]any{
		"id": "northwind", "name": "Northwind Retail DE", "state": "open", "since": "2026-12-01T02:09:00Z", "next_at": "2026-12-01T02:15:00Z", "stale": false,
		"waiting": 1.0, "letters": 1.0, "stage": "live", "protocol": "as2", "outage": "OUT-231",
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if p, ok := got["problems"].([]any); !ok || len(p) != 0 {
		t.Errorf("problems %v", got["problems"])
	}
	if got["schedule"] == "" || len(got["settings"].([]any)) < 20 || len(got["failed_tests"].([]any)) != 1 {
		t.Errorf("partner %v", got)
	}
	if owner := got["owner"].(map[string]any); owner["team"] != "EDI DACH" {
		t.Errorf("owner %v", owner)
	}
}

func TestPartnersAreListedByID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.accept("fabrikam", "a") // its settings file is gone
	b.lanes.view["fabrikam"] = queue.LaneView{State: queue.LaneOrphaned}
	for query, want := range map[string][]string{
		"": {"contoso", "fabrikam", "northwind"}, "limit=2": {"contoso", "fabrikam"}, "state=orphaned": {"fabrikam"}, "state=sending,open": {"contoso", "northwind"}, "state=blocked": nil,
	} {
		ids, _ := b.get("/partners?" + query).ids()
		equal(t, query, want, ids)
	}
	_, next := b.get("/partners?limit=2").ids()
	ids, _ := b.get("/partners?limit=2&cursor=" + next).ids()
	equal(t, "second page", []string{"northwind"}, ids)
	var p wholePartner
	b.get("/partners/fabrikam").want(http.StatusOK).json(&p)
	if p.State != "orphaned" || p.Waiting != 1 || p.Name != "fabrikam" {
		t.Errorf("partner %+v", p)
	}
}

func TestLanesAreOperated(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var p wholePartner
	for _, action := range []string{"start", "trip", "reset", "stop"} {
		b.post("/partners/northwind/"+action, "").want(http.StatusOK).json(&p)
		if p.ID != "northwind" {
			t.Errorf("%s: %+v", action, p)
		}
	}
	b.post("/partners/northwind/stop", `{"reason": "their maintenance", "until": "6h"}`).want(http.StatusOK)
	b.post("/partners/northwind/stop", `{"until": "2026-12-01T04:00:00+01:00"}`).want(http.StatusOK)
	equal(t, "done", []string{
		"start northwind by only-admin", "trip northwind by only-admin", "reset northwind by only-admin", "stop northwind by only-admin:  until 0001-01-01T00:00:00Z",
		"stop northwind by only-admin: their maintenance until 2026-12-01T08:10:00Z", "stop northwind by only-admin:  until 2026-12-01T03:00:00Z",
	}, b.lanes.done)
	for body, field := range map[string]string{
		`{"until": "2026-12-01T02:10:00Z"}`: "until", `{"until": "soon"}`: "until", `{"reason": "` + strings.Repeat("a", 301) + `"}`: "reason", `{"because": "x"}`: "because",
	} {
		if p := b.post("/partners/northwind/stop", body).problem(BadRequest); p.Field != field {
			t.Errorf("%s: field %q", body, p.Field)
		}
	}
	if p := b.post("/partners/northwind/trip", `{"for": "5m"}`).problem(BadRequest); p.Field != "for" {
		t.Errorf("field %q", p.Field)
	}
	b.lanes.fail = fmt.Errorf("x: %w", queue.ErrConflict)
	b.post("/partners/northwind/trip", "").problem(Conflict)
}

func TestAConnectionTestTellsEachStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lanes.outcome = fault.Outcome{Phase: fault.PhaseDone, Status: 405, Timings: fault.Timings{Resolve: 5 * time.Millisecond, Connect: 20 * time.Millisecond, TLS: 30 * time.Millisecond, Wait: 8 * time.Millisecond}}
	var p wholePartner
	b.post("/partners/northwind/test", "").want(http.StatusOK).json(&p)
	equal(t, "test", &check{OK: true, Phase: "done", Status: 405, Steps: []checkStep{
		{"DNS", true, "5ms", "name found"}, {"TCP", true, "20ms", "connected"}, {"TLS", true, "30ms", "certificate trusted"}, {"HTTP", true, "8ms", "answered 405 Method Not Allowed"},
	}}, p.Test)
	b.lanes.outcome = fault.Outcome{Phase: fault.PhaseConnect, Cause: fault.CauseRefused, Detail: "connection refused"}
	b.post("/partners/northwind/test", "").want(http.StatusOK).json(&p)
	if p.Test.OK || len(p.Test.Steps) != 1 || p.Test.Steps[0].Name != "TCP" || p.Test.Cause != "refused" || p.Test.Detail != "connection refused" {
		t.Errorf("test %+v", p.Test)
	}
}

func TestReloadTellsWhatChangedAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	partners := filepath.Join(b.settings.Current().Dir(), "partners")
	for name, text := range map[string]string{"fabrikam.yaml": contoso[:len(contoso)-1] + "\nwarn_by: 2h\n", "northwind.yaml": northwind + "stage: nowhere\n"} {
		if err := os.WriteFile(filepath.Join(partners, name), []byte(strings.Replace(text, "CONTOSO", "FABRIKAM", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got reloaded
	b.post("/reload", "").want(http.StatusOK).json(&got)
	equal(t, "added", []string{"fabrikam"}, got.Added)
	equal(t, "changed", []string{"fabrikam (new)", "northwind (its file is bad, the old settings stay)"}, got.Changed)
	got.Problems = slices.DeleteFunc(got.Problems, func(p partner.Problem) bool { return p.Warning })
	if len(got.Problems) != 1 || got.Problems[0].File != "partners/northwind.yaml" || got.Problems[0].Key != "stage" || got.Problems[0].Line != 5 {
		t.Errorf("problems %+v", got.Problems)
	}
	if len(got.Partners) != 1 || !got.Partners[0].Stale {
		t.Errorf("partners %+v", got.Partners)
	}
	equal(t, "kept", []string{"northwind"}, got.Kept)
	equal(t, "unchanged", 1, got.Same)
	var p wholePartner
	b.get("/partners/northwind").want(http.StatusOK).json(&p)
	if !p.Stale || len(p.Problems) != 1 || p.Problems[0].Reason == "" {
		t.Errorf("partner %+v", p.partnerState)
	}
}

// TestReloadTellsWhichStoppedLaneIsTestedNow: a changed URL may mend what opened
// the breaker; a changed retry does not, and a trip by hand stays.
func TestReloadTellsWhichStoppedLaneIsTestedNow(t *testing.T) {
	t.Parallel()
	elsewhere := strings.Replace(northwind, "https://as2.northwind.example/as2", "https://as2.northwind.example/new", 1)
	for name, c := range map[string]struct {
		text    string
		breaker breaker.State
		due     bool
	}{
		"a changed url":                {elsewhere, breaker.State{Phase: breaker.Open}, true},
		"a changed retry":              {northwind + "retry: {attempts: 3}\n", breaker.State{Phase: breaker.Open}, false},
		"a changed url, tripped":       {elsewhere, breaker.State{Phase: breaker.Open, Manual: true}, false},
		"a changed url, lane sends on": {elsewhere, breaker.State{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.lanes.view["northwind"] = queue.LaneView{Partner: "northwind", Breaker: c.breaker}
			if err := os.WriteFile(filepath.Join(b.settings.Current().Dir(), "partners", "northwind.yaml"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var got reloaded
			b.post("/reload", "").want(http.StatusOK).json(&got)
			if len(got.Partners) != 1 || got.Partners[0].Tested != c.due {
				t.Errorf("partners %+v, want test_due %v", got.Partners, c.due)
			}
		})
	}
}

func TestAnUnknownPartnerIsNamedWithTheOneThatMayBeMeant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for path, want := range map[string]string{
		"/partners/nortwhind/test":               `There is no partner "nortwhind". Did you mean northwind?`,
		"/partners/something-else-entirely/test": `There is no partner "something-else-entirely".`,
	} {
		if p := b.post(path, "").problem(NotFound); p.Detail != want {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
}

func TestAMisconfiguredPartnerIsNotTested(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.settings = installation(t, map[string]string{"northwind": "protocol: as2\n"})
	b.Settings = b.settings.Current
	b.post("/partners/northwind/test", "").problem(Conflict)
	if len(b.lanes.done) != 0 {
		t.Errorf("done %v", b.lanes.done)
	}
}
