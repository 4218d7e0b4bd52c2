package spool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/queue"
)

// shelf keeps small bodies in memory, by kind and name.
type shelf struct {
	mu     sync.Mutex
	bodies map[[2]string][]byte
	at     map[[2]string]time.Time
	full   bool
}

func newShelf() *shelf {
	return &shelf{bodies: map[[2]string][]byte{}, at: map[[2]string]time.Time{}}
}

func (s *shelf) Put(_ context.Context, kind, name string, body []byte, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return queue.ErrNoSpace
	}
	s.bodies[[2]string{kind, name}], s.at[[2]string{kind, name}] = bytes.Clone(body), at
	return nil
}

func (s *shelf) Get(_ context.Context, kind, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.bodies[[2]string{kind, name}]
	if !ok {
		return nil, queue.ErrNotFound
	}
	return body, nil
}

func (s *shelf) Size(ctx context.Context, kind, name string) (int64, error) {
	body, err := s.Get(ctx, kind, name)
	return int64(len(body)), err
}

func (s *shelf) Delete(_ context.Context, kind string, before time.Time, names ...string) (gone int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		k := [2]string{kind, name}
		if before.IsZero() || !s.at[k].After(before) {
			delete(s.bodies, k)
			delete(s.at, k)
		}
		if _, kept := s.bodies[k]; !kept {
			gone++
		}
	}
	return gone, nil
}

func (s *shelf) Names(_ context.Context, kind string, before time.Time, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for k, at := range maps.All(s.at) {
		if k[0] == kind && k[1] > after && !at.After(before) {
			names = append(names, k[1])
		}
	}
	slices.Sort(names)
	return names[:min(limit, len(names))], nil
}

func nameOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// read gives a body, and reads its end again from the middle.
func read(t *testing.T, s *Spool, k Kind, name string) string {
	t.Helper()
	f, err := s.Open(k, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	half := int64(len(all) / 2)
	if at, err := f.Seek(half, io.SeekStart); err != nil || at != half {
		t.Fatalf("Seek = %d, %v", at, err)
	}
	if rest, err := io.ReadAll(f); err != nil || string(rest) != string(all[half:]) {
		t.Fatalf("after Seek %d bytes, %v", len(rest), err)
	}
	return string(all)
}

func TestBodiesUpToABoundAreNoFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size  int
		files int
	}{{0, 0}, {1, 0}, {MaxSmall, 0}, {MaxSmall + 1, 1}, {3 * MaxSmall, 1}} {
		for _, chunk := range []int{1000, 1 << 20} {
			small := newShelf()
			s := with(t, small)
			content := strings.Repeat("x", test.size)
			w, err := s.Create(Wire, int64(test.size))
			if err != nil {
				t.Fatal(err)
			}
			for rest := []byte(content); len(rest) > 0; {
				n, err := w.Write(rest[:min(chunk, len(rest))])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			name, size, err := w.Commit()
			if err != nil || size != int64(test.size) || name != nameOf(content) {
				t.Fatalf("Commit of %d bytes = %s, %d, %v", test.size, name, size, err)
			}
			if n := files(t, s.dir); n != test.files || len(small.bodies) != 1-test.files {
				t.Errorf("%d bytes: %d files and %d small bodies", test.size, n, len(small.bodies))
			}
			if got := read(t, s, Wire, name); got != content {
				t.Errorf("%d bytes read back as %d", test.size, len(got))
			}
			if n, err := s.Size(Wire, name); err != nil || n != int64(test.size) {
				t.Errorf("Size = %d, %v; want %d", n, err, test.size)
			}
			if _, err := s.Open(Payload, name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the same name of another kind: %v", err)
			}
		}
	}
}

func TestSmallBodyThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	small := newShelf()
	s := with(t, small)
	w, err := s.Create(Payload, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 11)); !errors.Is(err, queue.ErrTooLarge) {
		t.Errorf("one byte more than the limit: %v", err)
	}
	if _, _, err := w.Commit(); !errors.Is(err, queue.ErrTooLarge) {
		t.Errorf("commit of a failed body: %v", err)
	}
	if w, err = s.Create(Payload, 0); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("half"))
	w.Abort()
	if _, _, err := w.Commit(); err == nil {
		t.Error("commit after abort went through")
	}
	small.full = true
	if w, err = s.Create(Payload, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Commit(); !errors.Is(err, queue.ErrNoSpace) {
		t.Errorf("commit to a full disk: %v", err)
	}
	if n := files(t, s.dir); n != 0 || len(small.bodies) != 0 {
		t.Errorf("%d files and %d small bodies are left", n, len(small.bodies))
	}
}

