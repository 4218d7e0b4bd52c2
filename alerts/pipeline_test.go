package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	"github.com/prometheus/client_golang/prometheus/testutil"
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

func TestOneOutageIsOneIncidentFromPageToEnd(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now(), Cause: fault.CauseRefused}
		b.outage(o, queue.EventBreakerOpened)
		var letters []queue.Letter
		for range 1000 {
			letters = append(letters, b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1"))
		}
		b.pass(29 * time.Second)
		b.want(b.mail)
		b.pass(2 * time.Second)
		page := "[PAGE] A down since 00:00, refused [OUT-1]"
		b.want(b.mail, page)
		b.want(b.slack, page)

		o.Recovered = time.Now().Add(9 * time.Minute)
		b.pass(9 * time.Minute)
		b.outage(o, queue.EventBreakerClosed)
		b.pass(time.Minute)
		answers := "[PAGE] A answers again, 1,000 NOT delivered [OUT-1]"
		b.want(b.mail, page, answers)

		b.pass(4 * time.Hour)
		still := "[PAGE] A answers again, still, 1,000 NOT delivered [OUT-1]"
		b.want(b.mail, page, answers, still)

		for _, l := range letters {
			b.settle(l)
		}
		o.Ended = time.Now()
		b.outage(o, queue.EventOutageEnded)
		b.pass(time.Minute)
		end := "[OK] A: all 1,000 settled, 0 lost [OUT-1]"
		b.want(b.mail, page, answers, still, end)
		b.want(b.slack, page, answers, still, end)
		b.pass(5 * time.Hour)
		b.want(b.mail, page, answers, still, end)

		notes, err := b.store.Notifications(b.Context(), "OUT-1")
		b.must(err)
		first := notes[0].Name
		for _, n := range notes[2:] {
			if n.Thread != first || n.Name == first {
				b.Errorf("%s: name %q in thread %q, want that of %q", n.ID, n.Name, n.Thread, first)
			}
		}
		if in, err := b.store.Incident(b.Context(), "OUT-1"); err != nil || in.Active() || in.Told != 4 {
			b.Errorf("incident %+v, %v", in, err)
		}
	}, "a", "b")
}

// The document that opened the breaker and used up its attempts is one of the
// outage: no ticket of its own, counted among what is not delivered, and nothing
// is settled before it is.
func TestWhatTheOutageUsedUpIsTheOutages(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now(), Cause: fault.CauseRefused}
		b.outage(o, queue.EventBreakerOpened)
		used := b.bury(b.accept("a"), fault.ReasonMaxAttempts, "", "OUT-1")
		buried := b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1")
		b.pass(time.Minute)
		o.Recovered = time.Now()
		b.outage(o, queue.EventBreakerClosed)
		b.pass(time.Minute)
		all := []string{"[PAGE] A down since 00:00, refused [OUT-1]", "[PAGE] A answers again, 2 NOT delivered [OUT-1]"}
		b.want(b.mail, all...)
		b.settle(buried)
		b.pass(4*time.Hour + time.Minute)
		all = append(all, "[PAGE] A answers again, still, 1 NOT delivered [OUT-1]")
		b.want(b.mail, all...)
		b.settle(used)
		o.Ended = time.Now()
		b.outage(o, queue.EventOutageEnded)
		b.pass(time.Minute)
		b.want(b.mail, append(all, "[OK] A: all 2 settled, 0 lost [OUT-1]")...)
	}, "a", "b")
}

