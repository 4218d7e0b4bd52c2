package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/as2"
	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/spool"
)

// Digests of content: base64 of 32 bytes, as receipts name them.
const (
	digest      = "9B8/piX/Eg3cp+9Fa/ZjcezqI8Ep9OTDI2cQHttRbPg="
	otherDigest = "kh9RHbvNG7VrVWl/4aCwrQi31HsSBOc8mx3btHL5ITg="
)

// sent exchanges a message of which the build is known.
func (d *desk) sent(m queue.Message, o fault.Outcome) queue.Message {
	d.t.Helper()
	return d.sentAs(m, as2.Rendition{
		MessageID: m.MessageID, MICs: []as2.MIC{{Algorithm: "sha-256", Value: digest}}, Token: "s3cret-t0ken",
		Headers: []as2.Field{{Name: "AS2-To", Value: "NORTHWIND"}, {Name: "Receipt-Delivery-Option", Value: "https://edi.acme.example/mdn/s3cret-t0ken"}},
	}, "", o)
}

// sentAs exchanges a message whose build keeps that of itself; raw is what was kept
// of the answer.
func (d *desk) sentAs(m queue.Message, rendition any, raw string, o fault.Outcome) queue.Message {
	d.t.Helper()
	record, err := json.Marshal(rendition)
	if err != nil {
		d.t.Fatal(err)
	}
	m.Build = 1
	res, err := queue.Next(m, queue.Input{Trigger: queue.OnStart, At: d.now, By: "gw1"}, queue.Rules{})
	if err != nil {
		d.t.Fatal(err)
	}
	res.Build = &queue.Build{Message: m.ID, N: 1, MessageID: m.MessageID, SHA256: strings.Repeat("ab", 32), Size: 48211, Record: record, Sent: true, Created: d.now}
	if err := d.store.Record(d.t.Context(), &res); err != nil {
		d.t.Fatal(err)
	}
	m = d.message(m.ID)
	v := retry.Classify(o, retry.History{})
	a := queue.AttemptFrom(m, o, v, d.now, 1204*time.Millisecond)
	a.Raw = raw
	return d.step(m, queue.Input{Trigger: queue.OnResult, Attempt: &a, Verdict: v, LetterID: "l-" + m.ID})
}

func receipt(k fault.Acknowledgement) fault.Outcome {
	return fault.Outcome{
		Phase: fault.PhaseDone, Status: 200, Protocol: true, AckAsked: fault.AckSync, Ack: &k, Headers: map[string]string{"Server": "Contour"},
		Head: []byte("--part\r\nContent-Type: text/plain\r\n"), Timings: fault.Timings{Connect: 12 * time.Millisecond, TLS: 38 * time.Millisecond, Wait: time.Second},
	}
}

var refusal = fault.Acknowledgement{Verdict: fault.AckTrusted, Type: "processed", Modifier: "error", Text: "unknown-trading-partner", Detail: "we do not know ACME-AS2", Signer: "9A:1C"}

func TestADeliveryIsProven(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.sent(d.accept("northwind", "a"), receipt(fault.Acknowledgement{
		Verdict: fault.AckTrusted, Positive: true, Type: "processed", Signer: "9A:1C:22", Digest: digest + ", sha-256", Ref: "<1@x>",
	}))
	a := d.get(viewer, "/messages/"+m.ID).want(http.StatusOK).says(
		"Delivered 03:10, receipt signed by Northwind Retail DE, digest matches.", "Try 1: delivered", "Receipt good",
		"Digest expected "+digest, "Digests equal: they have what we sent", "a certificate that is not on file now", "9A:1C:22",
		"48,211 bytes on the wire, build 1", "HTTP 200 OK", "Server Contour", "TLS handshake 38 ms", "Waited for the answer 1.000 s", "In all 1.204 s", "AS2-To NORTHWIND",
	)
	a.hides("s3cret-t0ken", "Do this", "digest differs")
}

func TestAReceiptOfOtherContentShowsBothDigests(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.sent(d.accept("northwind", "a"), receipt(fault.Acknowledgement{Verdict: fault.AckMICMismatch, Positive: true, Type: "processed", Signer: "9A:1C", Digest: otherDigest + ", sha-256"}))
	d.get(operator, "/messages/"+m.ID).says(
		"Unknown: partner may have it. Receipt not trusted.", "Do this: They have other bytes than we sent. Ask whether they booked it; then Close as delivered.", "Owner: EDI DACH, +49 30 0000.",
		"Receipt not trusted: its digest is of other content", "Digest expected "+digest, "Digest in the receipt "+otherDigest, "differ: they have something else",
		"Re-check the receipt", "Please tell us whether you have received this message", "Message-ID: "+m.MessageID,
	)
}

