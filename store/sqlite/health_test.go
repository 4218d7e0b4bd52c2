package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/queue"
)

// TestHealthIsThatOfTheLastCommit: a failure stands until a commit succeeds, if
// need be one that Healthy makes by itself, at most once a second.
func TestHealthIsThatOfTheLastCommit(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	if err := s.Healthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().Commits; n != 0 {
		t.Errorf("a store that works was tried with %d commits", n)
	}
	failure := unavailable(fmt.Errorf("%w (disk full)", queue.ErrNoSpace))
	s.outcome(failure)
	s.probed.Store(time.Now().Add(time.Hour).UnixNano()) // it was tried just now
	if err := s.Healthy(t.Context()); !errors.Is(err, queue.ErrNoSpace) || s.Stats().Commits != 0 {
		t.Errorf("after a failure: %v, %d commits", err, s.Stats().Commits)
	}
	s.probed.Store(0)
	if err := s.Healthy(t.Context()); err != nil || s.Stats().Commits != 2 {
		t.Errorf("when it is tried again: %v, %d commits", err, s.Stats().Commits)
	}
	s.outcome(failure)
	if _, err := s.Accept(t.Context(), testArrival(1)); err != nil {
		t.Fatal(err)
	}
	if err := s.failed.Load(); err != nil {
		t.Errorf("after a commit of somebody else: %v", *err)
	}
}

// TestProbeWrites: a probe that wrote nothing would find every disk healthy.
func TestProbeWrites(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	s.outcome(errors.New("disk full"))
	if err := s.Healthy(t.Context()); err == nil {
		t.Error("a store that nothing can be written to is healthy")
	}
	if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA query_only = 0"); err != nil {
		t.Fatal(err)
	}
	s.probed.Store(0)
	log := filepath.Join(s.dir, FileName+"-wal")
	before := len(contents(t, log))
	if err := s.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(contents(t, log)) - before; n < probeSize {
		t.Errorf("%d bytes were written", n)
	}
	left := 0
	if err := s.read(t.Context(), func(t *tx) error { return t.row("SELECT count(*) FROM settings WHERE name = 'probe'").Scan(&left) }); err != nil || left != 0 {
		t.Errorf("%d probes are left, %v", left, err)
	}
}

// TestHealthIsThatOfBothDatabases: where no document can be stored the gateway
// is not well, however good its ledger is.
func TestHealthIsThatOfBothDatabases(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	readOnly := func(on int) {
		t.Helper()
		if _, err := s.bodies.writer.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA query_only = %d", on)); err != nil {
			t.Fatal(err)
		}
	}
	readOnly(1)
	name, body := bodyNamed("an invoice")
	if err := s.Bodies().Put(t.Context(), "payload", name, body, time.Now()); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("a body that cannot be written: %v", err)
	}
	if err := s.Healthy(t.Context()); !errors.Is(err, queue.ErrUnavailable) || !strings.Contains(err.Error(), BodiesName) {
		t.Errorf("healthy: %v", err)
	}
	if err := s.database.Healthy(t.Context()); err != nil {
		t.Errorf("the ledger: %v", err)
	}
	readOnly(0)
	s.bodies.probed.Store(0)
	before := len(contents(t, s.bodies.file+"-wal"))
	if err := s.Healthy(t.Context()); err != nil {
		t.Errorf("when it is tried again: %v", err)
	}
	if n := len(contents(t, s.bodies.file+"-wal")) - before; n < probeSize {
		t.Errorf("%d bytes were written", n)
	}
	if left, err := s.Bodies().Names(t.Context(), "probe", time.Now(), "", 10); err != nil || len(left) != 0 {
		t.Errorf("probes are left: %v, %v", left, err)
	}
}
