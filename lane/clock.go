package lane

import "time"

// clock notices jumps of the wall clock by the monotonic one.
type clock struct {
	wall time.Time
	mono time.Time
}

// jumped reports whether the wall clock moved otherwise than time did since
// the call before.
func (c *clock) jumped(now time.Time) bool {
	mono := time.Now() // carries the monotonic reading
	before := *c
	c.wall, c.mono = now.Round(0), mono
	if before.wall.IsZero() {
		return false
	}
	return (now.Round(0).Sub(before.wall) - mono.Sub(before.mono)).Abs() > maxJump
}

// rewind gives every line in memory a turn after the clock jumped, in which it
// takes its stored state into use again. The caller holds s.mu.
func (s *Scheduler) rewind(now time.Time) {
	s.Log.Warn("the clock of this machine jumped; every lane looks again", "now", now)
	for _, l := range s.lines {
		l.stale.Store(true)
		s.plan(l, now)
	}
	s.timerAt = now
}
