package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/breaker"
	"edigw/edi"
	"edigw/fault"
	"edigw/queue"
)

// malformed accepts a document that our own check finds malformed.
func (d *desk) malformed(id, content string) queue.Message {
	d.t.Helper()
	m := d.accept(id, content)
	d.n++
	m = queue.Message{
		ID: fmt.Sprintf("m%06d", d.n), Partner: id, Lane: id, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: fmt.Sprintf("key-%d", d.n), Actor: fault.Actor{Name: "erp"}, Source: "api",
		Payload: m.Payload, Business: m.Business,
	}
	ad, err := d.store.Accept(d.t.Context(), queue.Arrival{Message: m, Now: d.now, LetterID: "l-" + m.ID, Problem: &edi.Problem{Segment: "SE01", Position: 5, Expected: "4", Found: "99", Text: "SE01 says 99, counted 4 (segment 6)"},
		Identity: queue.Identity{From: "ACME-AS2", To: id, Domain: "edi.acme.example", Brackets: true}})
	if err != nil {
		d.t.Fatal(err)
	}
	return ad.Message
}

var brokenInvoice = strings.Replace(interchange("0001", "INV-1"), "SE*4", "SE*99", 1)

// A document that our own check stopped is edited first; replayed as it is only
// after a question, whoever asks.
func TestWhatOurCheckStoppedIsEditedFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.malformed("northwind", brokenInvoice)
	for _, page := range []string{"/letters", "/messages/" + m.ID} {
		a := d.get(kim, page).want(http.StatusOK).holds(`<a class="button primary" href="/letters/` + m.Letter + `/edit">Edit and replay …</a>`)
		if strings.Count(a.body, "/edit\"") != 1 {
			t.Errorf("%s offers to edit more than once", page)
		}
		d.get(operator, page).says("Replay …").lacks("/edit", `<button class="primary">Replay`)
	}
	path := "/letters/" + m.Letter + "/replay"
	asked := d.post(operator, path, "back", "/letters").want(http.StatusOK).
		says("Our check found this malformed: SE01 says 99, counted 4 (segment 6). Send it as it is?", "Cancel", "Send it as it is").holds(`name="sure" value="yes"`)
	if got := d.message(m.ID); got.State != queue.Dead {
		t.Fatalf("it is %s before the question was answered", got.State)
	}
	d.post(viewer, path, "sure", "yes").want(http.StatusForbidden)
	d.post(operator, path, asked.repeated()...).want(http.StatusSeeOther)
	if got := d.message(m.ID); got.State != queue.Waiting {
		t.Errorf("it is %s, not on its way", got.State)
	}
}

// The answer is kept through the question that follows.
func TestAMalformedDocumentIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.malformed("northwind", brokenInvoice)
	d.lanes.view["northwind"] = queue.LaneView{Partner: "northwind", Lane: "northwind", State: queue.LaneOpen, Breaker: breaker.State{Phase: breaker.Open}}
	path := "/letters/" + m.Letter + "/replay"
	asked := d.post(operator, path).want(http.StatusOK).says("Our check found this malformed")
	asked = d.post(operator, path, asked.repeated()...).want(http.StatusOK).says("still not answering").hides("Our check found")
	d.post(operator, path, append(asked.repeated(), "confirm", "breaker-wait")...).want(http.StatusSeeOther)
}

func TestABulkReplaySaysHowManyAreMalformed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one, two := d.malformed("northwind", brokenInvoice), d.malformed("northwind", brokenInvoice)
	other := d.bury("northwind", "a")
	for name, fields := range map[string][]string{
		"of a filter":    {"partner", "northwind", "what", "matching"},
		"of a group":     {"partner", "northwind", "reason", "format"},
		"of a selection": {"what", "selected", "ids", one.Letter, "ids", two.Letter, "ids", other.Letter},
	} {
		d.now = d.now.Add(time.Second)
		a := d.post(operator, "/letters/replays", fields...).want(http.StatusOK)
		if !strings.Contains(a.text(), "2 are malformed, as our own check found") {
			t.Errorf("%s: %s", name, a.text())
		}
	}
	d.post(operator, "/letters/replays", "partner", "northwind", "reason", "circuit-open").want(http.StatusOK).hides("malformed")
}

// Numbers of one letter say nothing about a group.
func TestAGroupTellsNoNumbersOfOneLetter(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.exchange(d.accept("northwind", "a"), fault.Outcome{Phase: fault.PhaseConnect, Cause: fault.CauseRefused, Detail: "connection refused"})
	d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonMaxAttempts, Note: "connection refused"})
	d.get(kim, "/letters").says("Tried until the retries were used up").hides("Tried 0 times")
	d.get(kim, "/letters?reason=max-attempts").says("Tried until the retries were used up ✕").hides("Tried 0 times")
}