func TestRow35LettersOfACauseAreOneTicket(t *testing.T) {
	within(t, func(b *bench) {
		var letters []queue.Letter
		for range 1000 {
			letters = append(letters, b.bury(b.accept("a"), fault.ReasonRejected, "", ""))
		}
		b.bury(b.accept("b"), fault.ReasonFormat, "", "")
		b.pass(time.Minute)
		b.want(b.mail, "[TICKET] A: 1,000 rejected [INC-1]", "[TICKET] B: 1 malformed [INC-2]")
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(3 * time.Hour)
		b.want(b.mail, "[TICKET] A: 1,000 rejected [INC-1]", "[TICKET] B: 1 malformed [INC-2]")
		b.pass(2 * time.Hour)
		b.want(b.mail, "[TICKET] A: 1,000 rejected [INC-1]", "[TICKET] B: 1 malformed [INC-2]", "[TICKET] A: 1,001 rejected [INC-1]")
		for _, l := range letters {
			b.settle(l)
		}
		b.pass(time.Minute)
		if got := b.mail.subjects(); len(got) != 3 {
			b.Errorf("told while a letter is open: %q", got)
		}
	}, "a", "b")
}

func TestOurOwnNetworkIsOneAlert(t *testing.T) {
	within(t, func(b *bench) {
		iso := queue.Isolation{Since: time.Now(), Partners: 5, Of: 5}
		b.must(b.store.Record(b.Context(), &queue.Result{Isolation: &iso, Events: []queue.Event{{At: time.Now(), Type: queue.EventIsolated, Text: "isolated"}}}))
		var outages []queue.Outage
		for i, id := range []string{"a", "b", "c"} {
			o := queue.Outage{ID: fmt.Sprintf("OUT-%d", i+1), Number: int64(i + 1), Partner: id, Since: time.Now()}
			outages = append(outages, o)
			b.outage(o, queue.EventBreakerOpened)
		}
		b.pass(10 * time.Minute)
		b.want(b.mail, "[PAGE] Our own network: 5 of 5 partners unreachable since 00:00 [INC-1]")
		b.must(b.store.Record(b.Context(), &queue.Result{Isolation: &queue.Isolation{}, Events: []queue.Event{{At: time.Now(), Type: queue.EventReconnected, Partner: "a", Text: "works"}}}))
		b.pass(25 * time.Second) // lanes take back what was blamed on partners
		for _, o := range outages[:2] {
			o.Withdrawn, o.Recovered = true, time.Now()
			b.outage(o, queue.EventBreakerClosed)
		}
		b.pass(10 * time.Minute)
		b.want(b.mail, "[PAGE] Our own network: 5 of 5 partners unreachable since 00:00 [INC-1]", "[OK] Our own network works again, after 10 min [INC-1]",
			"[PAGE] C down since 00:00 [OUT-3]")
	}, "a", "b", "c")
}

// quietNights: a bubble begins at midnight UTC.
func quietNights(p *partner.Partner) { p.Notify.Quiet = &partner.Quiet{From: 22 * 60, To: 6 * 60} }

func TestQuietHoursDelayAllButPages(t *testing.T) {
	within(t, func(b *bench) {
		b.set.partner("a", quietNights)
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.outage(queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}, queue.EventBreakerOpened)
		b.bury(b.accept("b"), fault.ReasonRejected, "", "")
		b.pass(time.Minute)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]", "[TICKET] B: 1 rejected [INC-2]")
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(6*time.Hour - time.Minute - time.Second)
		if slices.ContainsFunc(b.mail.subjects(), func(s string) bool { return strings.Contains(s, "INC-1") }) {
			b.Errorf("told in quiet hours: %q", b.mail.subjects())
		}
		b.pass(2 * time.Minute)
		if got := b.mail.subjects(); !slices.Contains(got, "[TICKET] A: 2 rejected [INC-1]") {
			b.Errorf("not told after quiet hours: %q", got)
		}
	}, "a", "b")
}

func TestQuietHoursHoldNoPageBehindANotice(t *testing.T) {
	within(t, func(b *bench) {
		b.set.partner("a", quietNights)
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}
		b.outage(o, queue.EventBreakerOpened)
		b.pass(time.Minute)
		o.Answering = time.Now()
		b.outage(o, queue.EventAnswering) // nothing is left of it: a notice for the morning
		b.pass(10 * time.Minute)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]")
		b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1")
		b.pass(time.Minute)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]", "[PAGE] A answers again, 1 NOT delivered [OUT-1]")
	}, "a")
}

