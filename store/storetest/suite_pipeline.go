package storetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/conf"
	"edigw/partner"
	"edigw/queue"
)

// RunPipeline proves that alerts reach people through a store, end to end:
// also when the process that reads, writes and sends is killed at any of its
// steps. open gives an empty store as in Run.
func RunPipeline(t *testing.T, open func(t *testing.T) AlertStore) {
	steps := 0
	t.Run("undisturbed", func(t *testing.T) {
		steps = tell(t, open(t), 0, false)
	})
	for k := 1; k <= steps; k++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("killed at step %d, after it %v", k, after), func(t *testing.T) {
				t.Parallel()
				tell(t, open(t), k, after)
			})
		}
	}
}

var errKilled = errors.New("the process was killed")

// process is one run of the program. It may be killed at one of its steps,
// before or after what the step does; then nothing happens any more.
type process struct {
	mu      sync.Mutex
	steps   int
	kill    int // 0: never
	after   bool
	dead    bool
	service *alerts.Service
}

func (p *process) step(do func() error) error {
	p.mu.Lock()
	p.steps++
	now := p.steps == p.kill
	before := p.dead || now && !p.after
	p.dead = p.dead || now
	p.mu.Unlock()
	if before {
		return errKilled
	}
	err := do()
	if now {
		return errKilled
	}
	return err
}

func (p *process) ended() (steps int, dead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps, p.dead
}

// mortal is a store as a process sees it.
type mortal struct {
	AlertStore
	*process
}

func (m mortal) NextNumber(ctx context.Context, series string) (n int64, err error) {
	err = m.step(func() error { n, err = m.AlertStore.NextNumber(ctx, series); return err })
	return n, err
}

func (m mortal) SaveAlerts(ctx context.Context, s *alerts.Step) error {
	return m.step(func() error { return m.AlertStore.SaveAlerts(ctx, s) })
}

func (m mortal) SaveNotification(ctx context.Context, n alerts.Notification, events ...queue.Event) error {
	return m.step(func() error { return m.AlertStore.SaveNotification(ctx, n, events...) })
}

// people are who a channel reaches. They outlive every process.
type people struct {
	name string
	mu   sync.Mutex
	got  []alerts.Notification
}

// mouth is a channel of one process to people.
type mouth struct {
	*people
	*process
}

func (m mouth) Name() string { return m.name }

func (m mouth) Send(_ context.Context, n alerts.Notification) error {
	return m.step(func() error {
		m.people.mu.Lock()
		defer m.people.mu.Unlock()
		m.got = append(m.got, n)
		return nil
	})
}

// told are the subjects that came, each once, without the ids of incidents,
// and how many came again.
func (p *people) told() (subjects []string, repeats int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[string]bool{}
	for _, n := range p.got {
		if seen[n.Name] {
			repeats++
			continue
		}
		seen[n.Name] = true
		subjects = append(subjects, incidentID.ReplaceAllString(n.Text.Subject, ""))
	}
	slices.Sort(subjects)
	return subjects, repeats
}

var incidentID = regexp.MustCompile(` \[[A-Z]+-\d+\]$`)

// watchful are settings with two channels.
type watchful struct{ gateway partner.Gateway }

func (w *watchful) Gateway() *partner.Gateway { return &w.gateway }
func (w *watchful) IDs() []string             { return []string{"a", "b"} }
func (w *watchful) Partner(id string) (*partner.Partner, bool) {
	return &partner.Partner{ID: id, Name: strings.ToUpper(id), Zone: time.UTC, Stage: partner.StageLive, Notify: partner.Notify{Tier: 1}, Breaker: breaker.Default()}, true
}
func (w *watchful) Certificates(time.Time) []partner.CertificateInfo { return nil }
func (w *watchful) CertificatesOf(string, time.Time) []partner.CertificateInfo {
	return nil
}

// telling is one story on one store.
type telling struct {
	*run
	store AlertStore
	set   *watchful
	all   []*people
	now   *process
	kills int

	clock sync.Mutex
	at    time.Time
}

