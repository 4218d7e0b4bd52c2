package console

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/alerts"
	"edigw/dlq"
	"edigw/edi"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/spool"
	"edigw/store/storetest"
	"edigw/web"

	"github.com/prometheus/client_golang/prometheus"
)

// start is when every test begins: 02:10 in the zone of northwind and of the
// console is an hour later.
var start = time.Date(2026, 12, 1, 2, 10, 0, 0, time.UTC)

const northwind = `name: Northwind Retail DE
protocol: as2
zone: Europe/Berlin
owner: {team: EDI DACH, phone: "+49 30 0000"}
as2: {id: NORTHWIND, url: "https://as2.northwind.example/as2", sign: none, encrypt: none, mdn: {mode: none}}
`

const gatewayFile = `identity: {domain: edi.acme.example, as2: ACME-AS2}
alerts: {mail: {host: smtp.acme.example, port: 25, tls: none, from: edigw@acme.example, to: [edi-ops@acme.example]}}
`

const contoso = `protocol: as2
stage: test
as2: {id: CONTOSO, url: "http://as2.contoso.example/as2", sign: none, encrypt: none, mdn: {mode: none}}
`

// Users of the desk.
const (
	viewer   = "vera" // role viewer
	reader   = "rita" // viewer with the permission for content
	operator = "omar" // role operator
	kim      = "kim"  // operator with the permission for content
	admin    = "ada"  // role admin, with the permission
)

// desk is a console over real letters and accounts, a store in memory, and
// pretended lanes.
type desk struct {
	*Console
	t        *testing.T
	store    *storetest.MemoryAlerts
	spool    *spool.Spool
	settings *partner.Registry
	lanes    *lanes
	channel  *channel
	ready    error
	log      *bytes.Buffer
	now      time.Time // when requests are asked and steps taken
	secrets  map[string]string
	n        int
}

