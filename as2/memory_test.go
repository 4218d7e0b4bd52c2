package as2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// memory is an inbox, a list of partners and a place for receipts in one.
type memory struct {
	agreement Agreement
	fail      bool

	mu       sync.Mutex
	received []Received
	payloads [][]byte
	wires    [][]byte
	roots    [][]byte
	answers  map[string]*Answer
	sums     map[string]string // of the wire bytes that were accepted
	acks     []Ack
}

func (m *memory) ByNames(from, to string) (Agreement, string, bool) {
	return m.agreement, "p1", from == m.agreement.To && to == m.agreement.From
}

func (m *memory) Receive(_ context.Context, r Received) (*Answer, bool, error) {
	if m.fail {
		return nil, false, errors.New("disk full")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := r.From + "\x00" + r.To + "\x00" + r.MessageID
	if stored, ok := m.answers[key]; ok && (r.Accepted || m.sums[key] == r.WireSHA256) {
		return stored, true, nil
	}
	var payload []byte
	if r.Payload != nil {
		var err error
		if payload, err = io.ReadAll(r.Payload); err != nil {
			return nil, false, err
		}
	}
	var root []byte
	if r.Root != nil {
		var err error
		if root, err = io.ReadAll(r.Root); err != nil {
			return nil, false, err
		}
	}
	m.roots = append(m.roots, root)
	wire, err := io.ReadAll(r.Wire)
	if err != nil {
		return nil, false, err
	}
	m.received, m.payloads, m.wires = append(m.received, r), append(m.payloads, payload), append(m.wires, wire)
	if r.Accepted {
		if m.answers == nil {
			m.answers, m.sums = map[string]*Answer{}, map[string]string{}
		}
		m.answers[key], m.sums[key] = r.Answer, r.WireSHA256
	}
	return nil, false, nil
}

func (m *memory) Acknowledge(_ context.Context, a Ack) error {
	if m.fail {
		return errors.New("disk full")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acks = append(m.acks, a)
	return nil
}

// last is the message received last.
func (m *memory) last(t *testing.T) (Received, []byte) {
	t.Helper()
	if len(m.received) == 0 {
		t.Fatal("nothing was received")
	}
	n := len(m.received) - 1
	return m.received[n], m.payloads[n]
}

func testHandler(t testing.TB, m *memory) *Handler {
	t.Helper()
	h, err := NewHandler(Options{
		Partners: m, Inbox: m, Acks: m, Scratch: t.TempDir(), Domain: "edi.northwind.example",
		Now: func() time.Time { return testNow }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// serve has a handler answer a request.
func serve(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	res := w.Result()
	for name, values := range res.Header { // as they would arrive
		if canonical := http.CanonicalHeaderKey(name); canonical != name {
			delete(res.Header, name)
			res.Header[canonical] = values
		}
	}
	return res
}

func readBody(t *testing.T, res *http.Response) []byte {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dispositionOf reads the disposition out of an MDN that a handler answered.
func dispositionOf(t *testing.T, res *http.Response) (MDN, string) {
	t.Helper()
	body := readBody(t, res)
	m, ok := ParseMDN(res.Header, body)
	if !ok && m.Disposition.Type == "" {
		t.Fatalf("status %d, no MDN: %.200q", res.StatusCode, bytes.TrimSpace(body))
	}
	return m, m.Disposition.State()
}

// discard is an inbox that reads the document and keeps nothing.
type discard struct{}

func (discard) Receive(_ context.Context, r Received) (*Answer, bool, error) {
	if r.Payload == nil {
		return nil, false, nil
	}
	_, err := io.Copy(io.Discard, r.Payload)
	return nil, false, err
}
