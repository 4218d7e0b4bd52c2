package breaker

import (
	"time"

	"edigw/fault"
)

// BeginCheck makes a connection check the probe; the check carries no document
// (delivery.md §6). It is refused unless the breaker is half-open and no probe
// runs. Its result goes to RecordCheck with the generation of the State that
// is returned. That the lane is empty, or that an operator asks, is for the
// caller to know: a holder is not asked for, and stays the holder.
func BeginCheck(s State, incarnation string) (State, bool) {
	if s.Phase != HalfOpen || s.Probe != "" {
		return s, false
	}
	s.Probe, s.ProbeBy = CheckProbe, incarnation
	return s, true
}

// RecordCheck applies the result of a connection check. A good one makes the
// partner answering, to be checked again after the longest cool-down; it does
// not close the breaker, because no document went through. A bad one opens it
// again.
func RecordCheck(s State, p Policy, now time.Time, generation int64, ok bool, rnd float64) (State, Change) {
	if generation != s.Generation || s.Probe != CheckProbe {
		return s, same(s)
	}
	if !ok {
		return s.open(p, now, s.Trips+1, Result{}, rnd)
	}
	change := same(s)
	change.Answering = !s.Answering
	s.Probe, s.ProbeBy = "", ""
	s.Answering, s.CheckAt = true, now.Add(p.MaxCooldown)
	return s, change
}

// Abandon opens the breaker again, with the cool-down doubled, if its probe
// was run by another incarnation than the given, running one: nobody will ever
// record its result. A probe has no time lease. The message becomes the
// holder; a caller that does not keep it in the lane forgets it.
func Abandon(s State, p Policy, now time.Time, incarnation string, rnd float64) (State, Change) {
	if s.Probe == "" || s.ProbeBy == incarnation {
		return s, same(s)
	}
	if s.Probe == CheckProbe {
		return RecordCheck(s, p, now, s.Generation, false, rnd)
	}
	lost := Result{Generation: s.Generation, Signal: fault.SignalFailure, Message: s.Probe, Stays: true}
	return Record(s, p, now, lost, rnd)
}
