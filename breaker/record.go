package breaker

import (
	"slices"
	"time"

	"edigw/fault"
)

// Result is what an exchange taught. Generation is that of its Permit.
type Result struct {
	Generation int64
	Signal     fault.Signal
	Message    string
	Stays      bool // the message stays in the lane: it will be tried again
}

// Change is what a call did to a breaker. The zero flags mean that the phase
// is the same; From and To are always set.
type Change struct {
	From, To  Phase
	Opened    bool // closed → open: an outage begins, unless State.Manual
	Reopened  bool // half-open → open
	Closed    bool // open or half-open → closed
	Answering bool // a connection check succeeded, and the one before did not
	CheckDue  bool // Tick only: answering, and it is time to check again
}

// Moved reports whether the phase changed.
func (c Change) Moved() bool { return c.From != c.To }

// Record applies the result of an exchange, in whatever order results come. A
// result of an older generation changes nothing. rnd in [0, 1) is the jitter
// of a cool-down.
func Record(s State, p Policy, now time.Time, r Result, rnd float64) (State, Change) {
	if r.Generation != s.Generation {
		return s, same(s)
	}
	switch {
	case s.Now() == Closed:
		return s.closedResult(p, now, r, rnd)
	case s.Phase == HalfOpen && s.Probe == r.Message:
		return s.probeResult(p, now, r, rnd)
	}
	return s, same(s)
}

// closedResult counts a result of normal traffic.
func (s State) closedResult(p Policy, now time.Time, r Result, rnd float64) (State, Change) {
	trips, opens := 0, false
	switch r.Signal {
	case fault.SignalSuccess:
		s.Row = 0 // a success ends the row, not the window
	case fault.SignalFailure:
		s, opens = s.fail(p, now)
	case fault.SignalTrip:
		s, _ = s.fail(p, now)
		trips, opens = p.longest(), true
	}
	if !opens {
		return s, same(s)
	}
	return s.open(p, now, trips, r, rnd)
}

// probeResult decides by the probe's result.
func (s State) probeResult(p Policy, now time.Time, r Result, rnd float64) (State, Change) {
	switch r.Signal {
	case fault.SignalSuccess:
		return s.close(now)
	case fault.SignalFailure:
		return s.open(p, now, s.Trips+1, r, rnd)
	case fault.SignalTrip:
		return s.open(p, now, max(s.Trips+1, p.longest()), r, rnd)
	}
	// Undecided: the probe's place is free again, and only for this message
	// while it stays. No later result may find it still running.
	s.Probe, s.ProbeBy = "", ""
	return s.holder(r), same(s)
}

// fail counts one failure and reports whether it is the one that opens the
// breaker. ≥, not =: a policy may have become stricter meanwhile.
func (s State) fail(p Policy, now time.Time) (State, bool) {
	window := make([]time.Time, 0, len(s.Failures)+1)
	for _, t := range s.Failures {
		// A time after now comes from results that overtook each other, or
		// from a clock set back: it counts as if the window were symmetric.
		if now.Sub(t).Abs() <= p.Within {
			window = append(window, t)
		}
	}
	window = append(window, now)
	slices.SortFunc(window, time.Time.Compare)
	s.Failures = window[max(0, len(window)-p.Failures):]
	s.Row++
	return s, len(s.Failures) >= p.Failures || s.Row >= p.Consecutive
}

// open leaves closed, or half-open once more, for the cool-down after that
// many failed probes.
func (s State) open(p Policy, now time.Time, trips int, r Result, rnd float64) (State, Change) {
	change := Change{From: s.Now(), To: Open, Opened: s.Now() == Closed, Reopened: s.Phase == HalfOpen}
	if change.Opened {
		s.OpenedAt = now // never stamped again until it closes
	}
	s = s.enter(Open, now).holder(r)
	s.ReopenAt = now.Add(jittered(p.cooldown(trips), rnd))
	s.Trips = trips
	return s, change
}

// close forgets everything but the generation.
func (s State) close(now time.Time) (State, Change) {
	change := Change{From: s.Now(), To: Closed, Closed: s.Now() != Closed}
	return State{Phase: Closed, Generation: s.Generation + 1, Since: now}, change
}

// enter begins a phase, and with it a generation: whatever is still running
// belongs to the old one.
func (s State) enter(phase Phase, now time.Time) State {
	s.Phase, s.Since = phase, now
	s.Generation++
	s.Probe, s.ProbeBy = "", ""
	s.Answering, s.CheckAt, s.ReopenAt = false, time.Time{}, time.Time{}
	return s
}

// holder keeps a message that stays as the next probe, unless an operator
// chose another one meanwhile, and forgets one that left.
func (s State) holder(r Result) State {
	switch {
	case r.Stays && s.Holder == "":
		s.Holder = r.Message
	case !r.Stays && s.Holder == r.Message:
		s.Holder = ""
	}
	return s
}

func same(s State) Change { return Change{From: s.Now(), To: s.Now()} }
