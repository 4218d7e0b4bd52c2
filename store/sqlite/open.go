// Package sqlite keeps messages, letters, lanes and the event ledger in one
// SQLite database, and the small bodies of the spool in another. It owns all
// SQL: for each file one writer that commits what many callers ask for
// together, and readers that never wait for it.
//
// It decides nothing. What a step changes comes as a queue.Result, what an
// arrival becomes is queue.Admit's; the files that rows name lie in the spool.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mattn/go-sqlite3"
)

// FileName is the name of the database in the data folder.
const FileName = "edigw.db"

// oldest is the first SQLite release without the WAL-reset fault, as
// SQLITE_VERSION_NUMBER counts.
const oldest = 3051003

const (
	readers      = 8       // connections that read
	checkedStart = 1 << 30 // bytes up to which a start after an unclean stop reads the ledger for damage: seconds, not minutes
)

// Options are what Open can do without.
type Options struct {
	// Observe is told of each commit: how long it took with its fsync, and
	// how many requests it made durable. It is called by a writer and must
	// not block. Nil: nobody is told.
	Observe func(commit time.Duration, requests int)

	// Check has both databases read for damage from beginning to end, however
	// large they are and however they were closed.
	Check bool

	// Salvage opens a database that lacks what was committed last, so that the
	// rest can be saved.
	Salvage bool
}

// Stats are figures since Open.
type Stats struct {
	Commits  int64 // transactions that were made durable, each by one fsync of the log
	Requests int64 // requests in them
}

// Store is an open database. All methods may be called concurrently.
type Store struct {
	*database // the ledger
	bodies    *Bodies
	dir       string
	lock      *folderLock
	mark      *mark // nil: nothing is remembered
}

// Open opens the databases in a data folder, making what is missing, locks the
// folder for this process and brings the schemas up to date. A ledger that was
// not closed well is read for damage, unless it is large. It fails with a
// *LockedError if another process has the folder, with a *SchemaError if a
// newer edigw wrote a database, with an *UnknownError if the ledger is gone,
// and with a *LostError if its end is.
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
	s := &Store{dir: dir, lock: lock}
	if err := s.open(ctx, o); err != nil {
		_ = s.release()
		return nil, meaning(err)
	}
	go s.run()
	go s.bodies.run()
	return s, nil
}

// open looks before it touches, and remembers from then on.
func (s *Store) open(ctx context.Context, o Options) (err error) {
	if err := s.inspect(ctx, o); err != nil {
		return err
	}
	s.database, err = openDatabase(ctx, filepath.Join(s.dir, FileName), traits{
		schema: func() ([]migration, error) { return readMigrations(migrations) }, readers: readers, observe: o.Observe, ended: s.remember,
		probe: probe{
			put:  "INSERT OR REPLACE INTO settings (name, value) VALUES ('probe', hex(zeroblob(? / 2)))",
			drop: "DELETE FROM settings WHERE name = 'probe'",
		},
		pragmas: []string{moveLog, "PRAGMA journal_size_limit = 67108864", "PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -65536"},
	})
	if err != nil {
		return err
	}
	if s.bodies, err = openBodies(ctx, s.dir, o); err != nil {
		return err
	}
	if !o.Salvage {
		if err := s.openMark(); err != nil {
			return err
		}
	}
	if err := syncFolders(s.dir, filepath.Dir(s.dir)); err != nil {
		return fmt.Errorf("sqlite: data folder: %w", err)
	}
	return nil
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

// Bodies is where the small bodies are kept. It is closed with the store.
func (s *Store) Bodies() *Bodies { return s.bodies }

// Stats gives figures of the ledger since Open.
func (d *database) Stats() Stats {
	return Stats{Commits: d.commits.Load(), Requests: d.committed.Load()}
}

// Close finishes the writes that were handed over and closes the databases.
// Later calls fail with queue.ErrUnavailable. A second Close does nothing.
func (s *Store) Close() error {
	first := s.bodies.finish() // of two that close at once it is one that releases
	s.finish()
	if !first {
		return nil
	}
	return s.release()
}

// release closes what Open opened.
func (s *Store) release() error {
	var errs []error
	if s.bodies != nil {
		errs = append(errs, s.bodies.release())
	}
	if s.database != nil {
		errs = append(errs, s.database.release())
	}
	if s.mark != nil {
		errs = append(errs, s.mark.file.Close())
	}
	errs = append(errs, s.lock.Close())
	return errors.Join(errs...)
}
