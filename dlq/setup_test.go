package dlq

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/storetest"
)

var (
	t0  = time.Date(2026, 12, 1, 2, 10, 0, 0, time.UTC)
	kim = fault.Actor{Name: "Kim", Role: "operator", From: "192.0.2.7"}
)

// fatal is what testing.T and rapid.T share.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// bench is a service on a store in memory, with a pretend lane.
type bench struct {
	*Service
	t     fatal
	store *storetest.Memory
	lanes *lanes
	mu    sync.Mutex
	at    time.Time
	live  bool // the clock is the real one, of a synctest bubble
	made  int
	judge fault.Outcome

	partners map[string]*partner.Partner
}

func newBench(t fatal) *bench {
	t.Helper()
	b := &bench{t: t, store: storetest.NewMemory(), at: t0, partners: map[string]*partner.Partner{}}
	b.lanes = &lanes{states: map[string]breaker.State{}, running: map[string]bool{}}
	b.partner("northwind")
	s, err := New(Options{Store: b.store, Partners: b, Lanes: b.lanes, Judge: b, Now: b.now, Log: slog.New(slog.DiscardHandler), Random: chance{}})
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	b.Service = s
	return b
}

// chance is a source of ids that needs no kernel.
type chance struct{}

func (chance) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(rand.IntN(256))
	}
	return len(p), nil
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live {
		return time.Now()
	}
	return b.at
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = b.at.Add(d)
}

// partner adds a partner as a file that says nothing gives.
func (b *bench) partner(id string) *partner.Partner {
	p := &partner.Partner{ID: id, Protocol: "as2", Duplicates: 7 * 24 * time.Hour, Lane: partner.Lane{Concurrency: 1, ReplayRate: 5}}
	b.partners[id] = p
	return p
}

func (b *bench) Partner(id string) (*partner.Partner, bool) {
	p, ok := b.partners[id]
	return p, ok
}

func (b *bench) Identity(id string) (queue.Identity, bool) {
	_, ok := b.partners[id]
	return queue.Identity{From: "ACME", To: id, Domain: "edi.acme.example", Brackets: true}, ok
}

func (b *bench) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return b.judge
}

// lanes is the scheduler as the service sees it.
type lanes struct {
	mu      sync.Mutex
	states  map[string]breaker.State
	running map[string]bool
	tests   []string
	woken   []string
	told    []string
}

func (l *lanes) Breaker(lane string) breaker.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[lane]
}

func (l *lanes) set(lane string, s breaker.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states[lane] = s
}

func (l *lanes) Running(_, message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[message]
}

func (l *lanes) UseAsTest(_ context.Context, message string, _ fault.Actor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tests = append(l.tests, message)
	return nil
}

func (l *lanes) Wake(lane string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken = append(l.woken, lane)
}

func (l *lanes) LettersChanged(partner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, partner)
}

// accept admits one document.
func (b *bench) accept(id string, change ...func(*queue.Message)) queue.Message {
	b.t.Helper()
	b.made++
	identity, _ := b.Identity(id)
	m := queue.Message{ID: fmt.Sprintf("m%04d", b.made), Partner: id, Lane: id, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2",
		Key: fmt.Sprintf("INV-%d", b.made), Payload: queue.Payload{SHA256: fmt.Sprintf("%064d", b.made), Size: 100}, Warned: true,
		Properties: queue.Properties{Message: []queue.Property{{Name: "tracking", Value: fmt.Sprint(b.made)}}, Part: []queue.Property{{Name: "type", Value: "order"}}}}
	for _, f := range change {
		f(&m)
	}
	ad, err := b.store.Accept(context.Background(), queue.Arrival{Message: m, Identity: identity, Now: b.now(), LetterID: "at-the-door-" + m.ID})
	if err != nil {
		b.t.Fatalf("accept: %v", err)
	}
	return ad.Message
}

// move applies a trigger as the lane would.
func (b *bench) move(id string, in queue.Input) queue.Result {
	b.t.Helper()
	ctx := context.Background()
	m, err := b.store.Message(ctx, id)
	if err != nil {
		b.t.Fatalf("message: %v", err)
	}
	if m.Letter != "" {
		l, err := b.store.Letter(ctx, m.Letter)
		if err != nil {
			b.t.Fatalf("letter: %v", err)
		}
		in.Letter = &l
	}
	b.made++
	in.At, in.LetterID, in.By = b.now(), fmt.Sprintf("l%04d", b.made), "gw1"
	res, err := queue.Next(m, in, queue.Rules{Retry: retry.Default(), OnUnknown: retry.Resend})
	if err != nil {
		b.t.Fatalf("%s: %v", in.Trigger, err)
	}
	if err := b.store.Record(ctx, &res); err != nil {
		b.t.Fatalf("record: %v", err)
	}
	return res
}