// tell plays the story with a first process that is killed at a step, and gives
// the number of steps that the last one made.
func tell(t *testing.T, store AlertStore, kill int, after bool) int {
	s := &telling{run: &run{T: t, Store: store, ctx: t.Context()}, store: store, set: &watchful{}, all: []*people{{name: "mail"}, {name: "slack"}}, at: t0}
	s.set.gateway.Node = "gw1"
	s.set.gateway.Alerts = &partner.Alerts{Mail: &partner.MailChannel{}, Slack: &partner.SlackChannel{}, Zone: "UTC",
		GroupWait: conf.Duration(30 * time.Second), Repeat: conf.Duration(1000 * time.Hour)}
	s.begin(kill, after)
	defer func() { s.must(s.now.service.Stop(context.Background())) }()
	o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Lane: "a", Since: t0, Cause: fault.CauseRefused}
	s.outage(o, queue.EventBreakerOpened)
	m1, l1 := s.letter("a", fault.ReasonCircuitOpen, "OUT-1")
	m2, l2 := s.letter("a", fault.ReasonCircuitOpen, "OUT-1")
	s.letter("b", fault.ReasonRejected, "")
	s.must(s.AddEvents(s.ctx, queue.Event{At: s.time(), Type: queue.EventSignIn, Text: "locked", Actor: fault.Actor{Name: "kim"}, Facts: map[string]string{"user": "kim", "locked": "true"}}))
	first := []string{"[PAGE] A down since 02:10", "[TICKET] B: 1 rejected", "[TICKET] edigw sign-in locked after wrong passwords: kim"}
	s.until(first...)
	s.settle(m1, l1)
	s.settle(m2, l2)
	o.Recovered, o.Ended = s.time(), s.time()
	s.outage(o, queue.EventOutageEnded)
	s.until(append(first, "[OK] A: all 2 settled, 0 lost")...)
	steps, _ := s.now.ended()
	return steps
}

func (s *telling) time() time.Time {
	s.clock.Lock()
	defer s.clock.Unlock()
	return s.at
}

func (s *telling) begin(kill int, after bool) {
	s.Helper()
	s.now = &process{kill: kill, after: after}
	var channels []alerts.Channel
	for _, p := range s.all {
		channels = append(channels, mouth{p, s.now})
	}
	var err error
	s.now.service, err = alerts.New(alerts.Options{Store: mortal{s.store, s.now}, Settings: func() alerts.Settings { return s.set }, Channels: channels,
		Now: s.time, Log: slog.New(slog.DiscardHandler)})
	s.must(err)
	s.must(s.now.service.Start(s.ctx))
}

// letter makes a letter with its event.
func (s *telling) letter(id string, reason fault.Reason, outage string) (queue.Message, queue.Letter) {
	s.Helper()
	m, l := s.dead(id, reason, outage)
	s.must(s.AddEvents(s.ctx, queue.Event{At: s.time(), Type: queue.EventDead, Partner: id, Lane: id, Message: m.ID, Letter: l.ID, Outage: outage, Text: l.Detail,
		Facts: map[string]string{"reason": string(reason)}}))
	return m, l
}

func (s *telling) settle(m queue.Message, l queue.Letter) {
	s.Helper()
	s.closed(m, l)
	s.must(s.AddEvents(s.ctx, queue.Event{At: s.time(), Type: queue.EventLetterClosed, Partner: l.Partner, Lane: l.Lane, Letter: l.ID, Outage: l.Outage,
		Facts: map[string]string{"as": string(queue.ClosedConfirmed), "reason": string(l.Reason)}}))
}

func (s *telling) outage(o queue.Outage, t queue.EventType) {
	s.Helper()
	s.must(s.Record(s.ctx, &queue.Result{Outage: &o, Events: []queue.Event{{At: s.time(), Type: t, Partner: o.Partner, Lane: o.Lane, Outage: o.ID, Text: "it moved"}}}))
}

// until lets time go by, and the dead rise, until everybody was told: nothing
// is lost, and nothing comes more often again than the process died.
func (s *telling) until(want ...string) {
	s.Helper()
	slices.Sort(want)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !s.heard(want) {
		select {
		case <-deadline:
			got, _ := s.all[0].told()
			s.Fatalf("mail got %q, want %q", got, want)
		case <-tick.C:
		}
		if _, dead := s.now.ended(); dead {
			s.must(s.now.service.Stop(context.Background()))
			s.kills++
			s.begin(0, false)
		}
		s.clock.Lock()
		s.at = s.at.Add(time.Second)
		s.clock.Unlock()
		s.now.service.Poke()
	}
	for _, p := range s.all {
		if _, repeats := p.told(); repeats > s.kills {
			s.Errorf("%s got %d repeats in %d deaths", p.name, repeats, s.kills)
		}
	}
}

// heard reports whether everybody was told exactly this, and the store knows.
func (s *telling) heard(want []string) bool {
	s.Helper()
	for _, p := range s.all {
		got, _ := p.told()
		if len(got) > len(want) {
			s.Fatalf("%s got %q, want %q", p.name, got, want)
		}
		for i := range got {
			if len(got) == len(want) && !strings.HasPrefix(got[i], want[i]) {
				s.Fatalf("%s got %q, want %q", p.name, got, want)
			}
		}
		if len(got) < len(want) {
			return false
		}
	}
	unsent, err := s.store.UnsentNotifications(s.ctx)
	s.must(err)
	return len(unsent) == 0
}
