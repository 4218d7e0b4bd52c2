package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/access"
	"edigw/queue"
)

// runSessions proves what RunAccess promises of sessions and the first user.
func runSessions(t *testing.T, open func(t *testing.T) AccessStore) {
	for name, rule := range map[string]func(*testing.T, AccessStore){
		"a session is found by its hash, with its user as he is now": sessionFound,
		"a use of a session is noted":                                sessionUse,
		"sessions are listed newest first":                           sessionList,
		"a session ends alone, or all of a user":                     sessionEnd,
		"a changed user's sessions are void":                         sessionChanged,
		"a removed user's sessions are void, also for a namesake":    sessionRemovedUser,
		"who changed since he was read begins no session":            sessionOfAnother,
		"of too many sessions the oldest goes":                       sessionBound,
		"sessions that are over go in steps":                         sessionTrim,
		"a restored store has no sessions":                           sessionRestored,
		"there is one first user":                                    firstUser,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, open(t))
		})
	}
}

// unbounded drops nothing here.
var unbounded = access.SessionBounds{Most: 100}

func sessionOf(u access.User, n int) access.Session {
	at := after(time.Duration(n) * time.Minute)
	return access.Session{Hash: fmt.Sprintf("%064x", n), User: u.Name, Created: at, Seen: at, Expires: at.Add(7 * 24 * time.Hour), From: "192.0.2.7", Agent: "browser/1.0"}
}

// begun adds a user's sessions of these numbers.
func begun(t *testing.T, s AccessStore, u access.User, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		fine(t, s.AddSession(t.Context(), sessionOf(u, n), u, unbounded))
	}
}

// openSessions gives the numbers of a user's sessions as they are listed.
func openSessions(t *testing.T, s AccessStore, u access.User) (numbers []int) {
	t.Helper()
	list, err := s.Sessions(t.Context(), u.Name)
	fine(t, err)
	for _, one := range list {
		var n int
		if _, err := fmt.Sscanf(one.Hash, "%x", &n); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func noSession(t *testing.T, s AccessStore, n int) {
	t.Helper()
	if _, _, err := s.SessionByHash(t.Context(), fmt.Sprintf("%064x", n)); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("session %d: %v", n, err)
	}
}

func sessionFound(t *testing.T, s AccessStore) {
	kim := person("Kim")
	fine(t, s.AddUser(t.Context(), kim))
	fine(t, s.AddUser(t.Context(), person("ana")))
	begun(t, s, kim, 1)
	one, u, err := s.SessionByHash(t.Context(), sessionOf(kim, 1).Hash)
	fine(t, err)
	same(t, "session", sessionOf(kim, 1), one)
	same(t, "user", kim, u)
	kim.Role, kim.Payloads = access.RoleViewer, false
	fine(t, s.SaveUser(t.Context(), kim))
	_, u, err = s.SessionByHash(t.Context(), one.Hash)
	fine(t, err)
	same(t, "user with another role", kim, u)
	noSession(t, s, 2)
	if err := s.AddSession(t.Context(), one, kim, unbounded); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("a taken hash: %v", err)
	}
}

func sessionUse(t *testing.T, s AccessStore) {
	kim := person("Kim")
	fine(t, s.AddUser(t.Context(), kim))
	begun(t, s, kim, 1, 2)
	fine(t, s.TouchSession(t.Context(), sessionOf(kim, 1).Hash, after(time.Hour)))
	want := sessionOf(kim, 1)
	want.Seen = after(time.Hour)
	list, err := s.Sessions(t.Context(), "Kim")
	fine(t, err)
	same(t, "sessions", []access.Session{sessionOf(kim, 2), want}, list)
	if err := s.TouchSession(t.Context(), sessionOf(kim, 3).Hash, t0); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("use of what is gone: %v", err)
	}
}

func sessionList(t *testing.T, s AccessStore) {
	kim, ana := person("Kim"), person("ana")
	fine(t, s.AddUser(t.Context(), kim))
	fine(t, s.AddUser(t.Context(), ana))
	begun(t, s, kim, 5, 1)
	begun(t, s, ana, 2)
	begun(t, s, kim, 3)
	same(t, "Kim's", []int{3, 1, 5}, openSessions(t, s, access.User{Name: "kIM"}))
	same(t, "ana's", []int{2}, openSessions(t, s, ana))
	same(t, "nobody's", []int(nil), openSessions(t, s, person("nobody")))
}

