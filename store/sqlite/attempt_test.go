package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"edigw/queue"
)

// The first of a batch has no savepoint, and neither has a request of one
// statement: what fails leaves nothing of itself behind, and the others whole.
func TestFailureWithoutASavepointTakesBackItsOwnRequestOnly(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ours := errors.New("ours")
	begun, free, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first <- s.write(context.Background(), func(t *tx) error {
			if err := t.addEvents(event("the first")); err != nil {
				return err
			}
			close(begun)
			<-free
			return ours
		})
	}()
	<-begun
	const n = 12
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if i%3 == 0 { // of two rows, the second of which breaks a rule
				errs[i] = s.writeOne(context.Background(), func(t *tx) error {
					return t.run("INSERT INTO settings (name, value) VALUES ('a row of one that fails', ''), (NULL, '')")
				})
				return
			}
			errs[i] = s.write(context.Background(), func(t *tx) error { return t.addEvents(event(fmt.Sprint(i))) })
		})
	}
	waitFor(t, s.database, n)
	close(free)
	if err := <-first; !errors.Is(err, ours) {
		t.Errorf("the first: %v", err)
	}
	wg.Wait()
	var want []string
	for i, err := range errs {
		switch {
		case i%3 == 0 && !errors.Is(err, queue.ErrForbidden):
			t.Errorf("request %d: %v, want %v", i, err, queue.ErrForbidden)
		case i%3 != 0 && err != nil:
			t.Errorf("request %d: %v", i, err)
		case i%3 != 0:
			want = append(want, fmt.Sprint(i))
		}
	}
	all, err := s.Events(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Text)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	var rows int
	if err := s.read(t.Context(), func(t *tx) error {
		return t.row("SELECT count(*) FROM settings WHERE name LIKE 'a row%'").Scan(&rows)
	}); err != nil || rows != 0 {
		t.Errorf("%d rows of those that failed, %v", rows, err)
	}
	if st := s.Stats(); st.Commits != 1 {
		t.Errorf("%d commits, want one", st.Commits)
	}
}

// Who reads next gets the connection that still has its pages.
func TestReaderThatReadLastIsTakenNext(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	used := map[*tx]int{}
	for range 5 {
		if err := s.read(t.Context(), func(t *tx) error { used[t]++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(used) > 2 {
		t.Errorf("%d connections were used for one reading after the other", len(used))
	}
}
