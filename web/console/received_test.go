package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
	"edigw/web"
)

// received makes a document that a partner sent, in a state.
func (d *desk) received(id, content string, s queue.State, in web.Inbound) queue.Message {
	d.t.Helper()
	m := d.accept(id, content, func(m *queue.Message) { m.Direction, m.Lane, m.Key = queue.In, id+"/inbox", "←"+m.ID })
	m.State, m.Finished = s, d.now
	e := queue.Event{At: d.now, Type: queue.EventDelivered, Partner: id, Message: m.ID, Text: "put into the inbox folder", Facts: map[string]string{"file": "2026-12-01/" + m.Payload.FileName}}
	if s != queue.Delivered {
		e.Type, e.Facts = queue.EventAccepted, nil
	}
	if err := d.store.Record(d.t.Context(), &queue.Result{Message: &m, Events: []queue.Event{e}}); err != nil {
		d.t.Fatal(err)
	}
	d.lanes.inbound[m.ID] = in
	return d.message(m.ID)
}

// refuse makes a letter of a message that was refused.
func (d *desk) refuse(id string, why fault.Reason) queue.Message {
	d.t.Helper()
	m := d.accept(id, "", func(m *queue.Message) {
		m.Direction, m.Lane, m.Payload, m.Business = queue.In, id+"/inbox", queue.Payload{}, queue.Business{}
	})
	return d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l-" + m.ID, Reason: why, Note: "the message is signed by serial 4F:22"})
}

// The page of a received message says how it came, what was found and answered,
// and where what followed from it stands.
func TestAReceivedMessageSaysHowItCame(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	receipt := d.exchange(d.accept("northwind", "mdn", func(m *queue.Message) {
		m.Kind, m.Lane, m.MessageID = queue.KindReceipt, queue.LaneKey("northwind", queue.KindReceipt), "<mdn-1@edi.acme.example>"
	}), fault.Outcome{Phase: fault.PhaseDone, Status: 410, AckAsked: fault.AckNotAsked, Detail: "410 Gone"})
	post := d.accept("northwind", "post", func(m *queue.Message) {
		m.Kind, m.Lane = queue.KindWebhook, queue.LaneKey("northwind", queue.KindWebhook)
	})
	m := d.received("northwind", "order", queue.Delivered, web.Inbound{
		From: "NORTHWIND", To: "ACME-AS2", Subject: "<b>order</b>", Encrypted: true, Signed: true, Signer: strings.Repeat("ab", 32), MIC: "q83v=, sha256", Disposition: "automatic-action/MDN-sent-automatically; processed",
		Warning: "Receipt-Delivery-Option is there and empty", Asked: true, ReceiptURL: "https://as2.northwind.example/mdn?token=secret", Receipt: &receipt, Post: &post,
		Files: []web.InboundFile{{N: 1, Name: "order.x12", ContentType: "application/edi-x12", Size: 12}, {N: 2, ContentType: "application/pdf", Size: 2048}},
	})
	page := d.get(kim, "/messages/"+m.ID).want(http.StatusOK).says(
		"How it came", "NORTHWIND to ACME-AS2", "<b>order</b>", "Encrypted yes", "Compressed no", "Signed yes, verified with a certificate that is not on file now", "abab",
		"processed", "q83v=, sha256", "Odd about it", "https://as2.northwind.example/mdn", "Partner refused: status 410", "In line", "inbox/northwind/2026-12-01/",
		"order.x12 application/edi-x12, 12 bytes", "File 2, without a name application/pdf",
	).holds(`href="/messages/`+receipt.ID+`"`, `href="/messages/`+post.ID+`"`, `href="/messages/`+m.ID+`/payload?part=2"`)
	page.hides("token=secret", "Refused because", "Request kept", "←").lacks("<b>order")
	d.get(viewer, "/messages/"+m.ID).says("order.x12").lacks("payload?part=")
	d.get(viewer, "/messages/"+receipt.ID).lacks("How it came")
}

// One that was refused says why, and offers no document that is not there.
func TestARefusedMessageSaysHowItCame(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.refuse("northwind", fault.ReasonSignature)
	d.lanes.inbound[m.ID] = web.Inbound{From: "NORTHWIND", To: "ACME-AS2", Signed: true, Encrypted: true, Problem: "signed by serial 4F:22", Disposition: "processed/error: authentication-failed", Asked: true, Request: web.RequestBegin}
	d.get(kim, "/messages/"+m.ID).says("Signed yes, by nobody whose certificate is on file, or wrongly", "processed/error: authentication-failed",
		"Our receipt in the response", "Request kept only its beginning", "Evidence (zip)", "the message is signed by serial 4F:22").hides("Refused because").lacks("Show the document", "/payload\"")
	d.lanes.inbound[m.ID] = web.Inbound{Request: web.RequestHeader}
	d.get(kim, "/messages/"+m.ID).says("Signed no", "none: they asked for none", "only its header")
	delete(d.lanes.inbound, m.ID)
	d.get(kim, "/messages/"+m.ID).want(http.StatusOK).lacks("How it came")
}

