package lane

import (
	"slices"
	"sync"
	"time"

	"edigw/retry"
)

// purse shares the retry budget among the lanes that want to retry, one after
// another (delivery.md §5).
type purse struct {
	wake func(*line) // called without the lock

	mu     sync.Mutex
	budget retry.Budget
	ring   []*line // lanes with a retry over budget; next first
}

func (b *purse) init(share float64, wake func(*line)) {
	b.budget, b.wake = retry.NewBudget(share), wake
}

// ask wants to start an exchange now. A retry over budget is noted. The first
// in the ring asks again after wait; the others, whose wait is 0, are woken
// when it is their turn.
func (b *purse) ask(l *line, now time.Time, again bool) (ok bool, wait time.Duration) {
	b.mu.Lock()
	if !again {
		ok, wait = b.budget.Allow(now, false)
		b.mu.Unlock()
		return ok, wait
	}
	first := len(b.ring) == 0 || b.ring[0] == l
	if first {
		ok, wait = b.budget.Allow(now, true)
	}
	var next *line
	switch in := l.overBudget.Load(); {
	case ok && in: // it stood first
		b.ring = b.ring[1:]
		l.overBudget.Store(false)
		if len(b.ring) > 0 {
			next = b.ring[0]
		}
	case !ok && !in:
		b.ring = append(b.ring, l)
		l.overBudget.Store(true)
	}
	b.mu.Unlock()
	if next != nil {
		b.wake(next)
	}
	return ok, wait
}

// leave takes a lane that no longer wants to retry out of the ring.
func (b *purse) leave(l *line) {
	if !l.overBudget.Load() {
		return
	}
	b.mu.Lock()
	var next *line
	if in := slices.Index(b.ring, l); in >= 0 {
		b.ring = slices.Delete(b.ring, in, in+1)
		if in == 0 && len(b.ring) > 0 {
			next = b.ring[0]
		}
	}
	l.overBudget.Store(false)
	b.mu.Unlock()
	if next != nil {
		b.wake(next)
	}
}
