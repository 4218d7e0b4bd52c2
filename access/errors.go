package access

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnknown says that a token is unknown or revoked, or that name and
// password do not fit; it never says which.
var ErrUnknown = errors.New("access: not known")

// InputError says that a field of a request cannot be used. Nothing was
// changed.
type InputError struct {
	Field  string // as the API spells it
	Reason string
}

// Error is "field: reason".
func (e *InputError) Error() string { return e.Field + ": " + e.Reason }

// TakenError says that a name is in use.
type TakenError struct {
	Kind string // token, user
	Name string
}

// Error says what to do.
func (e *TakenError) Error() string {
	return fmt.Sprintf("there is a %s %s already: take another name, or remove that one first", e.Kind, e.Name)
}

// LockedError says that a name had too many wrong passwords.
type LockedError struct{ Until time.Time }

// Error says until when.
func (e *LockedError) Error() string {
	return "too many wrong passwords: locked until " + e.Until.UTC().Format(time.RFC3339)
}

func quoted(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "…"
	}
	return fmt.Sprintf("%q", s)
}
