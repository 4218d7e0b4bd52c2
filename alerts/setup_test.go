package alerts_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"edigw/alerts"
	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/conf"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/storetest"

	"github.com/google/go-cmp/cmp"
)

// settings are settings made by hand: mail and Slack, group wait 30 s, repeat
// 4 h.
type settings struct {
	mu       sync.Mutex
	gateway  partner.Gateway
	partners map[string]partner.Partner
	certs    []partner.CertificateInfo
}

// change is a reload.
func (s *settings) change(how func(*settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(s)
}

// partner changes the settings of one partner.
func (s *settings) partner(id string, how func(*partner.Partner)) {
	s.change(func(s *settings) {
		p := s.partners[id]
		how(&p)
		s.partners[id] = p
	})
}

func newSettings(ids ...string) *settings {
	s := &settings{partners: map[string]partner.Partner{}}
	s.gateway.Node = "gw1"
	s.gateway.Listen.Console.BaseURL = "https://edigw.acme.example"
	s.gateway.Alerts = &partner.Alerts{
		Mail: &partner.MailChannel{}, Slack: &partner.SlackChannel{}, Zone: "UTC",
		GroupWait: conf.Duration(30 * time.Second), Repeat: conf.Duration(4 * time.Hour),
		DLQ: partner.DLQAlerts{Depth: 100, Oldest: conf.Duration(4 * time.Hour)},
	}
	for _, id := range ids {
		s.partners[id] = partner.Partner{ID: id, Name: strings.ToUpper(id), Zone: time.UTC, Stage: partner.StageLive, Notify: partner.Notify{Tier: 1}, Breaker: breaker.Default()}
	}
	return s
}

func (s *settings) Gateway() *partner.Gateway {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gateway
	return &g
}

func (s *settings) Partner(id string) (*partner.Partner, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.partners[id]
	return &p, ok
}

func (s *settings) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.partners))
}

func (s *settings) Certificates(time.Time) []partner.CertificateInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.certs)
}

func (s *settings) CertificatesOf(id string, now time.Time) []partner.CertificateInfo {
	return slices.DeleteFunc(slices.Clone(s.Certificates(now)), func(c partner.CertificateInfo) bool { return c.Owner != id })
}

// box is a channel that keeps what it gets.
type box struct {
	name string
	fail func(alerts.Notification) error // nil: takes all
	take func(keep func()) error

	mu  sync.Mutex
	got []alerts.Notification
	at  []time.Time
}

func (b *box) failing(how func(alerts.Notification) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = how
}

func (b *box) taking(how func(keep func()) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take = how
}

func (b *box) Name() string { return b.name }

func (b *box) Send(_ context.Context, n alerts.Notification) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		if err := b.fail(n); err != nil {
			return err
		}
	}
	keep := func() {
		b.got = append(b.got, n)
		b.at = append(b.at, time.Now())
	}
	if b.take != nil {
		return b.take(keep)
	}
	keep()
	return nil
}

func (b *box) subjects() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.got {
		all = append(all, n.Text.Subject)
	}
	return all
}

// bench is a gateway's ledger with the pipeline on it, inside a bubble.
type bench struct {
	*testing.T
	store       *storetest.MemoryAlerts
	through     alerts.Store // how the pipeline sees the store
	set         *settings
	mail, slack *box
	service     *alerts.Service
	n           int
}

// within runs a test in a bubble of its own.
func within(t *testing.T, test func(b *bench), ids ...string) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, store: storetest.NewMemoryAlerts(), set: newSettings(ids...), mail: &box{name: "mail"}, slack: &box{name: "slack"}}
		b.through = b.store
		b.start()
		test(b)
		b.stop()
	})
}

func (b *bench) start() {
	b.Helper()
	var err error
	b.service, err = alerts.New(alerts.Options{
		Store: b.through, Settings: func() alerts.Settings { return b.set }, Channels: []alerts.Channel{b.mail, b.slack}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = b.service.Start(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) stop() {
	b.Helper()
	if err := b.service.Stop(context.Background()); err != nil {
		b.Error(err)
	}
}

// pass lets time go by.
func (b *bench) pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// accept puts a document into line.
func (b *bench) accept(id string) queue.Message {
	b.Helper()
	b.n++
	ad, err := b.store.Accept(b.Context(), queue.Arrival{Message: queue.Message{
		ID: fmt.Sprintf("m%05d", b.n), Partner: id, Lane: id, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2",
		Key: fmt.Sprintf("K-%d", b.n), Payload: queue.Payload{SHA256: fmt.Sprint(b.n)},
	}, Now: time.Now()})
	b.must(err)
	return ad.Message
}

// bury makes a letter of a message.
func (b *bench) bury(m queue.Message, reason fault.Reason, cause, outage string) queue.Letter {
	b.Helper()
	l := queue.Letter{ID: "l-" + m.ID, Message: m.ID, Partner: m.Partner, Lane: m.Lane, Reason: reason, Cause: cause, Status: queue.LetterOpen, Outage: outage,
		Created: time.Now(), Detail: "said so"}
	m.State, m.Letter = queue.Dead, l.ID
	b.must(b.store.Record(b.Context(), &queue.Result{Message: &m, Opened: &l, Events: []queue.Event{{At: time.Now(), Type: queue.EventDead, Partner: m.Partner, Lane: m.Lane,
		Message: m.ID, Letter: l.ID, Outage: outage, Text: "said so", Facts: map[string]string{"reason": string(reason), "cause": cause}}}}))
	return l
}

// settle closes a letter.
func (b *bench) settle(l queue.Letter) {
	b.Helper()
	l.Status, l.ClosedAs = queue.LetterClosed, queue.ClosedConfirmed
	b.must(b.store.Record(b.Context(), &queue.Result{Closed: &l, Events: []queue.Event{{At: time.Now(), Type: queue.EventLetterClosed, Partner: l.Partner, Lane: l.Lane,
		Letter: l.ID, Outage: l.Outage, Facts: map[string]string{"as": "confirmed", "reason": string(l.Reason)}}}}))
}

// outage writes where an outage stands, with an event.
func (b *bench) outage(o queue.Outage, t queue.EventType) {
	b.Helper()
	o.Lane = o.Partner
	b.must(b.store.Record(b.Context(), &queue.Result{Outage: &o, Events: []queue.Event{{At: time.Now(), Type: t, Partner: o.Partner, Lane: o.Lane, Outage: o.ID, Text: "it moved"}}}))
}

func (b *bench) want(where *box, want ...string) {
	b.Helper()
	if d := cmp.Diff(want, where.subjects()); d != "" {
		b.Errorf("%s: -want +got\n%s", where.name, d)
	}
}
