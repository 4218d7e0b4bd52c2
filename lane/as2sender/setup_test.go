package as2sender

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/edi"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/lane/wire/wiretest"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/spool"
)

// house is a gateway's folder with one partner, northwind, which is an
// as2.Handler on loopback.
type house struct {
	t        *testing.T
	dir      string
	spool    *spool.Spool
	settings atomic.Pointer[partner.Snapshot]
	sender   *Sender
	ours     testpki.Identity
	theirs   testpki.Identity
	partner  *northwind
	server   *httptest.Server

	mu       sync.Mutex
	clock    time.Time
	builds   []queue.Build
	attempts []queue.Attempt
}

// newHouse makes one; lines are more keys of northwind's section as2.
func newHouse(t *testing.T, lines ...string) *house {
	t.Helper()
	h := &house{
		t: t, dir: t.TempDir(), clock: time.Now(),
		ours:   testpki.SelfSigned(t, testpki.RSA(t, 0), "acme.example", testpki.Valid()),
		theirs: testpki.SelfSigned(t, testpki.RSA(t, 1), "northwind.example", testpki.Valid()),
	}
	h.partner = newNorthwind(t, h)
	h.server = httptest.NewServer(h.partner)
	t.Cleanup(h.server.Close)
	h.write("keys/acme.pem", string(h.ours.KeyPEM(t))+string(h.ours.CertPEM()))
	h.write("keys/northwind.pem", string(h.theirs.CertPEM()))
	h.write("secrets/northwind", "s3cret-passw0rd")
	h.write("edigw.yaml", `identity: {domain: edi.acme.example, as2: ACME-AS2}
keys: [{use: [sign, decrypt], file: keys/acme.pem}]
listen: {partners: {address: "127.0.0.1:0", base_url: "https://edi.acme.example"}}
`)
	h.configure(lines...)
	var err error
	if h.spool, err = spool.Open(filepath.Join(h.dir, "spool"), nil); err != nil {
		t.Fatal(err)
	}
	h.sender = New(Options{Settings: h.settings.Load, Spool: h.spool, Builds: h, Now: h.now, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if c, _, err := h.sender.desk.Client(h.settings.Load(), "northwind"); err == nil {
			c.CloseIdleConnections()
		}
	})
	return h
}

func (h *house) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

// configure writes northwind's file and loads all settings anew.
func (h *house) configure(lines ...string) {
	h.t.Helper()
	text := "protocol: as2\nauth: {basic: {user: acme, password_file: ../secrets/northwind}}\nas2:\n  id: NORTHWIND\n  url: " + h.server.URL + "/as2\n"
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	h.write("partners/northwind.yaml", text+"certificates: {verify: ../keys/northwind.pem, encrypt: ../keys/northwind.pem}\n")
	h.load()
}

func (h *house) load() {
	h.t.Helper()
	s, problems, err := partner.Load(filepath.Join(h.dir, "edigw.yaml"), h.now())
	if err != nil {
		h.t.Fatal(err, problems)
	}
	if p, ok := s.Partner("northwind"); !ok || p.Misconfigured {
		h.t.Fatalf("northwind: %v", problems)
	}
	h.settings.Store(s)
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock
}

// Builds implements Builds.
func (h *house) Builds(context.Context, string) ([]queue.Build, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.builds), nil
}

