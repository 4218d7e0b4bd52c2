package lane_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/storetest"
)

// Outcomes that partners give.
var (
	receipt = fault.Outcome{Phase: fault.PhaseDone, Status: 200, Protocol: true, AckAsked: fault.AckSync,
		Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Signer: "s"}}
	refused       = fault.Outcome{Phase: fault.PhaseConnect, Cause: fault.CauseRefused, Detail: "connection refused", AckAsked: fault.AckSync}
	busy          = fault.Outcome{Phase: fault.PhaseDone, Status: 503, Detail: "busy", AckAsked: fault.AckSync}
	cut           = fault.Outcome{Phase: fault.PhaseSent, Cause: fault.CauseReset, Detail: "connection reset", AckAsked: fault.AckSync}
	login         = fault.Outcome{Phase: fault.PhaseDone, Status: 401, Detail: "login refused", AckAsked: fault.AckSync}
	notAcceptable = fault.Outcome{Phase: fault.PhaseDone, Status: 422, Detail: "no", AckAsked: fault.AckSync}
	later         = fault.Outcome{Phase: fault.PhaseDone, Status: 202, AckAsked: fault.AckAsync}
	distrust      = fault.Outcome{Phase: fault.PhaseTLS, Cause: fault.CauseTLSTrust, Detail: "certificate expired", AckAsked: fault.AckSync}
	undecrypted   = fault.Outcome{Phase: fault.PhaseDone, Status: 200, Protocol: true, AckAsked: fault.AckSync, Detail: "decryption-failed",
		Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Type: "processed", Modifier: "error", Text: "decryption-failed", Signer: "s"}}
	alive = fault.Outcome{Phase: fault.PhaseDone, Status: 405}
)

// epoch is when fake time begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// reply is one answer of a scripted partner.
type reply struct {
	o    fault.Outcome
	took time.Duration
}

// sent is one exchange as the partner saw it.
type sent struct {
	partner, key string
	sha          string
	at           time.Time
}

// wire is a Sender in memory that does as its script says.
type wire struct {
	async  bool
	answer func(m queue.Message, n int) reply // n: arrivals of this message so far, from 1
	check  func(partner string) fault.Outcome
	judge  fault.Outcome
	broken func(m queue.Message) *fault.Outcome // Prepare fails
	panics func(m queue.Message) bool
	builds func(m queue.Message) time.Duration // how long Prepare takes

	mu      sync.Mutex
	log     []sent
	checks  []sent
	active  map[string]int // message → running
	lanes   map[string]int
	most    map[string]int // lane → most at once
	faults  []string
	prepare int
}

func (w *wire) Prepare(_ context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	if w.builds != nil {
		time.Sleep(w.builds(m)) //nolint:forbidigo // fake time of the bubble
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepare++
	if w.broken != nil {
		if fail := w.broken(m); fail != nil {
			return queue.Build{}, false, fail
		}
	}
	if n := len(builds); n > 0 {
		return builds[n-1], false, nil
	}
	asked := fault.AckSync
	if w.async {
		asked = fault.AckAsync
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", m.ID, w.prepare)) // fresh bytes would differ
	return queue.Build{Message: m.ID, N: 1, MessageID: m.MessageID, SHA256: fmt.Sprintf("%x", sum), AckAsked: asked, Size: 1}, true, nil
}

func (w *wire) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	w.mu.Lock()
	w.log = append(w.log, sent{m.Partner, m.Key, b.SHA256, time.Now()})
	n, answer, panics := 0, w.answer, w.panics
	for _, s := range w.log {
		if s.partner == m.Partner && s.key == m.Key {
			n++
		}
	}
	if w.active == nil {
		w.active, w.lanes, w.most = map[string]int{}, map[string]int{}, map[string]int{}
	}
	w.active[m.ID]++
	w.lanes[m.Lane]++
	w.most[m.Lane] = max(w.most[m.Lane], w.lanes[m.Lane])
	if w.active[m.ID] > 1 {
		w.faults = append(w.faults, "two exchanges of "+m.Key+" at once")
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.active[m.ID]--
		w.lanes[m.Lane]--
		w.mu.Unlock()
	}()
	if panics != nil && panics(m) {
		panic("scripted")
	}
	r := answer(m, n)
	t := time.NewTimer(r.took)
	defer t.Stop()
	select {
	case <-t.C:
		return r.o, ""
	case <-ctx.Done():
		return fault.Outcome{Phase: fault.PhaseSent, Cause: fault.CauseStopped, Detail: "stopped", AckAsked: r.o.AckAsked}, ""
	}
}

func (w *wire) Check(_ context.Context, id string) fault.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checks = append(w.checks, sent{partner: id, at: time.Now()})
	if w.check == nil {
		return alive
	}
	return w.check(id)
}

