package access_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/storetest"

	"github.com/google/go-cmp/cmp"
)

// world is a service on a store in memory, with a clock of its own.
type world struct {
	*access.Service
	store *storetest.MemoryAccess
	now   time.Time
	log   bytes.Buffer
}

var kim = fault.Actor{Name: "kim", Role: "admin", From: "192.0.2.7"}

func setup(t *testing.T) *world {
	t.Helper()
	w := &world{store: storetest.NewMemoryAccess(storetest.NewMemory()), now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	s, err := access.New(access.Options{Store: w.store, Now: func() time.Time { return w.now }, Log: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	access.Cheap(s)
	w.Service = s
	return w
}

func (w *world) ledger(t *testing.T) (text string) {
	t.Helper()
	events, err := w.store.Events(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		text += e.Actor.String() + ": " + e.Text + "\n"
	}
	return text
}

func TestATokenIsShownOnceAndKeptAsAHash(t *testing.T) {
	t.Parallel()
	w := setup(t)
	secret, made, err := w.NewToken(t.Context(), "erp", []access.Scope{access.Send, access.Read}, kim)
	if err != nil {
		t.Fatal(err)
	}
	if len(secret) < 43 || strings.Contains(made.Hash, secret) {
		t.Fatalf("secret %q, hash %q", secret, made.Hash)
	}
	got, err := w.Token(t.Context(), secret)
	if err != nil || got.Name != "erp" || !got.Used.Equal(w.now) {
		t.Fatalf("token %+v, %v", got, err)
	}
	all, err := w.Tokens(t.Context())
	if err != nil || len(all) != 1 || !all[0].Used.Equal(w.now) {
		t.Fatalf("tokens %+v, %v", all, err)
	}
	if ledger := w.ledger(t); strings.Contains(ledger, secret) || !strings.Contains(ledger, "kim from 192.0.2.7: token erp made with scopes send, read") {
		t.Errorf("ledger:\n%s", ledger)
	}
	if strings.Contains(w.log.String(), secret) {
		t.Error("the secret is in the log")
	}
}

func TestWhatIsNoTokenIsUnknown(t *testing.T) {
	t.Parallel()
	w := setup(t)
	secret, made, err := w.NewToken(t.Context(), "erp", []access.Scope{access.Read}, kim)
	if err != nil {
		t.Fatal(err)
	}
	flipped := []byte(secret)
	flipped[len(flipped)-2] ^= 1
	for name, s := range map[string]string{
		"empty": "", "its hash": made.Hash, "one character changed": string(flipped), "cut off": secret[:len(secret)-1],
		"longer": secret + "A", "without its beginning": strings.TrimPrefix(secret, "edigw_"), "its name": "erp",
	} {
		if _, err := w.Token(t.Context(), s); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARevokedTokenEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	secret, _, err := w.NewToken(t.Context(), "erp", []access.Scope{access.Read}, kim)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.RevokeToken(t.Context(), "erp", kim); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Token(t.Context(), secret); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("after revoking: %v", err)
	}
	if err := w.RevokeToken(t.Context(), "erp", kim); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("revoked again: %v", err)
	}
	second, _, err := w.NewToken(t.Context(), "erp", []access.Scope{access.Read}, kim)
	if err != nil || second == secret {
		t.Errorf("a new token of the name: %v", err)
	}
	if _, _, err := w.NewToken(t.Context(), "erp", []access.Scope{access.Read}, kim); !errors.As(err, new(*access.TakenError)) {
		t.Errorf("a taken name: %v", err)
	}
}

func TestTheUseOfATokenIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	w := setup(t)
	secret, _, err := w.NewToken(t.Context(), "erp", []access.Scope{access.Read}, kim)
	if err != nil {
		t.Fatal(err)
	}
	begin := w.now
	for _, step := range []struct {
		at, want time.Duration
	}{{0, 0}, {30 * time.Second, 0}, {59 * time.Second, 0}, {61 * time.Second, 61 * time.Second}, {90 * time.Second, 61 * time.Second}} {
		w.now = begin.Add(step.at)
		if _, err := w.Token(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		all, err := w.Tokens(t.Context())
		if err != nil || !all[0].Used.Equal(begin.Add(step.want)) {
			t.Errorf("after %v: used %v, want %v", step.at, all[0].Used, begin.Add(step.want))
		}
	}
}

func TestNamesAndScopesAreChecked(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for name, c := range map[string]struct {
		token  string
		scopes []access.Scope
	}{
		"empty name":    {"", access.Scopes},
		"blank in name": {"a b", access.Scopes},
		"line end":      {"a\nb", access.Scopes},
		"too long":      {strings.Repeat("a", 64), access.Scopes},
		"the gateway's": {"CLI", access.Scopes},
		"no scope":      {"erp", nil},
		"unknown scope": {"erp", []access.Scope{"everything"}},
	} {
		if _, _, err := w.NewToken(t.Context(), c.token, c.scopes, kim); !errors.As(err, new(*access.InputError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := access.ParseScopes("send,read", " operate ", "send")
	if d := cmp.Diff([]access.Scope{access.Send, access.Read, access.Operate}, got); d != "" || err != nil {
		t.Errorf("scopes: %v\n%s", err, d)
	}
}

func TestScopesGrantWhatTheyInclude(t *testing.T) {
	t.Parallel()
	want := map[access.Scope][]access.Scope{
		access.Send:    {access.Send},
		access.Read:    {access.Read},
		access.Operate: {access.Read, access.Operate},
		access.Admin:   access.Scopes,
	}
	for have, all := range want {
		var got []access.Scope
		for _, need := range access.Scopes {
			if access.Grant([]access.Scope{have}, need) {
				got = append(got, need)
			}
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Errorf("%s grants: -want +got\n%s", have, d)
		}
	}
	if access.Grant(nil, access.Read) {
		t.Error("no scope grants read")
	}
}

const password = "correct horse battery"

func (w *world) add(t *testing.T, name string, r access.Role) {
	t.Helper()
	if _, err := w.AddUser(t.Context(), access.User{Name: name, Role: r}, password, kim); err != nil {
		t.Fatal(err)
	}
}

func TestAUserSignsIn(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleOperator)
	u, err := w.SignIn(t.Context(), "ana", password, "192.0.2.9")
	if err != nil || u.Name != "Ana" || u.Role != access.RoleOperator {
		t.Fatalf("user %+v, %v", u, err)
	}
	if strings.Contains(u.Password, password) {
		t.Error("the password is kept")
	}
	if ledger := w.ledger(t); !strings.Contains(ledger, "Ana from 192.0.2.9: signed in") || strings.Contains(ledger, password) {
		t.Errorf("ledger:\n%s", ledger)
	}
	for name, c := range map[string][2]string{
		"wrong password":   {"Ana", "wrong horse battery"},
		"empty password":   {"Ana", ""},
		"endless password": {"Ana", strings.Repeat("a", 1000)},
		"unknown name":     {"Bob", password},
		"no name":          {"a b", password},
	} {
		if _, err := w.SignIn(t.Context(), c[0], c[1], "192.0.2.9"); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if log := w.log.String(); strings.Contains(log, "horse") {
		t.Errorf("a password is in the log:\n%s", log)
	}
}

func TestTenWrongPasswordsLockTheRightOneOut(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	for range 10 {
		if _, err := w.SignIn(t.Context(), "ana", "wrong horse battery", "192.0.2.9"); !errors.Is(err, access.ErrUnknown) {
			t.Fatalf("a wrong password: %v", err)
		}
	}
	var locked *access.LockedError
	if _, err := w.SignIn(t.Context(), "Ana", password, "192.0.2.10"); !errors.As(err, &locked) || !locked.Until.Equal(w.now.Add(15*time.Minute)) {
		t.Fatalf("the right password while locked: %v", err)
	}
	if n := strings.Count(w.ledger(t), "locked for 15 min after 10 wrong passwords"); n != 1 {
		t.Errorf("%d events of the lock-out\n%s", n, w.ledger(t))
	}
	w.now = w.now.Add(15 * time.Minute)
	if _, err := w.SignIn(t.Context(), "Ana", password, "192.0.2.10"); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

func TestANewPasswordLiftsTheLock(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleViewer)
	for range 10 {
		if _, err := w.SignIn(t.Context(), "Ana", "wrong horse battery", ""); !errors.Is(err, access.ErrUnknown) {
			t.Fatal(err)
		}
	}
	w.now = w.now.Add(time.Minute)
	if err := w.SetPassword(t.Context(), "ana", "another horse battery", kim); err != nil {
		t.Fatal(err)
	}
	u, err := w.SignIn(t.Context(), "Ana", "another horse battery", "")
	if err != nil || !u.Changed.Equal(w.now) {
		t.Errorf("the new password: %+v, %v", u, err)
	}
	if _, err := w.SignIn(t.Context(), "Ana", password, ""); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("the old password: %v", err)
	}
}

func TestUsersAreChecked(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(t, "Ana", access.RoleAdmin)
	for name, c := range map[string]struct {
		user     access.User
		password string
	}{
		"short password": {access.User{Name: "bob", Role: access.RoleViewer}, "short"},
		"long password":  {access.User{Name: "bob", Role: access.RoleViewer}, strings.Repeat("a", 201)},
		"unknown role":   {access.User{Name: "bob", Role: "root"}, password},
		"no role":        {access.User{Name: "bob"}, password},
		"bad name":       {access.User{Name: "../bob", Role: access.RoleViewer}, password},
	} {
		if _, err := w.AddUser(t.Context(), c.user, c.password, kim); !errors.As(err, new(*access.InputError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.AddUser(t.Context(), access.User{Name: "ANA", Role: access.RoleViewer}, password, kim); !errors.As(err, new(*access.TakenError)) {
		t.Errorf("a taken name: %v", err)
	}
	if err := w.SetPassword(t.Context(), "nobody", password, kim); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("password of nobody: %v", err)
	}
	if err := w.RemoveUser(t.Context(), "Ana", kim); err != nil {
		t.Fatal(err)
	}
	if all, err := w.Users(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("users %+v, %v", all, err)
	}
}

func TestRolesGrantScopes(t *testing.T) {
	t.Parallel()
	for role, want := range map[access.Role][]access.Scope{
		access.RoleViewer: {access.Read}, access.RoleOperator: {access.Read, access.Operate}, access.RoleAdmin: access.Scopes, "unknown": nil,
	} {
		var got []access.Scope
		for _, need := range access.Scopes {
			if access.Grant(role.Scopes(), need) {
				got = append(got, need)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", role, d)
		}
	}
}

func TestANewPasswordCostsWhatIsRecommended(t *testing.T) {
	t.Parallel()
	s, err := access.New(access.Options{Store: storetest.NewMemoryAccess(storetest.NewMemory()), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.AddUser(t.Context(), access.User{Name: "Ana", Role: access.RoleViewer}, password, kim)
	if err != nil || !strings.HasPrefix(u.Password, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("%v, %s", err, u.Password)
	}
}

// Sessions are bound to User.Changed, of which a store keeps microseconds: two
// passwords within one must not look like the same.
func TestANewPasswordIsAlwaysLater(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.now = w.now.Truncate(time.Microsecond).Add(100 * time.Nanosecond)
	w.add(t, "Ana", access.RoleViewer)
	before := time.Time{}
	for _, step := range []time.Duration{0, 500 * time.Nanosecond, 300 * time.Nanosecond, -time.Hour, time.Hour + time.Second} {
		w.now = w.now.Add(step)
		if err := w.SetPassword(t.Context(), "ana", password, kim); err != nil {
			t.Fatal(err)
		}
		u, err := w.SignIn(t.Context(), "Ana", password, "")
		if err != nil {
			t.Fatal(err)
		}
		if u.Changed.UnixMicro() <= before.UnixMicro() {
			t.Errorf("after %v: changed %v, before %v", step, u.Changed, before)
		}
		before = u.Changed
	}
}
