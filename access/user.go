package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"edigw/fault"
	"edigw/queue"
)

// Role is what a user may do.
type Role string

// Roles of users.
const (
	RoleViewer   Role = "viewer"   // sees all pages
	RoleOperator Role = "operator" // also acts on letters, messages, lanes, alerts, certificates
	RoleAdmin    Role = "admin"    // also users, tokens, settings
)

// Roles lists every role.
var Roles = []Role{RoleViewer, RoleOperator, RoleAdmin}

// Scopes are what a role may do over the API's paths.
func (r Role) Scopes() []Scope {
	switch r {
	case RoleViewer:
		return []Scope{Read}
	case RoleOperator:
		return []Scope{Operate}
	case RoleAdmin:
		return []Scope{Admin}
	}
	return nil
}

// User is a person with a password.
type User struct {
	Name     string
	Role     Role
	Payloads bool   // may see the content of documents
	Password string // encoded argon2id; see password.go
	Created  time.Time
	Changed  time.Time // of the password; it voids the sessions from before
}

// bounds of a password, in bytes.
const (
	minPassword = 10
	maxPassword = 200
)

func checkPassword(p string) error {
	if len(p) < minPassword || len(p) > maxPassword || !utf8.ValidString(p) {
		return &InputError{Field: "password", Reason: fmt.Sprintf("from %d to %d bytes of text", minPassword, maxPassword)}
	}
	return nil
}

// AddUser makes a user. The error is an *InputError, a *TakenError or the
// store's.
func (s *Service) AddUser(ctx context.Context, u User, password string, by fault.Actor) (User, error) {
	u, err := s.newUser(ctx, u, password)
	if err != nil {
		return User{}, err
	}
	e := s.event(by, fmt.Sprintf("user %s added as %s", u.Name, u.Role), map[string]string{"user": u.Name, "role": string(u.Role)})
	err = s.Store.AddUser(ctx, u, e)
	if errors.Is(err, queue.ErrConflict) {
		return User{}, &TakenError{Kind: "user", Name: u.Name}
	}
	if err != nil {
		return User{}, fmt.Errorf("access: store user %s: %w", u.Name, err)
	}
	s.endSetup()
	return u, nil
}

// newUser checks a user and hashes the password.
func (s *Service) newUser(ctx context.Context, u User, password string) (User, error) {
	if err := checkName(u.Name); err != nil {
		return User{}, err
	}
	if !slices.Contains(Roles, u.Role) {
		return User{}, &InputError{Field: "role", Reason: "one of viewer, operator, admin"}
	}
	encoded, err := s.encode(ctx, password)
	if err != nil {
		return User{}, err
	}
	now := s.Now()
	u.Password, u.Created, u.Changed = encoded, now, now
	return u, nil
}

// Users lists the users, by name.
func (s *Service) Users(ctx context.Context) ([]User, error) { return s.Store.Users(ctx) }

// SetPassword gives a user another password, ends his sessions and lifts a
// lock-out. The error is an *InputError, queue.ErrNotFound or the store's.
func (s *Service) SetPassword(ctx context.Context, name, password string, by fault.Actor) error {
	u, err := s.Store.User(ctx, name)
	if err != nil {
		return err
	}
	if u.Password, err = s.encode(ctx, password); err != nil {
		return err
	}
	u.Changed = later(s.Now(), u.Changed)
	if err := s.Store.SaveUser(ctx, u, s.event(by, "password of user "+u.Name+" changed", map[string]string{"user": u.Name})); err != nil {
		return err
	}
	s.lockouts.lift(u.Name)
	return nil
}

// later is now, or the next instant after before if that is not later: whatever
// the clock does, a new password voids the sessions from before. An instant is
// a microsecond, which is what a store keeps of a time.
func later(now, before time.Time) time.Time {
	now, next := now.Truncate(time.Microsecond), before.Truncate(time.Microsecond).Add(time.Microsecond)
	if now.Before(next) {
		return next
	}
	return now
}

// RemoveUser takes a user and his sessions away. The error is
// queue.ErrNotFound or the store's.
func (s *Service) RemoveUser(ctx context.Context, name string, by fault.Actor) error {
	if err := s.Store.RemoveUser(ctx, name, s.event(by, "user "+name+" removed", map[string]string{"user": name})); err != nil {
		return err
	}
	s.lockouts.lift(name)
	return nil
}
