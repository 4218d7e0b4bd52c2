package sqlite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/queue"
)

func bodyNamed(content string) (string, []byte) {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:]), []byte(content)
}

// put keeps a body and gives its name.
func (b *Bodies) put(t testing.TB, kind, content string, at time.Time) string {
	t.Helper()
	name, body := bodyNamed(content)
	if err := b.Put(t.Context(), kind, name, body, at); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestBodiesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	contents := []string{"", "ISA*00*", strings.Repeat("x", 64<<10)}
	for _, c := range contents {
		s.Bodies().put(t, "payload", c, now)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name, body := bodyNamed("late")
	if err := s.Bodies().Put(t.Context(), "payload", name, body, now); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("Put after Close: %v", err)
	}
	if s, err = Open(t.Context(), dir, Options{Check: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := s.Bodies()
	for _, c := range contents {
		name, body := bodyNamed(c)
		if got, err := b.Get(t.Context(), "payload", name); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes read back as %d, %v", len(body), len(got), err)
		}
		if n, err := b.Size(t.Context(), "payload", name); err != nil || n != int64(len(body)) {
			t.Errorf("Size = %d, %v; want %d", n, err, len(body))
		}
		if _, err := b.Get(t.Context(), "wire", name); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("of another kind: %v", err)
		}
	}
	for _, name := range []string{"", "00", strings.Repeat("g", 64), strings.Repeat("0", 66)} {
		if _, err := b.Get(t.Context(), "payload", name); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("Get(%q): %v", name, err)
		}
		if err := b.Put(t.Context(), "payload", name, nil, now); err == nil {
			t.Errorf("Put(%q) went through", name)
		}
	}
}

func TestBodiesShareCommits(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	b := s.Bodies()
	release := hold(b.database)
	const n = 50
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { b.put(t, "wire", fmt.Sprint("body ", i), time.Now()) })
	}
	waitFor(t, b.database, n)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	if got := b.Stats(); got.Commits != 1 || got.Requests != n+1 {
		t.Errorf("%d requests in %d commits, want %d in one", got.Requests, got.Commits, n+1)
	}
}

func TestBodiesGoByAge(t *testing.T) {
	t.Parallel()
	b := openTest(t).Bodies()
	now := time.Now()
	cut := now.Add(-time.Hour)
	old, fresh := b.put(t, "payload", "old", cut.Add(-time.Minute)), b.put(t, "payload", "fresh", now)
	again := b.put(t, "payload", "again", cut.Add(-time.Minute))
	b.put(t, "payload", "again", now) // its age begins anew
	b.put(t, "wire", "old", cut.Add(-time.Minute))
	if got, err := b.Names(t.Context(), "payload", cut, "", 10); err != nil || !slices.Equal(got, []string{old}) {
		t.Errorf("old bodies are %v, %v; want %s", got, err, old)
	}
	all := []string{old, fresh, again}
	if gone, err := b.Delete(t.Context(), "payload", cut, append(all, strings.Repeat("0", 64))...); err != nil || gone != 2 {
		t.Errorf("Delete = %d, %v; want the old one and the one that never was", gone, err)
	}
	slices.Sort(all)
	var listed []string
	for last := ""; ; last = listed[len(listed)-1] {
		page, err := b.Names(t.Context(), "payload", now, last, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		listed = append(listed, page...)
	}
	if want := slices.DeleteFunc(all, func(x string) bool { return x == old }); !slices.Equal(listed, want) {
		t.Errorf("left are %v, want %v", listed, want)
	}
	if gone, err := b.Delete(t.Context(), "payload", time.Time{}, listed...); err != nil || gone != 2 {
		t.Errorf("Delete of any age = %d, %v", gone, err)
	}
	if n, err := b.Size(t.Context(), "wire", old); err != nil || n != 3 {
		t.Errorf("the same bytes of another kind: %d, %v", n, err)
	}
}

// What retention frees is used again, and given back where it is much.
func TestFileOfBodiesShrinks(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	b := s.Bodies()
	var names []string
	var work sync.WaitGroup
	for n := range 800 {
		content := strings.Repeat(fmt.Sprintf("%08d", n), 8<<10)
		name, _ := bodyNamed(content)
		names = append(names, name)
		work.Go(func() { b.put(t, "wire", content, time.Now()) })
	}
	work.Wait()
	pages := func() (n int64) {
		err := b.read(t.Context(), func(t *tx) error { return t.row("PRAGMA page_count").Scan(&n) })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := pages()
	for batch := range slices.Chunk(names, 50) {
		if _, err := b.Delete(t.Context(), "wire", time.Time{}, batch...); err != nil {
			t.Fatal(err)
		}
	}
	freed := pages()
	if freed > before-slice {
		t.Errorf("%d pages of %d are left after everything went out", freed, before)
	}
	b.put(t, "wire", strings.Repeat("y", 64<<10), time.Now())
	if n := pages(); n > freed {
		t.Errorf("the file grew from %d to %d pages though much of it was free", freed, n)
	}
}

func TestDamageOfBodiesIsFoundByAThoroughLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		s.Bodies().put(t, "payload", strings.Repeat(fmt.Sprint(n), 5000), time.Now())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, filepath.Join(dir, BodiesName), 4*4096, 8*4096)
	if s, err = Open(t.Context(), dir, Options{Check: true}); err == nil {
		s.Close()
		t.Fatal("a damaged file was found sound")
	}
	if !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), BodiesName) {
		t.Error(err)
	}
}

// spoil overwrites a part of a file.
func spoil(t *testing.T, file string, from, to int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(to-from)), from); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
