package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// setupFor is how long a set-up link holds.
const setupFor = 24 * time.Hour

// SetupStore makes the first user.
type SetupStore interface {
	// AddFirstUser stores a user if there is none at all; else it is
	// queue.ErrConflict.
	AddFirstUser(ctx context.Context, u User, events ...queue.Event) error
}

// setup is the token of the set-up link that holds. The zero setup is void. It
// lives as long as the process: each start makes a new one.
type setup struct {
	mu    sync.Mutex
	hash  string // SHA-256 of the token; empty: void
	until time.Time
}

func (p *setup) begin(hash string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hash, p.until = hash, until
}

func (p *setup) holds(token string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := subtle.ConstantTimeCompare([]byte(p.hash), []byte(hash(token))) == 1
	return same && now.Before(p.until)
}

// end makes the token void. It reports whether there was one.
func (p *setup) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.hash != ""
	p.hash = ""
	return was
}

// NewSetup gives the token of a link by which the first administrator makes
// himself: for 24 h, once, and while there is no user. An earlier one is void.
// If there is a user already the token is empty and the error nil.
func (s *Service) NewSetup(ctx context.Context) (token string, err error) {
	all, err := s.Store.Users(ctx)
	if err != nil {
		return "", fmt.Errorf("access: look for users: %w", err)
	}
	if len(all) > 0 {
		s.endSetup()
		return "", nil
	}
	if token, err = s.newSecret("a set-up link"); err != nil {
		return "", err
	}
	s.setup.begin(hash(token), s.Now().Add(setupFor))
	return token, nil
}

// SetupHolds reports whether SetUp would take a token, as far as is known
// without the store.
func (s *Service) SetupHolds(token string) bool { return s.setup.holds(token, s.Now()) }

// SetUp makes the first user, an administrator who may see payloads, for
// whoever has the token; from is the address that asks. Of several at once one
// succeeds. The error is ErrUnknown if the token is wrong or void, an
// *InputError after which the token still holds, or the store's.
func (s *Service) SetUp(ctx context.Context, token, name, password, from string) (User, error) {
	if !s.SetupHolds(token) {
		s.Log.Warn("set-up refused", keyFrom, from)
		return User{}, ErrUnknown
	}
	u, err := s.newUser(ctx, User{Name: name, Role: RoleAdmin, Payloads: true}, password)
	if err != nil {
		return User{}, err
	}
	by := fault.Actor{Name: u.Name, Role: string(u.Role), From: from}
	e := s.event(by, "user "+u.Name+" added as admin by the set-up link", map[string]string{"user": u.Name, "role": string(u.Role)})
	err = s.Store.AddFirstUser(ctx, u, e)
	if err != nil && !errors.Is(err, queue.ErrConflict) {
		return User{}, fmt.Errorf("access: store user %s: %w", u.Name, err)
	}
	s.endSetup()
	if err != nil {
		return User{}, ErrUnknown
	}
	return u, nil
}

// endSetup makes the set-up link void: there is a user.
func (s *Service) endSetup() {
	if s.setup.end() && s.SetupDone != nil {
		s.SetupDone()
	}
}