// buried is a document that became a letter untried, because of an outage.
func (b *bench) buried(partner string, change ...func(*queue.Message)) queue.Letter {
	b.t.Helper()
	m := b.accept(partner, change...)
	return *b.move(m.ID, queue.Input{Trigger: queue.OnBury, Outage: "OUT-1", Note: "connection refused"}).Opened
}

// failed is a document that died of a result.
func (b *bench) failed(partner string, v retry.Verdict, a queue.Attempt) queue.Letter {
	b.t.Helper()
	m := b.accept(partner)
	return *b.fail(m.ID, v, a).Opened
}

func (b *bench) fail(id string, v retry.Verdict, a queue.Attempt) queue.Result {
	b.t.Helper()
	b.move(id, queue.Input{Trigger: queue.OnStart})
	m := b.message(id)
	a.Message, a.N, a.Class = id, m.Total+1, v.Class
	return b.move(id, queue.Input{Trigger: queue.OnResult, Verdict: v, Attempt: &a})
}

var (
	rejects   = retry.Verdict{Class: retry.Permanent, Reason: fault.ReasonRejected, Definite: true, Signal: fault.SignalNeutral}
	distrusts = retry.Verdict{Class: retry.Permanent, Reason: fault.ReasonReceiptInvalid, Uncertain: true, Signal: fault.SignalSuccess}
	succeeds  = retry.Verdict{Class: retry.Success, Proof: string(queue.ProofReceipt), Signal: fault.SignalSuccess}
)

// deliver sends what stands in line and has the partner accept it.
func (b *bench) deliver(id string) {
	b.t.Helper()
	b.move(id, queue.Input{Trigger: queue.OnStart})
	b.move(id, queue.Input{Trigger: queue.OnResult, Verdict: succeeds})
}

func (b *bench) message(id string) queue.Message {
	b.t.Helper()
	m, err := b.store.Message(context.Background(), id)
	if err != nil {
		b.t.Fatalf("message: %v", err)
	}
	return m
}

func (b *bench) letter(id string) queue.Letter {
	b.t.Helper()
	l, err := b.store.Letter(context.Background(), id)
	if err != nil {
		b.t.Fatalf("letter: %v", err)
	}
	return l
}

func (b *bench) events(types ...queue.EventType) []queue.Event {
	b.t.Helper()
	all, err := b.store.Events(context.Background(), 0, 1_000_000)
	if err != nil {
		b.t.Fatalf("events: %v", err)
	}
	var found []queue.Event
	for _, e := range all {
		for _, t := range types {
			if e.Type == t {
				found = append(found, e)
			}
		}
	}
	return found
}

func ctx(t *testing.T) context.Context { return t.Context() }

var everything = Selection{Filter: queue.LetterFilter{Status: queue.LetterOpen}}

// runs has the runner work in the bubble until the test ends.
func runs(t *testing.T, b *bench) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		b.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// pass lets time go by in the bubble, and everything settle.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// liveBench is a bench in a synctest bubble.
func liveBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.live = true
	return b
}

func (b *bench) bulk(sel Selection, ask BulkAsk) queue.ReplayJob {
	b.t.Helper()
	ask.Actor = kim
	plan, err := b.Bulk(context.Background(), sel, ask)
	if err != nil {
		b.t.Fatalf("bulk: %v", err)
	}
	return plan.Job
}

func (b *bench) job(id string) queue.ReplayJob {
	b.t.Helper()
	j, err := b.store.ReplayJob(context.Background(), id)
	if err != nil {
		b.t.Fatalf("job: %v", err)
	}
	return j
}

func (b *bench) items(job string) []queue.ReplayItem {
	b.t.Helper()
	items, err := b.store.ReplayItems(context.Background(), job, "", 0, 1_000_000)
	if err != nil {
		b.t.Fatalf("items: %v", err)
	}
	return items
}

// deliverAll has the partners accept everything that stands in line.
func (b *bench) deliverAll() (n int) {
	b.t.Helper()
	for {
		all, _, err := b.store.Messages(context.Background(), queue.MessageFilter{States: []queue.State{queue.Queued, queue.Waiting}}, queue.Page{Limit: 500})
		if err != nil {
			b.t.Fatalf("messages: %v", err)
		}
		if len(all) == 0 {
			return n
		}
		for _, m := range all {
			b.deliver(m.ID)
			n++
		}
	}
}
