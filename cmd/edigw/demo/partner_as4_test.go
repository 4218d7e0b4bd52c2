package demo

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/retry"
)

// hiredAS4 opens the scripted partner that speaks AS4.
func (w world) hiredAS4(t *testing.T) *scriptedAS4 {
	t.Helper()
	p, err := newScriptedAS4(w.settings, as4Partner, w.keys, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.retire)
	return p
}

// wireAS4 is a built message.
type wireAS4 struct {
	pmode     as4.PMode
	rendition as4.Rendition
	bytes     []byte
}

// builtAS4 makes a message as the gateway would.
func (w world) builtAS4(t *testing.T, content string) (m wireAS4) {
	t.Helper()
	var err error
	if m.pmode, err = w.settings.PMode(as4Partner, time.Now()); err != nil {
		t.Fatal(err)
	}
	d := as4.Document{MessageID: rand.Text() + "@edi.acme.example", Timestamp: time.Now(), Payloads: []as4.Payload{
		{ContentType: "application/edifact", Size: int64(len(content)), Content: strings.NewReader(content)},
	}}
	var body bytes.Buffer
	if m.rendition, err = as4.Build(&body, m.pmode, d, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	m.bytes = body.Bytes()
	return m
}

// sentAS4 sends a message once and gives what came of it, with the signal.
func (w world) sentAS4(t *testing.T, m wireAS4) (fault.Outcome, as4.Signal) {
	t.Helper()
	settings, err := w.settings.Transport(as4Partner, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	client, err := exchange.NewClient(settings)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.bytes)), nil }
	reply, o := as4.Send(t.Context(), client, m.pmode, m.rendition, open, exchange.Limits{Response: time.Minute})
	return as4.Interpret(o, reply, []as4.Rendition{m.rendition}, m.pmode, time.Now())
}

// TestAS4PartnerTakesADocumentOnce: the receipt of the first time comes back when
// the same message comes again after the line was cut (AS4 §3.2).
func TestAS4PartnerTakesADocumentOnce(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	p := w.hiredAS4(t)
	m := w.builtAS4(t, "UNA~")
	p.cut.next(1)
	o, _ := w.sentAS4(t, m)
	if class, _ := judged(o); class != retry.Unknown {
		t.Errorf("the line was cut: class %s, want unknown", class)
	}
	receipts := map[string]bool{}
	for range 2 {
		o, signal := w.sentAS4(t, m)
		if class, _ := judged(o); class != retry.Success {
			t.Errorf("class %s, want success", class)
		}
		receipts[signal.MessageID] = true
	}
	if len(receipts) != 1 {
		t.Errorf("receipts: %v, want the one of the first time", receipts)
	}
	effects := p.list()
	if len(effects) != 1 || effects[0].MessageID != m.rendition.MessageID {
		t.Errorf("effects: %v, want %s alone", effects, m.rendition.MessageID)
	}
	if n, _ := p.requests(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// TestAS4PartnerWithAnOldAgreement: it answers with a signed ebMS error, books
// nothing, and takes the same message once its settings are mended.
func TestAS4PartnerWithAnOldAgreement(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	p := w.hiredAS4(t)
	m := w.builtAS4(t, "UNA~")
	p.outdated.Store(true)
	o, _ := w.sentAS4(t, m)
	if class, reason := judged(o); class != retry.Permanent || reason != fault.ReasonRejected {
		t.Errorf("%s, letter %s; want permanent, rejected", class, reason)
	}
	if o.Ack == nil || o.Ack.EBMS != "EBMS:0010" || !strings.Contains(o.Ack.Detail, formerAgreement) {
		t.Errorf("acknowledgement: %+v, want EBMS:0010 with the agreement before", o.Ack)
	}
	if n := len(p.list()); n != 0 {
		t.Errorf("%d documents were booked by a partner that refused them", n)
	}
	p.outdated.Store(false)
	o, _ = w.sentAS4(t, m)
	if class, _ := judged(o); class != retry.Success {
		t.Errorf("with the agreement: class %s, want success", class)
	}
}

func TestAS4StrangersAreTurnedAway(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	p := w.hiredAS4(t)
	us, them := p.pmode.To, p.pmode.From
	somebody := ebms.Party{IDs: []ebms.PartyID{{Value: "urn:example:somebody"}}}
	for _, c := range []struct {
		from, to ebms.Party
		known    bool
	}{{us, them, true}, {somebody, them, false}, {us, somebody, false}, {them, us, false}} {
		_, _, err := p.ByMessage(&ebms.UserMessage{From: c.from, To: c.to})
		if known := !errors.Is(err, as4.ErrNoPMode); known != c.known {
			t.Errorf("from %v to %v: known %v, want %v", c.from.IDs, c.to.IDs, known, c.known)
		}
	}
}
