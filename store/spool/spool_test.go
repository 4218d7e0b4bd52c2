package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edigw/internal/testfixture"
	"edigw/queue"
)

// open gives a spool of files alone.
func open(t *testing.T) *Spool {
	t.Helper()
	return with(t, nil)
}

func with(t *testing.T, small Small) *Spool {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "spool"), small)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, s *Spool, k Kind, content string) string {
	t.Helper()
	w, err := s.Create(k, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	name, size, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if size != int64(len(content)) {
		t.Fatalf("size %d, want %d", size, len(content))
	}
	return name
}

// files counts the regular files under a folder.
func files(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFileIsNamedByItsContent(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, content := range []string{"", "ISA*00*", strings.Repeat("x", 1<<20)} {
		name := write(t, s, Payload, content)
		sum := sha256.Sum256([]byte(content))
		if want := hex.EncodeToString(sum[:]); name != want {
			t.Errorf("name %s, want %s", name, want)
		}
		f, err := s.Open(Payload, name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		f.Close()
		if err != nil || string(got) != content {
			t.Errorf("read back %d bytes, %v", len(got), err)
		}
		if n, err := s.Size(Payload, name); err != nil || n != int64(len(content)) {
			t.Errorf("Size = %d, %v", n, err)
		}
		if _, err := s.Open(Wire, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the same name in another folder: %v", err)
		}
	}
}

func TestSameContentIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			w, err := s.Create(Wire, 0)
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(w, "same")
			if _, _, err := w.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := files(t, s.dir); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}

func TestLimitHoldsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	w, err := s.Create(Payload, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 10)); err != nil {
		t.Fatalf("exactly the limit: %v", err)
	}
	if _, err := w.Write([]byte{1}); !errors.Is(err, queue.ErrTooLarge) {
		t.Fatalf("one byte more: %v", err)
	}
	if _, _, err := w.Commit(); !errors.Is(err, queue.ErrTooLarge) {
		t.Fatalf("commit of a failed file: %v", err)
	}
	if n := files(t, s.dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	w, err := s.Create(Payload, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("half"))
	w.Abort()
	w.Abort()
	if _, _, err := w.Commit(); err == nil {
		t.Error("commit after abort went through")
	}
	if n := files(t, s.dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func TestUnfinishedFilesGoAtStart(t *testing.T) {
	t.Parallel()
	s := open(t)
	name := write(t, s, Payload, "whole")
	if _, err := s.Create(Payload, 0); err != nil { // a process that dies now
		t.Fatal(err)
	}
	again, err := Open(s.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := files(t, s.dir); n != 1 {
		t.Errorf("%d files, want the finished one", n)
	}
	if _, err := again.Size(Payload, name); err != nil {
		t.Error(err)
	}
}

func TestNamesThatAreNoDigestsAreNotFound(t *testing.T) {
	t.Parallel()
	s := open(t)
	secret := filepath.Join(s.dir, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "../secret", "/etc/passwd", strings.Repeat("A", 64), strings.Repeat("0", 63), strings.Repeat("0", 65),
		strings.Repeat("../", 20) + "secret", strings.Repeat("0", 63) + "/", "00" + strings.Repeat("\x00", 62)} {
		if _, err := s.Open(Payload, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q): %v", name, err)
		}
		if _, err := s.Size(Payload, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Size(%q): %v", name, err)
		}
		if _, err := s.Remove(Payload, time.Time{}, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Remove(%q): %v", name, err)
		}
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}

func TestRemoveKeepsWhatWasCommittedSince(t *testing.T) {
	t.Parallel()
	s := open(t)
	name := write(t, s, Payload, "twice")
	path, _ := s.path(Payload, name)
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Hour)
	write(t, s, Payload, "twice") // an arrival of the same bytes
	if gone, err := s.Remove(Payload, before, name); gone || err != nil {
		t.Fatalf("Remove = %v, %v: the new arrival lost its document", gone, err)
	}
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is gone already
		if gone, err := s.Remove(Payload, before, name); !gone || err != nil {
			t.Fatalf("Remove = %v, %v", gone, err)
		}
	}
	if _, err := s.Size(Payload, name); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestWalkFindsOldFilesOnly(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := write(t, s, Wire, "a"), write(t, s, Wire, "b")
	path, _ := s.path(Wire, a)
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := s.Walk(Wire, time.Now().Add(-time.Hour), func(name string) error { got = append(got, name); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != a {
		t.Errorf("walked %v, want %s and not %s", got, a, b)
	}
	stop := errors.New("stop")
	if err := s.Walk(Wire, time.Now().Add(time.Hour), func(string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Walk = %v, want the caller's error", err)
	}
}

func TestFoldersAndFilesAreOurs(t *testing.T) {
	t.Parallel()
	s := open(t)
	write(t, s, Receipt, "private")
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskIsOneKindOfError(t *testing.T) {
	t.Parallel()
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if err := fault(&fs.PathError{Op: "write", Path: "x", Err: e}); !errors.Is(err, queue.ErrNoSpace) || !errors.Is(err, e) {
			t.Errorf("%v became %v", e, err)
		}
	}
	if err := fault(syscall.EIO); errors.Is(err, queue.ErrNoSpace) {
		t.Error("an I/O error is not a full disk")
	}
}

func TestRoomLeavesTheReserve(t *testing.T) {
	t.Parallel()
	s := open(t)
	free, err := Free(s.dir)
	if err != nil || free <= 0 {
		t.Fatalf("Free = %d, %v", free, err)
	}
	if err := s.HasRoom(1 << 62); !errors.Is(err, queue.ErrNoSpace) {
		t.Errorf("HasRoom of four exabytes: %v", err)
	}
	if free > 2*Reserve {
		if err := s.HasRoom(1); err != nil {
			t.Errorf("HasRoom(1) with %d free: %v", free, err)
		}
	}
}

// A file that grows stops before Reserve, however much seemed to fit when it
// began; a receipt may use it.
func TestGrowingFileLeavesTheReserve(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds {
		s := open(t)
		w, err := s.Create(k, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		chunk := make([]byte, 64<<10)
		if _, err := w.Write(chunk); err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		s.reserve = 1 << 62 // as if the disk had been filled meanwhile
		for n := 0; err == nil && n < 3*lookEvery; n += len(chunk) {
			_, err = w.Write(chunk)
		}
		if k == Receipt {
			if err != nil {
				t.Errorf("%s: %v", k, err)
			}
			continue
		}
		if !errors.Is(err, queue.ErrNoSpace) {
			t.Errorf("%s grew into the reserve: %v", k, err)
		}
		if _, _, err := w.Commit(); !errors.Is(err, queue.ErrNoSpace) {
			t.Errorf("%s: Commit: %v", k, err)
		}
	}
}

// A write to a full device fails as a write to a full disk does.
func TestWriteToAFullDevice(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testfixture.Missing(t, "/dev/full")
	}
	s := open(t)
	w, err := s.Create(Payload, 0)
	if err != nil {
		t.Fatal(err)
	}
	temp := w.file.Name()
	w.file.Close()
	os.Remove(temp)
	w.file = full
	if _, err := w.Write([]byte("x")); !errors.Is(err, queue.ErrNoSpace) {
		t.Errorf("Write = %v", err)
	}
	full.Close()
	w.file = nil
}

func BenchmarkCommit(b *testing.B) {
	s, err := Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	content := bytes.Repeat([]byte("x"), 10<<10)
	n := 0
	for b.Loop() {
		n++
		w, err := s.Create(Payload, 0)
		if err != nil {
			b.Fatal(err)
		}
		w.Write(content)
		w.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16)})
		if _, _, err := w.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}
