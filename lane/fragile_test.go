package lane_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"edigw/queue"
	"edigw/store/storetest"
)

// fragile is a store that fails as a test wants it to. Each process has its
// own, so that a dead process can write nothing more.
type fragile struct {
	*storetest.Memory
	mu     sync.Mutex
	gone   bool                              // the process is dead
	broken bool                              // the store is down
	lies   int                               // writes that go through and say that they failed
	slow   func(*queue.Result) time.Duration // how long a write takes
	panics func(*queue.Result) bool
	refuse func(*queue.Result) error
	writes [][]*queue.Result // what was to be recorded together
	reads  int               // of lines
	rows   int               // read to be buried
	most   int               // of these, by one read
	last   queue.EventType   // after the next event of this type the process is dead
}

var errDown = errors.New("database is locked")

func (f *fragile) crash()                     { f.mu.Lock(); f.gone = true; f.mu.Unlock() }
func (f *fragile) down(on bool)               { f.mu.Lock(); f.broken = on; f.mu.Unlock() }
func (f *fragile) lie(n int)                  { f.mu.Lock(); f.lies = n; f.mu.Unlock() }
func (f *fragile) after(last queue.EventType) { f.mu.Lock(); f.last = last; f.mu.Unlock() }

func (f *fragile) set(change func()) { f.mu.Lock(); change(); f.mu.Unlock() }

// maxReads is how often a line may be read in a test: a lane that spins fails
// instead of keeping fake time from passing.
const maxReads = 50_000

func (f *fragile) Ready(ctx context.Context, lane string, inOrder bool, now time.Time, limit int) ([]queue.Message, time.Time, error) {
	f.mu.Lock()
	f.reads++
	spins := f.reads > maxReads
	f.mu.Unlock()
	if spins {
		return nil, time.Time{}, errDown
	}
	return f.Memory.Ready(ctx, lane, inOrder, now, limit)
}

func (f *fragile) Buriable(ctx context.Context, lane string, except []string, limit int) ([]queue.Message, error) {
	all, err := f.Memory.Buriable(ctx, lane, except, limit)
	f.set(func() { f.rows += len(all); f.most = max(f.most, len(all)) })
	return all, err
}

func (f *fragile) Record(ctx context.Context, results ...*queue.Result) error {
	f.mu.Lock()
	slow := f.slow
	f.writes = append(f.writes, results)
	f.mu.Unlock()
	for _, r := range results {
		if slow != nil {
			time.Sleep(slow(r)) //nolint:forbidigo // fake time of the bubble
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range results {
		if f.panics != nil && f.panics(r) {
			panic("scripted")
		}
	}
	if f.gone || f.broken {
		return errDown
	}
	for _, r := range results {
		if f.refuse != nil {
			if err := f.refuse(r); err != nil {
				return err
			}
		}
	}
	if f.lies > 0 {
		f.lies--
		var copies []*queue.Result
		for _, r := range results {
			c := *r
			if c.Message != nil {
				m := *c.Message
				c.Message = &m
			}
			if c.Lane != nil {
				l := *c.Lane
				c.Lane = &l
			}
			copies = append(copies, &c)
		}
		if err := f.Memory.Record(ctx, copies...); err != nil {
			return err
		}
		return errDown
	}
	err := f.Memory.Record(ctx, results...)
	for _, r := range results {
		for _, e := range r.Events {
			f.gone = f.gone || e.Type == f.last
		}
	}
	return err
}

func (f *fragile) NextNumber(ctx context.Context, series string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone || f.broken {
		return 0, errDown
	}
	return f.Memory.NextNumber(ctx, series)
}
