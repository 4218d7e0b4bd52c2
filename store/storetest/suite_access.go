package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
)

// RunAccess proves that a store keeps the part of the contract that package
// access relies on. open gives an empty store as in Run.
func RunAccess(t *testing.T, open func(t *testing.T) AccessStore) {
	runSessions(t, open)
	for name, rule := range map[string]func(*testing.T, AccessStore){
		"a token is found by its hash until it is removed": accessToken,
		"a taken token is a conflict and changes nothing":  accessTokenTaken,
		"a use of a token is noted":                        accessTokenUse,
		"a user is found in whatever case":                 accessUser,
		"a taken user is a conflict and changes nothing":   accessUserTaken,
		"what is gone cannot be changed":                   accessGone,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, open(t))
		})
	}
}

func token(name, digit string) access.Token {
	return access.Token{Name: name, Scopes: []access.Scope{access.Send, access.Read}, Hash: strings.Repeat(digit, 64), Created: t0,
		By: fault.Actor{Name: "kim", Role: "admin", From: "192.0.2.7"}}
}

func person(name string) access.User {
	return access.User{Name: name, Role: access.RoleOperator, Payloads: true, Password: "$argon2id$v=19$…", Created: t0, Changed: t0}
}

func did(text string) queue.Event {
	return queue.Event{At: t0, Type: queue.EventAccess, Actor: fault.Actor{Name: "kim"}, Text: text}
}

// audited gives the texts of the ledger.
func audited(t *testing.T, s AccessStore) []string {
	t.Helper()
	events, err := s.Events(t.Context(), 0, 100)
	fine(t, err)
	var all []string
	for _, e := range events {
		all = append(all, e.Text)
	}
	return all
}

func accessToken(t *testing.T, s AccessStore) {
	b, a := token("b", "b"), token("a", "a")
	fine(t, s.AddToken(t.Context(), b, did("made b")))
	fine(t, s.AddToken(t.Context(), a, did("made a")))
	all, err := s.Tokens(t.Context())
	fine(t, err)
	same(t, "tokens by name", []access.Token{a, b}, all)
	got, err := s.TokenByHash(t.Context(), b.Hash)
	fine(t, err)
	same(t, "token", b, got)
	fine(t, s.RemoveToken(t.Context(), "b", did("removed b")))
	if _, err := s.TokenByHash(t.Context(), b.Hash); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("a removed token: %v", err)
	}
	same(t, "ledger", []string{"made b", "made a", "removed b"}, audited(t, s))
}

func accessTokenTaken(t *testing.T, s AccessStore) {
	fine(t, s.AddToken(t.Context(), token("a", "a"), did("made a")))
	for what, other := range map[string]access.Token{"name": token("a", "b"), "hash": token("b", "a")} {
		if err := s.AddToken(t.Context(), other, did("made it again")); !errors.Is(err, queue.ErrConflict) {
			t.Errorf("a taken %s: %v", what, err)
		}
	}
	all, err := s.Tokens(t.Context())
	fine(t, err)
	same(t, "tokens", []access.Token{token("a", "a")}, all)
	same(t, "ledger", []string{"made a"}, audited(t, s))
}

func accessTokenUse(t *testing.T, s AccessStore) {
	a := token("a", "a")
	fine(t, s.AddToken(t.Context(), a))
	fine(t, s.TouchToken(t.Context(), a.Hash, after(time.Hour)))
	got, err := s.TokenByHash(t.Context(), a.Hash)
	fine(t, err)
	same(t, "use", after(time.Hour), got.Used)
}

func accessUser(t *testing.T, s AccessStore) {
	kim := person("Kim")
	fine(t, s.AddUser(t.Context(), kim, did("added Kim")))
	fine(t, s.AddUser(t.Context(), person("ana")))
	got, err := s.User(t.Context(), "kIM")
	fine(t, err)
	same(t, "user", kim, got)
	kim.Role, kim.Payloads, kim.Password, kim.Changed = access.RoleViewer, false, "other", after(time.Hour)
	fine(t, s.SaveUser(t.Context(), kim, did("changed Kim")))
	all, err := s.Users(t.Context())
	fine(t, err)
	same(t, "users by name", []access.User{person("ana"), kim}, all)
	fine(t, s.RemoveUser(t.Context(), "KIM", did("removed Kim")))
	if _, err := s.User(t.Context(), "Kim"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("a removed user: %v", err)
	}
	same(t, "ledger", []string{"added Kim", "changed Kim", "removed Kim"}, audited(t, s))
}

func accessUserTaken(t *testing.T, s AccessStore) {
	fine(t, s.AddUser(t.Context(), person("Kim")))
	if err := s.AddUser(t.Context(), person("kim"), did("added kim")); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("a taken name: %v", err)
	}
	same(t, "ledger", []string(nil), audited(t, s))
}

func accessGone(t *testing.T, s AccessStore) {
	for what, err := range map[string]error{
		"touch":       s.TouchToken(t.Context(), strings.Repeat("f", 64), t0),
		"revoke":      s.RemoveToken(t.Context(), "nobody", did("revoked")),
		"save user":   s.SaveUser(t.Context(), person("nobody"), did("changed")),
		"remove user": s.RemoveUser(t.Context(), "nobody", did("removed")),
	} {
		if !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same(t, "ledger", []string(nil), audited(t, s))
}
