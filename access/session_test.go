package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/storetest"

	"github.com/google/go-cmp/cmp"
)

// begin signs a user in and begins a session.
func (w *world) begin(t *testing.T, name string) string {
	t.Helper()
	u, err := w.SignIn(t.Context(), name, password, "192.0.2.9")
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := w.Begin(t.Context(), u, "192.0.2.9", "browser/1.0")
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// holds reports whether a secret is that of a session.
func (w *world) holds(t *testing.T, secret string) bool {
	t.Helper()
	_, _, err := w.Session(t.Context(), secret)
	if err != nil && !errors.Is(err, access.ErrUnknown) {
		t.Fatal(err)
	}
	return err == nil
}

func TestASessionIsKeptAsAHash(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleOperator)
	secret := w.begin(t, "ana")
	u, got, err := w.Session(t.Context(), secret)
	if err != nil || u.Name != "Ana" || u.Role != access.RoleOperator {
		t.Fatalf("user %+v, %v", u, err)
	}
	want := access.Session{Hash: got.Hash, User: "Ana", Created: w.now, Seen: w.now, Expires: w.now.Add(7 * 24 * time.Hour), From: "192.0.2.9", Agent: "browser/1.0"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if len(secret) != 43 || got.Hash == secret || strings.Contains(w.ledger(t)+w.log.String(), secret) {
		t.Errorf("the secret %q is kept: %+v", secret, got)
	}
	if other := w.begin(t, "Ana"); other == secret {
		t.Error("two sessions have one secret")
	}
}

func TestSessionsSurviveARestart(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleOperator)
	secret := w.begin(t, "Ana")
	w.restart(t)
	if !w.holds(t, secret) {
		t.Error("the restart ended the session")
	}
}

// restart gives the world a new service on the same store.
func (w *world) restart(t *testing.T) {
	t.Helper()
	s, err := access.New(w.Options)
	if err != nil {
		t.Fatal(err)
	}
	access.Cheap(s)
	w.Service = s
}

func TestWhatIsNoSessionIsUnknown(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleAdmin)
	secret := w.begin(t, "Ana")
	_, one, err := w.Session(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := w.NewToken(t.Context(), "erp", access.Scopes, kim)
	if err != nil {
		t.Fatal(err)
	}
	flipped := []byte(secret)
	flipped[20] ^= 1
	for name, s := range map[string]string{
		"empty": "", "its hash": one.Hash, "one character changed": string(flipped), "cut off": secret[:42], "longer": secret + "A",
		"an API token": token, "an API token without its beginning": strings.TrimPrefix(token, "edigw_"), "the user's name": "Ana",
	} {
		if _, _, err := w.Session(t.Context(), s); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.End(t.Context(), s); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("ending %s: %v", name, err)
		}
	}
	if _, err := w.Token(t.Context(), "edigw_"+secret); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("a session as an API token: %v", err)
	}
}

func TestASessionEndsByTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uses []time.Duration // since the sign-in
		last time.Duration
		want bool
	}{
		"just within the idle time":             {nil, 12*time.Hour - time.Second, true},
		"idle too long":                         {nil, 12 * time.Hour, false},
		"a use counts":                          {[]time.Duration{11 * time.Hour}, 22 * time.Hour, true},
		"a use counts for its time only":        {[]time.Duration{11 * time.Hour}, 23 * time.Hour, false},
		"used all the time, within seven days":  {every(10*time.Hour, 16), 7*24*time.Hour - time.Second, true},
		"used all the time, seven days old":     {every(10*time.Hour, 16), 7 * 24 * time.Hour, false},
		"the clock went back after the sign-in": {nil, -time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.add(t, "Ana", access.RoleViewer)
			began := w.now
			secret := w.begin(t, "Ana")
			for _, at := range c.uses {
				w.now = began.Add(at)
				if !w.holds(t, secret) {
					t.Fatalf("it ended before %v", at)
				}
			}
			w.now = began.Add(c.last)
			if got := w.holds(t, secret); got != c.want {
				t.Errorf("after %v it holds: %v, want %v", c.last, got, c.want)
			}
			list, err := w.Sessions(t.Context(), "Ana")
			if err != nil || (len(list) == 1) != c.want {
				t.Errorf("listed %+v, %v", list, err)
			}
		})
	}
}

