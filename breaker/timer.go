package breaker

import (
	"slices"
	"time"
)

// Tick makes the transition that is due by time alone, so that a board which
// shows the State never lies: open becomes half-open at ReopenAt. While the
// partner is answering it reports when the connection must be checked again.
func Tick(s State, now time.Time) (State, Change) {
	change := same(s)
	switch {
	case s.Phase == Open && !now.Before(s.ReopenAt):
		change.To = HalfOpen
		s = s.enter(HalfOpen, now)
	case s.checks() && !now.Before(s.CheckAt):
		change.CheckDue = true
	}
	return s, change
}

// NextTimer is when Tick has something to do, zero if only an event can move
// the breaker.
func NextTimer(s State) time.Time {
	switch {
	case s.Phase == Open:
		return s.ReopenAt
	case s.checks():
		return s.CheckAt
	}
	return time.Time{}
}

// checks reports whether a later check of an answering partner is planned.
func (s State) checks() bool { return s.Phase == HalfOpen && s.Answering && s.Probe == "" }

// DueNow ends the cool-down of an open breaker: the probe may go out at once.
// A changed way to the partner does so, and an operator.
func DueNow(s State, now time.Time) State {
	if s.Phase == Open && s.ReopenAt.After(now) {
		s.ReopenAt = now
	}
	return s
}

// Restore takes a stored State into use, after a start, a reload of the policy
// or a jump of the clock. It moves back what a clock or a longer policy put
// too far into the future; it never makes a running cool-down longer, and
// never stamps OpenedAt anew, so that no series of restarts keeps a breaker
// open.
func Restore(s State, p Policy, now time.Time) State {
	s.ReopenAt = earlier(s.ReopenAt, now.Add(jittered(p.MaxCooldown, 1)))
	s.CheckAt = earlier(s.CheckAt, now.Add(p.MaxCooldown))
	s.OpenedAt = earlier(s.OpenedAt, now)
	s.Since = earlier(s.Since, now)
	s.Failures = slices.Clone(s.Failures)
	s.Failures = slices.DeleteFunc(s.Failures, func(t time.Time) bool { return t.After(now) })
	s.Failures = s.Failures[max(0, len(s.Failures)-p.Failures):]
	return s
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

// Withdraw takes back what a breaker learned since a moment, because the fault
// was that of our own network (delivery.md §4): failures of that span leave
// the window and the row, and a breaker that opened in it closes again. One
// that an operator tripped, or that was open before, stays.
func Withdraw(s State, since, now time.Time) (State, Change) {
	kept := slices.DeleteFunc(slices.Clone(s.Failures), func(t time.Time) bool { return !t.Before(since) })
	row := max(0, s.Row-(len(s.Failures)-len(kept)))
	change := same(s)
	if s.Now() != Closed && !s.Manual && !s.OpenedAt.Before(since) {
		s, change = s.close(now)
	}
	s.Failures, s.Row = kept, row
	return s, change
}