// Letters of what a partner sent are told from those of what we send, in the
// list, in its groups, and by what their buttons do.
func TestLettersOfReceivedMessagesStandApart(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	in, out := d.refuse("northwind", fault.ReasonFormat), d.accept("northwind", "a")
	d.step(out, queue.Input{Trigger: queue.OnFail, LetterID: "l-out", Reason: fault.ReasonFormat, Note: "SE01 says 24"})
	d.now = d.now.Add(time.Second)
	page := d.get(operator, "/letters").says("Received: "+in.MessageID, "Received, and we refused it: malformed, or not as agreed", "Process 1 again …", "Document malformed", "Replay 1", "Replay all 1 matching")
	page.holds(`name="direction" value="in"`, `name="direction" value="out"`)
	same(t, "only received ones", d.get(viewer, "/letters?direction=in&partner=northwind").hides("Replay all").rows(), in.ID)
	same(t, "only ours", d.get(viewer, "/letters?direction=out&partner=northwind").says("sent ✕").rows(), out.ID)
	d.get(viewer, "/letters?direction=sideways").want(http.StatusBadRequest)
	d.get(viewer, "/letters").lacks("/letters/process")
	d.post(operator, "/letters/replays", "ids", "l-"+in.ID, "ids", "l-out", "what", "selected").want(http.StatusOK).
		says("Replay 1", "1 letter is of a received message and is left out: process it again instead.")
	d.post(operator, "/letters/replays", "ids", "l-"+in.ID, "what", "selected").want(http.StatusUnprocessableEntity).says("these are not replayed but processed again")
	d.post(operator, "/letters/replays", "partner", "northwind", "reason", "format", "direction", "out").want(http.StatusOK).says("Replay 1").hides("left out")
	asked := d.post(operator, "/letters/replays", "partner", "northwind", "what", "matching").want(http.StatusOK).says("1 letter is of a received message")
	to := d.post(operator, "/letters/replays", asked.repeated()...).want(http.StatusSeeOther).header.Get("Location")
	d.get(operator, to).says("1 letter to Northwind Retail DE; 1 letter of a received message was left out")
}

// All letters of a group are taken up by one click, some at a time.
func TestReceivedMessagesAreProcessedTogether(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for range mostProcessed + 2 {
		d.refuse("northwind", fault.ReasonSignature)
		d.now = d.now.Add(time.Second)
	}
	d.bury("northwind", "ours")
	form := []string{"partner", "northwind", "reason", "signature", "direction", "in", "status", "open", "back", "/letters"}
	d.post(viewer, "/letters/process", form...).want(http.StatusForbidden)
	d.post(operator, "/letters/process").want(http.StatusUnprocessableEntity)
	d.post(operator, "/letters/process", "partner", "contoso").want(http.StatusUnprocessableEntity).says("somebody was faster")
	asked := d.post(operator, "/letters/process", form...).want(http.StatusOK).says("Process 52 from Northwind Retail DE again?", "Process 50 again", "at most 50 at once", "ask first whether")
	if len(d.lanes.done) > 0 {
		t.Fatalf("done before the question was answered: %v", d.lanes.done)
	}
	more := d.post(operator, "/letters/process", asked.repeated()...).want(http.StatusOK).says("Go on with the others?", "50 messages were taken up")
	d.lanes.fail = &web.Problem{Slug: web.StillRefused, Detail: "Opened again, and still refused."}
	d.post(operator, "/letters/process", append(more.repeated(), "back", "/letters")...).want(http.StatusSeeOther)
	d.get(operator, "/letters").says("2 are still refused")
	if n := len(d.lanes.done); n != mostProcessed+2 || d.lanes.done[n-1] != fmt.Sprintf("process m%06d by omar: ", 1) {
		t.Errorf("%d were processed, the last as %q", n, d.lanes.done[n-1])
	}
	d.lanes.fail = &web.Problem{Slug: web.Internal, Detail: "The disk fails."}
	d.post(operator, "/letters/process", append(form, "sure", "yes")...).want(http.StatusInternalServerError)
}

// The page of an incident of refused messages offers to process them, and
// counts none of them as to be replayed.
func TestAnIncidentOfReceivedMessages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.refuse("northwind", fault.ReasonSignature)
	d.incident(alerts.Incident{ID: "INC-7", Kind: alerts.KindLetters, Partner: "northwind", Cause: string(fault.ReasonSignature), Severity: alerts.Ticket, Stage: alerts.Running, Opened: start, Detail: "1 refused"})
	d.get(operator, "/outages/INC-7").says("Process 1 again …").lacks("/letters/replays")
	m := d.accept("northwind", "ours")
	d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l-out", Reason: fault.ReasonSignature, Note: "they reject it"})
	d.get(operator, "/outages/INC-7").says("Process 1 again …", "Replay 1")
}

// A webhook that is down, and receipts that cannot be delivered, are seen on
// the board and on the partner's page, with what waits.
func TestTroubleOfTheOtherLanes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.get(viewer, "/").says("All 2 partners fine.")
	hook := queue.LaneKey("northwind", queue.KindWebhook)
	d.lanes.view[hook] = queue.LaneView{Partner: "northwind", Lane: hook, State: queue.LaneOpen, Next: start.Add(15 * time.Minute), Breaker: breaker.State{Phase: breaker.Open}}
	d.now = d.now.Add(time.Second)
	d.get(viewer, "/").hides("Our webhook") // nothing waits there
	for range 2 {
		d.accept("northwind", "post", func(m *queue.Message) { m.Kind, m.Lane = queue.KindWebhook, hook })
	}
	d.now = d.now.Add(time.Second)
	for _, path := range []string{"/", "/partners/northwind"} {
		d.get(viewer, path).says("Our webhook: stopped: it does not answer. Next test 03:25; 2 documents wait").hides("partner not answering")
	}
	d.get(viewer, "/?show=trouble").says("1 of 2 partners needs you", "Northwind Retail DE")
	d.received("northwind", "order", queue.Delivered, web.Inbound{})
	d.accept("northwind", "invoice")
	d.get(viewer, "/partners/northwind").says("Last to them now", "Last from them now").holds(`href="/messages?partner=northwind&amp;direction=in"`)
	d.get(viewer, "/partners/contoso").says("Last to them none", "Last from them none")
}
