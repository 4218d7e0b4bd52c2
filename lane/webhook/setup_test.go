package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edigw/as2"
	"edigw/breaker"
	"edigw/dlq"
	"edigw/fault"
	"edigw/inbox"
	"edigw/internal/exchange"
	"edigw/internal/testpki"
	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
	"edigw/store/storetest"
)

const (
	secret = "whsec_dGVzdCBtYXRlcmlhbCwgbm90IGEgc2VjcmV0IQ==" // generated for tests
	key    = "test material, not a secret!"
	order  = "ISA*00*          *00*          *ZZ*NORTHWIND      *ZZ*ACME           *261201*0900*U*00401*000000001*0*P*>~"
)

// site is a gateway's folder with one partner, northwind, whose documents go to
// a webhook on loopback.
type site struct {
	*testing.T
	dir      string
	store    storetest.Store
	spool    *spool.Spool
	settings atomic.Pointer[partner.Snapshot]
	hook     *receiver
	server   *httptest.Server
	limits   exchange.Limits
	live     *process
	starts   int
}

// process is one life of the gateway, as far as received documents go.
type process struct {
	inbox   *inbox.Inbox
	lanes   *lane.Scheduler
	letters *dlq.Service
	store   *mortal
}

// mortal is a store that a killed process does not reach any more.
type mortal struct {
	storetest.Store
	dead atomic.Bool
}

// Record writes, while the process lives.
func (m *mortal) Record(ctx context.Context, r ...*queue.Result) error {
	if m.dead.Load() {
		return queue.ErrUnavailable
	}
	return m.Store.Record(ctx, r...)
}

// following is the store as lanes and letters have it: see inbox.Inbox.Record.
type following struct {
	*mortal
	p *process
}

// Record writes through the inbox.
func (f following) Record(ctx context.Context, r ...*queue.Result) error {
	return f.p.inbox.Record(ctx, r...)
}

// stores are those that everything must hold with.
var stores = map[string]func(*testing.T) storetest.Store{
	"memory": func(*testing.T) storetest.Store { return storetest.NewMemory() },
	"sqlite": func(t *testing.T) storetest.Store {
		s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	},
}

func newSite(t *testing.T, store storetest.Store) *site {
	t.Helper()
	s := &site{T: t, dir: t.TempDir(), store: store, hook: &receiver{}}
	s.server = httptest.NewServer(s.hook)
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	ours := testpki.SelfSigned(t, testpki.RSA(t, 0), "acme.example", testpki.Valid())
	theirs := testpki.SelfSigned(t, testpki.RSA(t, 1), "northwind.example", testpki.Valid())
	s.write("keys/acme.pem", string(ours.KeyPEM(t))+string(ours.CertPEM()))
	s.write("keys/northwind.pem", string(theirs.CertPEM()))
	s.write("secrets/erp", secret+"\n")
	s.write("edigw.yaml", `identity: {domain: edi.acme.example, as2: ACME-AS2}
keys: [{use: [sign, decrypt], file: keys/acme.pem}]
listen: {partners: {address: "127.0.0.1:0", base_url: "https://edi.acme.example"}}
`)
	s.configure("")
	var err error
	if s.spool, err = spool.Open(filepath.Join(s.dir, "spool"), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.live != nil {
			s.stop()
		}
	})
	return s
}

func (s *site) write(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		s.Fatal(err)
	}
}

// configure writes northwind's file and loads all settings anew; hook is what
// stands in inbox.webhook, empty for the usual, "-" for none.
func (s *site) configure(hook string) {
	s.Helper()
	if hook == "" {
		hook = fmt.Sprintf(`{url: "%s/in?tenant=1", secret_file: ../secrets/erp}`, s.server.URL)
	}
	text := "protocol: as2\nas2: {id: NORTHWIND, url: \"http://127.0.0.1:1/as2\"}\ncertificates: {verify: ../keys/northwind.pem, encrypt: ../keys/northwind.pem}\n"
	if hook != "-" {
		text += "inbox: {webhook: " + hook + "}\n"
	}
	s.write("partners/northwind.yaml", text)
	snapshot, problems, err := partner.Load(filepath.Join(s.dir, "edigw.yaml"), time.Now())
	if err != nil {
		s.Fatal(err, problems)
	}
	if p, ok := snapshot.Partner("northwind"); !ok || p.Misconfigured {
		s.Fatalf("northwind: %v", problems)
	}
	s.settings.Store(snapshot)
}

// Partner meets lane.Partners and dlq.Partners.
func (s *site) Partner(id string) (*partner.Partner, bool) { return s.settings.Load().Partner(id) }

// IDs meets lane.Partners.
func (s *site) IDs() []string { return s.settings.Load().IDs() }

// Identity meets dlq.Partners.
func (s *site) Identity(string) (queue.Identity, bool) { return queue.Identity{}, false }

// lanes is a scheduler as dlq sees it.
type lanes struct{ *lane.Scheduler }

// Breaker meets dlq.Lanes.
func (l lanes) Breaker(key string) breaker.State { return l.LaneView(key).Breaker }

// Acknowledge meets inbox.Acknowledger: nobody acknowledges here.
func (l lanes) Acknowledge(context.Context, string, string) (fault.Outcome, error) {
	return fault.Outcome{}, queue.ErrNotFound
}