func TestQuietHoursThatAreLiftedHoldNothing(t *testing.T) {
	within(t, func(b *bench) {
		b.set.partner("a", quietNights)
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(10 * time.Minute)
		b.want(b.mail)
		b.set.partner("a", func(p *partner.Partner) { p.Notify.Quiet = nil })
		b.pass(2 * time.Minute)
		b.want(b.mail, "[TICKET] A: 1 rejected [INC-1]")
	}, "a")
}

func TestTestPartnersNeverPage(t *testing.T) {
	within(t, func(b *bench) {
		b.set.partner("a", func(p *partner.Partner) { p.Stage = partner.StageTest })
		b.set.partner("b", func(p *partner.Partner) { p.Notify.Tier = 2 })
		for i, id := range []string{"a", "b"} {
			b.outage(queue.Outage{ID: fmt.Sprintf("OUT-%d", i+1), Number: int64(i + 1), Partner: id, Since: time.Now()}, queue.EventBreakerOpened)
		}
		b.pass(time.Minute)
		b.want(b.mail, "[TICKET] A down since 00:00 [OUT-1]", "[TICKET] B down since 00:00 [OUT-2]")
	}, "a", "b", "c", "d", "e")
}

func TestAFailingChannelDelaysNoOther(t *testing.T) {
	within(t, func(b *bench) {
		var fine atomic.Bool
		b.mail.failing(func(alerts.Notification) error {
			if !fine.Load() {
				return &alerts.PermanentError{Err: errors.New("535 login refused")}
			}
			return nil
		})
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(32 * time.Second)
		ticket := "[TICKET] A: 1 rejected [INC-1]"
		b.want(b.slack, ticket)
		b.want(b.mail)
		b.pass(time.Minute)
		red := "[PAGE] Alert channel mail fails since 00:00 [INC-2]"
		b.want(b.slack, ticket, red)
		all, err := b.service.Conditions(b.Context())
		b.must(err)
		if len(all) != 2 || !all[0].Failing || all[0].Unsent != 1 || all[1].Failing || all[1].Unsent != 0 {
			b.Errorf("conditions %+v", all)
		}
		b.pass(10 * time.Minute)
		fine.Store(true)
		b.pass(2 * time.Hour)
		b.want(b.mail, ticket)
		b.want(b.slack, ticket, red, "[OK] Alert channel mail works again [INC-2]")
		const want = `
# HELP edigw_alert_deliveries_total Tries to hand a notification to a channel.
# TYPE edigw_alert_deliveries_total counter
edigw_alert_deliveries_total{channel="mail",result="failed"} 4
edigw_alert_deliveries_total{channel="mail",result="ok"} 1
edigw_alert_deliveries_total{channel="slack",result="ok"} 3
`
		if err := testutil.CollectAndCompare(b.service.Collectors()[0], strings.NewReader(want)); err != nil {
			b.Error(err)
		}
	}, "a")
}

func TestRetryAfterHoldsTheWholeChannel(t *testing.T) {
	within(t, func(b *bench) {
		begin := time.Now()
		busy := true
		b.slack.failing(func(alerts.Notification) error {
			if busy {
				busy = false
				return &alerts.TemporaryError{After: 10 * time.Minute, Err: errors.New("429")}
			}
			return nil
		})
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.bury(b.accept("b"), fault.ReasonRejected, "", "")
		b.pass(5 * time.Minute)
		b.want(b.mail, "[TICKET] A: 1 rejected [INC-1]", "[TICKET] B: 1 rejected [INC-2]")
		b.want(b.slack)
		b.pass(6 * time.Minute)
		b.want(b.slack, "[TICKET] A: 1 rejected [INC-1]", "[TICKET] B: 1 rejected [INC-2]")
		if first := b.slack.at[0].Sub(begin); first < 10*time.Minute+30*time.Second {
			b.Errorf("tried again after %v", first)
		}
	}, "a", "b")
}

