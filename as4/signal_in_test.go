package as4

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/fault"

	"github.com/beevik/etree"
)

// signalRequest posts a signal of northwind to acme, as a partner who answers
// later does.
func signalRequest(t *testing.T, a *Answer) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://edi.acme.example/as4", bytes.NewReader(a.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", a.ContentType)
	req.Header.Set("Authorization", "Basic c2VjcmV0")
	return req
}

// TestSignalsThatComeByThemselves: a receipt or an error is handed on with the
// message it is about and whatever is needed to judge it; it is answered with
// nothing but that it came, whatever it is about.
func TestSignalsThatComeByThemselves(t *testing.T) {
	t.Parallel()
	r, wire := mustBuild(t, toNorthwind(), orderDocument(payload("text/plain", "", []byte("x"))))
	north := &receiver{p: fromAcme()}
	north.p.Receive.Receipt.Mode = ReceiptAsync
	post(t, receiverHandler(t, north), r, wire)
	owed, _ := north.last(t)
	failure := func(ref, inError string) *Answer {
		a, err := NewError(fromAcme(), "error-1@northwind.example", []ebms.Error{ebms.NewError(codeOther, "no", inError)}, ref, testNow)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for name, tc := range map[string]struct {
		signal *Answer
		about  string
	}{
		"receipt":                       {owed.Answer, r.MessageID},
		"error":                         {failure("some-1@edi.acme.example", ""), "some-1@edi.acme.example"},
		"error that names it in itself": {failure("", "some-1@edi.acme.example"), "some-1@edi.acme.example"},
		"id in angle brackets":          {failure("<some-1@edi.acme.example>", ""), "some-1@edi.acme.example"},
		"error that names nothing":      {failure("", ""), ""},
		"a bare fault":                  {NewFault(&ebms.Fault{Code: ebms.Receiver, Reason: "no"}), ""},
		"a receipt that is no good":     {&Answer{ContentType: envelopeType, Body: bytes.Replace(owed.Answer.Body, []byte("<eb:Timestamp>"), []byte("<eb:Timestamp>x"), 1)}, r.MessageID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, log := &receiver{p: toNorthwind()}, &lines{}
			h := receiverHandler(t, m)
			h.o.Log = slog.New(log)
			res := serve(h, signalRequest(t, tc.signal))
			if body := readBody(t, res); res.StatusCode != http.StatusAccepted || len(body) != 0 {
				t.Errorf("status %d: %s", res.StatusCode, body)
			}
			if tc.about == "" {
				if len(m.acks) != 0 || len(log.text) != 1 {
					t.Errorf("%d handed on, logged %q", len(m.acks), log.text)
				}
				return
			}
			if len(m.acks) != 1 || m.acks[0].MessageID != tc.about || !bytes.Equal(m.acks[0].Body, tc.signal.Body) || m.acks[0].Header.Get("Authorization") != "" {
				t.Fatalf("handed on %+v", m.acks)
			}
			if ack, signal := VerifySignal(m.acks[0].Header, m.acks[0].Body, []Rendition{r}, toNorthwind(), testNow); name == "receipt" && ack.Verdict != fault.AckTrusted {
				t.Errorf("verdict %q: %s", ack.Verdict, signal.Problem)
			}
		})
	}
	t.Run("it cannot be kept", func(t *testing.T) {
		t.Parallel()
		m := &receiver{p: toNorthwind(), fail: errDisk}
		if res := serve(receiverHandler(t, m), signalRequest(t, owed.Answer)); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("status %d", res.StatusCode)
		}
	})
	t.Run("it is too large", func(t *testing.T) {
		t.Parallel()
		m, big := &receiver{p: toNorthwind()}, *owed.Answer
		big.Body = append(slices.Clone(big.Body), bytes.Repeat([]byte(" "), maxSignal)...)
		if res := serve(receiverHandler(t, m), signalRequest(t, &big)); res.StatusCode != http.StatusRequestEntityTooLarge || len(m.acks) != 0 {
			t.Errorf("status %d, %d handed on", res.StatusCode, len(m.acks))
		}
	})
}

// TestBundledSignals: a message and a receipt in one envelope are both taken,
// also where the message is too large to be kept with the receipt.
func TestBundledSignals(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "large": 2 << 20} {
		c := craft(plainPart("a@x", "application/octet-stream", strings.Repeat("x", size)))
		signal := &ebms.SignalMessage{
			MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: "error-1@edi.acme.example", RefToMessageID: "invoice-1@edi.northwind.example"},
			Errors:      []ebms.Error{ebms.NewError(codeOther, "no", "")},
		}
		c.signals = []*etree.Element{signal.Element()}
		m := &receiver{p: fromAcmePlain()}
		if answer, e := answered(t, serve(receiverHandler(t, m), c.request(t))); answer != "receipt" || len(m.received) != 1 {
			t.Errorf("%s: answered %s: %s", name, answer, e.Detail)
		}
		if len(m.acks) != 1 || m.acks[0].MessageID != signal.RefToMessageID || len(m.acks[0].Body) > maxSignal {
			t.Fatalf("%s: handed on %d", name, len(m.acks))
		}
		if ack, _ := VerifySignal(m.acks[0].Header, m.acks[0].Body, []Rendition{{MessageID: signal.RefToMessageID}}, PMode{}, testNow); ack.EBMS != codeOther {
			t.Errorf("%s: read as %+v", name, ack)
		}
	}
}

// TestSignalBesideALargeEnvelope: a signal that cannot be kept with an envelope of
// more than a signal may have does not keep the message beside it from being taken,
// and a large envelope is counted once.
func TestSignalBesideALargeEnvelope(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ size, acks int }{
		"kept": {maxSignal - 64<<10, 1}, "too large": {maxSignal + 64<<10, 0},
	} {
		c := craft(plainPart("more@edi.acme.example", "application/octet-stream", strings.Repeat("x", maxSignal)))
		c.body = "<Order>" + strings.Repeat("x", tc.size) + "</Order>"
		c.user.Parts = []ebms.PartInfo{{}}
		c.signals = []*etree.Element{(&ebms.SignalMessage{
			MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: "error-1@edi.acme.example", RefToMessageID: "some-1@edi.northwind.example"},
			Errors:      []ebms.Error{ebms.NewError(codeOther, "no", "")},
		}).Element()}
		m := &receiver{p: fromAcmePlain()}
		h := receiverHandler(t, m)
		h.envelopes.limit = 3 << 20 // an address has half of it
		if answer, e := answered(t, serve(h, c.request(t))); answer != "receipt" || len(m.acks) != tc.acks {
			t.Errorf("%s: answered %s: %s; %d signals kept", name, answer, e.Detail, len(m.acks))
		}
	}
}
