// Package lane is the scheduler: it takes what is due in each partner's lane
// through choose → build → breaker → send → record → next (delivery.md §4–§8),
// and carries out what operators ask of lanes.
//
// It is the only writer of lanes, breakers, outages and isolation. It speaks
// no protocol: a Sender does. It decides nothing that a pure package decides:
// classes are retry's, messages queue's, transitions of a breaker breaker's.
// It accepts no documents and replays no letters, auto_replay excepted.
//
// One goroutine, the loop, knows when each lane is next due and gives it a
// turn; a turn decides under the lane's own lock and never waits for a
// partner. Exchanges run in goroutines of their own. An idle lane costs
// nothing: it is dropped from memory and comes back with Wake.
package lane

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/partner"
	"edigw/queue"
)

// Sender builds and sends the messages of one protocol. All methods may be
// called concurrently, for one message only one at a time.
type Sender interface {
	// Prepare makes the wire bytes of m durable, or finds those that builds,
	// oldest first, say are there already, and returns what is to be sent;
	// fresh if it was built just now. A failure of our own side is an Outcome
	// with PhaseNone: with CauseStopped it passes by itself (no space left,
	// a store that does not answer now, ctx ended) and m is tried again, with
	// any other m becomes a letter. A Build without a number and no failure:
	// what it takes to build m cannot be had from others now, which Exchange
	// tells as the outcome of an attempt. It bounds by itself how much is computed
	// at once.
	Prepare(ctx context.Context, m queue.Message, builds []queue.Build) (b queue.Build, fresh bool, fail *fault.Outcome)
	// Exchange sends b once and reads the answer. raw is the spool name of an
	// acknowledgement that was in it, empty if none. When ctx ends it returns
	// soon, with CauseStopped and the phase that was reached; so it does, with
	// PhaseNone, if what is to be sent cannot be read now.
	Exchange(ctx context.Context, m queue.Message, b queue.Build) (o fault.Outcome, raw string)
	// Check contacts the partner without a document.
	Check(ctx context.Context, partnerID string) fault.Outcome
	// Judge verifies an acknowledgement that came by itself, kept in the spool
	// as raw, against the builds of m.
	Judge(ctx context.Context, m queue.Message, builds []queue.Build, raw string) fault.Outcome
}

// Route says whose messages a Sender takes.
type Route struct {
	Protocol string // as2, as4
	Kind     queue.Kind
}

// Partners gives the settings in force; what it returns is never changed.
// Both methods are called often and must not block.
type Partners interface {
	Partner(id string) (*partner.Partner, bool)
	IDs() []string // of all partners with a settings file, sorted
}

// Options is what a Scheduler needs. Fields after Log may be left zero.
type Options struct {
	Store       Store
	Partners    Partners
	Senders     map[Route]Sender
	Incarnation string           // of this process, never used before
	Now         func() time.Time // wall clock
	Log         *slog.Logger

	Sockets     int            // exchanges at once in the whole gateway; 0: 2000
	RetryBudget float64        // share of retries in all starts; 0: 0.2
	Chance      func() float64 // in [0,1), for jitter; safe for concurrent use
	Random      io.Reader      // for ids; safe for concurrent use
}

// starts is how many messages may stand between being chosen and the commit of
// `sending`: enough for a store to commit them in groups.
const starts = 64

// grace is how long Stop waits for exchanges after it cut them.
const grace = 5 * time.Second

// Scheduler runs all lanes of the gateway. Its methods may be called
// concurrently, between Start and Stop.
type Scheduler struct {
	Options
	slots   slots
	purse   purse
	net     network
	metrics *metrics

	base      context.Context // store and turns; ends last
	endBase   context.CancelFunc
	build     context.Context // Prepare; ends when stopping begins
	endBuild  context.CancelFunc
	wire      context.Context // exchanges; ends at the stop deadline
	endWire   context.CancelCauseFunc
	work      sync.WaitGroup       // turns, attempts, checks, the timer's work
	sick      map[string]time.Time // messages whose timer panicked, until when; of the timer's work
	loopEnded chan struct{}
	poke      chan struct{}

	mu       sync.Mutex
	lines    map[string]*line
	agenda   agenda
	ready    []*line // due now, first come first served
	turns    int     // running
	timerAt  time.Time
	timing   bool // the timer's work is running
	started  bool
	stopping bool
	clock    clock
}

