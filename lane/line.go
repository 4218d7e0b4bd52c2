package lane

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
)

// latch is a mutex whose waiters are idle in the eyes of testing/synctest: it
// is held for as long as a store needs.
type latch chan struct{}

func (l latch) Lock()   { l <- struct{}{} }
func (l latch) Unlock() { <-l }

// LockUntil is Lock that gives up when ctx ends, with its error.
func (l latch) LockUntil(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// line is one lane in memory.
type line struct {
	s       *Scheduler
	key     string
	partner string
	kind    queue.Kind

	schedule               // guarded by Scheduler.mu
	claim      claim       // guarded by slots.mu
	overBudget atomic.Bool // stands in the purse's ring
	notable    atomic.Bool // has a state that is shown or timed: stays in memory
	parked     atomic.Bool // waits for our own network: stays in memory
	stale      atomic.Bool // the stored lane must be read again
	rewound    atomic.Bool // a jump of the clock: what was planned by it does not count
	look       atomic.Bool // somebody else changed messages or letters

	desk     desk
	mu       latch // held while a decision is made and its transaction commits
	loaded   bool
	checking bool      // a connection check runs
	asked    bool      // this turn wanted to start a retry
	pass     bool      // chosen to try the network while the gateway is isolated
	pause    time.Time // nothing starts before: a fault of our own side
	stumbles int       // turns that failed in a row
	stuck    []string  // exchanges of an earlier process that could not be recovered
	replayed string    // outage that auto_replay has seen to, since its breaker last opened
	fresh    bool      // something unpaced may have become due behind what is paced
	freshAt  time.Time // when something else becomes due there, zero if nothing will

	// Written under mu and shown, read under either.
	shown      sync.Mutex
	lane       queue.Lane
	outage     *queue.Outage // of lane.Outage, nil if none
	barred     bool          // the letter of lane.Blocked is open
	running    map[string]*flight
	pace       time.Time // next start by rate
	replayPace time.Time // next start of an older message or a replay
}

func newLine(s *Scheduler, key string) *line {
	id, kind := split(key)
	l := &line{s: s, key: key, partner: id, kind: kind, mu: make(latch, 1), running: map[string]*flight{}}
	l.index = -1
	return l
}

// stumbled counts a failed turn and gives the wait before the next.
func (l *line) stumbled() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stumbles = min(l.stumbles+1, 6)
	return time.Second << (l.stumbles - 1)
}

// load reads what is kept of the lane, once, or again after a conflict or a
// jump of the clock. The caller holds l.mu, as for every method below.
func (l *line) load(ctx context.Context, now time.Time) error {
	again := l.stale.Swap(false)
	if l.rewound.Swap(false) {
		l.replan()
	}
	if l.loaded && !again {
		return nil
	}
	l.loaded = false
	lane, err := l.s.Store.Lane(ctx, l.key)
	if errors.Is(err, queue.ErrNotFound) {
		lane, err = queue.Lane{Key: l.key, Partner: l.partner, Kind: l.kind}, nil
	}
	if err == nil {
		err = l.adopt(ctx, lane, now)
	}
	if err != nil {
		l.stale.Store(true)
		return err
	}
	l.loaded = true
	return nil
}

// adopt takes a stored lane into use: its breaker clamped, an abandoned probe
// of an earlier process counted as failed (delivery.md §6).
func (l *line) adopt(ctx context.Context, lane queue.Lane, now time.Time) error {
	set := l.settings()
	lane.Breaker = breaker.Restore(lane.Breaker, set.breaker, now)
	var outage *queue.Outage
	if lane.Outage != "" {
		o, err := l.s.Store.Outage(ctx, lane.Outage)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return err
		}
		if err == nil {
			outage = &o
		}
	}
	l.set(lane, outage)
	if lane.Damaged != "" {
		if err := l.needsFix(ctx, "", "what is stored of the lane is damaged ("+lane.Damaged+"): see what waits and where its breaker stood, then start it", now); err != nil {
			return err
		}
		lane = l.lane
	}
	if now := lane.Breaker.Now(); now != breaker.Closed {
		l.s.metrics.show(l.label(), now)
	}
	if err := l.lookBar(ctx, now); err != nil {
		return err
	}
	l.look.Store(true)
	probe := lane.Breaker.Probe
	next := lane
	var change breaker.Change
	next.Breaker, change = breaker.Abandon(lane.Breaker, set.breaker, now, l.s.Incarnation, l.s.Chance())
	if !change.Moved() {
		return nil
	}
	if probe != breaker.CheckProbe {
		m, err := l.s.Store.Message(ctx, probe)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return err
		}
		if err != nil || !m.State.Lined() && m.State != queue.Sending {
			next.Breaker = breaker.ForgetHolder(next.Breaker, probe)
		}
	}
	res := &queue.Result{Lane: &next}
	l.moved(res, change, now, fault.Actor{}, "the test was cut off by a restart")
	return l.record(ctx, res)
}

