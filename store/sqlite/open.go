// Package sqlite keeps messages, letters, lanes and the event ledger in one
// SQLite database. It owns all SQL: one writer that commits what many callers
// ask for together, and readers that never wait for it.
//
// It decides nothing. What a step changes comes as a queue.Result, what an
// arrival becomes is queue.Admit's; the files that rows name lie in the spool.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"
)

// FileName is the name of the database in the data folder.
const FileName = "edigw.db"

// oldest is the first SQLite release without the WAL-reset fault, as
// SQLITE_VERSION_NUMBER counts.
const oldest = 3051003

const (
	readers     = 8                // connections that read
	busyTimeout = 5 * time.Second  // for a lock that another connection of ours holds
	readTimeout = 30 * time.Second // for one call that reads
)

// Options are what Open can do without.
type Options struct {
	// Observe is told of each commit: how long it took with its fsync, and
	// how many requests it made durable. It is called by the writer and must
	// not block. Nil: nobody is told.
	Observe func(commit time.Duration, requests int)
}

// Stats are figures since Open.
type Stats struct {
	Commits  int64 // transactions that were made durable, each by one fsync of the log
	Requests int64 // requests in them
}

// Store is an open database. All methods may be called concurrently.
type Store struct {
	dir     string
	lock    *os.File
	observe func(time.Duration, int)

	writeDB, readDB *sql.DB
	writer          *tx      // used by the writer goroutine only
	pool            chan *tx // readers that are free

	mu       sync.RWMutex // held for reading while a request is handed over
	closed   bool
	requests chan *request
	stop     chan struct{}
	stopped  chan struct{}

	commits, committed atomic.Int64
}

// Open opens the database in a data folder, making both if they are missing,
// locks the folder for this process, brings the schema up to date and checks
// the file. It fails with a *LockedError if another process has the folder,
// and with a *SchemaError if a newer edigw wrote the database.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	version, number, _ := sqlite3.Version()
	if number < oldest {
		return nil, fmt.Errorf("sqlite: library %s is too old, 3.51.3 or newer is needed", version)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("sqlite: data folder: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir: dir, lock: lock, observe: o.Observe,
		requests: make(chan *request, maxBatch), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if err := s.connect(ctx); err != nil {
		_ = s.release()
		return nil, err
	}
	if err := syncFolders(dir, filepath.Dir(dir)); err != nil {
		_ = s.release()
		return nil, fmt.Errorf("sqlite: data folder: %w", err)
	}
	go s.run()
	return s, nil
}

// syncFolders makes the names in folders durable.
func syncFolders(dirs ...string) error {
	for _, dir := range dirs {
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
	}
	return nil
}

// connect opens the connections. The writer's comes first: it makes the file,
// and readers find the schema in place.
func (s *Store) connect(ctx context.Context) error {
	file := filepath.Join(s.dir, FileName)
	if f, err := os.OpenFile(file, os.O_CREATE, 0o600); err != nil { // before SQLite makes it readable for others
		return fmt.Errorf("sqlite: %w", err)
	} else if err := f.Close(); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	var err error
	if s.writeDB, err = sql.Open("sqlite3", dsn(file, "rw", "immediate")); err != nil {
		return fmt.Errorf("sqlite: open %s: %w", file, err)
	}
	if s.writer, err = connection(ctx, s.writeDB); err != nil {
		return fmt.Errorf("sqlite: open %s: %w", file, err)
	}
	if err := s.writer.check(); err != nil {
		return fmt.Errorf("sqlite: %s: %w", file, err)
	}
	for _, q := range []string{"PRAGMA journal_size_limit = 67108864", "PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -65536"} {
		if _, err := s.writer.conn.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("sqlite: %w", err)
		}
	}
	if err := s.writer.migrate(); err != nil {
		return err
	}
	if s.readDB, err = sql.Open("sqlite3", dsn(file, "ro", "deferred")+"&_query_only=1"); err != nil {
		return fmt.Errorf("sqlite: open %s: %w", file, err)
	}
	s.pool = make(chan *tx, readers)
	for range readers {
		t, err := connection(ctx, s.readDB)
		if err != nil {
			return fmt.Errorf("sqlite: open %s for reading: %w", file, err)
		}
		s.pool <- t
	}
	return nil
}

// dsn names the database with the settings that every connection must have.
// FULL syncs the log with each commit: an acknowledged document survives a
// power cut.
func dsn(file, mode, lock string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath()}
	return fmt.Sprintf("%s?mode=%s&_txlock=%s&_synchronous=FULL&_journal_mode=WAL&_foreign_keys=on&_busy_timeout=%d",
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

// Stats gives figures since Open.
func (s *Store) Stats() Stats {
	return Stats{Commits: s.commits.Load(), Requests: s.committed.Load()}
}

// Close finishes the writes that were handed over and closes the database.
// Later calls fail with queue.ErrUnavailable. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		<-s.stopped
		return nil
	}
	close(s.stop)
	<-s.stopped
	return s.release()
}

// release closes what Open opened.
func (s *Store) release() error {
	var errs []error
	for len(s.pool) > 0 {
		errs = append(errs, (<-s.pool).close())
	}
	if s.readDB != nil {
		errs = append(errs, s.readDB.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.writeDB != nil {
		errs = append(errs, s.writeDB.Close())
	}
	errs = append(errs, s.lock.Close())
	return errors.Join(errs...)
}