// New checks the options. It does no I/O and starts nothing.
func New(o Options) (*Scheduler, error) {
	switch {
	case o.Store == nil, o.Partners == nil, o.Now == nil, o.Log == nil:
		return nil, errors.New("lane: Store, Partners, Now and Log are required")
	case o.Incarnation == "":
		return nil, errors.New("lane: an Incarnation is required: an id that no earlier process had")
	case o.RetryBudget < 0 || o.RetryBudget > 1:
		return nil, fmt.Errorf("lane: a retry budget of %v is no share between 0 and 1", o.RetryBudget)
	}
	if o.Sockets <= 0 {
		o.Sockets = 2000
	}
	if o.RetryBudget == 0 {
		o.RetryBudget = 0.2
	}
	if o.Chance == nil {
		o.Chance = mathrand.Float64
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	s := &Scheduler{Options: o, metrics: newMetrics(),
		lines: map[string]*line{}, sick: map[string]time.Time{}, poke: make(chan struct{}, 1), loopEnded: make(chan struct{})}
	s.slots.init(starts, o.Sockets, s.grant)
	s.net.writing = make(latch, 1)
	s.purse.init(o.RetryBudget, s.grant)
	return s, nil
}

// Start recovers what an earlier process left behind and begins to send. It
// blocks while the store is read and fails if it cannot be.
func (s *Scheduler) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base != nil || s.stopping {
		return errors.New("lane: the scheduler was started before")
	}
	root := context.WithoutCancel(ctx)
	s.base, s.endBase = context.WithCancel(root)
	s.build, s.endBuild = context.WithCancel(root)
	s.wire, s.endWire = context.WithCancelCause(root)
	s.mu.Unlock()
	err := s.recover(ctx)
	s.mu.Lock()
	if err != nil {
		s.endBase()
		s.endBuild()
		s.endWire(nil)
		return err
	}
	s.started = true
	go s.loop()
	return nil
}

// Stop starts nothing more, lets running exchanges end until ctx does, then
// cuts them: before the first byte of the body that is no attempt, after it
// the outcome is unknown (delivery.md §8). It is idempotent and safe before
// Start; it returns ctx's error if it had to cut.
func (s *Scheduler) Stop(ctx context.Context) error {
	s.mu.Lock()
	running := s.started
	s.stopping = true
	s.mu.Unlock()
	if !running {
		return nil
	}
	s.endBuild()
	s.poked()
	<-s.loopEnded
	ended := make(chan struct{})
	go func() { s.work.Wait(); close(ended) }()
	var cut error
	select {
	case <-ended:
	case <-ctx.Done():
		cut = ctx.Err()
		s.endWire(exchange.ErrStopping)
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-ended:
		case <-t.C:
			s.Log.Warn("exchanges did not end when cut; their outcome is unknown", "after", grace)
		}
	}
	s.endWire(exchange.ErrStopping)
	s.endBase()
	return cut
}

// halting reports whether nothing may start any more.
func (s *Scheduler) halting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// newID gives an id for a letter.
func (s *Scheduler) newID(now time.Time) (string, error) { return queue.NewID(now, s.Random) }

// sender finds who sends m.
func (s *Scheduler) sender(protocol string, k queue.Kind) (Sender, error) {
	if to, ok := s.Senders[Route{protocol, k}]; ok {
		return to, nil
	}
	return nil, fmt.Errorf("lane: nothing here sends a %s over %q", k, protocol)
}