// set shows a lane as the store has it.
func (l *line) set(lane queue.Lane, outage *queue.Outage) {
	l.shown.Lock()
	l.lane, l.outage = lane, outage
	l.shown.Unlock()
	l.notable.Store(lane.Breaker.Now() != breaker.Closed || lane.Stop != nil || lane.Fix != nil || lane.Blocked != "" ||
		lane.Outage != "" || lane.Orphaned || lane.Ramp > 0)
}

// record commits results of this lane. The lane row goes with them only if it
// changed, at most one of them holds it.
func (l *line) record(ctx context.Context, results ...*queue.Result) error {
	var lane *queue.Lane
	outage := l.outage
	for _, r := range results {
		if r.Lane != nil && reflect.DeepEqual(*r.Lane, l.lane) {
			r.Lane = nil
		}
		if r.Lane != nil {
			lane = r.Lane
		}
		if r.Outage != nil {
			o := *r.Outage
			outage = &o
		}
	}
	if len(results) == 1 && reflect.DeepEqual(*results[0], queue.Result{}) {
		return nil
	}
	if err := l.s.commit(ctx, results...); err != nil {
		l.stale.Store(true)
		return err
	}
	if lane == nil {
		l.set(l.lane, outage)
		return nil
	}
	if lane.Outage == "" {
		outage = nil
	}
	if lane.Breaker.Now() != l.lane.Breaker.Now() {
		l.s.metrics.moved(l.label(), lane.Breaker.Now())
	}
	l.set(*lane, outage)
	return nil
}

// label is the lane's name in the metrics of breakers.
func (l *line) label() string { return l.key }

// turn decides what the lane does now and says when it is next due.
func (l *line) turn(ctx context.Context) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.s.Now()
	if err := l.load(ctx, now); err != nil {
		return time.Time{}, err
	}
	set := l.settings()
	for _, step := range []func(context.Context, time.Time, settings) (bool, error){l.tidy, l.tick, l.withdraw} {
		if again, err := step(ctx, now, set); err != nil || again {
			return now, err
		}
	}
	l.asked = false
	next, err := l.move(ctx, now, set)
	if !l.asked { // it has no retry to start now: others' turn
		l.s.purse.leave(l)
	}
	if err != nil {
		return time.Time{}, err
	}
	l.stumbles = 0
	// A rate lives in the line: a turn at its end keeps the line in memory.
	for _, t := range []time.Time{breaker.NextTimer(l.lane.Breaker), l.stopEnds(), l.pace, l.replayPace} {
		if t.After(now) {
			next = instant.Sooner(next, t)
		}
	}
	return next, nil
}

// move starts or buries what the lane's state allows.
func (l *line) move(ctx context.Context, now time.Time, set settings) (time.Time, error) {
	o := l.obstacle(now, l.s.net.now())
	l.parked.Store(o.state == queue.LaneIsolated)
	switch {
	case l.pass:
		l.pass = false
		if o.state == queue.LaneIsolated {
			return l.trial(ctx, now, set)
		}
		return now, nil
	case o.state != "":
		return o.until, nil
	case l.lane.Breaker.Phase == breaker.Open && set.buries(l.lane):
		n, err := l.bury(ctx, now, set)
		if n > 0 {
			return l.rested(now), err
		}
		return time.Time{}, err
	case l.lane.Breaker.Phase == breaker.Open:
		return time.Time{}, nil
	}
	return l.start(ctx, now, set)
}

// rested is when a lane with much to write may go on that began at the given
// time: after a rest as long as its work took, so that other lanes have the
// store to themselves half of the time.
func (l *line) rested(began time.Time) time.Time {
	now := l.s.Now()
	return now.Add(min(max(0, now.Sub(began)), time.Second))
}

func (l *line) stopEnds() time.Time {
	if l.lane.Stop == nil {
		return time.Time{}
	}
	return l.lane.Stop.Until
}

// tick makes the breaker's transition that is due by time.
func (l *line) tick(ctx context.Context, now time.Time, _ settings) (bool, error) {
	lane := l.lane
	var change breaker.Change
	lane.Breaker, change = breaker.Tick(lane.Breaker, now)
	if !change.Moved() {
		return false, nil
	}
	res := &queue.Result{Lane: &lane}
	l.moved(res, change, now, fault.Actor{}, "the cool-down is over; one document or a connection check is the test")
	return false, l.record(ctx, res)
}
