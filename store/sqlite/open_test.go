package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

func TestFolderBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), dir, Options{})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("second Open: %v", err)
	}
	if want := fmt.Sprintf("edigw already runs here: process %d has %s", os.Getpid(), dir); !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q does not begin %q", err, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	again.Close()
}

// TestRemovedLockFileLetsNobodyIn: the folder is locked, not a file that can be
// removed; and the error still names the process.
func TestRemovedLockFileLetsNobodyIn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, text := range []string{"", "no number\n"} {
		if err := os.Remove(filepath.Join(dir, LockName)); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			write(t, filepath.Join(dir, LockName), text)
		}
		second, err := Open(t.Context(), dir, Options{})
		if err == nil {
			second.Close()
			t.Fatal("a second process has the folder")
		}
		var locked *LockedError
		if !errors.As(err, &locked) || locked.PID != os.Getpid() {
			t.Errorf("second Open: %v", err)
		}
		write(t, filepath.Join(dir, LockName), "1\n")
	}
}

// TestOlderLockIsRespected: an earlier version locks the file alone.
func TestOlderLockIsRespected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, LockName), "4711\n")
	f, err := os.OpenFile(filepath.Join(dir, LockName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := flock(f); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), dir, Options{})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != 4711 {
		t.Errorf("Open: %v", err)
	}
}

func TestFilesAreOurs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.AddEvents(t.Context(), event("x")...); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode().Perm())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryConnectionHasItsSettings(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	for _, d := range []*database{s.database, s.bodies.database} {
		connectionsHaveTheirSettings(t, d)
	}
}

func connectionsHaveTheirSettings(t *testing.T, d *database) {
	t.Helper()
	check := func(who string, tr *tx, settings map[string]string) {
		for name, want := range settings {
			var got string
			if err := tr.row("PRAGMA " + name).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s is %s, %v; want %s", who, name, got, err, want)
			}
		}
	}
	common := map[string]string{"synchronous": "2", "foreign_keys": "1", "journal_mode": "wal", "busy_timeout": "5000"}
	if err := d.write(t.Context(), func(tr *tx) error { check("writer", tr, common); return nil }); err != nil {
		t.Error(err)
	}
	for range cap(d.pool) {
		r := <-d.pool
		check("reader", r, common)
		check("reader", r, map[string]string{"query_only": "1"})
		defer func() { d.pool <- r }()
	}
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	err := s.read(t.Context(), func(r *tx) error { return r.addEvents(event("x")) })
	if err == nil {
		t.Error("a reader wrote")
	}
}

func TestDamagedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(200) {
		if _, err := s.Accept(t.Context(), testArrival(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, FileName)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	spoil(t, file, info.Size()/2, info.Size()/2+(64<<10))
	if s, err := Open(t.Context(), dir, Options{Check: true}); err == nil {
		s.Close()
		t.Fatal("a damaged database was found sound")
	}
	if err := os.WriteFile(file+"-wal", make([]byte, 32), 0o600); err != nil { // it was not closed well
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), dir, Options{}); err == nil {
		s.Close()
		t.Fatal("a damaged database was opened after an unclean stop")
	}
	if s, err := Open(t.Context(), dir, Options{}); err == nil || errors.As(err, new(*LockedError)) {
		t.Errorf("the failed Open kept the lock: %v, %v", s, err)
	}
}

func TestBackupIsTheWholeStore(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	for i := range int64(50) {
		if _, err := s.Accept(t.Context(), testArrival(i)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := s.Backup(t.Context(), filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(t.Context(), testArrival(50)); err != nil {
		t.Fatal(err)
	}
	restored, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	list := func(s *Store) []queue.Message {
		all, _, err := s.Messages(t.Context(), queue.MessageFilter{To: time.Unix(1_800_000_000, 50_000).UTC()}, queue.Page{Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	got := list(restored)
	if len(got) != 50 {
		t.Errorf("%d messages in the backup", len(got))
	}
	if d := cmp.Diff(list(s), got); d != "" {
		t.Errorf("-store +backup\n%s", d)
	}
	if err := recount(t.Context(), restored); err != nil {
		t.Error(err)
	}
	if ad, err := restored.Accept(t.Context(), testArrival(49)); err != nil || ad.Outcome != queue.AdmitReplayed {
		t.Errorf("a repeat after a restore: %s, %v", ad.Outcome, err)
	}
}

func TestMigrationsRunOnceInOrder(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	folder := fstest.MapFS{
		"migrations/0900_b.sql": {Data: []byte("INSERT INTO trace (name) VALUES ('b')")},
		"migrations/0101_a.sql": {Data: []byte("CREATE TABLE trace (name TEXT) STRICT; INSERT INTO trace (name) VALUES ('a')")},
		"migrations/README":     {Data: []byte("no migration")},
	}
	base, err := readMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	more, err := readMigrations(folder)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.writer.apply(append(base, more...)); err != nil {
			t.Fatal(err)
		}
	}
	folder["migrations/0500_late.sql"] = &fstest.MapFile{Data: []byte("INSERT INTO trace (name) VALUES ('late')")}
	if more, err = readMigrations(folder); err != nil {
		t.Fatal(err)
	}
	if err := s.writer.apply(append(base, more...)); err != nil {
		t.Fatal(err)
	}
	got, err := collect(s.writer, scanValue[string], "SELECT name FROM trace ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a", "b", "late"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	bad := migration{999, "0999_bad.sql", "CREATE TABLE half (a TEXT) STRICT; CREATE TABLE trace (name TEXT) STRICT"}
	if err := s.writer.apply(append(append(base, more...), bad)); err == nil || !strings.Contains(err.Error(), "0999_bad.sql") {
		t.Errorf("a bad migration: %v", err)
	}
	if _, err := s.writer.conn.ExecContext(t.Context(), "SELECT * FROM half"); err == nil {
		t.Error("half of a bad migration stayed")
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.write(t.Context(), func(t *tx) error {
		_, err := t.exec("INSERT INTO migrations (number, name) VALUES (123456, '123456_future.sql')")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var newer *SchemaError
	if s, err := Open(t.Context(), dir, Options{}); !errors.As(err, &newer) || newer.Number != 123456 {
		t.Errorf("Open = %v, %v", s, err)
	}
}

func TestBadMigrationFoldersAreRefused(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]fstest.MapFS{
		"no number":  {"migrations/alerts.sql": {}},
		"one number": {"migrations/0003_a.sql": {}, "migrations/003_b.sql": {}},
	} {
		if all, err := readMigrations(folder); err == nil {
			t.Errorf("%s: %v", name, all)
		}
	}
}
