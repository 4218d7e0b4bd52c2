package console

import (
	"net/http"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/queue"
	"edigw/web"
)

// refusedOf makes a letter of a message that a partner sent and that was
// refused: its document is not here.
func (d *desk) refusedOf(id string) queue.Message {
	d.t.Helper()
	m := d.accept(id, "", func(m *queue.Message) {
		m.Direction, m.Lane, m.Payload, m.Business = queue.In, id+"/inbox", queue.Payload{}, queue.Business{}
	})
	return d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonSignature, Note: "the message is signed by serial 4F:22; on file and in force: serial 51"})
}

// A refused message is asked about before it is opened again, whoever clicks;
// viewers cannot.
func TestARefusedMessageIsProcessedAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.refusedOf("northwind")
	d.get(viewer, "/letters").lacks("/process")
	for _, page := range []string{"/letters", "/messages/" + m.ID} {
		d.get(operator, page).holds(`action="/letters/l1/process"`).says("Process again …", "We refused it: signed by an unknown certificate", "Refused").hides("Not delivered", "Hand on again", "Partner rejects our signature")
	}
	d.post(viewer, "/letters/l1/process", "sure", "yes").want(http.StatusForbidden)
	asked := d.post(operator, "/letters/l1/process", "back", "/letters").want(http.StatusOK).
		says("from Northwind Retail DE again?", "It is opened again as if it came now.", "was told that it is refused, and learns otherwise only by sending it again", "Ask them first whether they have sent it again.", "Cancel", "Process again").
		holds(`name="sure" value="yes"`)
	d.get(operator, "/messages/"+m.ID).says("the message is signed by serial 4F:22", "import the certificate that they sign with")
	if len(d.lanes.done) > 0 {
		t.Fatalf("done before the question was answered: %v", d.lanes.done)
	}
	d.post(operator, "/letters/l1/process", append(asked.repeated(), "reason", "certificate imported")...).want(http.StatusSeeOther)
	same(t, "asked", d.lanes.done, "process "+m.ID+" by omar: certificate imported")
	d.get(operator, "/letters").says("Opened again and accepted. Its document is handed on.")
	d.lanes.processing.Async = true
	d.post(operator, "/letters/l1/process").want(http.StatusOK).says("A new receipt goes out by itself").hides("learns otherwise only")
}

func TestARefusedMessageThatStaysRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.refusedOf("northwind")
	d.lanes.fail = &web.Problem{Slug: web.StillRefused, Detail: "Opened again, and still refused: the message is signed by serial 4F:22."}
	d.post(kim, "/letters/l1/process", "sure", "yes", "back", "/messages/"+m.ID).want(http.StatusSeeOther)
	d.get(kim, "/messages/"+m.ID).says("Opened again, and still refused: the message is signed by serial 4F:22.")
	d.lanes.fail = &web.Problem{Slug: web.Conflict, Detail: "Not possible: somebody else has just asked for the same."}
	d.post(kim, "/letters/l1/process", "sure", "yes").want(http.StatusConflict).says("somebody else has just asked for the same")
}

// What cannot be opened again is not offered, and says why where it would be.
func TestARefusedMessageThatWasNotKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.refusedOf("northwind")
	d.lanes.processing = web.Processing{Refused: true, Why: "only the beginning of its request was kept"}
	d.get(kim, "/letters").lacks("/letters/l1/process")
	d.get(kim, "/messages/"+m.ID).lacks("/letters/l1/process").says("It cannot be processed again: only the beginning of its request was kept.", "Discard …")
	d.post(kim, "/letters/l1/process").want(http.StatusOK).says("It cannot be processed again").lacks(`name="sure"`)
}

// What to do about a refused message goes by its cause.
func TestAdviceForARefusedMessageGoesByItsCause(t *testing.T) {
	t.Parallel()
	for problem, want := range map[string]string{
		"message is encrypted for serial 59:E2 of CN=old; we hold serial 0D":                    "Send them ours (edigw cert export)",
		"the message is not signed, which as2.receive.require demands":                          "lower what the letter names",
		"the receipt is asked for at an address that as2.receive.receipt_urls does not list: x": "add it to as2.receive.receipt_urls",
		"content cannot be decompressed: 4 MiB out of 4 KiB":                                    "Tell the partner what the letter says",
	} {
		d := newDesk(t)
		m := d.accept("northwind", "", func(m *queue.Message) {
			m.Direction, m.Payload, m.Lane = queue.In, queue.Payload{}, queue.InboxLane("northwind")
		})
		m = d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonSignature, Note: problem})
		d.get(kim, "/messages/"+m.ID).says(want, problem).hides("import the certificate that they sign with", "Document malformed", "Partner rejects")
	}
}

// A problem is told once: in the letter, not in the title nor in lists.
func TestALongProblemStandsInTheLetter(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "", func(m *queue.Message) {
		m.Direction, m.Payload, m.Lane = queue.In, queue.Payload{}, queue.InboxLane("northwind")
	})
	m = d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonSignature, Note: "the message is signed by " + strings.Repeat("serial 4F:22, ", 20) + "the end"})
	d.get(kim, "/letters").says("We refused it: signed by an unknown certificate").hides("the end")
	page := d.get(kim, "/messages/"+m.ID).says("We refused it: signed by an unknown certificate")
	if n := strings.Count(page.text(), "the end"); n != 1 {
		t.Errorf("it is told %d times", n)
	}
}

// A receipt that we owe and cannot deliver has the words for it, and nothing
// that only a document can have.
func TestADeadReceiptThatWeOwe(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "mdn", func(m *queue.Message) {
		m.Kind, m.Lane, m.CorrelationID, m.MessageID = queue.KindReceipt, queue.LaneKey("northwind", queue.KindReceipt), "m000099", "<mdn-1@edi.acme.example>"
		m.Payload, m.Business = queue.Payload{Size: 3}, queue.Business{}
	})
	m = d.exchange(m, fault.Outcome{Phase: fault.PhaseDone, Status: 410, AckAsked: fault.AckNotAsked, Detail: "410 Gone"})
	if m.State != queue.Dead {
		t.Fatalf("it is %s", m.State)
	}
	d.get(kim, "/letters").says("receipt "+m.MessageID, "Partner refused: status 410", "Replay")
	d.get(kim, "/messages/"+m.ID).says("The partner waits for this receipt", "Receipt for", "Replay", "Close as delivered …", "Discard …").
		holds(`href="/messages/m000099"`).hides("new Message-ID", "Edit and replay", "Send as a new edition", "Correlation id")
	d.post(operator, "/letters/"+m.Letter+"/replay", "back", "/letters").want(http.StatusSeeOther)
	if got := d.message(m.ID); got.State != queue.Waiting && got.State != queue.Queued {
		t.Errorf("it is %s after the replay", got.State)
	}
}
