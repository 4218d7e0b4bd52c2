package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// killed gives a data folder as a kill leaves it, with documents from..to
// accepted, of which those up to checkpoint are in the database itself and the
// rest only in its log.
func killed(t *testing.T, from, to, checkpoint int64) string {
	t.Helper()
	live := t.TempDir()
	s, err := Open(t.Context(), live, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	accept(t, s, from, checkpoint)
	if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	accept(t, s, checkpoint, to)
	dead := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dead, os.DirFS(live)); err != nil {
		t.Fatal(err)
	}
	return dead
}

func accept(t *testing.T, s *Store, from, to int64) {
	t.Helper()
	for n := from; n < to; n++ {
		if _, err := s.Accept(t.Context(), testArrival(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// accepted counts the messages of a folder that can be opened.
func accepted(t *testing.T, dir string, o Options) int64 {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := int64(0)
	if err := s.read(context.Background(), func(t *tx) error { return t.row("SELECT count(*) FROM messages").Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func contents(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestLostLogIsNoticed: what was committed last lies in the log alone after a
// kill. Without it, or with another one, nothing is opened and nothing changed;
// with it everything is there.
func TestLostLogIsNoticed(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, log string){
		"removed": func(t *testing.T, log string) {
			if err := os.Remove(log); err != nil {
				t.Fatal(err)
			}
		},
		"empty":       func(t *testing.T, log string) { write(t, log, "") },
		"cut to half": func(t *testing.T, log string) { all := contents(t, log); write(t, log, all[:len(all)/2]) },
		"not a log":   func(t *testing.T, log string) { write(t, log, strings.Repeat("northwind", 10_000)) },
		"of another one": func(t *testing.T, log string) {
			write(t, log, contents(t, filepath.Join(killed(t, 500, 540, 510), FileName)+"-wal"))
		},
		"of a longer one": func(t *testing.T, log string) {
			write(t, log, contents(t, filepath.Join(killed(t, 500, 700, 510), FileName)+"-wal"))
		},
		"of the same, as short": func(t *testing.T, log string) {
			write(t, log, contents(t, filepath.Join(killed(t, 100, 130, 110), FileName)+"-wal"))
		},
	} {
		dir := killed(t, 0, 30, 10)
		log := filepath.Join(dir, FileName+"-wal")
		good, database := contents(t, log), contents(t, filepath.Join(dir, FileName))
		if good == "" {
			t.Fatal("the log holds nothing")
		}
		spoil(t, log)
		for range 2 { // trying again changes nothing
			s, err := Open(t.Context(), dir, Options{})
			if err == nil {
				s.Close()
				t.Fatalf("%s: it was opened", name)
			}
			var lost *LostError
			if !errors.As(err, &lost) || !strings.Contains(err.Error(), FileName+"-wal") || !strings.Contains(err.Error(), "edigw backup") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if contents(t, filepath.Join(dir, FileName)) != database {
			t.Errorf("%s: the database was changed", name)
		}
		write(t, log, good)
		if n := accepted(t, dir, Options{}); n != 30 {
			t.Errorf("%s: with its own log %d documents, want 30", name, n)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsLeftCanBeSaved: told to, Open takes the database without its end,
// and goes on to refuse it afterwards.
func TestWhatIsLeftCanBeSaved(t *testing.T) {
	t.Parallel()
	dir := killed(t, 0, 30, 10)
	if err := os.Remove(filepath.Join(dir, FileName+"-wal")); err != nil {
		t.Fatal(err)
	}
	if n := accepted(t, dir, Options{Salvage: true}); n != 10 {
		t.Errorf("%d documents are left, want 10", n)
	}
	if _, err := Open(t.Context(), dir, Options{}); !errors.As(err, new(*LostError)) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestNothingLostIsNoticed: no false alarm, whatever ended the process and
// whatever the mark was spared.
func TestNothingLostIsNoticed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir string){
		"killed": func(*testing.T, string) {},
		"everything was in the database": func(t *testing.T, dir string) {
			accepted(t, dir, Options{}) // Close moves the log
			if err := os.Remove(filepath.Join(dir, FileName+"-wal")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		},
		"the mark is older, as after a power cut": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, MarkName), contents(t, filepath.Join(killed(t, 0, 0, 0), MarkName)))
		},
		"the mark is gone, as before there was one": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, MarkName)); err != nil {
				t.Fatal(err)
			}
		},
		"the mark is garbage": func(t *testing.T, dir string) { write(t, filepath.Join(dir, MarkName), "\x00\x00\x00") },
		"retention took the last event": func(t *testing.T, dir string) {
			s, err := Open(t.Context(), dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			err = s.write(t.Context(), func(t *tx) error { _, err := t.exec("DELETE FROM events"); return err })
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := killed(t, 0, 30, 10)
		change(t, dir)
		if n := accepted(t, dir, Options{}); n != 30 {
			t.Errorf("%s: %d documents, want 30", name, n)
		}
	}
}

// TestMarkIsTheLastEvent: what is remembered is what the last commit made
// durable, before its caller hears of it.
func TestMarkIsTheLastEvent(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	for n := range int64(5) {
		accept(t, s, n, n+1)
		end, err := s.LastEvent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := readMark(s.dir)
		if err != nil || !ok || got.id != end {
			t.Fatalf("after event %d the mark says %+v, %v, %v", end, got, ok, err)
		}
	}
	err := s.write(t.Context(), func(t *tx) error {
		_ = t.addEvents(event("taken back"))
		return queue.ErrConflict
	})
	if !errors.Is(err, queue.ErrConflict) {
		t.Fatal(err)
	}
	before := contents(t, filepath.Join(s.dir, MarkName))
	if err := s.write(t.Context(), func(*tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, contents(t, filepath.Join(s.dir, MarkName))); diff != "" || len(before) != markLength {
		t.Errorf("%d bytes; without an event it changed:\n%s", len(before), diff)
	}
}

// removeAll removes files whose names begin so.
func removeAll(dir string, names ...string) error {
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(dir, name+"*"))
		for _, f := range files {
			err = errors.Join(err, os.Remove(f))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestMissingDatabaseIsRefused: an empty one beside the files of an old one
// would forget what they are.
func TestMissingDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(dir string) error
		found  string // "": it begins anew
	}{
		"a new folder":    {func(dir string) error { return os.RemoveAll(dir) }, ""},
		"an empty folder": {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) }, ""},
		"cut off at its first start": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, LockName), []byte("4711\n"), 0o600), os.WriteFile(filepath.Join(dir, FileName), nil, 0o600))
		}, ""},
		"what others leave at the root of a disk": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Join(dir, ".trash"), 0o700), os.WriteFile(filepath.Join(dir, ".trash", "x"), []byte("x"), 0o600), os.Mkdir(filepath.Join(dir, "lost+found"), 0o000))
		}, ""},
		"database removed": {func(dir string) error { return os.Remove(filepath.Join(dir, FileName)) }, BodiesName},
		"database emptied": {func(dir string) error { return os.Truncate(filepath.Join(dir, FileName), 0) }, BodiesName},
		"database and log removed": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, FileName)), os.Remove(filepath.Join(dir, FileName+"-wal")), os.Remove(filepath.Join(dir, FileName+"-shm")))
		}, BodiesName},
		"small bodies removed":            {func(dir string) error { return removeAll(dir, BodiesName) }, MarkName},
		"small bodies removed, knowingly": {func(dir string) error { return removeAll(dir, BodiesName, MarkName) }, ""},
		"only the documents are left": {func(dir string) error {
			shard := filepath.Join(dir, "spool", "payload", "ab")
			return errors.Join(os.RemoveAll(dir), os.MkdirAll(shard, 0o700), os.WriteFile(filepath.Join(shard, strings.Repeat("ab", 32)), []byte("ISA~"), 0o600))
		}, filepath.Join("spool", "payload", "ab", strings.Repeat("ab", 32))},
	} {
		dir := killed(t, 0, 3, 2)
		if err := tc.change(dir); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), dir, Options{})
		if err == nil {
			s.Close()
		}
		var unknown *UnknownError
		switch {
		case tc.found == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.found != "" && (!errors.As(err, &unknown) || unknown.Found != tc.found):
			t.Errorf("%s: %v", name, err)
		case tc.found != "" && !strings.Contains(err.Error(), fmt.Sprintf("mv %s %s.broken", dir, dir)):
			t.Errorf("%s: it does not say what to do: %v", name, err)
		}
		if info, err := os.Stat(filepath.Join(dir, FileName)); tc.found != "" && err == nil && info.Size() > 0 && unknown.File == FileName {
			t.Errorf("%s: a database was made", name)
		}
	}
}
