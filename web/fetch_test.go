package web

import (
	"net/http"
	"testing"
	"time"

	"edigw/queue"
)

// failing are partners from whom fetching fails.
type failing map[string]*queue.FetchTrouble

func (f failing) Failing(id string) *queue.FetchTrouble { return f[id] }

// A partner whose messages cannot be fetched says so, with since when and why, in
// the list and alone; while nobody asks him it does not.
func TestAPartnerWhoseMessagesCannotBeFetchedSaysSo(t *testing.T) {
	t.Parallel()
	trouble := &queue.FetchTrouble{Since: now.Add(-time.Hour), Failures: 7, Why: "they answered 401", Do: "compare the login", Next: now.Add(time.Minute)}
	b := newBench(t, func(o *Options) { o.Fetching = failing{"northwind": trouble} })
	of := func(id string) any {
		var p map[string]any
		b.get("/partners/" + id).want(http.StatusOK).json(&p)
		v, told := p["fetch_failing"]
		if !told {
			t.Fatalf("%s has no member fetch_failing: %v", id, p)
		}
		return v
	}
	want := any(map[string]any{"since": "2026-12-01T01:10:00Z", "failures": 7.0, "side": "theirs", "why": "they answered 401", "do": "compare the login", "next_at": "2026-12-01T02:11:00Z"})
	equal(t, "northwind", want, of("northwind"))
	equal(t, "contoso", any(nil), of("contoso"))
	var list struct{ Items []map[string]any }
	b.get("/partners").want(http.StatusOK).json(&list)
	equal(t, "in the list", []any{nil, want}, []any{list.Items[0]["fetch_failing"], list.Items[1]["fetch_failing"]})

	trouble.Ours, trouble.Next = true, time.Time{}
	ours := of("northwind").(map[string]any)
	if ours["side"] != "ours" || ours["next_at"] != nil {
		t.Errorf("on our side, while a request runs: %v", ours)
	}
	for _, s := range []queue.LaneState{queue.LaneStopped, queue.LaneBlackout, queue.LaneIsolated} {
		b.lanes.view["northwind"] = queue.LaneView{State: s}
		equal(t, string(s), any(nil), of("northwind"))
	}
}
