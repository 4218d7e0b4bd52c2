package lane

import (
	"context"
	"errors"
	"maps"
	"time"

	"edigw/internal/instant"
	"edigw/queue"
)

// sick is how long a message whose timer panicked or failed is left alone.
const sick = time.Hour

// timers applies every timer that is due and says when the next one is.
func (s *Scheduler) timers(ctx context.Context) (next time.Time, err error) {
	for !s.halting() {
		now := s.Now()
		maps.DeleteFunc(s.sick, func(_ string, until time.Time) bool { return !until.After(now) })
		due, next, err := s.Store.Timers(ctx, now, batch+len(s.sick))
		if err != nil || len(due) == 0 {
			return next, err
		}
		moved := 0
		for _, m := range due {
			if until, is := s.sick[m.ID]; is {
				next = instant.Sooner(next, until)
				continue
			}
			var done bool
			if s.shielded(s.peek(m.Lane), m.ID, func() { done, err = s.fire(ctx, m, now) }) {
				s.sick[m.ID] = now.Add(sick)
				done = true
			}
			if err != nil && (down(err) || s.spoiled(ctx, s.peek(m.Lane), m.ID, err) != nil) {
				return time.Time{}, err
			}
			if err != nil { // one message's trouble is not that of all timers
				s.sick[m.ID] = now.Add(sick)
				done = true
			}
			if done {
				moved++
			} else { // changed by others meanwhile, or not quite due
				next = instant.Sooner(next, now.Add(time.Second))
			}
		}
		if moved == 0 {
			return next, nil
		}
	}
	return time.Time{}, nil
}

// fire applies the timer of one message.
func (s *Scheduler) fire(ctx context.Context, m queue.Message, now time.Time) (done bool, err error) {
	l := s.hold(m.Lane)
	defer s.done(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx, now); err != nil {
		return false, err
	}
	trigger := queue.OnDeadline
	switch {
	case m.State == queue.AwaitingAck:
		trigger = queue.OnAckOverdue
	case !m.Warned && !m.WarnBy.IsZero() && !now.Before(m.WarnBy):
		trigger = queue.OnWarn
	case !late(m, now):
		return false, nil
	}
	err = l.timed(ctx, trigger, m, now, l.settings())
	if hopeless(err) {
		err = l.ruin(ctx, m, err)
	}
	s.due(l, now)
	if errors.Is(err, queue.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// timed applies a trigger that time alone pulled. The caller holds l.mu.
func (l *line) timed(ctx context.Context, t queue.Trigger, m queue.Message, now time.Time, set settings) error {
	in, err := l.s.input(ctx, t, m, now)
	if err != nil {
		return err
	}
	res, err := step(m, in, set)
	if err != nil {
		return err
	}
	lane := l.lane
	res.Lane = &lane
	l.left(&res, &lane, now, set)
	err = l.record(ctx, &res)
	if errors.Is(err, queue.ErrConflict) && t == queue.OnDeadline {
		return nil
	}
	return err
}
