package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"edigw/access"
	"edigw/queue"
)

// AccessStore is a Store that also keeps what package access asks for.
type AccessStore interface {
	Store
	access.Store
}

// MemoryAccess is Memory with tokens, users and sessions. Both share their transactions.
type MemoryAccess struct {
	*Memory
	tokens   map[string]access.Token // by name
	users    map[string]access.User  // by name in lower case
	sessions []session               // in the order in which they began
}

var _ AccessStore = (*MemoryAccess)(nil)

// NewMemoryAccess gives a store without tokens, users and sessions; all else is that of
// m.
func NewMemoryAccess(m *Memory) *MemoryAccess {
	return &MemoryAccess{Memory: m, tokens: map[string]access.Token{}, users: map[string]access.User{}}
}

// AddToken stores a new token.
func (s *MemoryAccess) AddToken(ctx context.Context, t access.Token, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		for _, other := range s.tokens {
			if other.Name == t.Name || other.Hash == t.Hash {
				return fmt.Errorf("token %q: %w", t.Name, queue.ErrConflict)
			}
		}
		set(u, s.tokens, t.Name, t)
		s.addEvents(u, events)
		return nil
	})
}

// Tokens lists the tokens by name.
func (s *MemoryAccess) Tokens(ctx context.Context) ([]access.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []access.Token
	for _, name := range slices.Sorted(maps.Keys(s.tokens)) {
		all = append(all, s.tokens[name])
	}
	return all, ctx.Err()
}

// TokenByHash finds a token by the hash of its secret.
func (s *MemoryAccess) TokenByHash(ctx context.Context, hash string) (access.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		if t.Hash == hash {
			return t, ctx.Err()
		}
	}
	return access.Token{}, fmt.Errorf("token: %w", queue.ErrNotFound)
}

// TouchToken notes a use.
func (s *MemoryAccess) TouchToken(ctx context.Context, hash string, at time.Time) error {
	return s.write(ctx, func(u *undo) error {
		for name, t := range s.tokens {
			if t.Hash == hash {
				t.Used = at
				set(u, s.tokens, name, t)
				return nil
			}
		}
		return fmt.Errorf("token: %w", queue.ErrNotFound)
	})
}

// RemoveToken drops a token.
func (s *MemoryAccess) RemoveToken(ctx context.Context, name string, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		if _, ok := s.tokens[name]; !ok {
			return fmt.Errorf("token %q: %w", name, queue.ErrNotFound)
		}
		delete(s.tokens, name)
		s.addEvents(u, events)
		return nil
	})
}

// AddUser stores a new user.
func (s *MemoryAccess) AddUser(ctx context.Context, n access.User, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		if _, taken := s.users[strings.ToLower(n.Name)]; taken {
			return fmt.Errorf("user %q: %w", n.Name, queue.ErrConflict)
		}
		set(u, s.users, strings.ToLower(n.Name), n)
		s.addEvents(u, events)
		return nil
	})
}

// Users lists the users by name.
func (s *MemoryAccess) Users(ctx context.Context) ([]access.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []access.User
	for _, name := range slices.Sorted(maps.Keys(s.users)) {
		all = append(all, s.users[name])
	}
	return all, ctx.Err()
}

// User finds a user by name, in whatever case.
func (s *MemoryAccess) User(ctx context.Context, name string) (access.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.users[strings.ToLower(name)]
	if !ok {
		return u, fmt.Errorf("user %q: %w", name, queue.ErrNotFound)
	}
	return u, ctx.Err()
}

// SaveUser changes a user's role, permission and password.
func (s *MemoryAccess) SaveUser(ctx context.Context, n access.User, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		old, ok := s.users[strings.ToLower(n.Name)]
		if !ok {
			return fmt.Errorf("user %q: %w", n.Name, queue.ErrNotFound)
		}
		old.Role, old.Payloads, old.Password, old.Changed = n.Role, n.Payloads, n.Password, n.Changed
		set(u, s.users, strings.ToLower(n.Name), old)
		s.addEvents(u, events)
		return nil
	})
}

// RemoveUser drops a user.
func (s *MemoryAccess) RemoveUser(ctx context.Context, name string, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		if _, ok := s.users[strings.ToLower(name)]; !ok {
			return fmt.Errorf("user %q: %w", name, queue.ErrNotFound)
		}
		delete(s.users, strings.ToLower(name))
		s.sessions = slices.DeleteFunc(s.sessions, func(one session) bool { return strings.EqualFold(one.User, name) })
		s.addEvents(u, events)
		return nil
	})
}