// What to do about a receipt depends on why it is not trusted.
func TestAnUntrustedReceiptSaysWhatHelps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict      fault.AckVerdict
		first, words string
		not          string
	}{
		"other content": {fault.AckMICMismatch, "Close as delivered …", "They have other bytes than we sent.", "Import the certificate"},
		"other signer":  {fault.AckWrongSigner, "Re-check the receipt", "Import the certificate that signs their receipts", "other bytes"},
		"bad signature": {fault.AckBadSignature, "Re-check the receipt", "Import the certificate that signs their receipts", "other bytes"},
	} {
		d := newDesk(t)
		m := d.sent(d.accept("northwind", "a"), receipt(fault.Acknowledgement{Verdict: c.verdict, Positive: true, Type: "processed", Signer: "9A:1C", Digest: otherDigest + ", sha-256"}))
		a := d.get(kim, "/messages/"+m.ID).says(c.words).holds(`<button class="primary">` + c.first + `</button>`).hides(c.not)
		if n := strings.Count(a.body, `<button class="primary">`); n != 1 {
			t.Errorf("%s: %d primary buttons", name, n)
		}
		list := d.get(kim, "/letters").holds(`<button class="primary">` + c.first + `</button>`)
		list.lacks(`<button class="primary">Replay`).says("Replay 1")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// A letter that is settled is not unknown any more, and a check in vain says
// what was done.
func TestASettledLetterIsNotUnknown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.sent(d.accept("northwind", "a"), receipt(fault.Acknowledgement{Verdict: fault.AckMICMismatch, Positive: true, Type: "processed", Signer: "9A:1C", Digest: otherDigest + ", sha-256"}))
	d.get(kim, "/letters").holds(`<span class="tag warn">Unknown: partner may have it</span>`)
	d.tell(queue.Event{Type: queue.EventAckIgnored, Partner: "northwind", Message: m.ID, Letter: m.Letter, Actor: fault.Actor{Name: kim}, Text: "the receipt was checked again and is still not to be trusted: the digest differs"})
	d.get(kim, "/messages/"+m.ID).says("The stored receipt was checked again: still not trusted by kim : the digest differs")
	d.get(kim, "/audit").says("The stored receipt was checked again: still not trusted : the digest differs").hides("ack-ignored")
	d.post(kim, "/letters/"+m.Letter+"/settle", "reason", "by phone").want(http.StatusSeeOther)
	for _, page := range []string{"/messages/" + m.ID, "/letters?status=closed"} {
		d.get(kim, page).lacks(`<span class="tag warn">Unknown`)
	}
}

// Every event that the audit or a timeline can show has words.
func TestEveryEventHasWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, e := range []queue.EventType{
		queue.EventAccepted, queue.EventRefused, queue.EventReplayedKey, queue.EventKeyReused, queue.EventReplay, queue.EventUndo, queue.EventCancelled, queue.EventSuperseded,
		queue.EventAckIgnored, queue.EventAckConflict, queue.EventLetterClosed, queue.EventLetterChanged, queue.EventStarted, queue.EventStopping, queue.EventBulk, queue.EventRestored,
		queue.EventLaneStopped, queue.EventLaneStarted, queue.EventCheck, queue.EventDLQHealth, queue.EventStoreBroken, queue.EventChannel, queue.EventDefect, queue.EventEvidenceLost,
		queue.EventFetchFailed, queue.EventFetchWorks,
	} {
		d.tell(queue.Event{Type: e, Partner: "northwind", Actor: fault.Actor{Name: kim}, Text: "text"})
		if what, _ := told(queue.Event{Type: e, Text: "text"}); what == string(e) {
			t.Errorf("%s has no words", e)
		}
	}
	d.get(kim, "/audit").hides("gateway-started", "ack-contradiction", "store-trouble")
}