func TestWhoDidNotGetItIsTriedAlone(t *testing.T) {
	within(t, func(b *bench) {
		b.mail.failing(func(n alerts.Notification) error {
			if n.Left == nil {
				return &alerts.TemporaryError{Left: []string{"late@acme.example"}, Err: errors.New("450")}
			}
			return nil
		})
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(5 * time.Minute)
		if len(b.mail.got) != 1 || !slices.Equal(b.mail.got[0].Left, []string{"late@acme.example"}) {
			b.Errorf("sent %+v", b.mail.got)
		}
	}, "a")
}

func TestAPanicOfAChannelEndsNothing(t *testing.T) {
	within(t, func(b *bench) {
		n := 0
		b.mail.failing(func(alerts.Notification) error {
			if n++; n == 1 {
				panic("defect")
			}
			return nil
		})
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(2 * time.Minute)
		b.want(b.mail, "[TICKET] A: 1 rejected [INC-1]")
	}, "a")
}

func TestFirstDeadlineWithinTheHourPages(t *testing.T) {
	within(t, func(b *bench) {
		b.must(b.store.Record(b.Context(), &queue.Result{Lane: &queue.Lane{Key: "a", Partner: "a", Breaker: breaker.State{Phase: breaker.Open}}}))
		for _, id := range []string{"a", "b"} {
			b.n++
			_, err := b.store.Accept(b.Context(), queue.Arrival{Message: queue.Message{ID: fmt.Sprintf("m%05d", b.n), Partner: id, Lane: id, Kind: queue.KindDocument, Direction: queue.Out,
				Key: fmt.Sprint(b.n), DeliverBy: time.Now().Add(3 * time.Hour)}, Now: time.Now()})
			b.must(err)
		}
		b.pass(2*time.Hour - time.Minute)
		b.want(b.mail)
		b.pass(3 * time.Minute)
		b.want(b.mail, "[PAGE] A: first deadline 03:00, lane not sending [INC-1]")
	}, "a", "b")
}

func TestCertificateIsToldUntilASuccessorIsStaged(t *testing.T) {
	within(t, func(b *bench) {
		certs := []partner.CertificateInfo{{Owner: "a", Use: partner.UseEncrypt, Serial: "4F:22", SHA256: "9A", Ends: time.Now().Add(14*24*time.Hour + 2*time.Hour)}}
		b.set.change(func(s *settings) { s.certs = slices.Clone(certs) })
		b.pass(2 * time.Hour)
		b.pass(2 * time.Hour)
		want := []string{"[TICKET] A encryption certificate ends in 14 days (15 Jan 01:59 UTC) [INC-1]"}
		b.want(b.mail, want...)
		certs[0].Successor = "5A:01"
		b.set.change(func(s *settings) { s.certs = certs })
		b.pass(2 * time.Minute)
		b.want(b.mail, append(want, "[OK] A: the certificate is settled [INC-1]")...)
	}, "a")
}