func TestALetterHasItsReasonNextStepAndActions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.sent(d.accept("northwind", "a"), receipt(refusal))
	a := d.get(kim, "/messages/"+m.ID).says(
		`Not delivered: partner refused: "unknown-trading-partner".`, "Do this: Read their words and status", "Who to call: The partner",
		"we do not know ACME-AS2", "They refused it, and we believe the refusal", "It says processed/error: unknown-trading-partner",
		"Replay", "Replay under a new Message-ID", "Edit and replay …", "Close as delivered …", "Discard …",
	)
	a.holds(`id="letter-`+m.Letter+`"`, `action="/letters/`+m.Letter+`/replay"`, `name="back" value="/messages/`+m.ID+`"`)
	d.get(viewer, "/messages/"+m.ID).says("Do this").hides("<form class=\"act\"", "/edit", "/payload", "Discard")
	if to := d.get(viewer, "/letters/"+m.Letter).want(http.StatusSeeOther).header.Get("Location"); to != "/messages/"+m.ID+"#letter-"+m.Letter {
		t.Errorf("the letter leads to %q", to)
	}
}

func TestTheTimelineTellsWaitsAndPeople(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	busy := fault.Outcome{Phase: fault.PhaseDone, Status: 503, HasRetry: true, RetryAfter: 30 * time.Second}
	m := d.exchange(d.accept("northwind", "a"), busy)
	d.get(viewer, "/messages/"+m.ID).says("Try 1: did not arrive, may pass: they answered 503 and asked for 30 s", "Next try 03:10:")
	d.now = m.NextAt
	m = d.exchange(m, fault.Outcome{Phase: fault.PhaseConnect, Cause: fault.CauseRefused, Detail: "connection refused"})
	m = d.step(m, queue.Input{Trigger: queue.OnBury, LetterID: "l1", Note: "connection refused"})
	d.now = d.now.Add(time.Hour)
	d.post(kim, "/letters/l1/replay", "back", "/messages/"+m.ID).want(http.StatusSeeOther)
	text := d.get(viewer, "/messages/"+m.ID).text()
	at := 0
	for _, want := range []string{"Accepted: safe on disk", "Try 1", "Waited", "Try 2: did not arrive, may pass: connection refused", "Became a dead letter", "Replay asked for by kim from 192.0.2.1"} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("after %q there is no %q in %s", text[:at], want, text)
		}
		at += i
	}
	if n := strings.Count(text, "Sending"); n != 0 {
		t.Errorf("%d bare sendings beside their exchanges", n)
	}
}

// TestALongTimelineShowsItsBeginningAndEnd: what is new is always seen.
func TestALongTimelineShowsItsBeginningAndEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "a")
	for i := range timelineHead + timelineTail + 50 {
		d.now = start.Add(time.Duration(i) * time.Minute)
		e := queue.Event{At: d.now, Type: queue.EventAckIgnored, Partner: m.Partner, Message: m.ID, Text: "number " + d.now.Format("15:04")}
		if err := d.store.AddEvents(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	newest := "number " + d.now.Format("15:04")
	a := d.get(viewer, "/messages/"+m.ID).says("Accepted: safe on disk", "51 entries left out here", newest)
	if n := strings.Count(a.body, "<li data-key"); n != timelineHead+timelineTail+1 {
		t.Errorf("%d lines", n)
	}
	d.get(viewer, "/messages/"+m.ID+"?timeline=all").says(newest).hides("left out here")
}

// TestWhatAPartnerAnswersIsOnlyText: the answer is a stranger's.
func TestWhatAPartnerAnswersIsOnlyText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const hostile = "<script>alert(1)</script>\u202e\x00\x1b[2J"
	m := d.sent(d.accept("northwind", "a"), fault.Outcome{
		Phase: fault.PhaseDone, Status: 400, Headers: map[string]string{"Server": hostile}, Head: []byte(hostile), Detail: hostile,
		Ack: &fault.Acknowledgement{Verdict: fault.AckMalformed, Type: hostile, Text: hostile, Detail: hostile, Signer: hostile, Ref: hostile, Digest: hostile},
	})
	for _, page := range []string{"/messages/" + m.ID, "/messages", "/letters"} {
		a := d.get(kim, page).want(http.StatusOK)
		for _, bad := range []string{"<script>alert", "\u202e", "\x00", "\x1b"} {
			if strings.Contains(a.body, bad) {
				t.Errorf("%s has %q:\n%s", page, bad, a.body)
			}
		}
	}
}

