package access

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// Store keeps tokens, users and sessions. Each method is one whole transaction;
// errors as storetest.Store says. The events are written with the change.
type Store interface {
	TokenStore
	UserStore
	SessionStore
	SetupStore
}

// TokenStore keeps tokens.
type TokenStore interface {
	// AddToken stores a new token; a taken name is queue.ErrConflict.
	AddToken(ctx context.Context, t Token, events ...queue.Event) error
	Tokens(ctx context.Context) ([]Token, error) // by name
	TokenByHash(ctx context.Context, hash string) (Token, error)
	// TouchToken notes a use; a token that is gone is queue.ErrNotFound.
	TouchToken(ctx context.Context, hash string, at time.Time) error
	RemoveToken(ctx context.Context, name string, events ...queue.Event) error
}

// UserStore keeps users.
type UserStore interface {
	// AddUser stores a new user; a taken name, case ignored, is
	// queue.ErrConflict.
	AddUser(ctx context.Context, u User, events ...queue.Event) error
	Users(ctx context.Context) ([]User, error)           // by name
	User(ctx context.Context, name string) (User, error) // case ignored
	// SaveUser changes a user; one that is gone is queue.ErrNotFound.
	SaveUser(ctx context.Context, u User, events ...queue.Event) error
	RemoveUser(ctx context.Context, name string, events ...queue.Event) error
	AddEvents(ctx context.Context, events ...queue.Event) error
}

// Keys of log records.
const (
	keyToken = "token"
	keyUser  = "user"
	keyFrom  = "from"
	keyErr   = "err"
)

// Options is what a Service needs. Random and SetupDone may be left nil.
type Options struct {
	Store     Store
	Now       func() time.Time // wall clock
	Log       *slog.Logger
	Random    io.Reader // for secrets and salts; safe for concurrent use
	SetupDone func()    // called when a set-up link is void because there is a user
}

// Service knows tokens, users and sessions. Its methods may be called concurrently and
// block for the time of a transaction, those with a password also for that of
// an argon2id.
type Service struct {
	Options
	touches   touches
	lockouts  lockouts
	setup     setup
	unwritten unwritten
	cost      cost          // of a new password
	hashing   chan struct{} // bounds how many passwords are hashed at once
}

// New checks the options; it does no I/O.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("access: Store, Now and Log are required")
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return &Service{Options: o, touches: touches{at: map[string]time.Time{}}, lockouts: lockouts{names: map[string]Lockout{}}, cost: recommended, hashing: make(chan struct{}, maxHashing)}, nil
}

// randomLength is that of what newSecret gives.
const randomLength = 43

// newSecret gives 32 random bytes in base64url; what is told in an error.
func (s *Service) newSecret(what string) (string, error) {
	var random [32]byte
	if _, err := io.ReadFull(s.Random, random[:]); err != nil {
		return "", fmt.Errorf("access: no randomness for %s: %w", what, err)
	}
	return base64.RawURLEncoding.EncodeToString(random[:]), nil
}

func (s *Service) event(by fault.Actor, text string, facts map[string]string) queue.Event {
	return queue.Event{At: s.Now(), Type: queue.EventAccess, Actor: by, Text: text, Facts: facts}
}

// touches remembers when uses of tokens and sessions were noted, so that many
// requests at once make one write.
type touches struct {
	mu sync.Mutex
	at map[string]time.Time // by hash; as many as were used within touchEvery
}

func (t *touches) due(hash string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.at[hash]; ok && now.Sub(last) < touchEvery && !now.Before(last) {
		return false
	}
	for h, last := range t.at {
		if now.Sub(last) >= touchEvery {
			delete(t.at, h)
		}
	}
	t.at[hash] = now
	return true
}
