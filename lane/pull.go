package lane

import (
	"context"
	"errors"
	"fmt"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
)

// passedOver is how many documents in a row HandOut makes letters of because
// they cannot be built, before it gives up.
const passedOver = 10

// Handed is a message on its way to a partner that fetches his messages himself
// (ebMS 3.0 Core §2.2.3, One-Way/Pull). It is `sending` until Done or Unread is
// called, one of them, once.
type Handed struct {
	Message queue.Message
	Build   queue.Build
	Cut     context.Context // ends when the process must not wait any longer for the partner to take it

	line   *line
	flight *flight
}

// HandOut takes the first message of a partner's lane that he may fetch now and
// commits it as `sending`. What was asked for by the partner counts as no
// attempt and tells the breaker nothing; only what stops a lane as a whole, and
// an operator's trip, hold it back. queue.ErrNotFound says that nothing is there
// for him, queue.ErrUnavailable that he should ask again later. A document that
// cannot be built becomes a letter, and the next one is taken.
func (s *Scheduler) HandOut(ctx context.Context, partner string) (*Handed, error) {
	if !s.enter() {
		return nil, queue.ErrUnavailable
	}
	l := s.hold(queue.LaneKey(partner, queue.KindDocument))
	h, err := s.handOut(ctx, l)
	if err != nil {
		s.done(l)
		s.work.Done()
		return nil, err
	}
	return h, nil
}

func (s *Scheduler) handOut(ctx context.Context, l *line) (*Handed, error) {
	for range passedOver {
		f, err := l.taken(ctx)
		if err != nil {
			return nil, err
		}
		if f == nil {
			return nil, queue.ErrNotFound
		}
		begun := false
		if s.shielded(l, f.m.ID, func() { begun, err = s.offer(ctx, l, f) }) {
			err = errors.New("lane: edigw has a defect: this message cannot be handed out now")
			if !f.started.IsZero() {
				s.shielded(l, f.m.ID, func() { l.crashed(f) })
			}
		}
		if begun && err == nil {
			return &Handed{Message: f.m, Build: f.build, Cut: s.wire, line: l, flight: f}, nil
		}
		l.forget(f)
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("lane: %d documents in a row cannot be built: %w", passedOver, queue.ErrUnavailable)
}

// taken finds the message and keeps others from taking it; nil if there is none.
func (l *line) taken(ctx context.Context) (*flight, error) {
	if err := l.mu.LockUntil(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	s, now := l.s, l.s.Now()
	if err := l.load(ctx, now); err != nil {
		return nil, err
	}
	set := l.settings()
	b, _ := breaker.Tick(l.lane.Breaker, now)
	if !set.pulled || l.obstacle(now, s.net.now()).state != "" || b.Phase == breaker.Open || b.Probe != "" || len(l.running) >= max(1, set.lane.Concurrency) {
		return nil, nil
	}
	waiting, _, err := s.Store.Ready(ctx, l.key, true, now, window+len(l.running))
	if err != nil {
		return nil, err
	}
	for _, m := range waiting {
		if l.running[m.ID] == nil && !m.NextAt.After(now) && !late(m, now) { // what is late its timer ends
			f := &flight{m: m, set: set}
			l.shown.Lock()
			l.running[m.ID] = f
			l.shown.Unlock()
			return f, nil
		}
		if set.inOrder() {
			break
		}
	}
	return nil, nil
}

// offer builds the message and commits `sending`. It reports whether it did;
// without an error the message became a letter, and the next one may be taken.
func (s *Scheduler) offer(ctx context.Context, l *line, f *flight) (bool, error) {
	b, fresh, fail := s.prepare(l, f)
	switch {
	case s.halting() || ctx.Err() != nil:
		return false, queue.ErrUnavailable
	case fail != nil:
		l.unbuilt(f, *fail)
		if f.after > 0 { // it waits: the fault is not the document's, or it could not be recorded
			return false, fmt.Errorf("lane: message %s cannot be handed out now (%s): %w", f.m.ID, fail.Detail, queue.ErrUnavailable)
		}
		return false, nil
	case !l.begin(f, b, fresh):
		return false, queue.ErrNotFound // somebody else was faster, or the lane was stopped
	}
	return true, nil
}

// Done records what became of the response: nil is that it was written whole.
// From then on the receipt is waited for; without one the message comes back in
// line. What broke off is in line again at once, and uncertain.
func (h *Handed) Done(err error) {
	o := fault.Outcome{Phase: fault.PhaseDone, Status: 200}
	if err != nil {
		o = fault.Outcome{Phase: fault.PhaseBody, Cause: fault.CauseReset, Detail: "the partner fetched it, and the connection broke off: " + err.Error()}
	}
	h.land(o)
}

// Unread records that nothing of the message was written, for a fault of our
// own side: its wire bytes cannot be read.
func (h *Handed) Unread(o fault.Outcome) { h.land(o) }

func (h *Handed) land(o fault.Outcome) {
	l, f := h.line, h.flight
	if o.AckAsked = h.Build.AckAsked; o.AckAsked == fault.AckSync { // built to be pushed: a response has no response
		o.AckAsked = fault.AckAsync
	}
	if l.s.shielded(l, f.m.ID, func() { l.finish(f, o, "") }) {
		l.s.shielded(l, f.m.ID, func() { l.crashed(f) })
	}
	l.forget(f)
	l.s.done(l)
	l.s.work.Done()
}

// forget ends a flight of a message that was to be handed out, however it went.
func (l *line) forget(f *flight) {
	l.mu.Lock()
	l.shown.Lock()
	delete(l.running, f.m.ID)
	l.shown.Unlock()
	l.mu.Unlock()
	l.s.due(l, l.s.Now())
}
