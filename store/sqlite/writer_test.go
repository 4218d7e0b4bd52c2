package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"edigw/queue"
)

// hold keeps the writer busy until the returned function is called, which
// gives what became of the request that kept it.
func hold(d *database) (release func() error) {
	begun, free := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- d.write(context.Background(), func(*tx) error { close(begun); <-free; return nil })
	}()
	<-begun
	return func() error {
		close(free)
		return <-done
	}
}

// waitFor waits until n requests are queued behind the writer.
func waitFor(t *testing.T, d *database, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for len(d.requests) < n {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d requests wait, want %d", len(d.requests), n)
		}
	}
}

func event(text string) []queue.Event {
	return []queue.Event{{At: time.Unix(1_800_000_000, 0), Type: queue.EventSettings, Text: text}}
}

func TestManyRequestsShareOneCommit(t *testing.T) {
	t.Parallel()
	var requests int
	s, err := Open(t.Context(), t.TempDir(), Options{Observe: func(_ time.Duration, n int) { requests += n }})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(s.database)
	const n = 100
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := s.write(context.Background(), func(t *tx) error { return t.addEvents(event(fmt.Sprint(i))) })
			if err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, s.database, n)
	if err := release(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if st := s.Stats(); st.Commits != 1 || st.Requests != n+1 {
		t.Errorf("%+v, want one commit of %d requests", st, n+1)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if requests != n+1 {
		t.Errorf("observed %d requests", requests)
	}
}

func TestBatchIsBounded(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	release := hold(s.database)
	var wg sync.WaitGroup
	for range 3 * maxBatch {
		wg.Go(func() {
			if err := s.write(context.Background(), func(*tx) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, s.database, maxBatch)
	if err := release(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if st := s.Stats(); st.Commits < 4 {
		t.Errorf("%d requests in %d commits", st.Requests, st.Commits)
	}
}

func TestFailureTakesBackItsOwnRequestOnly(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	release := hold(s.database)
	ours := errors.New("ours")
	results := make([]error, 20)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			results[i] = s.write(context.Background(), func(t *tx) error {
				if err := t.addEvents(event(fmt.Sprint(i))); err != nil {
					return err
				}
				if i%2 == 1 {
					return ours
				}
				return nil
			})
		})
	}
	waitFor(t, s.database, len(results))
	if err := release(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	for i, err := range results {
		if want := i%2 == 1; errors.Is(err, ours) != want || !want && err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	events, err := s.Events(t.Context(), 0, 100)
	if err != nil || len(events) != 10 {
		t.Fatalf("%d events, %v; want 10", len(events), err)
	}
	for i, e := range events {
		if e.ID != int64(i)+1 {
			t.Errorf("event %d has number %d: the ledger has a gap", i, e.ID)
		}
	}
}

func TestFailedCommitFailsEverybodyInIt(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	release := hold(s.database)
	results := make([]error, 10)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			results[i] = s.write(context.Background(), func(t *tx) error {
				if i == 3 { // a broken reference that shows only when it is committed
					if _, err := t.exec("PRAGMA defer_foreign_keys = ON"); err != nil {
						return err
					}
					return t.putBuild(&queue.Build{Message: "ghost", N: 1})
				}
				return t.addEvents(event(fmt.Sprint(i)))
			})
		})
	}
	waitFor(t, s.database, len(results))
	if err := release(); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("the first request: %v", err)
	}
	wg.Wait()
	for i, err := range results {
		if !errors.Is(err, queue.ErrUnavailable) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if n, err := s.LastEvent(t.Context()); n != 0 || err != nil {
		t.Errorf("LastEvent = %d, %v: something was written", n, err)
	}
	if err := s.AddEvents(t.Context(), event("after")...); err != nil {
		t.Errorf("the store does not go on: %v", err)
	}
}

func TestFullDiskIsOneKindOfError(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	limit := func(pages int) {
		t.Helper()
		err := s.write(t.Context(), func(t *tx) error {
			var n int
			return t.row(fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // SQLite keeps what is there
	var err error
	for i := int64(0); i < 10000 && err == nil; i++ {
		_, err = s.Accept(t.Context(), testArrival(i))
	}
	if !errors.Is(err, queue.ErrNoSpace) {
		t.Fatalf("Accept = %v", err)
	}
	limit(1 << 30)
	if _, err := s.Accept(t.Context(), testArrival(20000)); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestCallerThatGivesUpWritesNothing(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	release := hold(s.database)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.AddEvents(ctx, event("given up")...) }()
	waitFor(t, s.database, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) { // the writer is still held
		t.Errorf("AddEvents = %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := s.AddEvents(t.Context(), event("next")...); err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(t.Context(), 0, 10)
	if err != nil || len(events) != 1 || events[0].Text != "next" {
		t.Errorf("events %+v, %v", events, err)
	}
}

func TestCloseFinishesWhatWasHandedOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(s.database)
	done := make(chan error, 1)
	go func() { done <- s.AddEvents(context.Background(), event("late")...) }()
	waitFor(t, s.database, 1)
	closed := make(chan error, 2)
	for range 2 {
		go func() { closed <- s.Close() }()
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.AddEvents(context.Background(), event("too late")...); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("write after Close: %v", err)
	}
	if _, err := s.Events(context.Background(), 0, 1); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("read after Close: %v", err)
	}
	again, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	events, err := again.Events(t.Context(), 0, 10)
	if err != nil || len(events) != 1 {
		t.Errorf("events %+v, %v", events, err)
	}
}

func TestCheckpointCutsTheLog(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	// A reader that stays keeps the log from being cut by itself.
	err := s.read(t.Context(), func(r *tx) error {
		var n int64
		if err := r.row("SELECT count(*) FROM events").Scan(&n); err != nil {
			return err
		}
		for i := int64(0); i < 3000; i++ {
			if _, err := s.Accept(t.Context(), testArrival(i)); err != nil {
				return err
			}
			if u, err := s.Usage(t.Context()); err != nil || u.WAL > checkpointOver {
				return err
			}
		}
		return errors.New("the log does not grow")
	})
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Usage(t.Context())
	if err != nil || before.WAL <= checkpointOver {
		t.Fatalf("%+v, %v", before, err)
	}
	if err := s.write(t.Context(), func(*tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	s.mu.Lock() // no reader, and the writer is idle
	go func() { defer close(done); s.checkpoint() }()
	<-done
	s.mu.Unlock()
	after, err := s.Usage(t.Context())
	if err != nil || after.WAL != 0 {
		t.Errorf("the log has %d bytes after a checkpoint, %v", after.WAL, err)
	}
}
