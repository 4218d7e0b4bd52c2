package as4sender

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/scratch"
	"edigw/internal/testpki"
	"edigw/lane/wire/wiretest"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
)

// side is one of two gateways, acme and northwind: its settings, its receiver on
// loopback, and what came in.
type side struct {
	t        *testing.T
	name     string
	other    *side
	dir      string
	identity testpki.Identity
	settings atomic.Pointer[partner.Snapshot]
	handler  *as4.Handler
	server   *httptest.Server
	now      func() time.Time

	mu       sync.Mutex
	page     http.HandlerFunc // answers instead, if not nil
	wires    []string         // SHA-256 of each request's body
	received []as4.Received   // accepted, without their readers
	contents [][]byte         // of their payloads, one after the other
	refused  []string
	answers  map[string]*as4.Answer
	signals  []as4.Ack
	waiting  []as4.Handed // to be pulled from here
	fail     error        // of Receive
	tested   int
}

func newSide(t *testing.T, name string, key int, now func() time.Time) *side {
	t.Helper()
	s := &side{t: t, name: name, dir: t.TempDir(), now: now, answers: map[string]*as4.Answer{},
		identity: testpki.SelfSigned(t, testpki.RSA(t, key), name+".example", testpki.Valid())}
	s.write("keys/own.pem", string(s.identity.KeyPEM(t))+string(s.identity.CertPEM()))
	s.write("edigw.yaml", fmt.Sprintf(`identity: {domain: edi.%s.example, as4: {party: "urn:example:ids:%s"}}
keys: [{use: [sign, decrypt], file: keys/own.pem}]
listen: {partners: {address: "127.0.0.1:0", base_url: "https://edi.%s.example"}}
`, name, name, name))
	var err error
	if s.handler, err = as4.NewHandler(as4.Options{
		Partners: s, Inbox: s, Acks: s, Pulls: s, Scratch: t.TempDir(), Domain: "edi." + name + ".example", Now: now, Log: slog.New(slog.DiscardHandler),
		Tested: func(string) { s.tested++ },
	}); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *side) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

// configure writes the file of the other side and loads all settings anew; lines
// are more keys of its section as4.
func (s *side) configure(lines ...string) {
	s.t.Helper()
	s.write("keys/"+s.other.name+".pem", string(s.other.identity.CertPEM()))
	text := fmt.Sprintf("protocol: as4\nretry: {base: 1s, cap: 10s, jitter: none}\nas4:\n  url: %s/as4\n  to: {party: \"urn:example:ids:%s\"}\n", s.other.server.URL, s.other.name)
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	s.write("partners/"+s.other.name+".yaml", text+fmt.Sprintf("certificates: {verify: ../keys/%s.pem, encrypt: ../keys/%s.pem}\n", s.other.name, s.other.name))
	s.load()
}

func (s *side) load() {
	s.t.Helper()
	loaded, problems, err := partner.Load(filepath.Join(s.dir, "edigw.yaml"), s.now())
	if err != nil {
		s.t.Fatal(err, problems)
	}
	if p, ok := loaded.Partner(s.other.name); !ok || p.Misconfigured {
		s.t.Fatalf("%s: %v", s.other.name, problems)
	}
	s.settings.Store(loaded)
}

// ServeHTTP notes what came and answers.
func (s *side) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "broken off", http.StatusBadRequest)
		return
	}
	sum := sha256.Sum256(body)
	s.mu.Lock()
	s.wires = append(s.wires, hex.EncodeToString(sum[:]))
	page := s.page
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	if page != nil {
		page(w, r)
		return
	}
	s.handler.ServeHTTP(w, r)
}

// ByMessage implements as4.Partners.
func (s *side) ByMessage(u *ebms.UserMessage) (as4.PMode, string, error) {
	return s.settings.Load().ByMessage(u, s.now())
}

