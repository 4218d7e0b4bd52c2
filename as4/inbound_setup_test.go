package as4

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"edigw/as4/ebms"
)

// receiver is an inbox, a list of partners and a place for signals in one, as
// they are behind a handler.
type receiver struct {
	p       PMode
	pullers []Puller
	fail    error // of the disk
	waiting map[string][]Handed

	mu       sync.Mutex
	received []Received
	payloads [][]string // of each, in their order
	wires    [][]byte
	answers  map[string]*Answer
	sums     map[string][]string // of the wire and the payloads of what was accepted
	acks     []Ack
	tested   []string
	now      time.Time
}

// ByMessage knows one partner, by his first PartyId, and holds his messages to
// the collaborations of the P-Mode.
func (m *receiver) ByMessage(u *ebms.UserMessage) (PMode, string, error) {
	if u.From.IDs[0] != m.p.To.IDs[0] || u.To.IDs[0] != m.p.From.IDs[0] {
		return PMode{}, "", ErrNoPMode
	}
	want, r := m.p.Collaboration, m.p.Receive
	switch {
	case r.AnyCollaboration:
	case !sameAgreement(u.Agreement, want.Agreement):
		return m.p, "p1", &MismatchError{Field: "AgreementRef", Got: agreementText(u.Agreement), Want: agreementText(want.Agreement)}
	case u.Service != want.Service:
		return m.p, "p1", &MismatchError{Code: codeValue, Field: "Service", Got: u.Service.Value, Want: want.Service.Value}
	case u.Action != want.Action:
		return m.p, "p1", &MismatchError{Code: codeValue, Field: "Action", Got: u.Action, Want: want.Action}
	}
	return m.p, "p1", nil
}

func sameAgreement(a, b *ebms.AgreementRef) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func agreementText(a *ebms.AgreementRef) string {
	if a == nil {
		return ""
	}
	return `"` + a.Value + `"`
}

func (m *receiver) ByMPC(string) []Puller { return m.pullers }

func (m *receiver) Receive(_ context.Context, r Received) (*Answer, bool, error) {
	if m.fail != nil {
		return nil, false, m.fail
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var sums, payloads []string
	for _, p := range r.Payloads {
		sums = append(sums, p.SHA256)
		for range 2 { // an inbox may read twice
			if _, err := p.Content.Seek(0, io.SeekStart); err != nil {
				return nil, false, err
			}
			b, err := io.ReadAll(p.Content)
			if err != nil {
				return nil, false, err
			}
			payloads = append(payloads[:len(sums)-1], string(b))
		}
	}
	key := r.User.From.IDs[0].Value + "\x00" + r.User.To.IDs[0].Value + "\x00" + r.MessageID
	stored, ok := m.answers[key]
	switch {
	case ok && (m.sums[key][0] == r.WireSHA256 || r.Accepted && slices.Equal(m.sums[key][1:], sums)):
		return stored, true, nil
	case ok && r.Accepted:
		return nil, false, ErrReused
	}
	wire, err := io.ReadAll(r.Wire)
	if err != nil {
		return nil, false, err
	}
	m.received, m.payloads, m.wires = append(m.received, r), append(m.payloads, payloads), append(m.wires, wire)
	if r.Accepted {
		if m.answers == nil {
			m.answers, m.sums = map[string]*Answer{}, map[string][]string{}
		}
		m.answers[key], m.sums[key] = r.Answer, append([]string{r.WireSHA256}, sums...)
	}
	return nil, false, nil
}

func (m *receiver) Acknowledge(_ context.Context, a Ack) error {
	if m.fail != nil {
		return m.fail
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acks = append(m.acks, a)
	return nil
}

func (m *receiver) Pull(_ context.Context, partner, mpc string) (Handed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.waiting[partner+" "+mpc]
	if m.fail != nil {
		return Handed{}, m.fail
	}
	if len(list) == 0 {
		return Handed{}, ErrEmpty
	}
	m.waiting[partner+" "+mpc] = list[1:]
	return list[0], nil
}

// last is the message received last.
func (m *receiver) last(t *testing.T) (Received, []string) {
	t.Helper()
	if len(m.received) == 0 {
		t.Fatal("nothing was received")
	}
	n := len(m.received) - 1
	return m.received[n], m.payloads[n]
}

// errDisk is a fault of ours.
var errDisk = errors.New("disk full")

func receiverHandler(t testing.TB, m *receiver) *Handler {
	t.Helper()
	if m.now.IsZero() {
		m.now = testNow
	}
	h, err := NewHandler(Options{
		Partners: m, Inbox: m, Acks: m, Pulls: m, Scratch: t.TempDir(), Domain: "edi.northwind.example",
		Now: func() time.Time { return m.now }, Log: slog.New(slog.DiscardHandler),
		Tested: func(partner string) { m.tested = append(m.tested, partner) },
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
	return w.Result()
}

func readBody(t testing.TB, res *http.Response) []byte {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