func TestDamagedSmallBodyIsAnError(t *testing.T) {
	t.Parallel()
	small := newShelf()
	s := with(t, small)
	name := write(t, s, Payload, "as it was")
	small.bodies[[2]string{string(Payload), name}][0] ^= 1
	s.recent.drop(Payload, []string{name}) // as after a while
	if _, err := s.Open(Payload, name); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("Open of a damaged body: %v", err)
	}
	write(t, s, Payload, "as it was")
	if got := read(t, s, Payload, name); got != "as it was" {
		t.Errorf("it came again and reads %q", got)
	}
}

// An installation that was made before small bodies were kept apart has files
// of them.
func TestFilesOfEarlierVersionsAreFound(t *testing.T) {
	t.Parallel()
	before := open(t)
	name := write(t, before, Payload, "an old document")
	old := time.Now().Add(-48 * time.Hour)
	path, err := before.path(Payload, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	small := newShelf()
	s, err := Open(before.dir, small)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, Payload, name); got != "an old document" {
		t.Errorf("it reads %q", got)
	}
	if n, err := s.Size(Payload, name); err != nil || n != 15 {
		t.Errorf("Size = %d, %v", n, err)
	}
	walked := func(before time.Time) (names []string) {
		if err := s.Walk(Payload, before, func(name string) error { names = append(names, name); return nil }); err != nil {
			t.Fatal(err)
		}
		return names
	}
	hourAgo := time.Now().Add(-time.Hour)
	if got := walked(hourAgo); len(got) != 1 || got[0] != name {
		t.Errorf("walked %v", got)
	}

	write(t, s, Payload, "an old document") // it comes again
	if gone, err := s.Remove(Payload, hourAgo, name); gone || err != nil {
		t.Fatalf("Remove = %v, %v: the new arrival lost its document", gone, err)
	}
	if got := read(t, s, Payload, name); got != "an old document" {
		t.Errorf("it reads %q", got)
	}
	if gone, err := s.Remove(Payload, time.Time{}, name); !gone || err != nil {
		t.Fatalf("Remove = %v, %v", gone, err)
	}
	if _, err := s.Size(Payload, name); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if got := walked(time.Now().Add(time.Hour)); len(got) != 0 {
		t.Errorf("walked %v after all was removed", got)
	}
}

// What was stored a moment ago is read from memory, of which there is a bound.
func TestRecentBodiesAreBounded(t *testing.T) {
	t.Parallel()
	small := newShelf()
	s := with(t, small)
	var names []string
	for n := range 3 * maxRecent / MaxSmall {
		names = append(names, write(t, s, Wire, strings.Repeat(string(rune('a'+n%26)), MaxSmall-n)))
	}
	if held := len(s.recent.bodies); held == 0 || held > maxRecent/MaxSmall || s.recent.bytes > maxRecent || len(s.recent.order) > maxRecent/MaxSmall {
		t.Errorf("%d bodies are held, %d bytes, %d in order", held, s.recent.bytes, len(s.recent.order))
	}
	last := names[len(names)-1]
	small.Delete(t.Context(), string(Wire), time.Time{}, last)
	if got := read(t, s, Wire, last); len(got) != MaxSmall-len(names)+1 {
		t.Errorf("the last one has %d bytes", len(got))
	}
	if gone, err := s.Remove(Wire, time.Time{}, names...); !gone || err != nil {
		t.Fatalf("Remove = %v, %v", gone, err)
	}
	if _, err := s.Open(Wire, last); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed body: %v", err)
	}
	if len(s.recent.bodies) != 0 || s.recent.bytes != 0 {
		t.Errorf("%d bodies are held after all were removed, %d bytes", len(s.recent.bodies), s.recent.bytes)
	}
	for kind, soon := range map[Kind]bool{Payload: true, Wire: true, Receipt: false, Inbox: false} {
		write(t, s, kind, "")
		if _, held := s.recent.get(key{kind, nameOf("")}); held != soon {
			t.Errorf("the empty %s is held: %v, want %v", kind, held, soon)
		}
	}
}

func TestWalkFindsSmallBodiesAndFiles(t *testing.T) {
	t.Parallel()
	s := with(t, newShelf())
	want := []string{write(t, s, Wire, strings.Repeat("y", MaxSmall+1))}
	for n := range 2*page + 3 {
		want = append(want, write(t, s, Wire, strings.Repeat("z", n)))
	}
	write(t, s, Payload, "of another kind")
	var got []string
	if err := s.Walk(Wire, time.Now().Add(time.Hour), func(name string) error { got = append(got, name); return nil }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("walked %d names, want %d", len(got), len(want))
	}
	stop := errors.New("stop")
	if err := s.Walk(Wire, time.Now().Add(time.Hour), func(string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Walk = %v, want the caller's error", err)
	}
	if gone, err := s.Remove(Wire, time.Time{}, want...); !gone || err != nil {
		t.Fatalf("Remove of all = %v, %v", gone, err)
	}
	if err := s.Walk(Wire, time.Now().Add(time.Hour), func(string) error { return stop }); err != nil {
		t.Error("something is left")
	}
}
