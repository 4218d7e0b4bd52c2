package breaker

import "time"

// Trip opens a closed breaker as an operator asked, for the first cool-down.
// State.Manual then says that messages wait, whatever on_open says, and that
// it is no outage. A half-open one opens again without a longer cool-down, and
// an open one stays as it is: an outage that runs remains one.
func Trip(s State, p Policy, now time.Time, rnd float64) (State, Change) {
	if s.Phase == Open {
		return s, same(s)
	}
	s.Manual = s.Manual || s.Now() == Closed
	return s.open(p, now, s.Trips, Result{}, rnd)
}

// Reset closes the breaker at once and forgets window and row, as an operator
// asked. A closed one keeps its generation: what runs goes on counting.
func Reset(s State, now time.Time) (State, Change) {
	if s.Now() == Closed {
		s.Failures, s.Row = nil, 0
		return s, same(s)
	}
	return s.close(now)
}
