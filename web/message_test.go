package web

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
)

// TestAMessageHasTheMembersThatScriptsRelyOn holds the names of interfaces.md §5.
func TestAMessageHasTheMembersThatScriptsRelyOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.accept("northwind", "a")
	m = b.step(m, queue.Input{Trigger: queue.OnStart, By: "gw1"})
	at := queue.Attempt{Message: m.ID, N: 1, Round: 1, Counted: true, Started: now, Duration: 1204 * time.Millisecond, Phase: fault.PhaseResponse, Class: retry.Permanent,
		Status: 400, Detail: "HTTP status 400", Headers: map[string]string{"Server": "x"}, Head: []byte("no\xff"),
		Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Type: "processed", Modifier: "error", Text: "decryption-failed"}}
	m = b.step(m, queue.Input{Trigger: queue.OnResult, Attempt: &at, LetterID: "l1", Verdict: retry.Verdict{Class: retry.Permanent, Reason: fault.ReasonRejected}})
	var got map[string]any
	b.get("/messages/" + m.ID).want(http.StatusOK).json(&got)
	for _, name := range []string{
		"id", "message_id", "key", "partner", "protocol", "direction", "state", "why", "next_at", "uncertain", "attempts", "references", "size", "sha256",
		"deliver_by", "proof", "overtaken", "correlation_id", "timeline", "letters", "builds",
	} {
		if _, ok := got[name]; !ok {
			t.Errorf("a message has no %s", name)
		}
	}
	attempts := got["attempts"].([]any)
	if len(attempts) != 1 {
		t.Fatalf("attempts %v", attempts)
	}
	one := attempts[0].(map[string]any)
	for name, want := range map[string]any{
		"n": 1.0, "started": "2026-12-01T02:10:00Z", "duration": "1.204s", "phase": "response", "class": "permanent", "status": 400.0, "detail": "HTTP status 400", "head": "no\uFFFD",
	} {
		if one[name] != want {
			t.Errorf("attempt: %s is %v, want %v", name, one[name], want)
		}
	}
	if ack := one["acknowledgement"].(map[string]any); ack["disposition"] != "processed/error: decryption-failed" {
		t.Errorf("acknowledgement %v", ack)
	}
	equal(t, "references", any([]any{map[string]any{"name": "invoice", "value": "INV-" + m.Key}}), got["references"])
	if timeline := got["timeline"].([]any); len(timeline) < 2 || timeline[0].(map[string]any)["type"] != "accepted" {
		t.Errorf("timeline %v", timeline)
	}
	if letters := got["letters"].([]any); len(letters) != 1 || letters[0].(map[string]any)["reason"] != "rejected" {
		t.Errorf("letters %v", letters)
	}
}

func TestListsAreNewestFirstAndPaged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, content := range []string{"a", "b", "c", "d", "e"} {
		b.accept("northwind", content)
	}
	ids, next := b.get("/messages?limit=2").ids()
	equal(t, "first page", []string{"m000005", "m000004"}, ids)
	ids, next = b.get("/messages?limit=2&cursor=" + next).ids()
	equal(t, "second page", []string{"m000003", "m000002"}, ids)
	ids, next = b.get("/messages?limit=2&cursor=" + next).ids()
	equal(t, "last page", []string{"m000001"}, ids)
	if next != "" {
		t.Errorf("the last page is followed by %q", next)
	}
	ids, _ = b.get("/messages").ids()
	equal(t, "all", []string{"m000005", "m000004", "m000003", "m000002", "m000001"}, ids)
}

func TestAnEmptyListIsAList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/messages", "/letters", "/letters/groups", "/letters/replays", "/outages", "/alerts", "/audit?partner=contoso"} {
		if got := b.get(path).want(http.StatusOK); string(got.body) != `{"items":[],"next":""}`+"\n" {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}

func TestMessagesAreFiltered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	queued, dead, other := b.accept("northwind", "a"), b.bury("northwind", "b"), b.accept("contoso", "c")
	for query, want := range map[string][]string{
		"partner=contoso":                        {other.ID},
		"partner=nobody":                         nil,
		"state=dead":                             {dead.ID},
		"state=queued,dead":                      {other.ID, dead.ID, queued.ID},
		"reference=INV-" + queued.Key:            {queued.ID},
		"reference=INV-" + queued.Key[:20] + "*": {queued.ID},
		"reference=invoice.edi&state=dead":       {dead.ID},
		"direction=in":                           nil,
		"uncertain=true":                         nil,
		"overdue=false":                          {other.ID, dead.ID, queued.ID},
		"from=2026-12-01&to=2026-12-02":          {other.ID, dead.ID, queued.ID},
		"to=2026-12-01T02:10:00Z":                nil,
		"":                                       {other.ID, dead.ID, queued.ID},
	} {
		ids, _ := b.get("/messages?" + query).ids()
		equal(t, query, want, ids)
	}
}

