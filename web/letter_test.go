package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
)

func TestALetterHasTheMembersThatScriptsRelyOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	var got map[string]any
	b.get("/letters/" + m.Letter).want(http.StatusOK).json(&got)
	for name, want := range map[string]any{
		"id": m.Letter, "message": m.ID, "partner": "northwind", "reason": "circuit-open", "status": "open", "closed_as": "", "detail": "connection refused",
		"created": "2026-12-01T02:10:00Z", "outage": "OUT-231", "uncertain": false, "contradicted": false, "overtaken": false, "closed": nil,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
}

// TestAMessageSaysWhoEndedItByHand: "Closed on the partner's word" is worth
// nothing without who said so and when.
func TestAMessageSaysWhoEndedItByHand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	settled, discarded, open := b.bury("northwind", "a"), b.bury("northwind", "b"), b.bury("contoso", "c")
	b.post("/letters/"+settled.Letter+"/settle", `{"note": "Ms Lee by phone"}`).want(http.StatusAccepted)
	b.post("/letters/"+discarded.Letter+"/discard", `{"reason": "test file"}`).want(http.StatusAccepted)
	var got list[message]
	b.get("/messages").want(http.StatusOK).json(&got)
	ends := map[string][2]string{}
	for _, m := range got.Items {
		ends[m.ID] = [2]string{m.EndedBy, m.EndedNote}
	}
	equal(t, "ends", map[string][2]string{
		settled.ID: {"only-admin", "Ms Lee by phone"}, discarded.ID: {"only-admin", "test file"}, open.ID: {},
	}, ends)
}

func TestLettersAreFilteredAndGrouped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, two, other := b.bury("northwind", "a"), b.bury("northwind", "b"), b.bury("contoso", "c")
	b.post("/letters/"+two.Letter+"/discard", `{"reason": "test"}`).want(http.StatusAccepted)
	for query, want := range map[string][]string{
		"": {other.Letter, two.Letter, one.Letter}, "status=open": {other.Letter, one.Letter}, "status=closed": {two.Letter},
		"partner=northwind": {two.Letter, one.Letter}, "reason=circuit-open&status=open": {other.Letter, one.Letter}, "reason=rejected": nil,
		"outage=OUT-231&partner=contoso": {other.Letter}, "outage=OUT-9": nil, "limit=1": {other.Letter},
	} {
		ids, _ := b.get("/letters?" + query).ids()
		equal(t, query, want, ids)
	}
	var groups list[letterGroup]
	b.get("/letters/groups").want(http.StatusOK).json(&groups)
	if len(groups.Items) != 2 || groups.Items[0].Open != 1 || groups.Items[0].Reason != "circuit-open" {
		t.Errorf("groups %+v", groups.Items)
	}
}

func TestOneClickReplays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	var got replayed
	b.post("/letters/"+m.Letter+"/replay", "").want(http.StatusAccepted).json(&got)
	if got.Status != "replaying" || got.Sends != m.ID || got.UndoUntil != nil || got.Actor != "only-admin" {
		t.Errorf("letter %+v", got)
	}
	p := b.post("/letters/"+m.Letter+"/replay", "").problem(Conflict)
	if p.Letter != m.Letter || p.By != "only-admin" || !strings.Contains(p.Detail, "Nothing was sent twice") {
		t.Errorf("the second click: %+v", p)
	}
	if after, err := b.store.Message(t.Context(), m.ID); err != nil || after.Round != 2 {
		t.Errorf("round %d, %v", after.Round, err)
	}
}

func TestAReplayCanBeUndoneForSomeSeconds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	b.post("/letters/"+m.Letter+"/undo", "").problem(Conflict)
	var got replayed
	b.post("/letters/"+m.Letter+"/replay", `{"undo_for": "5s"}`).want(http.StatusAccepted).json(&got)
	if got.UndoUntil == nil || !got.UndoUntil.Equal(now.Add(5*time.Second)) {
		t.Errorf("letter %+v", got)
	}
	var back letter
	b.post("/letters/"+m.Letter+"/undo", "").want(http.StatusAccepted).json(&back)
	if back.Status != "open" {
		t.Errorf("letter %+v", back)
	}
}

