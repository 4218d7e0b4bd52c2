package lane

import (
	"context"
	"fmt"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
)

// recover takes up what an earlier process left behind: exchanges that ran
// when it ended, lanes with something to do, running outages, an isolation.
func (s *Scheduler) recover(ctx context.Context) error {
	now := s.Now()
	iso, err := s.Store.Isolation(ctx)
	if err != nil {
		return fmt.Errorf("lane: reading the state of our own network: %w", err)
	}
	s.net.adopt(iso, now)
	s.metrics.isolated(iso.On())
	if err := s.recoverAll(ctx, now); err != nil {
		return err
	}
	lanes, err := s.Store.Lanes(ctx)
	if err != nil {
		return fmt.Errorf("lane: reading the lanes: %w", err)
	}
	work, err := s.Store.Agenda(ctx)
	if err != nil {
		return fmt.Errorf("lane: reading what lanes have to do: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lane := range lanes {
		l := s.held(lane.Key)
		if !l.loaded {
			l.set(lane, nil) // shown at once, taken into use by the first turn
		}
		s.plan(l, now)
		l.users--
	}
	for _, w := range work {
		l := s.held(w.Lane)
		s.plan(l, instant.Later(now, l.settings().due(w.NextAt, now)))
		l.users--
	}
	s.timerAt = now
	return nil
}

// recoverAll applies OnCrash to what an earlier process was sending. One that
// cannot be recovered is its partner's trouble, and stays where it is.
func (s *Scheduler) recoverAll(ctx context.Context, now time.Time) error {
	stays := map[string]bool{}
	for {
		limit := batch + len(stays)
		cut, err := s.Store.Unfinished(ctx, s.Incarnation, limit)
		if err != nil {
			return fmt.Errorf("lane: reading the exchanges that were cut off: %w", err)
		}
		for _, m := range cut {
			if stays[m.ID] {
				continue
			}
			if err := s.recoverOne(ctx, m, now); err != nil {
				return fmt.Errorf("lane: message %s, whose exchange was cut off: %w", m.ID, err)
			}
			stays[m.ID] = true // if it is still there
		}
		if len(cut) < limit {
			return nil
		}
	}
}

// recoverOne recovers one message. It fails only if the store does.
func (s *Scheduler) recoverOne(ctx context.Context, m queue.Message, now time.Time) error {
	l := s.hold(m.Lane)
	defer s.done(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.load(ctx, now)
	if err == nil {
		err = l.take(ctx, m)
	}
	if err == nil || down(err) {
		return err
	}
	return s.spoiled(ctx, l, m.ID, err)
}

// take recovers a message, or makes a letter of it.
func (l *line) take(ctx context.Context, m queue.Message) error {
	err := l.recoverMessage(ctx, m, breaker.Permit{})
	if err != nil && !down(err) {
		err = l.ruin(ctx, m, err)
	}
	return err
}

// recoverMessage applies OnCrash to a message whose exchange nobody will ever
// hear of again. The caller holds l.mu.
func (l *line) recoverMessage(ctx context.Context, m queue.Message, p breaker.Permit) error {
	set, now := l.settings(), l.s.Now()
	in, err := l.s.input(ctx, queue.OnCrash, m, now)
	if err != nil {
		return err
	}
	res, err := step(m, in, set)
	if err != nil {
		return err
	}
	lane := l.lane
	if p.Probe {
		lost := breaker.Result{Generation: p.Generation, Signal: fault.SignalFailure, Message: m.ID, Stays: res.Message.State.Lined()}
		var change breaker.Change
		lane.Breaker, change = breaker.Record(lane.Breaker, set.breaker, now, lost, l.s.Chance())
		res.Lane = &lane
		l.moved(&res, change, now, fault.Actor{}, "the test was cut off by a defect")
	}
	res.Lane = &lane
	l.left(&res, &lane, now, set)
	return l.record(ctx, &res)
}

// runTimers applies what time alone does to messages: receipts fall due,
// warnings and deadlines pass (queue.Message.Timer).
func (s *Scheduler) runTimers() {
	defer s.work.Done()
	next, err := s.timers(s.base)
	if err != nil && s.base.Err() == nil {
		s.Log.Error("the timers of messages cannot be read; trying again", keyErr, err)
		next = s.Now().Add(5 * time.Second)
	}
	s.mu.Lock()
	s.timing = false
	s.timerAt = instant.Sooner(s.timerAt, next)
	s.mu.Unlock()
	s.poked()
}