// ByMPC implements as4.Partners.
func (s *side) ByMPC(mpc string) []as4.Puller { return s.settings.Load().ByMPC(mpc, s.now()) }

// Receive implements as4.Inbox.
func (s *side) Receive(_ context.Context, r as4.Received) (*as4.Answer, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, false, s.fail
	}
	if stored, ok := s.answers[r.MessageID]; ok && r.Accepted {
		return stored, true, nil
	}
	if !r.Accepted {
		s.refused = append(s.refused, r.Code+" "+r.Problem)
		return nil, false, nil
	}
	for _, p := range r.Payloads {
		content, err := io.ReadAll(p.Content)
		if err != nil {
			return nil, false, err
		}
		s.contents = append(s.contents, content)
	}
	s.answers[r.MessageID] = r.Answer
	s.received = append(s.received, r)
	return nil, false, nil
}

// Acknowledge implements as4.Acks.
func (s *side) Acknowledge(_ context.Context, a as4.Ack) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signals = append(s.signals, a)
	return nil
}

// Pull implements as4.Pulls.
func (s *side) Pull(context.Context, string, string) (as4.Handed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return as4.Handed{}, as4.ErrEmpty
	}
	h := s.waiting[0]
	s.waiting = s.waiting[1:]
	return h, nil
}

// hand puts a message for the other side in line to be pulled.
func (s *side) hand(id string, content []byte) {
	s.t.Helper()
	p, err := s.settings.Load().PMode(s.other.name, s.now())
	if err != nil {
		s.t.Fatal(err)
	}
	var wire bytes.Buffer
	r, err := as4.Build(&wire, p, as4.Document{MessageID: id + "@edi." + s.name + ".example", Timestamp: s.now(),
		Payloads: []as4.Payload{{ContentType: "application/octet-stream", Size: int64(len(content)), Content: bytes.NewReader(content)}}}, nil, s.now())
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, as4.Handed{Rendition: r, Wire: io.NopCloser(&wire), Done: func(error) {}})
}

// house is acme with what sends, and northwind.
type house struct {
	t      *testing.T
	acme   *side
	north  *side
	spool  *spool.Spool
	sender *Sender

	mu       sync.Mutex
	clock    time.Time
	builds   []queue.Build
	arrived  []queue.Build // of messages that came in
	messages map[string]queue.Message
}

// newHouse makes one; lines are more keys of acme's section as4 for northwind.
func newHouse(t *testing.T, lines ...string) *house {
	t.Helper()
	h := &house{t: t, clock: time.Now(), messages: map[string]queue.Message{}}
	h.acme, h.north = newSide(t, "acme", 0, h.now), newSide(t, "northwind", 1, h.now)
	h.acme.other, h.north.other = h.north, h.acme
	h.acme.configure(lines...)
	h.north.configure()
	h.open(nil)
	t.Cleanup(func() {
		if c, _, err := h.sender.desk.Client(h.acme.settings.Load(), "northwind"); err == nil {
			c.CloseIdleConnections()
		}
	})
	return h
}

// Reopen implements wiretest.House.
func (h *house) Reopen(c *wiretest.Cabinet) {
	h.t.Helper()
	h.open(c)
}

// open opens the spool, with small bodies in c, and forgets what was read before.
func (h *house) open(c spool.Small) {
	h.t.Helper()
	var err error
	if h.spool, err = spool.Open(filepath.Join(h.acme.dir, "spool"), c); err != nil {
		h.t.Fatal(err)
	}
	h.sender = New(Options{Product: "edigw/1.4", Settings: h.acme.settings.Load, Spool: h.spool, Rooms: scratch.NewRooms(plenty{}), Scratch: h.t.TempDir(),
		Store: h, Now: h.now, Log: slog.New(slog.DiscardHandler)})
}

// plenty is a disk with room.
type plenty struct{}

func (plenty) Room() (int64, error) { return 1 << 40, nil }

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock
}