func TestAReplayNamesWhatMustBeConfirmed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	b.lanes.view["northwind"] = queue.LaneView{State: queue.LaneOpen, Breaker: breaker.State{Phase: breaker.Open}}
	p := b.post("/letters/"+m.Letter+"/replay", "").problem(ConfirmNeeded)
	equal(t, "codes", []string{"breaker-wait", "breaker-probe"}, p.Confirm)
	b.post("/letters/"+m.Letter+"/replay", `{"confirm": ["breaker-wait"]}`).want(http.StatusAccepted)
}

func TestALetterIsSettledAndDiscarded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, two := b.bury("northwind", "a"), b.bury("northwind", "b")
	var got letter
	b.post("/letters/"+one.Letter+"/settle", `{"note": "Ms Lee by phone"}`).want(http.StatusAccepted).json(&got)
	if got.Status != "closed" || got.ClosedAs != "confirmed" || got.Note != "Ms Lee by phone" || got.Actor != "only-admin" {
		t.Errorf("letter %+v", got)
	}
	b.post("/letters/"+one.Letter+"/settle", "").problem(Conflict)
	if p := b.post("/letters/"+two.Letter+"/discard", `{}`).problem(BadRequest); p.Field != "reason" {
		t.Errorf("field %q", p.Field)
	}
	b.post("/letters/"+two.Letter+"/discard", `{"reason": "test file"}`).want(http.StatusAccepted).json(&got)
	if got.ClosedAs != "discarded" {
		t.Errorf("letter %+v", got)
	}
	var m message
	b.get("/messages/" + one.ID).json(&m)
	if m.State != "delivered" || m.Proof != "statement" {
		t.Errorf("message %+v", m)
	}
}

func TestAReceiptIsCheckedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	if p := b.post("/letters/"+m.Letter+"/recheck", "").problem(Conflict); !strings.Contains(p.Detail, "circuit-open") {
		t.Errorf("detail %q", p.Detail)
	}
	m = b.untrusted("northwind", "b")
	var got rechecked
	b.post("/letters/"+m.Letter+"/recheck", "").want(http.StatusAccepted).json(&got)
	if got.Status != "closed" || got.ClosedAs != "delivered" {
		t.Errorf("letter %+v", got)
	}
}

// untrusted makes a document whose receipt was not trusted.
func (b *bench) untrusted(id, content string) queue.Message {
	b.t.Helper()
	m := b.step(b.accept(id, content), queue.Input{Trigger: queue.OnStart, By: "gw1"})
	v := verdict(fault.Outcome{Phase: fault.PhaseDone, Status: 200, Protocol: true, Ack: &fault.Acknowledgement{Verdict: fault.AckBadSignature}})
	at := queue.AttemptFrom(m, fault.Outcome{Phase: fault.PhaseDone, Status: 200}, v, now, time.Second)
	at.Raw = strings.Repeat("a", 64)
	return b.step(m, queue.Input{Trigger: queue.OnResult, Attempt: &at, Verdict: v, LetterID: "l-" + m.ID})
}

func TestAReceivedDocumentIsProcessedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	b.post("/letters/"+m.Letter+"/process", `{"note": "the folder is there again"}`).want(http.StatusAccepted)
	equal(t, "done", []string{"process " + m.ID + " the folder is there again"}, b.lanes.done)
	b.post("/letters/"+m.Letter+"/discard", `{"reason": "test"}`).want(http.StatusAccepted)
	b.post("/letters/"+m.Letter+"/process", "").problem(Conflict)
	b.post("/letters/nothing/process", "").problem(NotFound)
}
