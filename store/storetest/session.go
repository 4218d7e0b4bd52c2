package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/access"
	"edigw/queue"
)

// session is a session as Memory keeps it.
type session struct {
	access.Session
	changed time.Time // Changed of its user when it began
}

// standing gives the user of a session, unless he is gone or has another
// Changed than the session began with.
func (s *MemoryAccess) standing(one session) (access.User, bool) {
	u, ok := s.users[strings.ToLower(one.User)]
	return u, ok && u.Changed.Equal(one.changed)
}

// AddSession stores a session of a user that is still as it was read, and
// drops what is over or too many.
func (s *MemoryAccess) AddSession(ctx context.Context, one access.Session, n access.User, b access.SessionBounds) error {
	return s.write(ctx, func(u *undo) error {
		added := session{one, n.Changed}
		taken := slices.ContainsFunc(s.sessions, func(o session) bool { return o.Hash == one.Hash })
		if _, ok := s.standing(added); !ok || taken {
			return fmt.Errorf("session of %q: %w", one.User, queue.ErrConflict)
		}
		dropped := 0
		left := slices.DeleteFunc(slices.Clone(s.sessions), func(o session) bool {
			over := !o.Seen.After(b.Idle) && dropped < b.Step
			if over {
				dropped++
			}
			return over
		})
		left = append(left, added)
		others := -b.Most
		for _, o := range left {
			if strings.EqualFold(o.User, one.User) {
				others++
			}
		}
		left = slices.DeleteFunc(left, func(o session) bool {
			if others <= 0 || !strings.EqualFold(o.User, one.User) {
				return false
			}
			others--
			return true
		})
		assign(u, &s.sessions, left)
		return nil
	})
}

// SessionByHash finds a session by the hash of its secret, with its user.
func (s *MemoryAccess) SessionByHash(ctx context.Context, hash string) (access.Session, access.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		if u, ok := s.standing(one); ok && one.Hash == hash {
			return one.Session, u, ctx.Err()
		}
	}
	return access.Session{}, access.User{}, fmt.Errorf("session: %w", queue.ErrNotFound)
}

// Sessions lists the sessions of a user, newest first.
func (s *MemoryAccess) Sessions(ctx context.Context, user string) ([]access.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []access.Session
	for _, one := range slices.Backward(s.sessions) {
		if _, ok := s.standing(one); ok && strings.EqualFold(one.User, user) {
			all = append(all, one.Session)
		}
	}
	return all, ctx.Err()
}

// TouchSession notes a use.
func (s *MemoryAccess) TouchSession(ctx context.Context, hash string, at time.Time) error {
	return s.write(ctx, func(u *undo) error {
		i := slices.IndexFunc(s.sessions, func(one session) bool { return one.Hash == hash })
		if i < 0 {
			return fmt.Errorf("session: %w", queue.ErrNotFound)
		}
		assign(u, &s.sessions[i].Seen, at)
		return nil
	})
}

// RemoveSessions drops one session of a user, or all of them.
func (s *MemoryAccess) RemoveSessions(ctx context.Context, user, hash string, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		left := slices.DeleteFunc(slices.Clone(s.sessions), func(one session) bool {
			return strings.EqualFold(one.User, user) && (hash == "" || one.Hash == hash)
		})
		if len(left) == len(s.sessions) {
			return fmt.Errorf("session of %q: %w", user, queue.ErrNotFound)
		}
		assign(u, &s.sessions, left)
		s.addEvents(u, events)
		return nil
	})
}

// AddFirstUser stores a user if there is none.
func (s *MemoryAccess) AddFirstUser(ctx context.Context, n access.User, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		if len(s.users) > 0 {
			return fmt.Errorf("first user %q: %w", n.Name, queue.ErrConflict)
		}
		set(u, s.users, strings.ToLower(n.Name), n)
		s.addEvents(u, events)
		return nil
	})
}

// MarkRestored also signs everybody out.
func (s *MemoryAccess) MarkRestored(ctx context.Context, at time.Time, partners []string) (messages, lanes int, err error) {
	if messages, lanes, err = s.Memory.MarkRestored(ctx, at, partners); err != nil {
		return messages, lanes, err
	}
	err = s.write(ctx, func(u *undo) error {
		assign(u, &s.sessions, nil)
		return nil
	})
	return messages, lanes, err
}
