package demo

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"edigw/fault"
	"edigw/retry"

	"github.com/google/go-cmp/cmp"
)

// judged is what the gateway would make of an outcome.
func judged(o fault.Outcome) (retry.Class, fault.Reason) {
	v := retry.Classify(o, retry.History{})
	return v.Class, v.Reason
}

// TestGoodPartnerTakesADocumentOnce: a repeat gets the receipt of the first
// time and has no second effect (RFC 4130 §5.5).
func TestGoodPartnerTakesADocumentOnce(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	p := w.hired(t, wellPartner, behaviour{})
	m := w.built(t, wellPartner, "ISA~")
	for range 2 {
		if class, _ := judged(w.sent(t, wellPartner, m)); class != retry.Success {
			t.Errorf("class %s, want success", class)
		}
	}
	effects := p.record.list()
	if len(effects) != 1 || effects[0].MessageID != m.rendition.MessageID {
		t.Errorf("effects: %v, want %s alone", effects, m.rendition.MessageID)
	}
	if requests, messages := p.record.requests(); requests != 2 || messages != 1 {
		t.Errorf("%d requests of %d messages, want 2 of 1", requests, messages)
	}
}

func TestBusyPartnerAsksForPatience(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	b := &busy{}
	p := w.hired(t, busyPartner, behaviour{front: b.before})
	b.next(1)
	m := w.built(t, busyPartner, "ISA~")
	o := w.sent(t, busyPartner, m)
	if o.Status != http.StatusServiceUnavailable || !o.HasRetry || o.RetryAfter != time.Second {
		t.Errorf("outcome: %+v, want 503 with Retry-After 1", o)
	}
	if n := len(p.record.list()); n != 0 {
		t.Errorf("%d documents were booked by a partner that was too busy", n)
	}
	if class, _ := judged(w.sent(t, busyPartner, m)); class != retry.Success {
		t.Errorf("second time: class %s, want success", class)
	}
}

func TestPartnerThatIsDownRefusesConnections(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	p := w.hired(t, downPartner, behaviour{})
	p.close()
	m := w.built(t, downPartner, "ISA~")
	if o := w.sent(t, downPartner, m); o.Cause != fault.CauseRefused {
		t.Errorf("cause %q, want refused", o.Cause)
	}
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	if class, _ := judged(w.sent(t, downPartner, m)); class != retry.Success {
		t.Errorf("after it came back: class %s, want success", class)
	}
}

func TestPartnerThatPinsTheNextCertificate(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	p := w.hired(t, signaturePartner, behaviour{pinsNext: true})
	m := w.built(t, signaturePartner, "ISA~")
	if class, reason := judged(w.sent(t, signaturePartner, m)); class != retry.Permanent || reason != fault.ReasonSignature {
		t.Errorf("%s, letter %s; want permanent, signature", class, reason)
	}
	a := m.agreement
	a.SigningKey, a.SigningCertificate = w.keys.next.key, w.keys.next.cert
	if class, _ := judged(w.sent(t, signaturePartner, builtBy(t, a, "ISA~"))); class != retry.Success {
		t.Errorf("signed with the next key: class %s, want success", class)
	}
	if n := len(p.record.list()); n != 1 {
		t.Errorf("%d documents booked, want 1", n)
	}
}

func TestSilentPartnerBooksAndNeverAnswers(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	p := w.hired(t, silentPartner, behaviour{front: silent})
	m := w.built(t, silentPartner, "ISA~")
	o := w.sent(t, silentPartner, m)
	if class, _ := judged(o); class != retry.Unknown || o.Cause != fault.CauseTimeout {
		t.Errorf("class %s, cause %s; want unknown, timeout", class, o.Cause)
	}
	if n := len(p.record.list()); n != 1 {
		t.Errorf("%d documents booked, want 1", n)
	}
}

func TestWrongMICIsSignedWell(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	p := w.hired(t, micPartner, behaviour{answer: wrongMIC})
	m := w.built(t, micPartner, "ISA~")
	o := w.sent(t, micPartner, m)
	if o.Ack == nil || o.Ack.Verdict != fault.AckMICMismatch {
		t.Fatalf("acknowledgement: %+v, want a MIC mismatch", o.Ack)
	}
	if _, reason := judged(o); reason != fault.ReasonReceiptInvalid {
		t.Errorf("letter %s, want receipt-invalid", reason)
	}
	if n := len(p.record.list()); n != 1 {
		t.Errorf("%d documents booked, want 1", n)
	}
}

// TestLateReceiptWaitsForTheGate: the receipt comes by itself, with the token,
// not before it is released.
func TestLateReceiptWaitsForTheGate(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	posted := make(chan *http.Request, 2)
	ours := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { posted <- r }))
	defer ours.Close()
	g := newGate(0)
	g.hold()
	p := w.hired(t, latePartner, behaviour{receipts: g})
	p.agreement.Receive.ReceiptURLs = []string{ours.URL}
	a, err := w.settings.Agreement(latePartner, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a.MDN.URL = ours.URL + "/as2"
	m := builtBy(t, a, "ISA~")
	for range 2 { // a repeat owes no second receipt
		o := w.sent(t, latePartner, m)
		o.AckAsked = fault.AckAsync
		if class, _ := judged(o); class != retry.Accepted {
			t.Errorf("class %s, want accepted", class)
		}
	}
	select {
	case <-posted:
		t.Fatal("a receipt came before the gate was opened")
	default:
	}
	g.release()
	r := <-posted
	if want := m.rendition.Token; want == "" || r.URL.RawQuery == "" {
		t.Errorf("posted to %s, token %q", r.URL, want)
	}
	p.retire()
	if len(posted) != 0 {
		t.Error("a second receipt was posted")
	}
}

// TestReceiptsThatNobodyReleasesAreDropped: retire does not wait for ever.
func TestReceiptsThatNobodyReleasesAreDropped(t *testing.T) {
	t.Parallel()
	g := newGate(0)
	g.hold()
	went := make(chan bool)
	go func() { went <- g.wait() }()
	g.drop()
	if <-went {
		t.Error("a receipt went out of a gate that was dropped")
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	t.Parallel()
	p := &scripted{}
	p.agreement.From, p.agreement.To = "NORTHWIND", "ACME-AS2"
	got := map[string]bool{}
	for _, from := range []string{"ACME-AS2", "NORTHWIND", "SOMEBODY"} {
		_, _, got[from] = p.ByNames(from, "NORTHWIND")
	}
	if diff := cmp.Diff(map[string]bool{"ACME-AS2": true, "NORTHWIND": false, "SOMEBODY": false}, got); diff != "" {
		t.Error(diff)
	}
}
