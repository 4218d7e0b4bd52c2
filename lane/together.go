package lane

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"

	"edigw/queue"
)

// maxTogether bounds what one transaction records of a lane.
const maxTogether = 32

// entry is what a flight wants recorded of its message. All of it runs under
// the lane's lock, perhaps in the goroutine of another flight.
type entry struct {
	decide   func() (*queue.Result, error) // nil: nothing is to be recorded
	recorded func(*queue.Result)           // what was decided is durable
	alone    func(*queue.Result)           // decides, unless that is done, and records by itself

	done     chan struct{} // closed when all that is over
	panicked any           // instead
}

// desk is where flights of a lane leave their entries until its lock is free.
type desk struct {
	sync.Mutex
	entries []*entry
}

func (d *desk) put(e *entry) {
	d.Lock()
	defer d.Unlock()
	d.entries = append(d.entries, e)
}

func (d *desk) take() []*entry {
	d.Lock()
	defer d.Unlock()
	n := min(len(d.entries), maxTogether)
	some := d.entries[:n:n]
	d.entries = d.entries[n:]
	return some
}

// enter has an entry carried out. While one transaction of the lane commits,
// others gather: who gets the lock next carries out all of them, in the order
// in which they came, and shares one commit.
func (l *line) enter(e *entry) {
	e.done = make(chan struct{})
	l.desk.put(e)
	for {
		select {
		case l.mu <- struct{}{}:
			l.carryOut(l.desk.take())
			l.mu.Unlock()
		case <-e.done:
			if e.panicked != nil {
				panic(e.panicked) // in the flight that it belongs to
			}
			return
		}
	}
}

// carryOut decides one entry after the other. Only those share a transaction
// that leave the lane as it is, so that each is decided on what is stored. What
// cannot be recorded together is recorded one by one. The caller holds l.mu.
func (l *line) carryOut(all []*entry) {
	var gathered []*entry
	var results []*queue.Result
	flush := func() bool {
		good := l.recordAll(gathered, results)
		gathered, results = nil, nil
		return good
	}
	for _, e := range all {
		var res *queue.Result
		var err error
		decided := len(all) > 1 && e.safely(func() { res, err = e.decide() })
		if decided && err == nil && res != nil && l.plain(res) {
			res.Lane = nil
			gathered, results = append(gathered, e), append(results, res)
			continue
		}
		if good := flush(); !good || err != nil {
			res = nil // decided on what is not so
		}
		if e.panicked == nil && (res != nil || err != nil || !decided) {
			e.safely(func() { e.alone(res) })
		}
		close(e.done)
	}
	flush()
}

// plain reports whether a result leaves everything but its message as it is.
func (l *line) plain(r *queue.Result) bool {
	return (r.Lane == nil || reflect.DeepEqual(*r.Lane, l.lane)) && r.Closed == nil && r.Opened == nil && r.Outage == nil && r.Isolation == nil
}

// recordAll records results in one transaction, or each entry by itself if that
// cannot be. It reports whether they shared it.
func (l *line) recordAll(all []*entry, results []*queue.Result) bool {
	if len(all) == 0 {
		return true
	}
	var whole entry
	err := fmt.Errorf("lane %s: nothing was recorded", l.key)
	if len(all) > 1 {
		whole.safely(func() { err = l.record(l.s.base, results...) })
	}
	for i, e := range all {
		e.safely(func() {
			switch {
			case len(all) == 1:
				e.alone(results[0])
			case err == nil:
				e.recorded(results[i])
			default:
				e.alone(nil)
			}
		})
		close(e.done)
	}
	return len(all) == 1 || err == nil
}

// safely runs a part of the entry and reports whether it came to its end. A
// panic is for the flight that the entry belongs to.
func (e *entry) safely(work func()) (ended bool) {
	defer func() {
		if p := recover(); p != nil {
			e.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	work()
	return true
}