// Items of a bulk replay are in line until they are sent, and the page says why
// they wait.
func TestABulkReplaySaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.down()
	d.now = d.now.Add(time.Second)
	asked := d.post(operator, "/letters/replays", "outage", "OUT-231", "partner", "northwind").want(http.StatusOK).says("None becomes a dead letter again before it was tried.")
	to := d.post(operator, "/letters/replays", asked.repeated()...).want(http.StatusSeeOther).header.Get("Location")
	id := strings.TrimPrefix(to, "/letters/replays/")
	d.get(operator, to).says("Waiting: Northwind Retail DE does not answer, next test 03:15 CET", "810 INV-1", "In line").lacks("<code>m0", ">Replayed<")
	j, err := d.store.ReplayJob(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	items, err := d.store.ReplayItems(t.Context(), id, "", 0, 10)
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	items[0].Status = "replayed"
	if err := d.store.SaveReplay(t.Context(), j, nil, items[0]); err != nil {
		t.Fatal(err)
	}
	d.post(operator, "/letters/"+items[0].Letter+"/replay", "confirm", "breaker-wait")
	if got := d.message(items[0].Message); !got.State.Lined() {
		t.Fatalf("it is %s", got.State)
	}
	a := d.get(operator, to)
	if n := strings.Count(a.text(), "Waiting In line"); n != 2 {
		t.Errorf("%d of 2 are in line: %s", n, a.text())
	}
}

func TestAStartSaysThatThePartnerStillDoesNotAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.down()
	d.post(kim, "/partners/northwind/start").want(http.StatusSeeOther)
	d.get(kim, "/").says("Your stop is lifted; they still do not answer. Next test 03:15 CET.")
	d.lanes.view["northwind"] = queue.LaneView{State: queue.LaneSending}
	d.post(kim, "/partners/northwind/start").want(http.StatusSeeOther)
	d.get(kim, "/").says("Northwind Retail DE is started.")
}

func TestANumberIsFoundBehindTheWordForIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "a", func(m *queue.Message) {
		m.Business.References = append(m.Business.References, edi.Reference{Name: "order", Value: "4500099001"})
	})
	for _, q := range []string{"PO 4500099001", "purchase order 4500099001", "po #4500099001", "810 INV-1"} {
		same(t, q, d.get(viewer, "/messages?q="+url.QueryEscape(q)).want(http.StatusOK).rows(), m.ID)
	}
	d.get(viewer, "/messages?q=PO+45000").says("Show what begins with it")
	d.get(viewer, "/messages?q=PO+77&from=2026-11-01").says("Nothing matches.", "Try the number alone, or its beginning with a * at the end.", "search without the other filters")
}

func TestAnOutageOffersWhatItSaysToDo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.down()
	d.paged()
	d.tell(queue.Event{Type: queue.EventBreakerProbing, Partner: "northwind", Lane: "northwind", Outage: "OUT-231", Text: "one document"},
		queue.Event{Type: queue.EventBreakerReopened, Partner: "northwind", Lane: "northwind", Outage: "OUT-231", Text: "connection refused"},
		queue.Event{Type: queue.EventBreakerProbing, Partner: "northwind", Lane: "northwind", Outage: "OUT-231", Text: "one document"},
		queue.Event{Type: queue.EventBreakerReopened, Partner: "northwind", Lane: "northwind", Outage: "OUT-231", Text: "connection refused"})
	a := d.get(kim, "/outages/OUT-231").says("known maintenance? Stop until …", "when they answer: Replay 2", "Test failed, stopped again : connection refused; 2 tests failed since 03:10 CET").
		holds(`action="/partners/northwind/stop"`)
	if strings.Contains(a.text(), "Testing with one document") {
		t.Errorf("the tests are told one by one: %s", a.text())
	}
	d.get(viewer, "/outages/OUT-231").lacks(`action="/partners/northwind/stop"`)
	v := d.lanes.View("northwind")
	v.State = queue.LaneStopped
	d.lanes.view["northwind"] = v
	d.get(kim, "/outages/OUT-231").lacks(`action="/partners/northwind/stop"`)
}

// What an incident says to do can be done on its page; replaying comes first
// only where it helps.
func TestAnIncidentOffersWhatItSaysToDo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.sent(d.accept("northwind", "a"), receipt(fault.Acknowledgement{Verdict: fault.AckWrongSigner, Positive: true, Type: "processed", Signer: "9A:1C"}))
	l, err := d.store.Letter(t.Context(), m.Letter)
	if err != nil {
		t.Fatal(err)
	}
	letters := func(id, cause string) alerts.Incident {
		return alerts.Incident{ID: id, Kind: alerts.KindLetters, Partner: "northwind", Lane: "northwind", Cause: cause, Severity: alerts.Ticket, Stage: alerts.Running, Opened: start, Told: 1}
	}
	d.sent(d.accept("northwind", "b"), receipt(fault.Acknowledgement{Verdict: fault.AckBadSignature, Positive: true, Type: "processed", Signer: "9A:1C"}))
	d.incident(letters("INC-1", string(l.Reason)))
	d.incident(letters("INC-2", l.Cause))
	d.get(kim, "/outages/INC-1").says("Replay 1").lacks(`<button class="primary">Replay 1`)
	d.lanes.view["northwind"] = queue.LaneView{Partner: "northwind", Lane: "northwind", State: queue.LaneNeedsFix}
	d.get(kim, "/outages/INC-2").says("import it").holds(`<a class="button primary" href="/partners/northwind/settings#import">Import a certificate</a>`, `action="/partners/northwind/start"`)
	d.get(viewer, "/outages/INC-2").lacks("Import a certificate", `/start"`)
}

