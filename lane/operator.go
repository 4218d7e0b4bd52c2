package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
)

// defaultStop is how long an operator's stop lasts if he names no end.
const defaultStop = 4 * time.Hour

// ErrNoPartner says that no settings file knows the partner.
var ErrNoPartner = errors.New("lane: no such partner")

// StopLane stops the lane of a partner's documents until then; zero: for 4 h.
// What runs goes on. It makes no letter, deadlines run on, and a stop of an
// earlier time is replaced.
func (s *Scheduler) StopLane(ctx context.Context, partner string, by fault.Actor, reason string, until time.Time) error {
	return s.operate(ctx, partner, func(l *line, lane *queue.Lane, res *queue.Result, now time.Time) error {
		if until.IsZero() {
			until = now.Add(defaultStop)
		}
		if !until.After(now) {
			return fmt.Errorf("lane: the end of the stop, %s, has passed", until.UTC().Format(time.RFC3339))
		}
		lane.Stop = &queue.Stop{By: by, Reason: reason, Since: now, Until: until}
		e := l.event(queue.EventLaneStopped, now, by, "stopped until "+until.UTC().Format(time.RFC3339)+": "+reason)
		e.Facts = map[string]string{"until": until.UTC().Format(time.RFC3339), "reason": reason}
		res.Events = append(res.Events, e)
		return nil
	})
}

// StartLane ends stops, an operator's and those that lanes made themselves
// (needs-fix), in all lanes of a partner: also receipts and webhooks can be
// stopped. A lane that is neither stays as it is. If it fails between two lanes
// it may be asked again.
func (s *Scheduler) StartLane(ctx context.Context, partner string, by fault.Actor) error {
	if _, known := s.Partners.Partner(partner); !known {
		return ErrNoPartner
	}
	start := func(l *line, lane *queue.Lane, res *queue.Result, now time.Time) error {
		if lane.Stop == nil && lane.Fix == nil {
			return nil
		}
		lane.Stop, lane.Fix, lane.Streak = nil, nil, queue.Streak{}
		res.Events = append(res.Events, l.event(queue.EventLaneStarted, now, by, "started"))
		return nil
	}
	for _, k := range queue.Kinds {
		if err := s.change(ctx, queue.LaneKey(partner, k), start); err != nil {
			return err
		}
	}
	return nil
}

// Trip opens the partner's breaker as five failures would, but messages wait
// and it is no outage. One that is open stays as it is.
func (s *Scheduler) Trip(ctx context.Context, partner string, by fault.Actor) error {
	return s.operate(ctx, partner, func(l *line, lane *queue.Lane, res *queue.Result, now time.Time) error {
		var change breaker.Change
		lane.Breaker, change = breaker.Trip(lane.Breaker, l.settings().breaker, now, s.Chance())
		l.moved(res, change, now, by, "opened by "+by.String())
		return nil
	})
}

// Reset closes the partner's breaker at once and forgets its failures.
func (s *Scheduler) Reset(ctx context.Context, partner string, by fault.Actor) error {
	return s.operate(ctx, partner, func(l *line, lane *queue.Lane, res *queue.Result, now time.Time) error {
		var change breaker.Change
		lane.Breaker, change = breaker.Reset(lane.Breaker, now)
		lane.NotBefore = time.Time{}
		if !change.Moved() {
			res.Events = append(res.Events, l.event(queue.EventBreakerClosed, now, by, "failures forgotten by "+by.String()))
		}
		l.moved(res, change, now, by, "closed by "+by.String())
		return nil
	})
}