// Builds implements Store.
func (h *house) Builds(_ context.Context, id string) ([]queue.Build, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.messages[id]; m.Direction == queue.In {
		return slices.Clone(h.arrived), nil
	}
	return slices.Clone(h.builds), nil
}

// Message implements Store.
func (h *house) Message(_ context.Context, id string) (queue.Message, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, ok := h.messages[id]
	if !ok {
		return m, queue.ErrNotFound
	}
	return m, nil
}

// accept puts a document into the spool and gives its message.
func (h *house) accept(content []byte) queue.Message {
	return h.acceptAs(content, "application/edi-x12", "invoice.edi")
}

func (h *house) acceptAs(content []byte, contentType, name string) queue.Message {
	h.t.Helper()
	sum, size := wiretest.Put(h.t, h.spool, spool.Payload, content)
	return queue.Message{
		ID: "01jdocument", Partner: "northwind", Direction: queue.Out, Protocol: "as4", Key: "INV-20931", MessageID: "01jdocument@edi.acme.example",
		Payload: queue.Payload{SHA256: sum, Size: size, FileName: name, ContentType: contentType},
		State:   queue.Sending, Accepted: h.now(),
	}
}

// prepare takes the build that would be sent now, and keeps a new one.
func (h *house) prepare(m queue.Message) (b queue.Build, fresh bool) {
	h.t.Helper()
	builds, _ := h.Builds(h.t.Context(), m.ID)
	b, fresh, o := h.sender.Prepare(h.t.Context(), m, builds)
	if o != nil {
		h.t.Fatalf("not built: %+v", *o)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if fresh {
		h.builds = append(h.builds, b)
	}
	h.builds[b.N-1].Sent = true // as it is committed before the exchange
	return h.builds[b.N-1], fresh
}

// attempt makes one exchange.
func (h *house) attempt(m queue.Message) (fault.Outcome, string) {
	h.t.Helper()
	b, _ := h.prepare(m)
	return h.sender.Exchange(h.t.Context(), m, b)
}

// keep puts a signal into the spool as it is kept.
func (h *house) keep(header http.Header, body []byte) string {
	h.t.Helper()
	raw, err := h.sender.desk.Keep(as2.Receipt{Header: header, Body: body}.Write)
	if err != nil {
		h.t.Fatal(err)
	}
	return raw
}

// owes puts an answer of acme's in line as the inbox does, and gives its message
// and build.
func (h *house) owes(a *as4.Answer) (queue.Message, queue.Build) {
	h.t.Helper()
	sum, size := wiretest.Put(h.t, h.spool, spool.Wire, a.Body)
	record, err := json.Marshal(a)
	if err != nil {
		h.t.Fatal(err)
	}
	m := queue.Message{ID: "01jreceipt", Partner: "northwind", Kind: queue.KindReceipt, Protocol: "as4", MessageID: a.MessageID}
	return m, queue.Build{Message: m.ID, N: 1, MessageID: a.MessageID, SHA256: sum, Size: size, Record: record}
}

// trusted reports whether an outcome is a receipt that settles the message.
func trusted(o fault.Outcome) bool {
	return o.Ack != nil && o.Ack.Verdict == fault.AckTrusted && o.Ack.Positive
}

func recordOf(t *testing.T, b queue.Build) (r as4.Rendition) {
	t.Helper()
	if err := json.Unmarshal(b.Record, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Deliver implements wiretest.House.
func (h *house) Deliver() (m queue.Message, raw string) {
	m = h.accept(invoice)
	_, raw = h.attempt(m)
	return m, raw
}

// Made implements wiretest.House.
func (h *house) Made() []queue.Build { return h.builds }

// Sent implements wiretest.House.
func (h *house) Sent() int { return len(h.north.wires) }

// Senders implements wiretest.House.
func (h *house) Senders() (documents wiretest.Judge, receipts wiretest.Sender) {
	return h.sender, Receipts{h.sender}
}