// change rewrites the script while the gateway runs.
func (w *wire) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *wire) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return w.judge
}

func (w *wire) arrivals(key string) []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []sent
	for _, s := range w.log {
		if key == "" || s.key == key {
			found = append(found, s)
		}
	}
	return found
}

func (w *wire) checked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.checks)
}

// always answers everything alike.
func always(o fault.Outcome) func(queue.Message, int) reply {
	return func(queue.Message, int) reply { return reply{o: o} }
}

// script answers each message with one outcome after another, then the last.
func script(list ...fault.Outcome) func(queue.Message, int) reply {
	return func(_ queue.Message, n int) reply { return reply{o: list[min(n, len(list))-1]} }
}

// book is the settings in force.
type book struct {
	mu sync.Mutex
	m  map[string]*partner.Partner
}

func (b *book) Partner(id string) (*partner.Partner, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.m[id]
	return p, ok
}

func (b *book) IDs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.m))
}

func (b *book) put(p *partner.Partner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.m[p.ID] = p
}

func (b *book) remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.m, id)
}

// standard is a partner whose file says nothing special.
func standard(id string, change ...func(*partner.Partner)) *partner.Partner {
	p := &partner.Partner{ID: id, Name: id, Stage: partner.StageLive, Protocol: "as2", Retry: retry.Default(), Breaker: breaker.Default(),
		AS2: &partner.AS2{Wait: time.Hour},
		Lane: partner.Lane{Concurrency: 1, Connections: 4, AfterDead: partner.DeadContinue, OnUnknown: retry.Resend,
			OnOpen: partner.OpenDeadLetter, HoldAfter: 3, ReplayRate: 5}}
	p.Retry.Jitter = retry.Jitter{Mode: retry.JitterNone}
	for _, f := range change {
		f(p)
	}
	return p
}

func hold(p *partner.Partner)     { p.Lane.OnOpen = partner.OpenHold }
func parallel(p *partner.Partner) { p.Lane.Concurrency = 4 }

// gateway is a scheduler in a bubble with everything around it.
type gateway struct {
	t     *testing.T
	store *storetest.Memory
	dead  *fragile // the store as the running process sees it
	wire  *wire
	book  *book
	s     *lane.Scheduler
	lives int
	ids   int
}

// inBubble runs a test in fake time with a started gateway.
func inBubble(t *testing.T, w *wire, partners []*partner.Partner, test func(*testing.T, *gateway)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := &gateway{t: t, store: storetest.NewMemory(), wire: w, book: &book{m: map[string]*partner.Partner{}}}
		for _, p := range partners {
			g.book.put(p)
		}
		g.start()
		defer g.stop()
		test(t, g)
	})
}

func (g *gateway) options() lane.Options {
	g.lives++
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("EDIGW_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	g.dead = &fragile{Memory: g.store}
	return lane.Options{Store: g.dead, Partners: g.book, Senders: map[lane.Route]lane.Sender{{Protocol: "as2", Kind: queue.KindDocument}: g.wire},
		Incarnation: fmt.Sprintf("life-%d", g.lives), Now: time.Now, Log: log, Chance: func() float64 { return 0.5 }}
}

func (g *gateway) start() {
	g.t.Helper()
	s, err := lane.New(g.options())
	if err != nil {
		g.t.Fatal(err)
	}
	if err := s.Start(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	g.s = s
	synctest.Wait()
}

func (g *gateway) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g.s.Stop(ctx)
}

// pass lets time go by.
func (g *gateway) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake time of the bubble
	synctest.Wait()
}

