// Package access says who may do what: API tokens with scopes, users with
// roles and passwords, their sessions, the link that makes the first of them,
// and the rule that locks a name out.
//
// It knows no cookies and writes no pages; who asks is told by package web.
// What people did is read from the ledger as events with an actor. Passwords
// and secrets are never stored, logged or put into errors: only what proves
// them is kept.
package access

import (
	"slices"
	"strings"
)

// Scope is one thing that a token may do.
type Scope string

// Scopes of a token. Operate includes Read; Admin includes all.
const (
	Send    Scope = "send"    // hand in documents
	Read    Scope = "read"    // see everything, payloads too
	Operate Scope = "operate" // act on letters, messages, lanes, alerts, certificates
	Admin   Scope = "admin"   // users and tokens
)

// Scopes lists every scope.
var Scopes = []Scope{Send, Read, Operate, Admin}

// ParseScopes reads the names of scopes, each alone or several joined by
// commas. None at all, or one that does not exist, is an *InputError.
func ParseScopes(names ...string) ([]Scope, error) {
	var scopes []Scope
	for _, n := range strings.Split(strings.Join(names, ","), ",") {
		s := Scope(strings.TrimSpace(n))
		switch {
		case s == "" || slices.Contains(scopes, s):
		case !slices.Contains(Scopes, s):
			return nil, &InputError{Field: "scopes", Reason: "there is no scope " + quoted(string(s)) + "; there are send, read, operate, admin"}
		default:
			scopes = append(scopes, s)
		}
	}
	if len(scopes) == 0 {
		return nil, &InputError{Field: "scopes", Reason: "name at least one of send, read, operate, admin"}
	}
	return scopes, nil
}

// Grant reports whether whoever has the scopes may do what needs one.
func Grant(have []Scope, need Scope) bool {
	switch {
	case slices.Contains(have, need), slices.Contains(have, Admin):
		return true
	}
	return need == Read && slices.Contains(have, Operate)
}
