package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	busyTimeout = 5 * time.Second  // for a lock that another connection of ours holds
	readTimeout = 30 * time.Second // for one call that reads
)

// moveLog has the log moved into the file every 32 MiB and not every 4: pages
// of indexes, which every commit touches, are then moved once for many commits.
const moveLog = "PRAGMA wal_autocheckpoint = 8192"

// traits are what one database of ours has different from another.
type traits struct {
	schema  func() ([]migration, error)
	readers int      // connections that read
	writer  string   // parameters of the writer's connection, each after a &
	pragmas []string // of the writer's connection
	observe func(commit time.Duration, requests int)
	probe   probe
	ended   func() // told by the writer of each commit that went through, before those who wait for it; nil: nobody is
}

// database is one file: a writer that commits what many callers ask for
// together, and readers that never wait for it.
type database struct {
	file    string
	observe func(time.Duration, int)
	probe   probe
	ended   func()

	writeDB, readDB *sql.DB
	writer          *tx      // used by the writer goroutine only
	pool            chan *tx // readers that are free
	warm            chan *tx // the one of them that read last

	mu       sync.RWMutex // held for reading while a request is handed over
	closed   bool
	requests chan *request
	stop     chan struct{}
	stopped  chan struct{}

	commits, committed atomic.Int64
	failed             atomic.Pointer[error] // of the last commit; nil: it succeeded
	probed             atomic.Int64          // when a commit was last tried for Healthy
}

// openDatabase opens a file, making it if it is missing. The caller keeps other
// processes away, and calls run.
func openDatabase(ctx context.Context, file string, f traits) (*database, error) {
	d := &database{
		file: file, observe: f.observe, probe: f.probe, ended: f.ended,
		requests: make(chan *request, maxBatch), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if err := d.connect(ctx, f); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: %s: %w", file, err), d.release())
	}
	return d, nil
}

// connect opens the connections. The writer's comes first: it makes the file,
// and readers find the schema in place.
func (d *database) connect(ctx context.Context, f traits) error {
	if w, err := os.OpenFile(d.file, os.O_CREATE, 0o600); err != nil { // before SQLite makes it readable for others
		return err
	} else if err := w.Close(); err != nil {
		return err
	}
	var err error
	if d.writeDB, err = sql.Open("sqlite3", dsn(d.file, "rw", "immediate")+f.writer); err != nil {
		return err
	}
	if d.writer, err = connection(ctx, d.writeDB); err != nil {
		return err
	}
	for _, q := range f.pragmas {
		if _, err := d.writer.conn.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	all, err := f.schema()
	if err != nil {
		return err
	}
	if err := d.writer.apply(all); err != nil {
		return err
	}
	if d.readDB, err = sql.Open("sqlite3", dsn(d.file, "ro", "deferred")+"&_query_only=1"); err != nil {
		return err
	}
	d.pool, d.warm = make(chan *tx, f.readers), make(chan *tx, 1)
	for range f.readers {
		t, err := connection(ctx, d.readDB)
		if err != nil {
			return fmt.Errorf("for reading: %w", err)
		}
		d.pool <- t
	}
	return nil
}

// dsn names the database with the settings that every connection must have.
// FULL syncs the log with each commit: an acknowledged document survives a
// power cut. A connection is used by one goroutine at a time, so SQLite need not
// lock it.
func dsn(file, mode, lock string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath()}
	return fmt.Sprintf("%s?mode=%s&_txlock=%s&_synchronous=FULL&_journal_mode=WAL&_foreign_keys=on&_busy_timeout=%d&_mutex=no",
		u.String(), mode, lock, busyTimeout.Milliseconds())
}

// check reads the whole file for damage.
func (t *tx) check() error {
	var verdict string
	if err := t.row("PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return fmt.Errorf("database cannot be read: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("database is damaged (%s): restore the last backup", verdict)
	}
	return nil
}

// finish ends the writer once it did what was handed over; later calls fail
// with queue.ErrUnavailable. It reports whether it was the first to do so.
func (d *database) finish() (first bool) {
	d.mu.Lock()
	first = !d.closed
	d.closed = true
	d.mu.Unlock()
	if first {
		close(d.stop)
	}
	<-d.stopped
	return first
}

// release closes what connect opened.
func (d *database) release() error {
	var errs []error
	for _, free := range []chan *tx{d.pool, d.warm} {
		for len(free) > 0 {
			errs = append(errs, (<-free).close())
		}
	}
	if d.readDB != nil {
		errs = append(errs, d.readDB.Close())
	}
	if d.writer != nil {
		errs = append(errs, d.writer.close())
	}
	if d.writeDB != nil {
		errs = append(errs, d.writeDB.Close())
	}
	return errors.Join(errs...)
}
