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
		l.rewound.Store(true)
		s.plan(l, now)
	}
	s.timerAt = now
}

// replan forgets the instants that the line has in memory. The caller holds
// l.mu.
func (l *line) replan() {
	l.pause, l.fresh, l.freshAt = time.Time{}, true, time.Time{}
	l.shown.Lock()
	defer l.shown.Unlock()
	l.pace, l.replayPace = time.Time{}, time.Time{}
}

// due is when a message may start that is stored as due at an instant: what
// lies further ahead than any message waits was set by a clock that was set
// back since, and is due.
func (set settings) due(at, now time.Time) time.Time {
	if at.Sub(now) > 2*set.retry.Cap+time.Minute { // Retry-After and jitter lie above the cap
		return now
	}
	return at
}