// message makes a document that is about to be accepted.
func (g *gateway) message(partner, key string, change ...func(*queue.Message)) queue.Message {
	g.ids++
	m := queue.Message{ID: fmt.Sprintf("m%06d", g.ids), Partner: partner, Lane: partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2",
		Key: key, KeyGiven: true, Payload: queue.Payload{SHA256: key, Size: int64(len(key))}}
	for _, f := range change {
		f(&m)
	}
	return m
}

// accept puts a document in line and gives it as it is stored.
func (g *gateway) accept(partner, key string, change ...func(*queue.Message)) queue.Message {
	g.t.Helper()
	m := g.message(partner, key, change...)
	ad, err := g.store.Accept(g.t.Context(), queue.Arrival{Message: m, Identity: queue.Identity{From: "A", To: partner, Domain: "edi.acme.example", Brackets: true},
		Now: time.Now(), LetterID: "letter-" + m.ID})
	if err != nil {
		g.t.Fatal(err)
	}
	g.s.Wake(ad.Message.Lane)
	return ad.Message
}

func (g *gateway) acceptAll(partner string, keys ...string) (list []queue.Message) {
	for _, k := range keys {
		list = append(list, g.accept(partner, k))
	}
	return list
}

// get reads a message as it is stored now.
func (g *gateway) get(m queue.Message) queue.Message {
	g.t.Helper()
	m, err := g.store.Message(g.t.Context(), m.ID)
	if err != nil {
		g.t.Fatal(err)
	}
	return m
}

func (g *gateway) wantState(m queue.Message, want queue.State) queue.Message {
	g.t.Helper()
	now := g.get(m)
	if now.State != want {
		g.t.Errorf("message %s is %s (%s %s), want %s", m.Key, now.State, now.Why, now.Detail, want)
	}
	return now
}

// letter is the newest letter of a message.
func (g *gateway) letter(m queue.Message) queue.Letter {
	g.t.Helper()
	l, err := g.store.Letter(g.t.Context(), g.get(m).Letter)
	if err != nil {
		g.t.Fatal(err)
	}
	return l
}

func (g *gateway) wantLetter(m queue.Message, reason fault.Reason) queue.Letter {
	g.t.Helper()
	g.wantState(m, queue.Dead)
	l := g.letter(m)
	if l.Reason != reason {
		g.t.Errorf("letter of %s is %s, want %s", m.Key, l.Reason, reason)
	}
	return l
}

func (g *gateway) wantLane(partner string, want queue.LaneState) queue.LaneView {
	g.t.Helper()
	v := g.s.View(partner)
	if v.State != want {
		g.t.Errorf("lane %s is %s, want %s", partner, v.State, want)
	}
	return v
}

// events counts the events of a type, of one message or lane if given.
func (g *gateway) events(t queue.EventType) (found []queue.Event) {
	all, err := g.store.Events(g.t.Context(), 0, 1_000_000)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, e := range all {
		if e.Type == t {
			found = append(found, e)
		}
	}
	return found
}

func (g *gateway) wantEvents(t queue.EventType, n int) []queue.Event {
	g.t.Helper()
	found := g.events(t)
	if len(found) != n {
		var texts []string
		for _, e := range found {
			texts = append(texts, e.Text)
		}
		g.t.Errorf("%d events %s, want %d: %s", len(found), t, n, strings.Join(texts, "; "))
	}
	return found
}

// replay does what package dlq does for one letter.
func (g *gateway) replay(m queue.Message) {
	g.t.Helper()
	l := g.letter(m)
	res, err := queue.Next(g.get(m), queue.Input{Trigger: queue.OnReplay, At: time.Now(), Letter: &l, Actor: fault.Actor{Name: "kim"}}, queue.Rules{})
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.store.Record(g.t.Context(), &res); err != nil {
		g.t.Fatal(err)
	}
	g.s.LettersChanged(m.Partner)
}

func one(change ...func(*partner.Partner)) []*partner.Partner {
	return []*partner.Partner{standard("northwind", change...)}
}
