// Package repeats keeps what anybody can make happen again and again from
// flooding the log.
package repeats

import (
	"sync"
	"time"
)

// Bounds on what is told of things that anybody can make happen again and again,
// under any names.
const (
	repeatPause = time.Minute
	maxRepeats  = 1000 // pairs of names that are told apart; all others are one
)

// Counter counts them by two names, so that the log has one line a minute of
// each pair. The zero value is ready; it is safe for concurrent use.
type Counter struct {
	mu    sync.Mutex
	pairs map[[2]string]*repeat
}

type repeat struct {
	told  time.Time // when the last line was written
	since int       // that came after it
}

// Comes reports whether a line is to be written now, and for how many times of
// these names: those since the last one.
func (r *Counter) Comes(a, b string, now time.Time) (n int, tell bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of([2]string{a, b}, now)
	c.since++
	if !c.told.IsZero() && now.Sub(c.told).Abs() < repeatPause {
		return 0, false
	}
	n, c.since, c.told = c.since, 0, now
	return n, true
}

// of finds the count of a pair, which is that of all others if there are too
// many.
func (r *Counter) of(pair [2]string, now time.Time) *repeat {
	if c := r.pairs[pair]; c != nil {
		return c
	}
	if len(r.pairs) >= maxRepeats {
		r.forget(now)
	}
	if len(r.pairs) >= maxRepeats {
		pair = [2]string{}
	}
	return r.at(pair)
}

// at is the count of a pair, made if there is none.
func (r *Counter) at(pair [2]string) *repeat {
	if r.pairs == nil {
		r.pairs = map[[2]string]*repeat{}
	}
	if r.pairs[pair] == nil {
		r.pairs[pair] = &repeat{}
	}
	return r.pairs[pair]
}

// forget makes room: pairs that were told long ago. What came since is told of
// all others.
func (r *Counter) forget(now time.Time) {
	left := 0
	for pair, c := range r.pairs {
		if now.Sub(c.told).Abs() >= repeatPause {
			left += c.since
			delete(r.pairs, pair)
		}
	}
	if left > 0 {
		r.at([2]string{}).since += left
	}
}
