package lane

import (
	"context"
	"errors"
	"fmt"

	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
)

// maxStray bounds how much is kept of acknowledgements that settle nothing:
// Message-IDs can be guessed.
const maxStray = 200

// Acknowledge applies an acknowledgement that came by itself, kept in the
// spool as raw, to the message that carried messageID, in whatever state it
// is: also while it is being sent, and when it is dead (delivery.md §8). It
// returns when what it means is durable, with what was found.
// An unknown Message-ID is queue.ErrNotFound. Anything else is a fault of the
// store or of our settings: the partner should try again.
func (s *Scheduler) Acknowledge(ctx context.Context, messageID, raw string) (fault.Outcome, error) {
	m, err := s.Store.Carried(ctx, messageID)
	if err != nil {
		return fault.Outcome{}, fmt.Errorf("lane: an acknowledgement of %q: %w", messageID, err)
	}
	to, err := s.sender(m.Protocol, m.Kind)
	if err != nil {
		return fault.Outcome{}, err
	}
	builds, err := s.Store.Builds(ctx, m.ID)
	if err != nil {
		return fault.Outcome{}, err
	}
	o := to.Judge(ctx, m, builds, raw)
	if o.Ack == nil && ownFault(o.Cause) {
		return o, fmt.Errorf("lane: an acknowledgement of message %s cannot be judged now: %s; it is not confirmed, the partner may send it again", m.ID, o.Sentence())
	}
	return o, s.Judged(ctx, m, o, raw)
}

// ownFault reports whether a cause lies on our own side, so that it says nothing of
// what the partner sent.
func ownFault(c fault.Cause) bool {
	switch c {
	case fault.CauseStopped, fault.CauseKey, fault.CausePayload, fault.CauseBuild:
		return true
	}
	return false
}

// Judged is Acknowledge for an acknowledgement that was verified already.
func (s *Scheduler) Judged(ctx context.Context, m queue.Message, o fault.Outcome, raw string) error {
	l := s.hold(m.Lane)
	defer s.done(l)
	if err := l.mu.LockUntil(ctx); err != nil {
		return err
	}
	defer l.mu.Unlock()
	for {
		err := l.acknowledged(ctx, m.ID, o, raw)
		if !errors.Is(err, queue.ErrConflict) || ctx.Err() != nil {
			s.due(l, s.Now())
			return err
		}
	}
}

// acknowledged records one acknowledgement. The caller holds l.mu.
func (l *line) acknowledged(ctx context.Context, id string, o fault.Outcome, raw string) error {
	s, now := l.s, l.s.Now()
	if err := l.load(ctx, now); err != nil {
		return err
	}
	m, err := s.Store.Message(ctx, id)
	if err != nil {
		return err
	}
	set := l.settings()
	v := retry.Classify(o, retry.History{Uncertain: m.Uncertain})
	if v.Class == retry.NoOutcome && m.Total >= maxStray || !queue.Fits(queue.OnAck, m.State) {
		return nil
	}
	a := queue.AttemptFrom(m, o, v, now, 0)
	a.Async, a.Raw = true, raw
	res, err := l.next(ctx, queue.OnAck, m, &a, v, now, set)
	if err != nil {
		return err
	}
	lane := l.lane
	res.Lane = &lane
	if m.State == queue.Sending || m.State == queue.AwaitingAck || m.State.Lined() {
		l.streak(res, &lane, m, v, a.Detail, now, set)
	}
	l.left(res, &lane, now, set)
	if m.State == queue.AwaitingAck && set.ackWait > 0 {
		s.metrics.acknowledged(now.Sub(m.NextAt.Add(-set.ackWait)))
	}
	return l.record(ctx, res)
}
