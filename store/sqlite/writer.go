package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"edigw/queue"
)

const (
	maxBatch        = 256         // requests in one transaction
	maxYields       = 3           // turns of the processor that a commit leaves to others
	checkpointEvery = time.Minute // how often the log is looked at
	checkpointOver  = 8 << 20     // bytes of log that are worth a checkpoint
)

// request is one caller's wish for a write.
type request struct {
	fn     func(*tx) error
	single bool        // fn runs one statement
	taken  atomic.Bool // by the writer, or by a caller that gave up
	done   chan error  // buffered
}

// write runs fn in a transaction and returns when what it did would survive a
// power cut. Requests of many callers share a commit; a savepoint each keeps
// them apart, so an error of fn takes back what this fn did and nothing else.
// fn runs on the writer, once, and must touch nothing but t and the caller's
// own variables; it must not block, and what it stores in variables counts only
// if write returns nil. If the commit fails, write fails with
// queue.ErrUnavailable, and also with queue.ErrNoSpace if the disk is full.
// ctx is heeded until fn begins.
func (d *database) write(ctx context.Context, fn func(t *tx) error) error {
	return d.ask(ctx, &request{fn: fn})
}

// writeOne is write for an fn that runs one statement: SQLite itself takes back
// all of that if it fails, so it needs no savepoint.
func (d *database) writeOne(ctx context.Context, fn func(t *tx) error) error {
	return d.ask(ctx, &request{fn: fn, single: true})
}

func (d *database) ask(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.done = make(chan error, 1)
	if err := d.submit(ctx, r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if r.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return <-r.done
	}
}

func (d *database) submit(ctx context.Context, r *request) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return fmt.Errorf("sqlite: closed: %w", queue.ErrUnavailable)
	}
	select {
	case d.requests <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the writer: the only goroutine that changes the database.
func (d *database) run() {
	defer close(d.stopped)
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case r := <-d.requests:
			d.batch(r)
		case <-tick.C:
			d.checkpoint()
		case <-d.stop:
			for len(d.requests) > 0 {
				d.batch(<-d.requests)
			}
			return
		}
	}
}

// batch commits a request together with all that wait behind it. While it
// commits, the next batch gathers: nobody needs to be delayed for it.
func (d *database) batch(r *request) {
	t := d.writer
	if err := t.run("BEGIN IMMEDIATE"); err != nil {
		err = unavailable(err)
		d.outcome(err)
		r.answer(err)
		return
	}
	var good []*request
	yields := maxYields
	for r != nil {
		if r.taken.CompareAndSwap(false, true) {
			err, broken := t.attempt(r, len(good) == 0)
			if broken != nil {
				_ = t.run("ROLLBACK")
				broken = unavailable(broken)
				d.outcome(broken)
				for _, g := range append(good, r) {
					g.done <- broken
				}
				return
			}
			if err != nil {
				if err = passing(err); errors.Is(err, queue.ErrUnavailable) || errors.Is(err, queue.ErrNoSpace) {
					d.outcome(err)
				}
				r.done <- err
			} else {
				good = append(good, r)
			}
		}
		r = nil
		if len(good) < maxBatch {
			r = d.next(&yields)
		}
	}
	start := time.Now()
	err := t.run("COMMIT")
	if err != nil {
		_ = t.run("ROLLBACK")
		err = unavailable(err)
		d.outcome(err)
	} else if len(good) > 0 {
		d.outcome(nil)
		if d.ended != nil {
			d.ended()
		}
		d.commits.Add(1)
		d.committed.Add(int64(len(good)))
		if d.observe != nil {
			d.observe(time.Since(start), len(good))
		}
	}
	for _, g := range good {
		g.done <- err
	}
}

// next gives a request that waits already, nil if there is none. Those who are
// about to ask get their turn of the processor first, a few times for each
// commit: where many are at work more of them share it, and where nobody is this
// takes no time.
func (d *database) next(yields *int) *request {
	for {
		select {
		case r := <-d.requests:
			return r
		default:
		}
		if *yields == 0 {
			return nil
		}
		*yields--
		runtime.Gosched()
	}
}

func (r *request) answer(err error) {
	if r.taken.CompareAndSwap(false, true) {
		r.done <- err
	}
}

// attempt runs a request's fn so that an error of it takes back what it did and
// nothing else. One that is first has the transaction to itself, and needs no
// savepoint for that. broken means that the whole transaction is lost, as after
// an I/O error.
func (t *tx) attempt(r *request, first bool) (err, broken error) {
	switch {
	case r.single:
		if err = r.fn(t); err != nil && !t.open() {
			return nil, err
		}
		return err, nil
	case first:
		if err = r.fn(t); err != nil {
			_ = t.run("ROLLBACK")
			broken = t.run("BEGIN IMMEDIATE")
		}
		return err, broken
	}
	if err := t.run("SAVEPOINT request"); err != nil {
		return nil, err
	}
	if err = r.fn(t); err != nil {
		if t.run("ROLLBACK TO request") != nil {
			return nil, err
		}
	}
	if broken = t.run("RELEASE request"); broken != nil {
		return nil, broken
	}
	return err, nil
}

// unavailable says that nothing was written.
func unavailable(err error) error {
	return fmt.Errorf("sqlite: %w: %w", queue.ErrUnavailable, err)
}

// checkpoint moves a grown log into the database and cuts it off. It waits for
// no reader: what one still needs is moved the next time.
func (d *database) checkpoint() {
	info, err := os.Stat(d.file + "-wal")
	if err != nil || info.Size() < checkpointOver {
		return
	}
	t := d.writer
	_, _ = t.conn.ExecContext(t.ctx, "PRAGMA busy_timeout = 0")
	_, _ = t.conn.ExecContext(t.ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	_, _ = t.conn.ExecContext(t.ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds()))
}
