package access_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edigw/access"
)

// firstStart is a world without a user, with a set-up token; done counts how
// often the link became void.
func firstStart(t *testing.T) (w *world, token string, done *atomic.Int32) {
	t.Helper()
	w, done = setup(t), new(atomic.Int32)
	w.SetupDone = func() { done.Add(1) }
	token, err := w.NewSetup(t.Context())
	if err != nil || len(token) != 43 {
		t.Fatalf("token %q, %v", token, err)
	}
	return w, token, done
}

func TestTheSetUpLinkMakesTheFirstAdministrator(t *testing.T) {
	t.Parallel()
	w, token, done := firstStart(t)
	if !w.SetupHolds(token) {
		t.Error("the link does not hold")
	}
	u, err := w.SetUp(t.Context(), token, "Ana", password, "192.0.2.9")
	if err != nil || u.Name != "Ana" || u.Role != access.RoleAdmin || !u.Payloads {
		t.Fatalf("user %+v, %v", u, err)
	}
	if _, _, err := w.Begin(t.Context(), u, "192.0.2.9", ""); err != nil {
		t.Errorf("the session of the first user: %v", err)
	}
	if got, err := w.SignIn(t.Context(), "ana", password, ""); err != nil || !got.Payloads {
		t.Errorf("sign-in: %+v, %v", got, err)
	}
	ledger := w.ledger(t)
	if !strings.Contains(ledger, "Ana from 192.0.2.9: user Ana added as admin by the set-up link") {
		t.Errorf("ledger:\n%s", ledger)
	}
	if strings.Contains(ledger+w.log.String(), token) {
		t.Error("the token is kept")
	}
	if w.SetupHolds(token) || done.Load() != 1 {
		t.Errorf("after its use: holds %v, told %d times", w.SetupHolds(token), done.Load())
	}
	if err := w.RemoveUser(t.Context(), "Ana", kim); err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetUp(t.Context(), token, "Bob", password, ""); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("used twice: %v", err)
	}
}

func TestWhatVoidsTheSetUpLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *testing.T, w *world)
		want bool
		done int32
	}{
		"nothing": {func(*testing.T, *world) {}, true, 0},
		"a day":   {func(_ *testing.T, w *world) { w.now = w.now.Add(24 * time.Hour) }, false, 0},
		"not yet": {func(_ *testing.T, w *world) { w.now = w.now.Add(24*time.Hour - time.Second) }, true, 0},
		"a user":  {func(t *testing.T, w *world) { w.add(t, "Bob", access.RoleViewer) }, false, 1},
		"a user who was removed again": {func(t *testing.T, w *world) {
			w.add(t, "Bob", access.RoleViewer)
			if err := w.RemoveUser(t.Context(), "Bob", kim); err != nil {
				t.Fatal(err)
			}
		}, false, 1},
		"a restart": {func(t *testing.T, w *world) { w.restart(t) }, false, 0},
		"a newer link": {func(t *testing.T, w *world) {
			if token, err := w.NewSetup(t.Context()); err != nil || token == "" {
				t.Fatalf("token %q, %v", token, err)
			}
		}, false, 0},
		"a user behind its back": {func(t *testing.T, w *world) {
			if err := w.store.AddUser(t.Context(), access.User{Name: "Bob", Role: access.RoleViewer}); err != nil {
				t.Fatal(err)
			}
		}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, token, done := firstStart(t)
			c.do(t, w)
			u, err := w.SetUp(t.Context(), token, "Ana", password, "192.0.2.9")
			if got := err == nil; got != c.want || !got && !errors.Is(err, access.ErrUnknown) {
				t.Errorf("user %+v, %v; want one: %v", u, err, c.want)
			}
			want := c.done
			if c.want {
				want = 1
			}
			if done.Load() != want || w.SetupHolds(token) {
				t.Errorf("told %d times that it is void, want %d; it holds: %v", done.Load(), want, w.SetupHolds(token))
			}
		})
	}
}

func TestAWrongSetUpTokenIsRefusedBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	w, token, _ := firstStart(t)
	none := setup(t)
	for name, c := range map[string]struct {
		w     *world
		token string
	}{
		"empty": {w, ""}, "cut off": {w, token[:42]}, "longer": {w, token + "A"}, "another's": {w, strings.Repeat("A", 43)},
		"no link was made": {none, token}, "no link was made, empty": {none, ""},
	} {
		if _, err := c.w.SetUp(t.Context(), c.token, "no name", "short", "192.0.2.9"); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "192.0.2.9") || strings.Contains(log, token[:42]) {
		t.Errorf("log:\n%s", log)
	}
	if !w.SetupHolds(token) {
		t.Error("wrong tokens voided the right one")
	}
}

func TestASetUpThatCannotBeUsedMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	w, token, done := firstStart(t)
	for name, c := range map[string][2]string{
		"bad name": {"a b", password}, "short password": {"Ana", "short"}, "the gateway's name": {"cli", password},
	} {
		if _, err := w.SetUp(t.Context(), token, c[0], c[1], ""); !errors.As(err, new(*access.InputError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if done.Load() != 0 {
		t.Error("the link became void")
	}
	if _, err := w.SetUp(t.Context(), token, "Ana", password, ""); err != nil {
		t.Error(err)
	}
}

func TestOfSetUpsAtOnceOneSucceeds(t *testing.T) {
	t.Parallel()
	w, token, done := firstStart(t)
	var work sync.WaitGroup
	var made atomic.Int32
	for i := range 16 {
		work.Go(func() {
			_, err := w.SetUp(t.Context(), token, fmt.Sprintf("user-%d", i), password, "")
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, access.ErrUnknown) {
				t.Error(err)
			}
		})
	}
	work.Wait()
	all, err := w.Users(t.Context())
	if err != nil || made.Load() != 1 || len(all) != 1 || done.Load() != 1 {
		t.Errorf("%d succeeded, users %+v, %v; told %d times", made.Load(), all, err, done.Load())
	}
}

func TestThereIsNoSetUpLinkWhileThereIsAUser(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	token, err := w.NewSetup(t.Context())
	if err != nil || token != "" || w.SetupHolds("") {
		t.Errorf("token %q, %v", token, err)
	}
}