func sessionEnd(t *testing.T, s AccessStore) {
	kim, ana := person("Kim"), person("ana")
	fine(t, s.AddUser(t.Context(), kim))
	fine(t, s.AddUser(t.Context(), ana))
	begun(t, s, kim, 1, 2, 3)
	begun(t, s, ana, 4)
	fine(t, s.RemoveSessions(t.Context(), "Kim", sessionOf(kim, 2).Hash, did("ended 2")))
	noSession(t, s, 2)
	same(t, "Kim's", []int{3, 1}, openSessions(t, s, kim))
	fine(t, s.RemoveSessions(t.Context(), "kim", "", did("ended Kim's")))
	same(t, "Kim's at the end", []int(nil), openSessions(t, s, kim))
	for what, err := range map[string]error{
		"none left":      s.RemoveSessions(t.Context(), "Kim", "", did("again")),
		"another user's": s.RemoveSessions(t.Context(), "Kim", sessionOf(ana, 4).Hash, did("ana's")),
		"nobody":         s.RemoveSessions(t.Context(), "nobody", "", did("nobody's")),
	} {
		if !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same(t, "ana's", []int{4}, openSessions(t, s, ana))
	same(t, "ledger", []string{"ended 2", "ended Kim's"}, audited(t, s))
}

func sessionChanged(t *testing.T, s AccessStore) {
	kim, ana := person("Kim"), person("ana")
	fine(t, s.AddUser(t.Context(), kim))
	fine(t, s.AddUser(t.Context(), ana))
	begun(t, s, kim, 1)
	begun(t, s, ana, 2)
	// Before the session, by a clock that was set back: what counts is that it
	// is another one.
	kim.Password, kim.Changed = "other", t0.Add(-time.Hour)
	fine(t, s.SaveUser(t.Context(), kim))
	noSession(t, s, 1)
	same(t, "Kim's", []int(nil), openSessions(t, s, kim))
	same(t, "ana's", []int{2}, openSessions(t, s, ana))
	begun(t, s, kim, 3)
	same(t, "Kim's new ones", []int{3}, openSessions(t, s, kim))
}

func sessionRemovedUser(t *testing.T, s AccessStore) {
	kim := person("Kim")
	fine(t, s.AddUser(t.Context(), kim))
	begun(t, s, kim, 1)
	fine(t, s.RemoveUser(t.Context(), "KIM"))
	noSession(t, s, 1)
	fine(t, s.AddUser(t.Context(), kim))
	noSession(t, s, 1)
	same(t, "of the namesake", []int(nil), openSessions(t, s, kim))
}

func sessionOfAnother(t *testing.T, s AccessStore) {
	kim := person("Kim")
	fine(t, s.AddUser(t.Context(), kim))
	read := kim
	kim.Password, kim.Changed = "other", after(time.Second)
	fine(t, s.SaveUser(t.Context(), kim))
	for what, u := range map[string]access.User{"changed": read, "gone": person("nobody")} {
		if err := s.AddSession(t.Context(), sessionOf(u, 1), u, unbounded); !errors.Is(err, queue.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	noSession(t, s, 1)
}

func sessionBound(t *testing.T, s AccessStore) {
	kim, ana := person("Kim"), person("ana")
	fine(t, s.AddUser(t.Context(), kim))
	fine(t, s.AddUser(t.Context(), ana))
	begun(t, s, ana, 9)
	begun(t, s, kim, 4, 1, 3)
	fine(t, s.AddSession(t.Context(), sessionOf(kim, 2), kim, access.SessionBounds{Most: 2}))
	same(t, "Kim's", []int{2, 3}, openSessions(t, s, kim))
	same(t, "ana's", []int{9}, openSessions(t, s, ana))
}

func sessionTrim(t *testing.T, s AccessStore) {
	kim, ana := person("Kim"), person("ana")
	fine(t, s.AddUser(t.Context(), kim))
	fine(t, s.AddUser(t.Context(), ana))
	begun(t, s, kim, 1, 2, 3, 4, 5)
	fine(t, s.TouchSession(t.Context(), sessionOf(kim, 1).Hash, after(time.Hour)))
	b := access.SessionBounds{Most: 100, Idle: after(4 * time.Minute), Step: 2}
	fine(t, s.AddSession(t.Context(), sessionOf(ana, 10), ana, b))
	if n := len(openSessions(t, s, kim)); n != 3 {
		t.Errorf("%d sessions are left after a step of 2, want 3", n)
	}
	fine(t, s.AddSession(t.Context(), sessionOf(ana, 11), ana, b))
	same(t, "Kim's", []int{5, 1}, openSessions(t, s, kim))
	same(t, "ana's", []int{11, 10}, openSessions(t, s, ana))
}

func sessionRestored(t *testing.T, s AccessStore) {
	kim := person("Kim")
	fine(t, s.AddUser(t.Context(), kim))
	begun(t, s, kim, 1, 2)
	_, _, err := s.MarkRestored(t.Context(), after(time.Hour), nil)
	fine(t, err)
	noSession(t, s, 1)
	same(t, "Kim's", []int(nil), openSessions(t, s, kim))
	got, err := s.User(t.Context(), "Kim")
	fine(t, err)
	same(t, "user", kim, got)
}

func firstUser(t *testing.T, s AccessStore) {
	const racing = 8
	var work sync.WaitGroup
	errs := make([]error, racing)
	for i := range racing {
		work.Go(func() {
			errs[i] = s.AddFirstUser(t.Context(), person(strings.Repeat("a", i+1)), did("first"))
		})
	}
	work.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, queue.ErrConflict) {
			t.Errorf("one that came late: %v", err)
		}
	}
	users, err := s.Users(t.Context())
	fine(t, err)
	if made != 1 || len(users) != 1 {
		t.Errorf("%d were made, there are %+v", made, users)
	}
	same(t, "ledger", []string{"first"}, audited(t, s))
	fine(t, s.RemoveUser(t.Context(), users[0].Name))
	fine(t, s.AddFirstUser(t.Context(), person("Kim"), did("first again")))
}
