package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// UnknownError says that a data folder was in use and lacks a database.
type UnknownError struct {
	Dir   string
	File  string // the database: FileName or BodiesName
	Found string // a file that shows it, below Dir
}

// Error says what to do.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("%s is missing, but the folder was in use (it holds %s): ", filepath.Join(e.Dir, e.File), e.Found)
	if e.File == BodiesName {
		text += "the documents and receipts in it would be gone. "
	} else {
		text += "to begin with an empty database would forget every document and send repeats as new. "
	}
	text += fmt.Sprintf("Put %s and %s-wal back, or restore the last backup (mv %s %s.broken, then edigw restore FILE). ", e.File, e.File, e.Dir, e.Dir)
	if e.File == BodiesName {
		return text + "To go on without, knowing that: remove " + MarkName + " there, and start; what was in it becomes letters when it is due"
	}
	return text + "To begin anew, knowing that: move the folder away, and start"
}

// inspect looks at the database before anything can be written: whether it is
// there, whole, and ends where it ended. A connection that may write would take
// over a log that is another's.
func (s *Store) inspect(ctx context.Context, o Options) error {
	fresh, err := present(s.dir)
	if fresh || err != nil {
		return err
	}
	file := filepath.Join(s.dir, FileName)
	thorough, err := readAtStart(file)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	if _, err := os.Lstat(file + "-journal"); err == nil {
		return nil // its very first transaction was cut off: only who may write can take it back
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath()}
	db, err := sql.Open("sqlite3", fmt.Sprintf("%s?mode=ro&_busy_timeout=%d", u.String(), busyTimeout.Milliseconds()))
	if err != nil {
		return fmt.Errorf("sqlite: open %s: %w", file, err)
	}
	defer db.Close()
	t, err := connection(ctx, db)
	if err != nil {
		return fmt.Errorf("sqlite: open %s: %w", file, err)
	}
	defer func() { _ = t.close() }()
	if !o.Salvage {
		if err := compare(ctx, t, s.dir); err != nil {
			return err
		}
	}
	if thorough || o.Check || o.Salvage {
		if err := t.check(); err != nil {
			return fmt.Errorf("sqlite: %s: %w", file, err)
		}
	}
	return nil
}

// readAtStart reports whether a start reads the file for damage: its log shows
// that it was not closed well, and it is not so large that the start would take
// minutes.
func readAtStart(file string) (bool, error) {
	log, err := size(file + "-wal")
	if err != nil || log == 0 {
		return false, err
	}
	n, err := size(file)
	return n+log <= checkedStart, err
}

// size is the length of a file, 0 if there is none.
func size(file string) (int64, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// present fails with an *UnknownError if the database is not there, or empty,
// and something else in the folder shows that it was. fresh reports whether
// there is no database yet.
func present(dir string) (fresh bool, err error) {
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err == nil && info.Size() > 0 {
		return false, bodied(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("sqlite: %w", err)
	}
	found, err := used(dir)
	if err != nil {
		return true, fmt.Errorf("sqlite: data folder: %w", err)
	}
	if found != "" {
		return true, &UnknownError{Dir: dir, File: FileName, Found: found}
	}
	return true, nil
}

// bodied fails with an *UnknownError if the database of small bodies is not
// there, though a store was open since there is one: it marked the end of its
// ledger.
func bodied(dir string) error {
	n, err := size(filepath.Join(dir, BodiesName))
	if err != nil || n > 0 {
		return err
	}
	if last, ok, err := readMark(dir); err != nil || !ok || last.id == 0 {
		return err
	}
	return &UnknownError{Dir: dir, File: BodiesName, Found: MarkName}
}

// used gives a file with content that only a store puts there, "" if there is
// none. Hidden ones, and folders that are closed to us, are somebody else's.
func used(dir string) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return fs.SkipDir
		}
		name := d.Name()
		switch {
		case path == dir:
			return nil
		case strings.HasPrefix(name, "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular(), name == LockName, name == FileName, name == FileName+"-journal", name == FileName+"-shm":
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() == 0 {
			return nil //nolint:nilerr // it went away, or holds nothing
		}
		if found, err = filepath.Rel(dir, path); err != nil {
			return err
		}
		return fs.SkipAll
	})
	return found, err
}