// awake begins a life whose lanes do not run yet.
func (s *site) awake() *process {
	s.Helper()
	p := &process{store: &mortal{Store: s.store}}
	log := slog.New(slog.DiscardHandler)
	sender, err := New(Options{Settings: s.settings.Load, Spool: s.spool, Now: time.Now, Limits: s.limits})
	if err != nil {
		s.Fatal(err)
	}
	s.starts++
	p.lanes, err = lane.New(lane.Options{Store: following{p.store, p}, Partners: s, Senders: map[lane.Route]lane.Sender{{Protocol: "as2", Kind: queue.KindWebhook}: sender},
		Incarnation: fmt.Sprint("life-", s.starts), Now: time.Now, Log: log})
	if err != nil {
		s.Fatal(err)
	}
	p.inbox, err = inbox.New(inbox.Options{Store: p.store, Spool: s.spool, Lanes: lanes{p.lanes}, Dir: filepath.Join(s.dir, "inbox"), Now: time.Now, Log: log,
		Wake: p.lanes.Wake, Webhook: func(id string) bool { p, _ := s.Partner(id); return p != nil && p.Webhook != nil }})
	if err != nil {
		s.Fatal(err)
	}
	p.letters, err = dlq.New(dlq.Options{Store: following{p.store, p}, Partners: s, Lanes: lanes{p.lanes}, Judge: sender, Now: time.Now, Log: log})
	if err != nil {
		s.Fatal(err)
	}
	s.live = p
	return p
}

// start begins a life.
func (s *site) start() *process {
	s.Helper()
	p := s.awake()
	if err := errors.Join(p.lanes.Start(s.Context()), p.inbox.Start(s.Context())); err != nil {
		s.Fatal(err)
	}
	return p
}

func (s *site) stop() {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := errors.Join(s.live.lanes.Stop(ctx), s.live.inbox.Stop(ctx)); err != nil {
		s.Error(err)
	}
	s.live = nil
}

// kill ends a life: nothing that it knows is written any more.
func (s *site) kill() {
	s.Helper()
	s.live.store.dead.Store(true)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.live.lanes.Stop(over)
	s.live = nil
}

// receive takes a document from the partner and gives its message.
func (s *site) receive(id, content string, more ...func(*as2.Received)) queue.Message {
	s.Helper()
	sum := sha256.Sum256([]byte(content))
	wire := "wire of " + id
	r := as2.Received{
		Partner: "northwind", From: "NORTHWIND", To: "ACME-AS2", MessageID: "<" + id + "@northwind.example>", Subject: "Order", At: time.Now(), Accepted: true,
		Disposition: as2.Disposition{Mode: "automatic-action/MDN-sent-automatically", Type: "processed"},
		ContentType: "application/edi-x12", FileName: "order.x12", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Payload: strings.NewReader(content),
		Header: http.Header{}, Wire: strings.NewReader(wire), WireSize: int64(len(wire)), WireSHA256: hex.EncodeToString(sum[:]),
	}
	for _, change := range more {
		change(&r)
	}
	if _, _, err := s.live.inbox.Receive(s.Context(), r); err != nil {
		s.Fatal(err)
	}
	all, _, err := s.store.Messages(s.Context(), queue.MessageFilter{Direction: queue.In}, queue.Page{Limit: 1})
	if err != nil || len(all) != 1 {
		s.Fatal(all, err)
	}
	return all[0]
}

// message reads a message as it is now.
func (s *site) message(id string) queue.Message {
	s.Helper()
	m, err := s.store.Message(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// post is the message that carries a received document on.
func (s *site) post(m queue.Message) queue.Message {
	s.Helper()
	builds, err := s.store.Builds(s.Context(), m.ID)
	if err != nil {
		s.Fatal(err)
	}
	record, err := inbox.ReadRecord(builds)
	if err != nil {
		s.Fatal(err)
	}
	return s.message(record.Post)
}

func (s *site) letter(m queue.Message) queue.Letter {
	s.Helper()
	l, err := s.store.Letter(s.Context(), m.Letter)
	if err != nil {
		s.Fatal(err)
	}
	return l
}

// until waits for a condition.
func (s *site) until(what string, ok func() bool) {
	s.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			s.Fatalf("not within a minute: %s", what)
		}
	}
}

// ends waits until a received document and its post have ended so.
func (s *site) ends(m queue.Message, want, posted queue.State) (queue.Message, queue.Message) {
	s.Helper()
	s.until(fmt.Sprintf("%s is %s, its post %s", m.MessageID, want, posted), func() bool {
		return s.message(m.ID).State == want && s.post(m).State == posted
	})
	return s.message(m.ID), s.post(m)
}

// posted is what a webhook got.
type posted struct {
	method, uri string
	length      int64
	header      http.Header
	body        string
}

// receiver is a webhook. It keeps what comes and answers as its script says,
// with 204 after the script's end.
type receiver struct {
	mu     sync.Mutex
	got    []posted
	script []func(http.ResponseWriter, *http.Request)
}

// ServeHTTP keeps what comes.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.got = append(r.got, posted{q.Method, q.RequestURI, q.ContentLength, q.Header, string(body)})
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	if len(r.script) > 0 {
		answer, r.script = r.script[0], r.script[1:]
	}
	r.mu.Unlock()
	answer(w, q)
}

func (r *receiver) play(script ...func(http.ResponseWriter, *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = script
}

func (r *receiver) all() []posted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]posted(nil), r.got...)
}

// status answers with a status and headers.
func status(code int, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, "said by the webhook")
	}
}

// silence answers never.
func silence(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }
