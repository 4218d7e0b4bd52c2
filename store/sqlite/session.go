package sqlite

import (
	"context"
	"fmt"
	"time"

	"edigw/access"
	"edigw/queue"
)

const sessionColumns = "s.hash, s.user, s.created, s.seen, s.expires, s.origin, s.agent"

// standing joins a session with its user and leaves out what began with
// another password.
const standing = " FROM sessions AS s JOIN users AS u ON u.name = s.user AND u.changed = s.changed"

func sessionFields(one *access.Session) []any {
	return []any{&one.Hash, &one.User, moment{&one.Created}, moment{&one.Seen}, moment{&one.Expires}, &one.From, &one.Agent}
}

// AddSession stores a session of a user that is still as it was read, and
// drops what is over or too many.
func (s *Store) AddSession(ctx context.Context, one access.Session, u access.User, b access.SessionBounds) error {
	return s.write(ctx, func(t *tx) error {
		if _, err := t.exec("DELETE FROM sessions WHERE n IN (SELECT n FROM sessions WHERE seen <= ? LIMIT ?)", micros(b.Idle), b.Step); err != nil {
			return err
		}
		n, err := t.exec(`INSERT INTO sessions (hash, user, changed, created, seen, expires, origin, agent)
			SELECT ?, name, changed, ?, ?, ?, ?, ? FROM users WHERE name = ? AND changed = ?`,
			one.Hash, micros(one.Created), micros(one.Seen), micros(one.Expires), one.From, one.Agent, one.User, micros(u.Changed))
		if err != nil {
			return fmt.Errorf("session of %q: %w", one.User, err)
		}
		if n == 0 {
			return fmt.Errorf("session of %q, who is gone or changed: %w", one.User, queue.ErrConflict)
		}
		_, err = t.exec("DELETE FROM sessions WHERE n IN (SELECT n FROM sessions WHERE user = ? ORDER BY n DESC LIMIT -1 OFFSET ?)", one.User, b.Most)
		return err
	})
}

// SessionByHash finds a session by the hash of its secret, with its user.
func (s *Store) SessionByHash(ctx context.Context, hash string) (one access.Session, u access.User, err error) {
	err = s.read(ctx, func(t *tx) error {
		err := t.row("SELECT "+sessionColumns+", u.name, u.role, u.payloads, u.password, u.created, u.changed"+standing+" WHERE s.hash = ?", hash).
			Scan(append(sessionFields(&one), userFields(&u)...)...)
		return missing(err, "session of hash", short(hash))
	})
	return one, u, err
}

// Sessions lists the sessions of a user, newest first.
func (s *Store) Sessions(ctx context.Context, user string) (all []access.Session, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, func(r scanner) (one access.Session, err error) {
			err = r.Scan(sessionFields(&one)...)
			return one, err
		}, "SELECT "+sessionColumns+standing+" WHERE s.user = ? ORDER BY s.n DESC", user)
		return err
	})
	return all, err
}

// TouchSession notes a use of a session.
func (s *Store) TouchSession(ctx context.Context, hash string, at time.Time) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE sessions SET seen = ? WHERE hash = ?", micros(at), hash)
		return gone(n, err, "session of hash", short(hash))
	})
}

// RemoveSessions drops one session of a user, or all of them.
func (s *Store) RemoveSessions(ctx context.Context, user, hash string, events ...queue.Event) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("DELETE FROM sessions WHERE user = ?1 AND (hash = ?2 OR ?2 = '')", user, hash)
		if err = gone(n, err, "session of", user); err != nil {
			return err
		}
		return t.addEvents(events)
	})
}

// AddFirstUser stores a user if there is none.
func (s *Store) AddFirstUser(ctx context.Context, u access.User, events ...queue.Event) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("INSERT INTO users ("+userColumns+") SELECT ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM users)", userValues(u)...)
		if err == nil && n == 0 {
			err = queue.ErrConflict
		}
		if err != nil {
			return fmt.Errorf("first user %q: %w", u.Name, err)
		}
		return t.addEvents(events)
	})
}
