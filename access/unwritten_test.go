package access_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
)

// fillable is a store whose disk can be full.
type fillable struct {
	access.Store
	full bool
}

func (f *fillable) room() error {
	if f.full {
		return fmt.Errorf("commit: %w", queue.ErrNoSpace)
	}
	return nil
}

func (f *fillable) AddSession(ctx context.Context, one access.Session, u access.User, b access.SessionBounds) error {
	if err := f.room(); err != nil {
		return err
	}
	return f.Store.AddSession(ctx, one, u, b)
}

func (f *fillable) TouchSession(ctx context.Context, hash string, at time.Time) error {
	if err := f.room(); err != nil {
		return err
	}
	return f.Store.TouchSession(ctx, hash, at)
}

func (f *fillable) RemoveSessions(ctx context.Context, user, hash string, events ...queue.Event) error {
	if err := f.room(); err != nil {
		return err
	}
	return f.Store.RemoveSessions(ctx, user, hash, events...)
}

func (f *fillable) AddEvents(ctx context.Context, events ...queue.Event) error {
	if err := f.room(); err != nil {
		return err
	}
	return f.Store.AddEvents(ctx, events...)
}

// filled is a world with a user, a session from before, and a full disk.
func filled(t *testing.T) (*world, *fillable, string) {
	t.Helper()
	w := setup(t)
	f := &fillable{Store: w.Options.Store}
	w.Options.Store = f
	w.restart(t)
	w.add(t, "Ana", access.RoleOperator)
	before := w.begin(t, "Ana")
	f.full = true
	return w, f, before
}

func TestSignInAndSignOutWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	w, f, before := filled(t)
	during := w.begin(t, "Ana")
	if !w.holds(t, during) || !w.holds(t, before) {
		t.Fatal("nobody can be signed in while the disk is full")
	}
	brief := w.begin(t, "Ana")
	for _, secret := range []string{before, brief} {
		if err := w.End(t.Context(), secret); err != nil {
			t.Fatalf("sign-out: %v", err)
		}
		if w.holds(t, secret) {
			t.Error("the session goes on after a sign-out")
		}
	}
	if open, err := w.Sessions(t.Context(), "Ana"); err != nil || len(open) != 1 {
		t.Errorf("open: %+v, %v", open, err)
	}
	f.full = false
	w.now = w.now.Add(10 * time.Second)
	if !w.holds(t, during) {
		t.Error("the session ended when there was room")
	}
	w.restart(t)
	if !w.holds(t, during) {
		t.Error("the session was never written")
	}
	for _, secret := range []string{before, brief} {
		if w.holds(t, secret) {
			t.Error("a session that was ended came back")
		}
	}
	if got := w.ledger(t); strings.Count(got, "signed out") != 2 || strings.Count(got, "signed in") != 3 {
		t.Errorf("ledger:\n%s", got)
	}
}

func TestSignOutEverywhereWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	w, f, before := filled(t)
	during := w.begin(t, "Ana")
	if err := w.EndAll(t.Context(), "ana", fault.Actor{Name: "Kim"}); err != nil {
		t.Fatal(err)
	}
	if w.holds(t, before) || w.holds(t, during) {
		t.Error("a session goes on")
	}
	f.full = false
	w.now = w.now.Add(10 * time.Second)
	w.holds(t, before)
	w.restart(t)
	if w.holds(t, before) || w.holds(t, during) {
		t.Error("a session came back")
	}
}

// TestSessionsInMemoryAreBoundedAndObeyThePassword: they are sessions as any
// other.
func TestSessionsInMemoryAreBoundedAndObeyThePassword(t *testing.T) {
	t.Parallel()
	w, f, _ := filled(t)
	first := w.begin(t, "Ana")
	for range 20 {
		w.now = w.now.Add(time.Second)
		w.begin(t, "Ana")
	}
	last := w.begin(t, "Ana")
	if w.holds(t, first) || !w.holds(t, last) {
		t.Error("the oldest is to go")
	}
	f.full = false
	w.now = w.now.Add(time.Second)
	if err := w.SetPassword(t.Context(), "Ana", "another-password", fault.Actor{Name: "Kim"}); err != nil {
		t.Fatal(err)
	}
	if w.holds(t, last) {
		t.Error("a new password leaves a session in memory")
	}
}