func every(d time.Duration, n int) (all []time.Duration) {
	for i := range n {
		all = append(all, time.Duration(i+1)*d)
	}
	return all
}

func TestTheUseOfASessionIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	begin := w.now
	secret := w.begin(t, "Ana")
	for _, step := range []struct{ at, want time.Duration }{
		{59 * time.Second, 0}, {61 * time.Second, 61 * time.Second}, {90 * time.Second, 61 * time.Second}, {121 * time.Second, 121 * time.Second},
	} {
		w.now = begin.Add(step.at)
		if !w.holds(t, secret) {
			t.Fatal("it ended")
		}
		list, err := w.Sessions(t.Context(), "Ana")
		if err != nil || !list[0].Seen.Equal(begin.Add(step.want)) {
			t.Errorf("after %v: seen %v, want %v", step.at, list[0].Seen, begin.Add(step.want))
		}
	}
}

func TestWhatAnAdministratorDoesEndsSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(w *world, ctx context.Context) error
		want bool
	}{
		"a new password": {func(w *world, ctx context.Context) error { return w.SetPassword(ctx, "ANA", password, kim) }, false},
		"a new password by a clock that went back": {func(w *world, ctx context.Context) error {
			w.now = w.now.Add(-24 * time.Hour)
			return w.SetPassword(ctx, "Ana", password, kim)
		}, false},
		"removal": {func(w *world, ctx context.Context) error { return w.RemoveUser(ctx, "ana", kim) }, false},
		"removal, and another user of the name": {func(w *world, ctx context.Context) error {
			if err := w.RemoveUser(ctx, "Ana", kim); err != nil {
				return err
			}
			_, err := w.AddUser(ctx, access.User{Name: "Ana", Role: access.RoleAdmin}, password, kim)
			return err
		}, false},
		"signed out everywhere":                {func(w *world, ctx context.Context) error { return w.EndAll(ctx, "ana", kim) }, false},
		"a new password of another user":       {func(w *world, ctx context.Context) error { return w.SetPassword(ctx, "Bob", password, kim) }, true},
		"removal of another user":              {func(w *world, ctx context.Context) error { return w.RemoveUser(ctx, "Bob", kim) }, true},
		"another user signed out everywhere":   {func(w *world, ctx context.Context) error { return w.EndAll(ctx, "Bob", kim) }, true},
		"a lock-out: others may not end it so": {lockOut, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.add(t, "Ana", access.RoleViewer)
			w.add(t, "Bob", access.RoleViewer)
			secret := w.begin(t, "Ana")
			w.begin(t, "Bob")
			if err := c.do(w, t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.holds(t, secret); got != c.want {
				t.Errorf("it holds: %v, want %v", got, c.want)
			}
		})
	}
}

func lockOut(w *world, ctx context.Context) error {
	for range 10 {
		if _, err := w.SignIn(ctx, "Ana", "wrong horse battery", ""); !errors.Is(err, access.ErrUnknown) {
			return fmt.Errorf("a wrong password: %w", err)
		}
	}
	return nil
}

func TestAChangedRoleHoldsFromTheNextRequestOn(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleAdmin)
	secret := w.begin(t, "Ana")
	u, _, err := w.Session(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	u.Role, u.Payloads = access.RoleViewer, true
	if err := w.store.SaveUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	now, _, err := w.Session(t.Context(), secret)
	if err != nil || now.Role != access.RoleViewer || !now.Payloads {
		t.Errorf("%+v, %v", now, err)
	}
	u.Changed = u.Changed.Add(time.Second)
	if err := w.store.SaveUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if w.holds(t, secret) {
		t.Error("it survived User.Changed")
	}
}

func TestWhoSignedInWithTheOldPasswordBeginsNoSession(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	u, err := w.SignIn(t.Context(), "Ana", password, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetPassword(t.Context(), "Ana", "another horse battery", kim); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Begin(t.Context(), u, "", ""); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("begun with the old password: %v", err)
	}
}

