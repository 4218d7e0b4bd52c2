package sqlite

import (
	"context"
	"fmt"
	"time"

	"edigw/access"
	"edigw/queue"
)

const tokenColumns = "name, scopes, hash, created, actor, used"

func scanToken(r scanner) (a access.Token, err error) {
	err = r.Scan(&a.Name, object{&a.Scopes}, &a.Hash, moment{&a.Created}, object{&a.By}, moment{&a.Used})
	return a, err
}

// AddToken stores a new API token.
func (s *Store) AddToken(ctx context.Context, a access.Token, events ...queue.Event) error {
	return s.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO tokens ("+tokenColumns+") VALUES (?, ?, ?, ?, ?, ?)",
			a.Name, list[access.Scope](a.Scopes), a.Hash, micros(a.Created), object{a.By}, micros(a.Used))
		if err != nil {
			return fmt.Errorf("token %q: %w", a.Name, err)
		}
		return t.addEvents(events)
	})
}

// Tokens lists the API tokens by name.
func (s *Store) Tokens(ctx context.Context) (all []access.Token, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanToken, "SELECT "+tokenColumns+" FROM tokens ORDER BY name")
		return err
	})
	return all, err
}

// TokenByHash finds a token by the hash of its secret.
func (s *Store) TokenByHash(ctx context.Context, hash string) (a access.Token, err error) {
	err = s.read(ctx, func(t *tx) error {
		a, err = scanToken(t.row("SELECT "+tokenColumns+" FROM tokens WHERE hash = ?", hash))
		return missing(err, "token of hash", short(hash))
	})
	return a, err
}

// short is enough of a hash to tell it from others.
func short(hash string) string { return hash[:min(8, len(hash))] }

// TouchToken notes a use of a token.
func (s *Store) TouchToken(ctx context.Context, hash string, at time.Time) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE tokens SET used = ? WHERE hash = ?", micros(at), hash)
		return gone(n, err, "token of hash", short(hash))
	})
}

// RemoveToken drops a token.
func (s *Store) RemoveToken(ctx context.Context, name string, events ...queue.Event) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("DELETE FROM tokens WHERE name = ?", name)
		if err = gone(n, err, "token", name); err != nil {
			return err
		}
		return t.addEvents(events)
	})
}

// gone turns a change of no row into queue.ErrNotFound.
func gone(n int64, err error, what, name string) error {
	if err == nil && n == 0 {
		return fmt.Errorf("%s %.200q: %w", what, name, queue.ErrNotFound)
	}
	return err
}

const userColumns = "name, role, payloads, password, created, changed"

func userFields(u *access.User) []any {
	return []any{&u.Name, &u.Role, &u.Payloads, &u.Password, moment{&u.Created}, moment{&u.Changed}}
}

func userValues(u access.User) []any {
	return []any{u.Name, string(u.Role), u.Payloads, u.Password, micros(u.Created), micros(u.Changed)}
}

func scanUser(r scanner) (u access.User, err error) {
	err = r.Scan(userFields(&u)...)
	return u, err
}

// AddUser stores a new user.
func (s *Store) AddUser(ctx context.Context, u access.User, events ...queue.Event) error {
	return s.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO users ("+userColumns+") VALUES (?, ?, ?, ?, ?, ?)", userValues(u)...)
		if err != nil {
			return fmt.Errorf("user %q: %w", u.Name, err)
		}
		return t.addEvents(events)
	})
}

// Users lists the users by name.
func (s *Store) Users(ctx context.Context) (all []access.User, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanUser, "SELECT "+userColumns+" FROM users ORDER BY name")
		return err
	})
	return all, err
}

// User finds a user by name, in whatever case.
func (s *Store) User(ctx context.Context, name string) (u access.User, err error) {
	err = s.read(ctx, func(t *tx) error {
		u, err = scanUser(t.row("SELECT "+userColumns+" FROM users WHERE name = ?", name))
		return missing(err, "user", name)
	})
	return u, err
}

// SaveUser changes a user's role, permission and password.
func (s *Store) SaveUser(ctx context.Context, u access.User, events ...queue.Event) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE users SET role = ?, payloads = ?, password = ?, changed = ? WHERE name = ?",
			string(u.Role), u.Payloads, u.Password, micros(u.Changed), u.Name)
		if err = gone(n, err, "user", u.Name); err != nil {
			return err
		}
		return t.addEvents(events)
	})
}

// RemoveUser drops a user.
func (s *Store) RemoveUser(ctx context.Context, name string, events ...queue.Event) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("DELETE FROM users WHERE name = ?", name)
		if err = gone(n, err, "user", name); err != nil {
			return err
		}
		return t.addEvents(events)
	})
}