func TestContentIsAPermissionAndEachViewIsAudited(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "secret content")
	for _, path := range []string{"/payload", "/evidence", "/document"} {
		d.get(operator, "/messages/"+m.ID+path).want(http.StatusForbidden).says("an admin gives").hides("secret content")
	}
	a := d.get(reader, "/messages/"+m.ID+"/payload").want(http.StatusOK)
	if a.body != "secret content" || a.header.Get("Content-Disposition") != "attachment; filename=invoice-1.edi" || a.header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" ||
		a.header.Get("Content-Type") != "application/octet-stream" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%q with %v", a.body, a.header)
	}
	a = d.get(reader, "/messages/"+m.ID+"/evidence").want(http.StatusOK)
	if !strings.HasPrefix(a.body, "PK evidence of m000001") || a.header.Get("Content-Disposition") != "attachment; filename=evidence-m000001.zip" {
		t.Errorf("%q with %v", a.body, a.header)
	}
	d.get(reader, "/messages/"+m.ID+"/document").says("secret content")
	events, err := d.store.Timeline(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, e := range events {
		if e.Type == queue.EventPayload {
			seen = append(seen, e.Actor.Name+": "+e.Text)
		}
	}
	same(t, "views", seen, "rita: the document was downloaded", "rita: the evidence was read", "rita: the document was shown")
	d.get(reader, "/messages/"+m.ID).says("Content seen 3 times, here for the last time by rita")
	if _, err := d.spool.Remove(spool.Payload, time.Time{}, m.Payload.SHA256); err != nil {
		t.Fatal(err)
	}
	d.get(reader, "/messages/"+m.ID+"/payload").want(http.StatusNotFound).says("Content and evidence removed after 400 d")
	d.get(reader, "/messages/"+m.ID+"/document").want(http.StatusOK).says("Content and evidence removed after 400 d")
}

func TestAReceivedDocumentIsHandedOnAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	inbound := func(m *queue.Message) { m.Direction = queue.In }
	m := d.accept("northwind", "a", inbound)
	m = d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonLocal, Note: "the folder cannot be written"})
	d.get(kim, "/messages/"+m.ID).says("from Northwind Retail DE", "Not handed on: our side: the folder cannot be written.", "then hand it on again", "Hand on again", "Discard …").
		hides("Close as delivered", "/edit", "Copy enquiry")
	d.post(kim, "/letters/l1/process", "back", "/messages/"+m.ID).want(http.StatusSeeOther)
	same(t, "asked", d.lanes.done, "process m000001 by kim: ")
}

func TestAMessageThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, path := range []string{"/messages/none", "/messages/none/document", "/messages/none/payload", "/messages/none/evidence", "/letters/none", "/letters/none/edit"} {
		d.get(admin, path).want(http.StatusNotFound)
	}
	m := d.accept("northwind", "a")
	d.get(admin, "/messages/"+m.ID+"?tab=all").want(http.StatusBadRequest)
	d.get(admin, "/messages/"+m.ID+"/document?with=m9").want(http.StatusBadRequest)
	d.get("", "/messages/"+m.ID).want(http.StatusSeeOther)
}

func TestADocumentIsShownBySegments(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", interchange("0001", "INV-1"))
	a := d.get(reader, "/messages/"+m.ID+"/document").want(http.StatusOK).says("X12 810", "Interchange Control Header", "Beginning Segment for Invoice", "INV-1")
	a.holds(`class="d3"`, `<span class="p-tag">BIG</span>`)
	long := d.accept("northwind", strings.Repeat("line\n", viewLines+1))
	d.get(reader, "/messages/"+long.ID+"/document").says("It is longer than this page shows")
	binary := d.accept("northwind", "\x00\x01\x02\xff")
	d.get(reader, "/messages/"+binary.ID+"/document").says("Binary, in hex", "00 01 02 ff")
}

// interchange is an X12 invoice.
func interchange(control, number string) string {
	return "ISA*00*          *00*          *ZZ*ACME           *ZZ*NORTHWIND      *261130*0429*U*00401*00000" + control + "*0*P*>~\n" +
		"GS*IN*A*B*20261130*0429*1*X*004010~\nST*810*0001~\nBIG*20261130*" + number + "~\nTDS*100~\nSE*4*0001~\nGE*1*1~\nIEA*1*00000" + control + "~\n"
}
