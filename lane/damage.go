package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
)

// badRow says that what is stored of a message does not fit together: no step
// can be made of it, now or later.
type badRow struct{ message, why string }

// Error says what is wrong with which message.
func (e *badRow) Error() string {
	return fmt.Sprintf("what is stored of message %s is damaged: %s", e.message, e.why)
}

// step is queue.Next for a message as it is stored.
func step(m queue.Message, in queue.Input, set settings) (queue.Result, error) {
	res, err := queue.Next(m, in, set.rules(m))
	if err != nil {
		return queue.Result{}, &badRow{m.ID, err.Error()}
	}
	return res, nil
}

// hopeless reports whether an error is of one message and stays.
func hopeless(err error) bool {
	var bad *badRow
	return errors.As(err, &bad) || errors.Is(err, queue.ErrForbidden)
}

// down reports whether an error is of the store as a whole, which passes.
func down(err error) bool {
	return errors.Is(err, queue.ErrUnavailable) || errors.Is(err, queue.ErrNoSpace) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ruin keeps a message of which no step can be made from holding up any other:
// it becomes a letter `local`. If that cannot be written either, the lane
// stops for a fix. The caller holds l.mu.
func (l *line) ruin(ctx context.Context, m queue.Message, cause error) error {
	now := l.s.Now()
	l.s.Log.Error("a message cannot go on; it becomes a letter", keyLane, l.key, keyMessage, m.ID, keyErr, cause)
	err := l.condemn(ctx, m, cause, now)
	switch {
	case errors.Is(err, queue.ErrConflict): // somebody else changed it
		return nil
	case err == nil, down(err):
		return err
	}
	if m.State == queue.Sending && !slices.Contains(l.stuck, m.ID) {
		l.stuck = append(l.stuck, m.ID)
	}
	if l.lane.Fix != nil {
		return nil
	}
	l.s.Log.Error("nor can it become a letter; its lane stops", keyLane, l.key, keyMessage, m.ID, keyErr, err)
	return l.needsFix(ctx, m.ID, fmt.Sprintf("message %s cannot go on: %v", m.ID, cause), now)
}

// bad is ruin for whoever cannot wait: what fails is tried again with the
// message's next turn.
func (l *line) bad(m queue.Message, cause error) {
	err := cause
	if hopeless(cause) {
		err = l.ruin(l.s.base, m, cause)
	}
	if err != nil && !errors.Is(err, queue.ErrConflict) {
		l.s.Log.Error("a message cannot go on now", keyLane, l.key, keyMessage, m.ID, keyErr, err)
	}
}

// condemn makes a letter of a message whose record is damaged.
func (l *line) condemn(ctx context.Context, m queue.Message, cause error, now time.Time) error {
	set := l.settings()
	in, err := l.s.input(ctx, queue.OnFail, m, now)
	var bad *badRow
	switch {
	case errors.As(err, &bad): // the letter that it names is gone
		m.Letter = ""
	case err != nil:
		return err
	}
	in.Reason, in.Note, in.Verdict = fault.ReasonLocal, cause.Error(), retry.Verdict{Class: retry.Configuration, Reason: fault.ReasonLocal}
	res, err := step(m, in, set)
	if err != nil {
		return err
	}
	lane := l.lane
	res.Lane = &lane
	l.left(&res, &lane, now, set)
	return l.record(ctx, &res)
}

// needsFix stops the lane: something of our own side must be looked at.
func (l *line) needsFix(ctx context.Context, message, detail string, now time.Time) error {
	lane := l.lane
	lane.Damaged = ""
	lane.Fix = &queue.Fix{Cause: "local", Detail: detail, Ours: true, Since: now}
	e := l.event(queue.EventLaneNeedsFix, now, fault.Actor{}, "the lane stops, what waits stays untried: "+detail)
	e.Message, e.Facts = message, map[string]string{"cause": "local", "ours": "true", "messages": "1"}
	return l.record(ctx, &queue.Result{Lane: &lane, Events: []queue.Event{e}})
}

// unstick takes up exchanges of an earlier process again that could not be
// recovered when this one began.
func (l *line) unstick(ctx context.Context) error {
	if len(l.stuck) == 0 || l.lane.Fix != nil {
		return nil
	}
	stuck := l.stuck
	l.stuck = nil
	for i, id := range stuck {
		m, err := l.s.Store.Message(ctx, id)
		if err == nil && (m.State != queue.Sending || m.Incarnation == l.s.Incarnation) || errors.Is(err, queue.ErrNotFound) {
			continue
		}
		if err == nil {
			err = l.take(ctx, m)
		}
		if err != nil {
			l.stuck = append(l.stuck, stuck[i:]...)
			return err
		}
	}
	return nil
}

// spoiled tells of a message that nothing can be done about here.
func (s *Scheduler) spoiled(ctx context.Context, l *line, message string, cause error) error {
	s.Log.Error("a message cannot be handled; all others go on", keyLane, l.key, keyMessage, message, keyErr, cause)
	return s.Store.AddEvents(ctx, queue.Event{At: s.Now(), Type: queue.EventDefect, Partner: l.partner, Lane: l.key, Message: message,
		Text: fmt.Sprintf("this message cannot be handled: %.300s", cause)})
}
