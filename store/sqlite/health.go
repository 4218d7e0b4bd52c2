package sqlite

import (
	"context"
	"fmt"
	"time"
)

// probeEvery is how often Healthy tries a commit while the last one failed, and
// probeSize how many bytes it writes: on a disk that is all but full less
// might fit where a document does not.
const (
	probeEvery = time.Second
	probeSize  = 256 << 10
)

// Healthy reports whether both databases take commits: nil, or why the last one
// failed; errors as those of any write. One that failed is tried again, at most
// once a second, so that it is found to work again even if nobody else writes.
func (s *Store) Healthy(ctx context.Context) error {
	if err := s.database.Healthy(ctx); err != nil {
		return err
	}
	if err := s.bodies.Healthy(ctx); err != nil {
		return fmt.Errorf("%s: %w", BodiesName, err)
	}
	return nil
}

// Healthy is Store.Healthy for this database alone.
func (d *database) Healthy(ctx context.Context) error {
	if d.failed.Load() == nil {
		return d.read(ctx, func(t *tx) error { return t.row("SELECT 1").Scan(new(int)) })
	}
	now := time.Now().UnixNano()
	if last := d.probed.Load(); now-last >= int64(probeEvery) && d.probed.CompareAndSwap(last, now) {
		return d.tryCommit(ctx)
	}
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// probe are the statements that write something of a size, and take it away.
type probe struct{ put, drop string }

// tryCommit does both in two commits: what is gone before the first ends would
// not be written.
func (d *database) tryCommit(ctx context.Context) error {
	err := d.write(ctx, func(t *tx) error {
		_, err := t.exec(d.probe.put, probeSize)
		return err
	})
	if err != nil {
		return err
	}
	return d.write(ctx, func(t *tx) error {
		_, err := t.exec(d.probe.drop)
		return err
	})
}

// outcome notes how a commit ended.
func (d *database) outcome(err error) {
	if err == nil {
		d.failed.Store(nil)
		return
	}
	d.failed.Store(&err)
}
