package lane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// Wake tells the scheduler that somebody else changed what stands in a lane or
// its letters: a document was accepted, a letter replayed, settled or
// discarded, a message cancelled. It never blocks on the store and may be
// called as often as one likes; to forget it would leave the lane asleep.
func (s *Scheduler) Wake(lane string) {
	now := s.Now()
	l := s.hold(lane)
	l.look.Store(true)
	s.due(l, now)
	s.done(l)
	s.timer(now.Add(arrivals)) // it may have a deadline
}

// LettersChanged is Wake for the lane of a partner's documents: a letter was
// closed, replayed or opened again, so that an outage may have ended, or the
// lane no longer stands behind it.
func (s *Scheduler) LettersChanged(partner string) {
	s.Wake(queue.LaneKey(partner, queue.KindDocument))
}

// Running reports whether an exchange of the message is in flight, also if an
// acknowledgement settled it meanwhile: its letter cannot be replayed then.
func (s *Scheduler) Running(lane, message string) bool {
	s.mu.Lock()
	l := s.lines[lane]
	s.mu.Unlock()
	if l == nil {
		return false
	}
	l.shown.Lock()
	defer l.shown.Unlock()
	return l.running[message] != nil
}

// Reloaded takes changed settings into use: a lane that needs a fix is
// released, the test of an open breaker is due at once where the way to the
// partner changed, cool-downs are clamped to a shorter policy, a lane whose
// file went or came back is told. It is called after the new snapshot is in
// force. What fails for one partner keeps no other from it; it may be called
// again with the same change.
func (s *Scheduler) Reloaded(ctx context.Context, c partner.Change) error {
	changes := slices.Clone(c.Partners)
	for _, id := range slices.Concat(c.Added, c.Removed) {
		changes = append(changes, partner.PartnerChange{ID: id, Fixed: slices.Contains(c.Added, id)})
	}
	if c.Keys { // our own keys concern every lane that has a row worth releasing
		for _, id := range s.fixable() {
			changes = append(changes, partner.PartnerChange{ID: id, Fixed: true})
		}
	}
	var errs []error
	for _, pc := range changes {
		for _, k := range queue.Kinds {
			if err := s.reloaded(ctx, queue.LaneKey(pc.ID, k), pc); err != nil {
				errs = append(errs, fmt.Errorf("lane: taking the new settings of %s into use: %w", pc.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}

// fixable gives the partners of lanes that stopped themselves.
func (s *Scheduler) fixable() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := map[string]bool{}
	for _, l := range s.lines {
		if l.notable.Load() {
			ids[l.partner] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

func (s *Scheduler) reloaded(ctx context.Context, key string, c partner.PartnerChange) error {
	if !s.remembered(key) {
		s.wakeLane(key, s.Now())
		return nil // nothing of it was stopped
	}
	return s.change(ctx, key, func(l *line, lane *queue.Lane, res *queue.Result, now time.Time) error {
		set := l.settings()
		if c.Released() {
			lane.Streak, l.pause = queue.Streak{}, time.Time{}
		}
		if c.Released() && lane.Fix != nil {
			e := l.event(queue.EventLaneReleased, now, fault.Actor{}, "the settings changed; was: "+lane.Fix.Detail)
			e.Facts = map[string]string{"cause": lane.Fix.Cause}
			res.Events = append(res.Events, e)
			lane.Fix = nil
		}
		if set.usable {
			lane.Breaker = breaker.Restore(lane.Breaker, set.breaker, now)
		}
		if (c.Reach() || l.own() && len(c.Settings) > 0) && !lane.Breaker.Manual { // a trip by an operator is his to end
			lane.Breaker = breaker.DueNow(lane.Breaker, now)
		}
		return nil
	})
}

// remembered reports whether a lane is in memory.
func (s *Scheduler) remembered(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines[key] != nil
}

// change applies what an operator or a reload wants of a lane in one
// transaction, and gives the lane a turn.
func (s *Scheduler) change(ctx context.Context, key string, apply func(*line, *queue.Lane, *queue.Result, time.Time) error) error {
	l := s.hold(key)
	defer s.done(l)
	if err := l.mu.LockUntil(ctx); err != nil {
		return err
	}
	defer l.mu.Unlock()
	now := s.Now()
	if err := l.load(ctx, now); err != nil {
		return err
	}
	lane := l.lane
	res := &queue.Result{Lane: &lane}
	if err := apply(l, &lane, res, now); err != nil {
		return err
	}
	l.look.Store(true)
	s.due(l, now)
	return l.record(ctx, res)
}