// TestCertificateIsToldOnceAtEachStep moves the end nearer by days: a mail at
// 60, 30, 14, 7 and 1 days, one when it has ended, and nothing in between.
func TestCertificateIsToldOnceAtEachStep(t *testing.T) {
	within(t, func(b *bench) {
		for _, left := range []int{61, 60, 59, 31, 30, 29, 15, 14, 13, 8, 7, 2, 1, 0, -1, -2, -30} {
			ends := time.Now().AddDate(0, 0, left).Add(6 * time.Hour)
			b.set.change(func(s *settings) {
				s.certs = []partner.CertificateInfo{
					{Owner: "a", Use: partner.UseEncrypt, Serial: "4F:22", SHA256: "9A", Ends: ends},
					{Owner: "a", Use: partner.UseVerify, Serial: "4F:23", SHA256: "9B", Ends: ends, Successor: "5A:01", Covered: true},
					{Owner: "a", Use: partner.UseTLSTrust, Serial: "4F:24", SHA256: "9C", Ends: time.Now().Add(-time.Hour), Covered: true},
				}
			})
			b.pass(5 * time.Hour) // longer than a repeat is held back
		}
		var days []string
		for _, m := range b.mail.subjects() {
			news, _, _ := strings.Cut(strings.TrimPrefix(m, "[TICKET] A encryption certificate "), " (")
			days = append(days, news)
		}
		want := []string{"ends in 60 days", "ends in 30 days", "ends in 14 days", "ends in 7 days", "ends in 1 day", "has ended"}
		if diff := cmp.Diff(want, days); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, "a")
}

func TestHeartbeatAndDigestCome(t *testing.T) {
	within(t, func(b *bench) {
		b.set.change(func(s *settings) {
			a := *s.gateway.Alerts
			a.Heartbeat = conf.Duration(24 * time.Hour)
			b.must(a.Digest.UnmarshalText([]byte("0 7 * * *")))
			s.gateway.Alerts = &a
		})
		b.pass(time.Minute)
		b.accept("a")
		b.pass(25 * time.Hour)
		b.want(b.mail, "[INFO] edigw gw1 digest: 0 delivered, 0 dead, 0 letters open", "[INFO] edigw gw1 heartbeat: alerts work, 1 partner, 0 incidents running")
	}, "a")
}

func TestAcknowledgedIncidentsSendNoReminders(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}
		b.outage(o, queue.EventBreakerOpened)
		b.pass(time.Minute)
		kim := fault.Actor{Name: "kim", Role: "operator"}
		b.must(b.service.Acknowledge(b.Context(), "OUT-1", kim, "on it"))
		if err := b.service.Acknowledge(b.Context(), "OUT-1", kim, ""); !errors.Is(err, queue.ErrConflict) {
			b.Errorf("twice: %v, want ErrConflict", err)
		}
		if err := b.service.Acknowledge(b.Context(), "OUT-9", kim, ""); !errors.Is(err, queue.ErrNotFound) {
			b.Errorf("unknown: %v, want ErrNotFound", err)
		}
		b.pass(12 * time.Hour)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]")
		o.Ended = time.Now()
		b.outage(o, queue.EventOutageEnded)
		b.pass(time.Minute)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]", "[OK] A delivers again, 0 lost [OUT-1]")
	}, "a")
}

func TestTestOfAChannelIsSentAtOnce(t *testing.T) {
	within(t, func(b *bench) {
		b.must(b.service.Test(b.Context(), "slack", fault.Actor{Name: "kim"}))
		b.want(b.slack, "[INFO] edigw gw1 test of alerts")
		if err := b.service.Test(b.Context(), "pager", fault.Actor{}); !errors.Is(err, alerts.ErrNotSet) {
			b.Errorf("%v, want ErrNotSet", err)
		}
	}, "a")
}

func TestWithoutAlertsIncidentsAreKeptAndNothingIsSent(t *testing.T) {
	within(t, func(b *bench) {
		b.set.change(func(s *settings) { s.gateway.Alerts = nil })
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(time.Hour)
		all, err := b.store.ActiveIncidents(b.Context())
		b.must(err)
		if len(all) != 1 || len(b.mail.got)+len(b.slack.got) != 0 {
			b.Errorf("%d incidents, %d sent", len(all), len(b.mail.got)+len(b.slack.got))
		}
	}, "a")
}

func TestAnOutageThatIsOverSoonIsToldOnce(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}
		b.outage(o, queue.EventBreakerOpened)
		b.pass(10 * time.Second)
		o.Recovered, o.Ended = time.Now(), time.Now()
		b.outage(o, queue.EventBreakerClosed)
		b.pass(time.Hour)
		b.want(b.mail, "[OK] A delivers again, 0 lost [OUT-1]")
	}, "a")
}

func TestAPartnerThatComesAndGoesIsTold(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}
		b.outage(o, queue.EventBreakerOpened)
		for range 100 {
			b.pass(20 * time.Second)
			o.Answering = time.Now()
			b.outage(o, queue.EventAnswering)
			b.pass(20 * time.Second)
			o.Answering = time.Time{}
			b.outage(o, queue.EventBreakerReopened)
		}
		if n := len(b.mail.subjects()); n < 1 || n > 3 {
			b.Errorf("%d mails in an hour of flapping: %q", n, b.mail.subjects())
		}
	}, "a")
}