// UseAsTest makes a waiting message the next test of a breaker that is open or
// half-open, at once: [Use this document as the test]. With a closed breaker
// it changes nothing.
func (s *Scheduler) UseAsTest(ctx context.Context, message string, by fault.Actor) error {
	m, err := s.Store.Message(ctx, message)
	if err != nil {
		return err
	}
	if !m.State.Lined() {
		return &queue.MoveError{Message: m.ID, State: m.State, Trigger: queue.OnStart}
	}
	return s.change(ctx, m.Lane, func(l *line, lane *queue.Lane, res *queue.Result, now time.Time) error {
		if lane.Breaker.Now() == breaker.Closed {
			return nil
		}
		lane.Breaker = breaker.DueNow(breaker.Hold(lane.Breaker, m.ID), now)
		e := l.event(queue.EventCheck, now, by, "this document is the test")
		e.Message = m.ID
		res.Events = append(res.Events, e)
		return nil
	})
}

// Test checks the connection to a partner now; no document is sent. If the
// breaker is not closed a good check makes the partner `answering`, a bad one
// of a half-open breaker opens it again. It blocks as long as the check does.
func (s *Scheduler) Test(ctx context.Context, partner string, by fault.Actor) (fault.Outcome, error) {
	if _, known := s.Partners.Partner(partner); !known {
		return fault.Outcome{}, ErrNoPartner
	}
	if !s.enter() {
		return fault.Outcome{}, context.Canceled
	}
	defer s.work.Done()
	l := s.hold(queue.LaneKey(partner, queue.KindDocument))
	defer s.done(l)
	probe, generation, set, err := l.beginTest(ctx)
	if err != nil {
		return fault.Outcome{}, err
	}
	if !set.usable {
		return fault.Outcome{}, fmt.Errorf("lane: the settings file of %s has mistakes; correct them first", partner)
	}
	o := s.contact(l, set)
	if !probe && answers(o) {
		probe, generation = l.testOpen(ctx)
	}
	l.checked(o, generation, probe, by)
	s.due(l, s.Now())
	return o, nil
}

// beginTest makes the operator's check the test of a half-open breaker.
func (l *line) beginTest(ctx context.Context) (probe bool, generation int64, set settings, err error) {
	if err := l.mu.LockUntil(ctx); err != nil {
		return false, 0, set, err
	}
	defer l.mu.Unlock()
	now := l.s.Now()
	if err := l.load(ctx, now); err != nil {
		return false, 0, set, err
	}
	if _, err := l.tick(ctx, now, l.settings()); err != nil {
		return false, 0, set, err
	}
	lane := l.lane
	set = l.settings()
	if lane.Breaker, probe = breaker.BeginCheck(lane.Breaker, l.s.Incarnation); probe && set.usable {
		err = l.record(ctx, &queue.Result{Lane: &lane})
	}
	return probe, lane.Breaker.Generation, set, err
}

// testOpen ends the cool-down of an open breaker whose partner was just found
// to answer, so that the check counts as its test. A trip by an operator is
// his to end.
func (l *line) testOpen(ctx context.Context) (probe bool, generation int64) {
	if l.mu.LockUntil(ctx) != nil {
		return false, 0
	}
	defer l.mu.Unlock()
	now := l.s.Now()
	lane := l.lane
	if !l.loaded || lane.Breaker.Phase != breaker.Open || lane.Breaker.Manual {
		return false, 0
	}
	var change breaker.Change
	lane.Breaker, change = breaker.Tick(breaker.DueNow(lane.Breaker, now), now)
	res := &queue.Result{Lane: &lane}
	l.moved(res, change, now, fault.Actor{}, "the partner answers a connection check")
	lane.Breaker, probe = breaker.BeginCheck(lane.Breaker, l.s.Incarnation)
	if err := l.record(ctx, res); err != nil {
		return false, 0
	}
	return probe, lane.Breaker.Generation
}

// enter counts the caller among the work that Stop waits for, unless stopping
// has begun.
func (s *Scheduler) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || !s.started {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *Scheduler) operate(ctx context.Context, partner string, apply func(*line, *queue.Lane, *queue.Result, time.Time) error) error {
	if _, known := s.Partners.Partner(partner); !known {
		return ErrNoPartner
	}
	return s.change(ctx, queue.LaneKey(partner, queue.KindDocument), apply)
}