func newDesk(t *testing.T, change ...func(*Options)) *desk {
	t.Helper()
	d := &desk{t: t, store: storetest.NewMemoryAlerts(), lanes: newLanes(), log: &bytes.Buffer{}, now: start, secrets: map[string]string{}}
	d.settings = installation(t, map[string]string{"northwind": northwind, "contoso": contoso})
	var err error
	if d.spool, err = spool.Open(t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return d.now }
	log := slog.New(slog.NewJSONHandler(d.log, nil))
	accounts, err := access.New(access.Options{Store: storetest.NewMemoryAccess(d.store.Memory), Now: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	letters, err := dlq.New(dlq.Options{Store: d.store, Partners: settingsNow{d.settings}, Lanes: d.lanes, Judge: d.lanes, Now: clock, Log: log, Contents: contents{d.spool}})
	if err != nil {
		t.Fatal(err)
	}
	channel := &channel{}
	alarm, err := alerts.New(alerts.Options{Store: d.store, Settings: func() alerts.Settings { return d.settings.Current() }, Channels: []alerts.Channel{channel}, Now: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	d.channel = channel
	o := Options{
		Options: web.Options{
			Access: accounts, Ledger: d.store, Letters: letters, Received: d.lanes, Lanes: d.lanes, Operator: d.lanes, Alerts: d.store, Spool: d.spool, Evidence: d.lanes,
			Settings: d.settings.Current, Metrics: prometheus.NewRegistry(), Now: clock, Log: log, Acknowledger: alarm, Importer: d.lanes,
			Ready: func(context.Context) error { return d.ready },
			Reload: func(context.Context, fault.Actor) (partner.Change, []partner.Problem, error) {
				c, p := d.settings.Reload()
				return c, p, nil
			},
		},
		Sessions: accounts, SetUp: accounts, SignedIn: accounts, Alarm: alarm, Events: d.store, Zone: time.UTC,
	}
	for _, f := range change {
		f(&o)
	}
	if d.Console, err = New(o); err != nil {
		t.Fatal(err)
	}
	for name, u := range map[string]access.User{
		viewer: {Role: access.RoleViewer}, reader: {Role: access.RoleViewer, Payloads: true}, operator: {Role: access.RoleOperator},
		kim: {Role: access.RoleOperator, Payloads: true}, admin: {Role: access.RoleAdmin, Payloads: true},
	} {
		u.Name, u.Created, u.Changed = name, start, start
		if err := accounts.Store.AddUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		if d.secrets[name], _, err = accounts.Begin(t.Context(), u, "192.0.2.7", "test"); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// channel is an alert channel that keeps what it gets.
type channel struct {
	got  []alerts.Notification
	fail error
}

func (c *channel) Name() string { return "mail" }

func (c *channel) Send(_ context.Context, n alerts.Notification) error {
	c.got = append(c.got, n)
	return c.fail
}

// installation is a folder with settings.
func installation(t *testing.T, partners map[string]string) *partner.Registry {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "partners"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"edigw.yaml": gatewayFile}
	for id, text := range partners {
		files["partners/"+id+".yaml"] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, problems, err := partner.Open(filepath.Join(dir, "edigw.yaml"), func() time.Time { return start })
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

// contents meets dlq.Contents.
type contents struct{ *spool.Spool }

func (c contents) Keep(content []byte) (string, error) {
	w, err := c.Create(spool.Payload, 0)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		return "", err
	}
	name, _, err := w.Commit()
	return name, err
}

// accept queues a document; change may alter its message before it is stored.
func (d *desk) accept(id, content string, change ...func(*queue.Message)) queue.Message {
	d.t.Helper()
	w, err := d.spool.Create(spool.Payload, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer w.Abort()
	if _, err := io.WriteString(w, content); err != nil {
		d.t.Fatal(err)
	}
	name, size, err := w.Commit()
	if err != nil {
		d.t.Fatal(err)
	}
	d.n++
	m := queue.Message{
		ID: fmt.Sprintf("m%06d", d.n), Partner: id, Lane: id, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2",
		Key: fmt.Sprintf("key-%d", d.n), CorrelationID: fmt.Sprintf("erp-%d", d.n), Actor: fault.Actor{Name: "erp"}, Source: "api",
		Payload:  queue.Payload{SHA256: name, Size: size, FileName: fmt.Sprintf("invoice-%d.edi", d.n), ContentType: "application/edi-x12"},
		Business: queue.Business{Kind: edi.X12, Type: "810", References: []edi.Reference{{Name: "interchange", Value: "000000905"}, {Name: "invoice", Value: fmt.Sprintf("INV-%d", d.n)}}},
	}
	for _, f := range change {
		f(&m)
	}
	ad, err := d.store.Accept(d.t.Context(), queue.Arrival{
		Message: m, Now: d.now, LetterID: "l-" + m.ID,
		Identity: queue.Identity{From: "ACME-AS2", To: id, Domain: "edi.acme.example", Brackets: true},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return ad.Message
}

// step applies a trigger to a message.
func (d *desk) step(m queue.Message, in queue.Input) queue.Message {
	d.t.Helper()
	in.At = d.now
	if m.Letter != "" {
		l, err := d.store.Letter(d.t.Context(), m.Letter)
		if err != nil {
			d.t.Fatal(err)
		}
		in.Letter = &l
	}
	res, err := queue.Next(m, in, queue.Rules{Retry: retry.Default(), AckWait: time.Hour})
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.store.Record(d.t.Context(), &res); err != nil {
		d.t.Fatal(err)
	}
	return d.message(m.ID)
}

// message reads a message.
func (d *desk) message(id string) queue.Message {
	d.t.Helper()
	m, err := d.store.Message(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

// exchange sends a message and takes what came of it, as the table says.
func (d *desk) exchange(m queue.Message, o fault.Outcome) queue.Message {
	d.t.Helper()
	m = d.step(m, queue.Input{Trigger: queue.OnStart, By: "gw1"})
	v := retry.Classify(o, retry.History{Uncertain: m.Uncertain})
	a := queue.AttemptFrom(m, o, v, d.now, 1204*time.Millisecond)
	return d.step(m, queue.Input{Trigger: queue.OnResult, Attempt: &a, Verdict: v, LetterID: fmt.Sprintf("l-%s-%d", m.ID, a.N), Fire: 0.5})
}

// bury makes a new document a letter of an outage.
func (d *desk) bury(id, content string, change ...func(*queue.Message)) queue.Message {
	d.t.Helper()
	m := d.accept(id, content, change...)
	return d.step(m, queue.Input{Trigger: queue.OnBury, LetterID: "l-" + m.ID, Outage: "OUT-231", Note: "connection refused"})
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// get asks for a page as a user; "" asks signed out.
func (d *desk) get(user, path string) answer {
	d.t.Helper()
	return d.ask(user, httptest.NewRequest(http.MethodGet, path, nil))
}

// post sends a form as a user; fields are names and values in turn.
func (d *desk) post(user, path string, fields ...string) answer {
	d.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return d.ask(user, r)
}

func (d *desk) ask(user string, r *http.Request) answer {
	d.t.Helper()
	if user != "" {
		r.AddCookie(&http.Cookie{Name: d.cookie(r), Value: d.secrets[user]})
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return answer{d.t, w.Code, w.Result().Header, w.Body.String()}
}

// want fails unless the status is this one.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// text is the page as a person reads it: without tags, blanks folded.
func (a answer) text() string {
	var b strings.Builder
	for i, part := range strings.Split(a.body, "<") {
		if i > 0 {
			if _, after, ok := strings.Cut(part, ">"); ok {
				part = after
			}
		}
		b.WriteString(part + " ")
	}
	return strings.Join(strings.Fields(html.UnescapeString(b.String())), " ")
}

// says fails unless a person reads all of this.
func (a answer) says(parts ...string) answer {
	a.t.Helper()
	text := a.text()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			a.t.Errorf("the page does not say %q:\n%s", p, text)
		}
	}
	return a
}

// hides fails if any of this is in the page, also in its source.
func (a answer) hides(parts ...string) answer {
	a.t.Helper()
	for _, p := range parts {
		if strings.Contains(a.body, p) || strings.Contains(a.text(), p) {
			a.t.Errorf("the page has %q:\n%s", p, a.body)
		}
	}
	return a
}

// holds fails unless all of this is in the page's source.
func (a answer) holds(parts ...string) answer {
	a.t.Helper()
	for _, p := range parts {
		if !strings.Contains(a.body, p) {
			a.t.Errorf("the page has no %q:\n%s", p, a.body)
		}
	}
	return a
}
