package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"edigw/dlq"
	"edigw/fault"
	"edigw/retry"
)

func verdict(o fault.Outcome) retry.Verdict { return retry.Classify(o, retry.History{}) }

func TestManyLettersAreReplayed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, _, other := b.bury("northwind", "a"), b.bury("northwind", "b"), b.bury("contoso", "c")
	for name, c := range map[string]struct {
		body  string
		total int
	}{
		"ids":                 {`{"ids": ["` + one.Letter + `", "` + other.Letter + `"], "dry_run": true}`, 2},
		"a filter":            {`{"filter": {"partner": "northwind"}, "dry_run": true}`, 2},
		"an outage":           {`{"outage": "OUT-231", "dry_run": true}`, 3},
		"everything":          {`{"filter": {"status": "open"}, "dry_run": true}`, 3},
		"what is not there":   {`{"filter": {"reason": "rejected"}, "dry_run": true}`, 0},
		"with codes and skip": {`{"outage": "OUT-231", "confirm": ["overdue"], "skip": ["possible-duplicate"], "dry_run": true}`, 3},
	} {
		var j job
		b.post("/letters/replays", c.body).want(http.StatusOK).json(&j)
		if j.Counts.Total != c.total || j.ID != "" || !j.DryRun {
			t.Errorf("%s: %+v", name, j)
		}
	}
	var j job
	got := b.post("/letters/replays", `{"filter": {"partner": "northwind"}, "reason": "they are back"}`).want(http.StatusAccepted).json(&j)
	if j.Counts.Total != 2 || j.Status != "running" || j.Actor != "only-admin" || got.header.Get("Location") != Base+"/letters/replays/"+j.ID {
		t.Errorf("replay %+v", j)
	}
	var whole wholeJob
	b.get("/letters/replays/" + j.ID).want(http.StatusOK).json(&whole)
	if len(whole.Items) != 2 || whole.Items[0].Letter != one.Letter || whole.Items[0].Status != "pending" || whole.Next != "" {
		t.Errorf("items %+v", whole.Items)
	}
	b.get("/letters/replays/" + j.ID + "?limit=1").want(http.StatusOK).json(&whole)
	if len(whole.Items) != 1 || whole.Next == "" {
		t.Fatalf("first page %+v", whole)
	}
	b.get("/letters/replays/" + j.ID + "?limit=1&cursor=" + whole.Next).want(http.StatusOK).json(&whole)
	if len(whole.Items) != 1 || whole.Items[0].N != 2 {
		t.Errorf("second page %+v", whole)
	}
	if ids, _ := b.get("/letters/replays?status=running").ids(); len(ids) != 1 || ids[0] != j.ID {
		t.Errorf("replays %v", ids)
	}
}

// TestABulkReplayThatLostItsRace: whoever comes second, and confirms every code
// so that nothing is counted before, is told that nothing is left.
func TestABulkReplayThatLostItsRace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	codes, err := json.Marshal(dlq.Codes)
	if err != nil {
		t.Fatal(err)
	}
	b.post("/letters/"+m.Letter+"/replay", "").want(http.StatusAccepted)
	b.post("/letters/replays", `{"ids": ["`+m.Letter+`"], "confirm": `+string(codes)+`}`).problem(NothingSelected)
}

func TestABulkReplayIsPausedResumedAndCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.bury("northwind", "a")
	var j job
	b.post("/letters/replays", `{"outage": "OUT-231"}`).want(http.StatusAccepted).json(&j)
	for _, step := range []struct{ action, want string }{{"pause", "paused"}, {"pause", ""}, {"resume", "running"}, {"cancel", "cancelled"}, {"resume", ""}} {
		got := b.post("/letters/replays/"+j.ID+"/"+step.action, "")
		if step.want == "" {
			got.problem(Conflict)
			continue
		}
		got.want(http.StatusAccepted).json(&j)
		if j.Status != step.want {
			t.Errorf("%s: %s", step.action, j.Status)
		}
	}
}

func TestABulkReplayIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.untrusted("northwind", "a")
	for name, c := range map[string]struct {
		body, field string
		want        Slug
	}{
		"nothing at all":      {``, "", NothingSelected},
		"an empty filter":     {`{"filter": {}}`, "", NothingSelected},
		"no ids":              {`{"ids": []}`, "", NothingSelected},
		"an unknown outage":   {`{"outage": "OUT-9"}`, "", NothingSelected},
		"an unknown letter":   {`{"ids": ["l9"]}`, "", NotFound},
		"an outage and ids":   {`{"ids": ["` + m.Letter + `"], "outage": "OUT-231"}`, "outage", BadRequest},
		"ids and a filter":    {`{"ids": ["` + m.Letter + `"], "filter": {"partner": "northwind"}}`, "ids", BadRequest},
		"closed ones":         {`{"filter": {"status": "closed"}}`, "filter.status", BadRequest},
		"an unknown status":   {`{"filter": {"status": "lost"}}`, "filter.status", BadRequest},
		"an unknown reason":   {`{"filter": {"reason": "weather"}}`, "filter.reason", BadRequest},
		"an unknown code":     {`{"outage": "OUT-231", "skip": ["all"]}`, "skip", BadRequest},
		"a time that is none": {`{"filter": {"from": "x"}}`, "filter.from", BadRequest},
		"an endless filter":   {`{"filter": {"cause": "` + strings.Repeat("a", 301) + `"}}`, "filter", BadRequest},
	} {
		if p := b.post("/letters/replays", c.body).problem(c.want); p.Field != c.field {
			t.Errorf("%s: field %q, want %q (%s)", name, p.Field, c.field, p.Detail)
		}
	}
	p := b.post("/letters/replays", `{"filter": {"partner": "northwind"}}`).problem(ConfirmNeeded)
	equal(t, "codes", []string{"possible-duplicate"}, p.Confirm)
	equal(t, "counts", 1, p.Counts["possible-duplicate"])
	var j job
	b.post("/letters/replays", `{"filter": {"partner": "northwind"}, "skip": ["possible-duplicate"]}`).want(http.StatusAccepted).json(&j)
	equal(t, "skipped codes", []string{"possible-duplicate"}, j.Skip)
}
