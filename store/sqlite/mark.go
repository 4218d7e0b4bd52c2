package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// MarkName is the file beside the database that remembers the last event which
// was committed. SQLite keeps what was committed last in a file of its own,
// edigw.db-wal, and does not notice when that is gone or another's.
const MarkName = "edigw.mark"

// seen is an event of the ledger as it is remembered.
type seen struct {
	id int64
	at int64 // as the ledger has it
}

// mark is the file, held open. It is written after each commit that made an
// event durable and before anybody is told, and is not synced: the kernel has
// it when the process is killed. After a power cut it may be older, never newer
// than the database, so a database that ends before it lost something.
type mark struct {
	file *os.File
	last seen
}

// A mark is lines of a fixed length, so that it can be written over in one
// piece: the process that has the folder, then the event.
const (
	markFormat = "%010d\nevent %019d of %019d\n"
	markLength = 11 + 6 + 19 + 4 + 19 + 1
)

// LostError says that the database lacks what was committed last.
type LostError struct {
	Dir  string
	Last time.Time // of the event that is missing
	Err  error     // nil, or why it cannot be found
}

// Error says what to do.
func (e *LostError) Error() string {
	text := fmt.Sprintf("%s lacks what was committed at %s: %s-wal is missing or belongs to another database, and without it documents would be lost or sent twice. Nothing was changed. "+
		"Put %s and %s-wal back as they were together. If that cannot be: edigw backup saves what is there, and edigw restore of that file marks every unfinished message as uncertain",
		filepath.Join(e.Dir, FileName), e.Last.UTC().Format(time.RFC3339), FileName, FileName, FileName)
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text
}

// Unwrap gives the cause.
func (e *LostError) Unwrap() error { return e.Err }

// readMark gives what is remembered; ok is false if there is nothing.
func readMark(dir string) (last seen, ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, MarkName))
	if errors.Is(err, fs.ErrNotExist) {
		return seen{}, false, nil
	}
	if err != nil {
		return seen{}, false, fmt.Errorf("sqlite: %w", err)
	}
	var pid int
	if _, err := fmt.Sscanf(string(text), markFormat, &pid, &last.id, &last.at); err != nil {
		return seen{}, false, nil // a power cut while it was made: nothing can be said
	}
	return last, true, nil
}

// openMark begins to remember, from what the database has now.
func (s *Store) openMark() error {
	last, err := s.writer.newest()
	if err != nil {
		return fmt.Errorf("sqlite: read the end of the ledger: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(s.dir, MarkName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	s.mark = &mark{file: f}
	if err := errors.Join(s.mark.put(last), f.Truncate(markLength), f.Sync()); err != nil {
		return fmt.Errorf("sqlite: %s: %w", MarkName, err)
	}
	return nil
}

// newest is the last event in the ledger, also of the open transaction.
func (t *tx) newest() (last seen, err error) {
	err = t.row("SELECT id, at FROM events ORDER BY id DESC LIMIT 1").Scan(&last.id, &last.at)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return last, err
}

// put remembers an event that is durable. Where it fails the mark is older
// than it might be: less is noticed, nothing is lost.
func (m *mark) put(e seen) error {
	if m.last != (seen{}) && e.id <= m.last.id {
		return nil
	}
	if _, err := m.file.WriteAt(fmt.Appendf(nil, markFormat, os.Getpid(), e.id, e.at), 0); err != nil {
		return err
	}
	m.last = e
	return nil
}

// remember puts down the end of the ledger after a commit.
func (s *Store) remember() {
	if s.mark == nil {
		return
	}
	if last, err := s.writer.newest(); err == nil {
		_ = s.mark.put(last)
	}
}

// compare fails with a *LostError if the database ends before what is
// remembered, or has another event in its place. It reads only: a log that is
// another's must not get into the database.
func compare(ctx context.Context, t *tx, dir string) error {
	last, ok, err := readMark(dir)
	if err != nil || !ok || last.id == 0 {
		return err
	}
	lost := &LostError{Dir: dir, Last: time.UnixMicro(last.at)}
	var end, at int64
	if err := t.row("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)").Scan(&end); err != nil {
		lost.Err = err
		return lost
	}
	if end < last.id {
		return lost
	}
	switch err := t.row("SELECT at FROM events WHERE id = ?", last.id).Scan(&at); {
	case errors.Is(err, sql.ErrNoRows): // retention took it
	case err != nil:
		lost.Err = err
		return lost
	case at != last.at:
		return lost
	}
	return ctx.Err()
}
