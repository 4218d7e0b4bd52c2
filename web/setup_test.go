package web

import (
	"bytes"
	"context"
	"encoding/json"
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
	"testing"
	"time"

	"edigw/access"
	"edigw/alerts"
	"edigw/breaker"
	"edigw/dlq"
	"edigw/edi"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/storetest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// now is when every test runs.
var now = time.Date(2026, 12, 1, 2, 10, 0, 0, time.UTC)

const northwind = `name: Northwind Retail DE
protocol: as2
owner: {team: EDI DACH, phone: "+49 30 0000"}
as2: {id: NORTHWIND, url: "https://as2.northwind.example/as2", sign: none, encrypt: none, mdn: {mode: none}}
`

const contoso = `protocol: as2
stage: test
as2: {id: CONTOSO, url: "http://as2.contoso.example/as2", sign: none, encrypt: none, mdn: {mode: none}}
`

// bench is an API before real letters and accounts, a store in memory, and
// pretended lanes.
type bench struct {
	local bool // asks over the local socket
	*API
	t        *testing.T
	store    *storetest.MemoryAlerts
	spool    *spool.Spool
	settings *partner.Registry
	lanes    *lanes
	intake   *intake
	log      *lockedBuffer
	metrics  *prometheus.Registry
	handler  http.Handler
	tokens   map[access.Scope]string
	ready    error
	n        int
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, store: storetest.NewMemoryAlerts(), lanes: newLanes(), log: &lockedBuffer{}, metrics: prometheus.NewRegistry(), tokens: map[access.Scope]string{}}
	b.settings = installation(t, map[string]string{"northwind": northwind, "contoso": contoso})
	var err error
	if b.spool, err = spool.Open(t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return now }
	log := slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.intake = &intake{b: b}
	accounts, err := access.New(access.Options{Store: storetest.NewMemoryAccess(b.store.Memory), Now: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	letters, err := dlq.New(dlq.Options{Store: b.store, Partners: settingsNow{b.settings}, Lanes: b.lanes, Judge: b.lanes, Now: clock, Log: log, Contents: contents{b.spool}})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Access: accounts, Intake: b.intake, Ledger: b.store, Letters: letters, Lanes: b.lanes, Operator: b.lanes, Alerts: b.store, Spool: b.spool, Evidence: &prover{},
		Settings: b.settings.Current, Metrics: b.metrics, Received: b.lanes, Now: clock, Log: log, Acknowledger: b.lanes, Importer: b.lanes, Backup: b.lanes.Backup, Version: "test",
		Ready: func(context.Context) error { return b.ready },
		Reload: func(context.Context, fault.Actor) (partner.Change, []partner.Problem, error) {
			c, p := b.settings.Reload()
			return c, p, nil
		},
	}
	for _, f := range change {
		f(&o)
	}
	if b.API, err = New(o); err != nil {
		t.Fatal(err)
	}
	b.handler = b.Handler()
	for _, s := range access.Scopes {
		if b.tokens[s], _, err = accounts.NewToken(t.Context(), "only-"+string(s), []access.Scope{s}, fault.Actor{Name: "kim"}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// installation is a folder with settings.
func installation(t *testing.T, partners map[string]string) *partner.Registry {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "partners"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"edigw.yaml": "identity: {domain: edi.acme.example, as2: ACME-AS2}\n"}
	for id, text := range partners {
		files["partners/"+id+".yaml"] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, problems, err := partner.Open(filepath.Join(dir, "edigw.yaml"), func() time.Time { return now })
	if err != nil {
		t.Fatal(err, problems)
	}
	return r
}

// settingsNow meets dlq.Partners.
type settingsNow struct{ *partner.Registry }

func (s settingsNow) Partner(id string) (*partner.Partner, bool) { return s.Current().Partner(id) }

func (s settingsNow) Identity(id string) (queue.Identity, bool) {
	return queue.Identity{From: "ACME-AS2", To: id, Domain: "edi.acme.example", Brackets: true}, true
}

// lanes are pretended: they note what was asked of them.
type lanes struct {
	mu      sync.Mutex
	view    map[string]queue.LaneView
	show    map[string]queue.Shown // by message
	done    []string
	outcome fault.Outcome
	fail    error
	imports []Import
	acks    map[string]bool
	inbound map[string]Inbound // by message
}

func newLanes() *lanes {
	return &lanes{view: map[string]queue.LaneView{}, show: map[string]queue.Shown{}, acks: map[string]bool{}}
}

func (l *lanes) View(id string) queue.LaneView {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v, ok := l.view[id]; ok {
		return v
	}
	return queue.LaneView{Partner: id, Lane: id, State: queue.LaneSending}
}

func (l *lanes) Overlay(m queue.Message, position int) queue.Shown {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.show[m.ID]; ok {
		return s
	}
	if position > 0 {
		return queue.Shown{State: queue.Waiting, Why: queue.WhyOrder}
	}
	return queue.Shown{State: m.State, Why: m.Why, Next: m.NextAt}
}

func (l *lanes) note(format string, args ...any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, fmt.Sprintf(format, args...))
	return l.fail
}

func (l *lanes) StopLane(_ context.Context, id string, by fault.Actor, reason string, until time.Time) error {
	return l.note("stop %s by %s: %s until %s", id, by.Name, reason, until.Format(time.RFC3339))
}

func (l *lanes) StartLane(_ context.Context, id string, by fault.Actor) error {
	return l.note("start %s by %s", id, by.Name)
}

func (l *lanes) Trip(_ context.Context, id string, by fault.Actor) error {
	return l.note("trip %s by %s", id, by.Name)
}

func (l *lanes) Reset(_ context.Context, id string, by fault.Actor) error {
	return l.note("reset %s by %s", id, by.Name)
}

func (l *lanes) Test(_ context.Context, id string, by fault.Actor) (fault.Outcome, error) {
	return l.outcome, l.note("test %s by %s", id, by.Name)
}

func (l *lanes) Import(_ context.Context, i Import) ([]partner.CertificateInfo, error) {
	l.imports = append(l.imports, i)
	return nil, l.fail
}

func (l *lanes) Acknowledge(_ context.Context, id string, by fault.Actor, note string) error {
	if l.acks[id] {
		return queue.ErrConflict
	}
	l.acks[id] = true
	return l.note("acknowledge %s by %s: %s", id, by.Name, note)
}

func (l *lanes) Backup(_ context.Context, file string) error { return l.note("backup %s", file) }

// As package dlq sees lanes.
func (l *lanes) Breaker(lane string) breaker.State { return l.View(lane).Breaker }

func (l *lanes) Running(string, string) bool { return false }

func (l *lanes) UseAsTest(_ context.Context, id string, by fault.Actor) error {
	return l.note("use %s as test by %s", id, by.Name)
}

func (l *lanes) Wake(string) {}

func (l *lanes) LettersChanged(string) {}

// Judge finds every stored receipt good.
func (l *lanes) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return fault.Outcome{Phase: fault.PhaseDone, Protocol: true, AckAsked: fault.AckSync, Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Token: true}}
}

// intake is the way in: a digest by chance, and the rules of queue.Admit.
type intake struct {
	derived string // key of every document for which none is given
	b       *bench
	got     []Document
	refuse  error
}

func (i *intake) Accept(ctx context.Context, d Document, body io.Reader) (Accepted, error) {
	if i.refuse != nil {
		return Accepted{}, i.refuse
	}
	i.got = append(i.got, d)
	w, err := i.b.spool.Create(spool.Payload, 0)
	if err != nil {
		return Accepted{}, err
	}
	defer w.Abort()
	if _, err := io.Copy(w, body); err != nil {
		return Accepted{}, err
	}
	name, size, err := w.Commit()
	if err != nil {
		return Accepted{}, err
	}
	i.b.n++
	key := d.Key
	if key == "" {
		if key = i.derived; key == "" {
			key = name
		}
	}
	ad, err := i.b.store.Accept(ctx, queue.Arrival{
		Message: queue.Message{
			ID: fmt.Sprintf("m%06d", i.b.n), Partner: d.Partner, Lane: d.Partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2",
			Key: key, KeyGiven: d.Key != "", CorrelationID: d.CorrelationID, Actor: d.Actor, Source: d.Source, DeliverBy: d.DeliverBy, DeadlineGiven: !d.DeliverBy.IsZero(),
			Properties: d.Properties,
			Payload:    queue.Payload{SHA256: name, Size: size, FileName: d.FileName, ContentType: d.ContentType},
			Business:   queue.Business{Kind: edi.X12, Type: "810", References: []edi.Reference{{Name: "invoice", Value: "INV-" + key}}},
		},
		Identity: queue.Identity{From: "ACME-AS2", To: d.Partner, Domain: "edi.acme.example", Brackets: true},
		Now:      now, LetterID: fmt.Sprintf("l%06d", i.b.n),
	})
	if ad.Outcome == queue.AdmitReused {
		return Accepted{}, &Problem{Slug: KeyReused, Field: "Idempotency-Key", Detail: "The key belongs to another document."}
	}
	return Accepted{ad.Message, ad.Outcome, ad.Supersedes}, err
}

// accept queues a document.
func (b *bench) accept(id, content string) queue.Message {
	b.t.Helper()
	got, err := b.intake.Accept(b.t.Context(), Document{Partner: id, FileName: "invoice.edi", Source: "api", Actor: fault.Actor{Name: "erp"}, Size: -1}, strings.NewReader(content))
	if err != nil {
		b.t.Fatal(err)
	}
	return got.Message
}

// step applies a trigger to a message.
func (b *bench) step(m queue.Message, in queue.Input) queue.Message {
	b.t.Helper()
	in.At = now
	if m.Letter != "" {
		l, err := b.store.Letter(b.t.Context(), m.Letter)
		if err != nil {
			b.t.Fatal(err)
		}
		in.Letter = &l
	}
	res, err := queue.Next(m, in, queue.Rules{})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.store.Record(b.t.Context(), &res); err != nil {
		b.t.Fatal(err)
	}
	return *res.Message
}

// bury makes a new document a letter.
func (b *bench) bury(id, content string) queue.Message {
	b.t.Helper()
	m := b.accept(id, content)
	return b.step(m, queue.Input{Trigger: queue.OnBury, LetterID: "l-" + m.ID, Outage: "OUT-231", Note: "connection refused"})
}

// deliver settles the letter of a new document.
func (b *bench) deliver(id, content string) queue.Message {
	b.t.Helper()
	return b.step(b.bury(id, content), queue.Input{Trigger: queue.OnSettle, Actor: fault.Actor{Name: "kim"}, Note: "Ms Lee by phone"})
}

// incident stores an alert.
func (b *bench) incident(id string) {
	b.t.Helper()
	st, err := b.store.AlertState(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	err = b.store.SaveAlerts(b.t.Context(), &alerts.Step{State: st,
		Incidents: []alerts.Incident{{ID: id, Key: "k" + id, Kind: alerts.KindLetters, Partner: "northwind", Cause: "circuit-open", Severity: alerts.Ticket,
			Stage: alerts.Running, Opened: now, Changed: now, Events: 3, Detail: "3 rejected"}},
		Notifications: []alerts.Notification{{ID: id + ".1.mail", Incident: id, Channel: "mail", Severity: alerts.Ticket, Created: now, NextAt: now, Problem: "refused"}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// as asks with the token of a scope; "" asks without one.
func (b *bench) as(s access.Scope, method, path, body string, headers ...string) answer {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if s != "" {
		r.Header.Set("Authorization", "Bearer "+b.tokens[s])
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	if b.local {
		r = r.WithContext(context.WithValue(r.Context(), keyOfPeer, peer{trusted: true}))
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return answer{b.t, w.Code, w.Result().Header, w.Body.Bytes()}
}

// get asks as an administrator for a path below Base.
func (b *bench) get(path string) answer {
	b.t.Helper()
	return b.as(access.Admin, http.MethodGet, Base+path, "")
}

// post posts as an administrator to a path below Base.
func (b *bench) post(path, body string) answer {
	b.t.Helper()
	return b.as(access.Admin, http.MethodPost, Base+path, body)
}

// want fails unless the status is this one.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// problem fails unless the answer is this problem, whole.
func (a answer) problem(slug Slug) problemView {
	a.t.Helper()
	var p problemView
	a.json(&p)
	f := slugs[slug]
	if a.status != f.status || p.Type != "/problems/"+string(slug) || p.Status != f.status || p.Title != f.title || p.Detail == "" || p.RequestID == "" {
		a.t.Fatalf("status %d, want problem %s: %s", a.status, slug, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("a problem of type %q", got)
	}
	if a.header.Get("X-Request-Id") != p.RequestID {
		a.t.Errorf("request id %q in the header, %q in the problem", a.header.Get("X-Request-Id"), p.RequestID)
	}
	return p
}

func (a answer) json(v any) answer {
	a.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	return a
}

// ids are those of the items of a list.
func (a answer) ids() (ids []string, next string) {
	a.t.Helper()
	var l list[struct {
		ID string `json:"id"`
	}]
	a.want(http.StatusOK).json(&l)
	for _, i := range l.Items {
		ids = append(ids, i.ID)
	}
	return ids, l.Next
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: -want +got\n%s", what, d)
	}
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var errBroken = errors.New("the disk is broken at /secret/place")

func (l *lanes) Process(_ context.Context, message string, _ fault.Actor, note string) error {
	return l.note("process %s %s", message, note)
}

func (l *lanes) Processing(context.Context, string) (Processing, error) { return Processing{}, nil }