// accept puts a document into the spool and gives its message.
func (h *house) accept(content []byte) queue.Message {
	h.t.Helper()
	name, size := wiretest.Put(h.t, h.spool, spool.Payload, content)
	return queue.Message{
		ID: "01jdocument", Partner: "northwind", Direction: queue.Out, Protocol: "as2", Key: "INV-20931", MessageID: "<01jdocument@edi.acme.example>",
		Payload:  queue.Payload{SHA256: name, Size: size, FileName: "invoice.edi", ContentType: "application/edi-x12"},
		Business: queue.Business{References: []edi.Reference{{Name: "interchange", Value: "000000001"}, {Name: "invoice", Value: "20931"}}},
		State:    queue.Sending, Accepted: h.now(),
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

// attempt makes one exchange, and notes it as the lane does.
func (h *house) attempt(m queue.Message) (fault.Outcome, string) {
	h.t.Helper()
	b, _ := h.prepare(m)
	o, raw := h.sender.Exchange(h.t.Context(), m, b)
	class := retry.Unknown
	if o.Ack != nil && o.Ack.Verdict == fault.AckTrusted && o.Ack.Positive {
		class = retry.Success
	}
	h.note(queue.Attempt{Build: b.N, Phase: o.Phase, Cause: o.Cause, Class: class, Status: o.Status, Detail: o.Detail, Ack: o.Ack, Raw: raw})
	return o, raw
}

func (h *house) note(a queue.Attempt) {
	a.Message, a.N, a.Started, a.Duration = "01jdocument", len(h.attempts)+1, h.now(), time.Second
	h.attempts = append(h.attempts, a)
}

// keep puts a receipt into the spool as it is kept.
func (h *house) keep(r as2.Receipt) string {
	h.t.Helper()
	raw, err := h.sender.desk.Keep(r.Write)
	if err != nil {
		h.t.Fatal(err)
	}
	return raw
}

// northwind is the partner. It takes anything, and answers a repeat as the
// first time.
type northwind struct {
	*as2.Handler
	house *house
	page  string // answered instead, if not empty

	mu       sync.Mutex
	wires    []string // SHA-256 of each request's body
	payloads [][]byte
	answers  map[string]*as2.Answer
	owed     []*as2.Answer
}

func newNorthwind(t *testing.T, h *house) *northwind {
	t.Helper()
	n := &northwind{house: h, answers: map[string]*as2.Answer{}}
	var err error
	n.Handler, err = as2.NewHandler(as2.Options{
		Partners: n, Inbox: n, Acks: n, Scratch: t.TempDir(), Domain: "northwind.example", Now: h.now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ServeHTTP notes what came and answers.
func (n *northwind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "broken off", http.StatusBadRequest)
		return
	}
	sum := sha256.Sum256(body)
	n.mu.Lock()
	n.wires = append(n.wires, hex.EncodeToString(sum[:]))
	page := n.page
	n.mu.Unlock()
	if page != "" {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page)
		return
	}
	w.Header().Set("Set-Cookie", "session=c00kie")
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	n.Handler.ServeHTTP(w, r)
}

// ByNames implements as2.Partners.
func (n *northwind) ByNames(from, to string) (as2.Agreement, string, bool) {
	h := n.house
	return as2.Agreement{
		From: "NORTHWIND", To: "ACME-AS2",
		Receive:    as2.Receive{Digest: crypto.SHA1, ReceiptURLs: []string{"https://edi.acme.example/as2"}},
		SigningKey: h.theirs.Key, SigningCertificate: h.theirs.Cert,
		Verify:  []*x509.Certificate{h.ours.Cert},
		Decrypt: []smime.Recipient{recipient(h.theirs)},
	}, "acme", from == "ACME-AS2" && to == "NORTHWIND"
}

// recipient opens with a key of either kind.
func recipient(i testpki.Identity) smime.Recipient {
	r := smime.Recipient{Certificate: i.Cert}
	if curve, ok := i.Key.(*ecdsa.PrivateKey); ok {
		agree, err := curve.ECDH()
		if err != nil {
			panic(err)
		}
		r.Agree = agree
		return r
	}
	r.Key = i.Key.(crypto.Decrypter)
	return r
}

// Receive implements as2.Inbox.
func (n *northwind) Receive(_ context.Context, r as2.Received) (*as2.Answer, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if stored, ok := n.answers[r.MessageID]; ok && r.Accepted {
		return stored, true, nil
	}
	if !r.Accepted {
		n.house.t.Errorf("northwind refuses: %s", r.Problem)
		return nil, false, nil
	}
	payload, err := io.ReadAll(r.Payload)
	if err != nil {
		return nil, false, err
	}
	n.payloads = append(n.payloads, payload)
	n.answers[r.MessageID] = r.Answer
	if r.Answer != nil && r.Answer.URL != "" {
		n.owed = append(n.owed, r.Answer)
	}
	return nil, false, nil
}

// Acknowledge implements as2.Acks: nobody sends northwind a receipt.
func (n *northwind) Acknowledge(context.Context, as2.Ack) error {
	return errors.New("unexpected receipt")
}

// receiptOf is an answer as it would arrive, with the token of its URL.
func receiptOf(a *as2.Answer, token string) as2.Receipt {
	header := http.Header{}
	for _, f := range a.Headers {
		header.Set(f.Name, f.Value)
	}
	return as2.Receipt{Header: header, Body: a.Body, Token: token}
}

func record(t *testing.T, b queue.Build) (r as2.Rendition) {
	t.Helper()
	if err := json.Unmarshal(b.Record, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Reopen implements wiretest.House.
func (h *house) Reopen(c *wiretest.Cabinet) {
	h.t.Helper()
	var err error
	if h.spool, err = spool.Open(filepath.Join(h.dir, "spool"), c); err != nil {
		h.t.Fatal(err)
	}
	h.sender = New(Options{Settings: h.settings.Load, Spool: h.spool, Builds: h, Now: h.now, Log: slog.New(slog.DiscardHandler)})
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
func (h *house) Sent() int { return len(h.partner.wires) }

// Senders implements wiretest.House.
func (h *house) Senders() (documents wiretest.Judge, receipts wiretest.Sender) {
	return h.sender, Receipts{h.sender}
}