// The edit page says what is wrong and where, and checks before it asks for a
// reason.
func TestTheEditPageShowsTheFault(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.malformed("northwind", brokenInvoice)
	d.get(kim, "/letters/"+m.Letter+"/edit").says("Our check says: SE01 says 99, counted 4 (segment 6).", "That is line 6 of the text.", "SE*99*0001~").holds(`class="faulty"`)
	still := strings.Replace(brokenInvoice, "SE*99", "SE*98", 1)
	d.edit(kim, m.Letter, still).want(http.StatusBadRequest).says("Not sent: SE01 says 98", "Show what I changed").hides("Reason (required)")
	d.edit(kim, m.Letter, interchange("0001", "INV-1")).want(http.StatusOK).says("Reason (required)", "~ LF").lacks("␊")
}

func TestSomebodyChangesTheirOwnPassword(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.Access.SetPassword(t.Context(), viewer, "the first password", fault.Actor{Name: admin}); err != nil {
		t.Fatal(err)
	}
	u, err := d.Sessions.SignIn(t.Context(), viewer, "the first password", "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{viewer, "another"} {
		if d.secrets[name], _, err = d.Sessions.Begin(t.Context(), u, "192.0.2.7", name); err != nil {
			t.Fatal(err)
		}
	}
	d.get(viewer, "/password").want(http.StatusOK).says("Change your password", "Old password")
	change := func(old, password, again string) answer {
		return d.post(viewer, "/password", "old", old, "password", password, "again", again)
	}
	change("not the password", "the second password", "the second password").want(http.StatusForbidden).says("The old password is wrong. Nothing was changed.")
	change("the first password", "the second password", "another password").want(http.StatusBadRequest).says("The two new passwords differ.")
	change("the first password", "short", "short").want(http.StatusBadRequest).says("from 10 to 200 bytes")
	d.get("another", "/").want(http.StatusOK)
	a := change("the first password", "the second password", "the second password").want(http.StatusOK).says("Your password is changed. This browser stays signed in")
	d.get("another", "/").want(http.StatusSeeOther)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		r.AddCookie(c)
	}
	if got := d.ask("", r); got.status != http.StatusOK {
		t.Errorf("this browser is signed out: %d", got.status)
	}
	if _, err := d.Sessions.SignIn(t.Context(), viewer, "the second password", "192.0.2.7"); err != nil {
		t.Errorf("the new password: %v", err)
	}
	d.post("", "/password", "old", "x").want(http.StatusUnauthorized)
}

func TestAQuietGatewayIsCalledQuiet(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.get(kim, "/alerts").says("No alert is on.").hides("Somebody has every alert")
	d.get(kim, "/").holds("<dt>Store</dt><dd>fine</dd>")
	d.get(kim, "/letters?status=all").hides("Replay all 0")
	m := d.bury("northwind", "a")
	d.post(kim, "/letters/"+m.Letter+"/discard", "reason", "x").want(http.StatusSeeOther)
	d.get(kim, "/letters?status=closed").says("Select all on page").hides("Replay all 0")
	d.bury("northwind", "b")
	d.now = d.now.Add(time.Second)
	d.post(kim, "/letters/replays", "partner", "northwind").want(http.StatusOK).hides("about under 1 s")
}

// A bulk replay of what may be there asks again when the box was not ticked.
func TestABulkReplayWithoutTheTickAsksAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.exchange(d.accept("northwind", "a"), lost)
	d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonUnknownOutcome, Note: "no answer"})
	d.now = d.now.Add(time.Second)
	asked := d.post(operator, "/letters/replays", "partner", "northwind").want(http.StatusOK).says("Replay all 1 …")
	again := d.post(operator, "/letters/replays", append(asked.repeated(), "unsure", "send")...).want(http.StatusOK).says("Tick that you checked with the partner", "Nothing was sent.")
	if n := d.replaying(); n != 0 {
		t.Fatalf("%d are replayed without the tick", n)
	}
	d.post(operator, "/letters/replays", append(again.repeated(), "unsure", "send", "checked", "yes")...).want(http.StatusSeeOther)
}
