package scratch

import (
	"sync"
	"time"
)

// calm is how long nothing must have been refused for want of room until the
// next refusal is told again.
const calm = 10 * time.Minute

// Stretch tells the first of many refusals that follow each other. The zero
// value is ready; it is safe for concurrent use.
type Stretch struct {
	mu   sync.Mutex
	last time.Time
}

// Begins reports whether a refusal now is the first of a stretch.
func (s *Stretch) Begins(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.last.IsZero() || now.Sub(s.last).Abs() >= calm
	s.last = now
	return first
}