// TestWhatTheLaneKnowsIsLaidOver shows queued messages as waiting, and finds
// them as such.
func TestWhatTheLaneKnowsIsLaidOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second, third := b.accept("northwind", "a"), b.accept("northwind", "b"), b.accept("contoso", "c")
	next := now.Add(5 * time.Minute)
	b.lanes.show[third.ID] = queue.Shown{State: queue.Waiting, Why: queue.WhyBreaker, Next: next}
	var m message
	b.get("/messages/" + third.ID).want(http.StatusOK).json(&m)
	if m.State != "waiting" || m.Why != "breaker" || m.NextAt == nil || !m.NextAt.Equal(next) {
		t.Errorf("shown as %s, %s, %v", m.State, m.Why, m.NextAt)
	}
	b.get("/messages/" + second.ID).json(&m)
	if m.State != "waiting" || m.Why != "order" {
		t.Errorf("the second in line is %s, %s", m.State, m.Why)
	}
	for query, want := range map[string][]string{
		"state=queued": {first.ID}, "state=waiting": {third.ID, second.ID}, "state=queued,waiting": {third.ID, second.ID, first.ID},
		"state=waiting&limit=1": {third.ID}, "state=queued&limit=1": {first.ID},
	} {
		ids, _ := b.get("/messages?" + query).ids()
		equal(t, query, want, ids)
	}
}

func TestAnUnknownMessageIsNotFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/messages/m9", "/messages/m9/payload", "/messages/m9/evidence", "/messages/..%2f..%2fetc", "/letters/l9", "/letters/replays/r9", "/outages/OUT-9",
		"/outages/INC-9", "/alerts/INC-9", "/partners/nobody"} {
		b.get(path).problem(NotFound)
	}
	for _, path := range []string{"/messages/m9/cancel", "/messages/m9/again", "/letters/l9/replay", "/letters/l9/recheck", "/letters/l9/settle", "/letters/l9/undo",
		"/letters/replays/r9/pause", "/letters/replays/r9/resume", "/letters/replays/r9/cancel", "/alerts/INC-9/acknowledge", "/partners/nobody/stop", "/partners/nobody/start",
		"/partners/nobody/trip", "/partners/nobody/reset", "/partners/nobody/test", "/tokens/nobody/revoke", "/users/nobody/remove"} {
		b.post(path, `{}`).problem(NotFound)
	}
	b.post("/letters/l9/discard", `{"reason": "test"}`).problem(NotFound)
}

func TestThePayloadIsADownloadAndAudited(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.accept("northwind", "<script>alert(1)</script>")
	got := b.as(access.Read, http.MethodGet, Base+"/messages/"+m.ID+"/payload", "").want(http.StatusOK)
	if string(got.body) != "<script>alert(1)</script>" {
		t.Errorf("payload %q", got.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment; filename=invoice.edi",
		"Content-Length": "25", "Cache-Control": "no-store",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
	var audit list[event]
	b.get("/audit?actor=only-read").json(&audit)
	if len(audit.Items) != 1 || audit.Items[0].Type != "payload-viewed" || audit.Items[0].Message != m.ID || audit.Items[0].From != "192.0.2.1" {
		t.Errorf("audit %+v", audit.Items)
	}
}

func TestAPayloadPastItsRetentionIsNotFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.accept("northwind", "a")
	if gone, err := b.spool.Remove("payload", time.Time{}, m.Payload.SHA256); err != nil || !gone {
		t.Fatal(err)
	}
	p := b.get("/messages/" + m.ID + "/payload").problem(NotFound)
	if !strings.Contains(p.Detail, "400 d") || p.Message != m.ID {
		t.Errorf("detail %q", p.Detail)
	}
}

func TestAMessageIsCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.accept("northwind", "a")
	if p := b.post("/messages/"+m.ID+"/cancel", "").problem(BadRequest); p.Field != "reason" {
		t.Errorf("field %q", p.Field)
	}
	var got message
	b.post("/messages/"+m.ID+"/cancel", `{"reason": "test file"}`).want(http.StatusAccepted).json(&got)
	if got.State != "discarded" || got.Detail != "test file" {
		t.Errorf("message %+v", got)
	}
	if p := b.post("/messages/"+m.ID+"/cancel", `{"reason": "test file"}`).problem(Conflict); p.Message != m.ID {
		t.Errorf("problem %+v", p)
	}
}

func TestADeliveredMessageIsSentAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.deliver("northwind", "a")
	if p := b.post("/messages/"+m.ID+"/again", `{"note": "they lost it"}`).problem(ConfirmNeeded); len(p.Confirm) != 1 || p.Confirm[0] != "possible-duplicate" {
		t.Errorf("problem %+v", p)
	}
	confirm, err := json.Marshal(map[string]any{"reason": "they lost it", "confirm": []string{m.Key}}) // typed by a person
	if err != nil {
		t.Fatal(err)
	}
	var got message
	answer := b.post("/messages/"+m.ID+"/again", string(confirm)).want(http.StatusAccepted).json(&got)
	if got.ID == m.ID || got.Previous != m.ID || got.Edition != 1 || got.MessageID == m.MessageID || answer.header.Get("Location") != Base+"/messages/"+got.ID {
		t.Errorf("message %+v", got)
	}
	b.post("/messages/"+m.ID+"/again", string(confirm)).problem(Conflict)
}

func TestABackupGoesWhereItIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "x.tar")
	b.post("/backup", `{"file": "`+file+`"}`).problem(Forbidden) // from afar nobody makes files
	b.local = true
	b.post("/backup", `{"file": "`+file+`"}`).want(http.StatusOK)
	equal(t, "done", []string{"backup " + file}, b.lanes.done)
	if p := b.post("/backup", `{"file": "x.tar"}`).problem(BadRequest); p.Field != "file" {
		t.Errorf("field %q", p.Field)
	}
	b.lanes.fail = os.ErrExist
	b.post("/backup", `{"file": "`+file+`"}`).problem(Conflict)
	b.lanes.fail = os.ErrPermission
	b.post("/backup", `{"file": "`+file+`"}`).problem(BadRequest)
}