func TestSignOutIsAudited(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	first, second := w.begin(t, "Ana"), w.begin(t, "Ana")
	if err := w.End(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if w.holds(t, first) || !w.holds(t, second) {
		t.Error("signing out ends that browser's session and no other")
	}
	if err := w.End(t.Context(), first); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("signed out twice: %v", err)
	}
	if err := w.EndAll(t.Context(), "Ana", kim); err != nil {
		t.Fatal(err)
	}
	if err := w.EndAll(t.Context(), "Ana", kim); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("nothing to end: %v", err)
	}
	events, _, err := w.store.Audit(t.Context(), queue.AuditFilter{}, queue.Page{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, string(e.Type)+" "+e.Actor.Name+" "+e.Actor.Role+" "+e.Actor.From+" "+e.Text)
	}
	want := []string{"sign-out kim admin 192.0.2.7 user Ana signed out everywhere", "sign-out Ana viewer 192.0.2.9 signed out"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestOfTwentyOneSessionsTheOldestGoes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	secrets := make([]string, 21)
	for i := range secrets {
		secrets[i] = w.begin(t, "Ana")
	}
	for i, secret := range secrets {
		if got := w.holds(t, secret); got != (i > 0) {
			t.Errorf("session %d holds: %v", i, got)
		}
	}
}

func TestASignInDropsWhatIsOver(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	w.add(t, "Bob", access.RoleViewer)
	w.begin(t, "Ana")
	w.now = w.now.Add(12 * time.Hour)
	w.begin(t, "Bob")
	if all, err := w.store.Sessions(t.Context(), "Ana"); err != nil || len(all) != 0 {
		t.Errorf("the store still has %+v, %v", all, err)
	}
}

func TestWhatABrowserSaysIsBounded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	u, err := w.SignIn(t.Context(), "Ana", password, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ agent, want string }{
		"a plain one":        {"Browser/1.0 (X11; Linux)", "Browser/1.0 (X11; Linux)"},
		"line ends":          {"a\r\nb\x00c\x1b[31m", "abc[31m"},
		"endless":            {strings.Repeat("a", 1<<20), strings.Repeat("a", 200)},
		"no UTF-8":           {"a\xffb", "ab"},
		"cut inside a sign":  {strings.Repeat("a", 199) + "é", strings.Repeat("a", 199)},
		"text turned around": {"a\u202eb", "ab"},
	} {
		_, one, err := w.Begin(t.Context(), u, strings.Repeat("1", 100), c.agent)
		if err != nil || one.Agent != c.want || len(one.From) != 64 {
			t.Errorf("%s: kept %q from %q, %v", name, one.Agent, one.From, err)
		}
	}
}

// broken is a store whose sessions cannot be written or read.
type broken struct{ *storetest.MemoryAccess }

var errBroken = errors.New("the disk is gone")

func (broken) TouchSession(context.Context, string, time.Time) error { return errBroken }

func (b broken) AddSession(context.Context, access.Session, access.User, access.SessionBounds) error {
	return errBroken
}

func TestABrokenStoreSignsNobodyOutButNobodyIn(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	secret := w.begin(t, "Ana")
	w.Store = broken{w.store}
	w.restart(t)
	w.now = w.now.Add(time.Hour)
	if !w.holds(t, secret) {
		t.Error("a use that cannot be noted ended the session")
	}
	if log := w.log.String(); !strings.Contains(log, "could not be noted") || strings.Contains(log, secret) {
		t.Errorf("log:\n%s", log)
	}
	u, err := w.SignIn(t.Context(), "Ana", password, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Begin(t.Context(), u, "", ""); !errors.Is(err, errBroken) {
		t.Errorf("a session that is not stored: %v", err)
	}
}

func TestSessionsAreUsedAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	secret := w.begin(t, "Ana")
	w.now = w.now.Add(time.Hour)
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			if _, _, err := w.Session(t.Context(), secret); err != nil && !errors.Is(err, access.ErrUnknown) {
				t.Errorf("a use while it ends: %v", err)
			}
		})
	}
	work.Go(func() {
		if err := w.EndAll(t.Context(), "Ana", fault.Actor{Name: "Ana"}); err != nil {
			t.Error(err)
		}
	})
	work.Wait()
	if w.holds(t, secret) {
		t.Error("a use brought an ended session back")
	}
}
