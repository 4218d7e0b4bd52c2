package inbox

import (
	"context"
	"sync"
	"time"
)

// turns lets one at a time do something about the same thing.
type turns struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// wait waits until nobody else holds name, or ctx ends. The caller calls done.
func (t *turns) wait(ctx context.Context, name string) (done func(), err error) {
	for {
		done, other := t.try(name)
		if done != nil {
			return done, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try takes name if nobody holds it; the caller calls done. Otherwise done is
// nil, and other ends when whoever holds it is done.
func (t *turns) try(name string) (done func(), other <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other, taken := t.held[name]; taken {
		return nil, other
	}
	mine := make(chan struct{})
	t.held[name] = mine
	return func() {
		t.mu.Lock()
		delete(t.held, name)
		t.mu.Unlock()
		close(mine)
	}, nil
}

// budget bounds what strangers can make us keep.
type budget struct {
	mu    sync.Mutex
	spent map[string]*share
	swept time.Time
}

type share struct {
	since time.Time
	n     int
}

const (
	maxShares = 100_000   // bounds the memory of a budget
	longest   = time.Hour // span of any share
)

// take reports whether name has less than most within span, and uses up one.
func (b *budget) take(name string, most int, span time.Duration, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.spent[name]
	if s == nil {
		if len(b.spent) >= maxShares && !b.sweep(now) {
			return false
		}
		s = &share{since: now}
		b.spent[name] = s
	}
	if now.Sub(s.since).Abs() >= span {
		s.since, s.n = now, 0
	}
	if s.n >= most {
		return false
	}
	s.n++
	return true
}

// sweep forgets the old shares and reports whether there is room again.
func (b *budget) sweep(now time.Time) bool {
	if now.Sub(b.swept).Abs() < time.Second {
		return false
	}
	b.swept = now
	for name, s := range b.spent {
		if now.Sub(s.since).Abs() >= longest {
			delete(b.spent, name)
		}
	}
	return len(b.spent) < maxShares
}
