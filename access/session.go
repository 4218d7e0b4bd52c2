package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"edigw/fault"
	"edigw/queue"
)

// Bounds of sessions; docs/security.md tells operators.
const (
	sessionIdle = 12 * time.Hour     // it ends so long after its last use
	sessionLife = 7 * 24 * time.Hour // and so long after the sign-in in any case
	maxSessions = 20                 // of one user; the oldest goes
	trimStep    = 100                // sessions that are over, dropped by one sign-in
	maxFrom     = 64                 // bytes kept of an address
	maxAgent    = 200                // bytes kept of what a browser calls itself
)

// Session is what is kept of a browser that is signed in; its secret is in the
// browser's cookie alone.
type Session struct {
	Hash    string // SHA-256 of the secret, lower-case hex
	User    string
	Created time.Time
	Seen    time.Time // last use, to the minute
	Expires time.Time // at the latest; it ends earlier without use
	From    string    // address of the sign-in
	Agent   string    // what the browser called itself
}

// over reports whether a session has ended by time.
func (one Session) over(now time.Time) bool {
	return !now.Before(one.Expires) || now.Sub(one.Seen) >= sessionIdle
}

// SessionBounds is what a new session makes room for.
type SessionBounds struct {
	Most int       // sessions of a user that stay, the newest
	Idle time.Time // sessions last seen by then are over,
	Step int       // and at most so many of them are dropped
}

// SessionStore keeps sessions. One that was made for another Changed of its
// user than the user has now, or whose user is gone, is not there any more. A
// restored backup has none.
type SessionStore interface {
	// AddSession stores a session of a user as the caller read it. If the user
	// is gone, or has another Changed by now, it is queue.ErrConflict: whoever
	// signed in with the old password must not stay.
	AddSession(ctx context.Context, one Session, u User, b SessionBounds) error
	// SessionByHash gives a session and its user as he is now.
	SessionByHash(ctx context.Context, hash string) (Session, User, error)
	Sessions(ctx context.Context, user string) ([]Session, error) // newest first
	// TouchSession notes a use; a session that is gone is queue.ErrNotFound.
	TouchSession(ctx context.Context, hash string, at time.Time) error
	// RemoveSessions drops one session of a user, with an empty hash all of
	// them. If there is none it is queue.ErrNotFound, without the events.
	RemoveSessions(ctx context.Context, user, hash string, events ...queue.Event) error
}

// Begin starts a session of a user whom SignIn or SetUp gave, and gives its
// secret, which is kept nowhere: 43 characters of base64url. from is the
// address that asks, agent what the browser calls itself; of both so much is
// kept as is printable and bounded. The error is ErrUnknown if the user was
// removed or his password changed meanwhile, or the store's.
func (s *Service) Begin(ctx context.Context, u User, from, agent string) (string, Session, error) {
	secret, err := s.newSecret("a session")
	if err != nil {
		return "", Session{}, err
	}
	now := s.Now()
	one := Session{
		Hash: hash(secret), User: u.Name, Created: now, Seen: now, Expires: now.Add(sessionLife),
		From: printable(from, maxFrom), Agent: printable(agent, maxAgent),
	}
	err = s.Store.AddSession(ctx, one, u, s.bounds())
	if errors.Is(err, queue.ErrConflict) {
		return "", Session{}, ErrUnknown
	}
	if passing(err) && s.unwritten.begin(one, u) {
		s.Log.Warn("a session is kept in memory until the store takes it", keyUser, u.Name, keyErr, err)
		return secret, one, nil
	}
	if err != nil {
		return "", Session{}, fmt.Errorf("access: store a session of %s: %w", u.Name, err)
	}
	return secret, one, nil
}

// Session gives the session that a secret belongs to, with its user as he is
// now: a changed role or permission holds from the next request on. It notes
// the use. The error is ErrUnknown or the store's.
func (s *Service) Session(ctx context.Context, secret string) (User, Session, error) {
	s.settle(ctx)
	one, u, err := s.session(ctx, secret)
	if err != nil {
		return User{}, Session{}, err
	}
	now := s.Now()
	if one.over(now) {
		return User{}, Session{}, ErrUnknown
	}
	if now.Sub(one.Seen) >= touchEvery && s.touches.due(one.Hash, now) {
		_, waits := s.unwritten.find(one.Hash)
		var err error
		if !waits {
			err = s.Store.TouchSession(ctx, one.Hash, now)
		}
		if errors.Is(err, queue.ErrNotFound) { // it ended just now
			return User{}, Session{}, ErrUnknown
		}
		s.unwritten.touch(one.Hash, now)
		if err != nil {
			s.Log.Warn("the use of a session could not be noted", keyUser, u.Name, keyErr, err)
		}
		one.Seen = now
	}
	return u, one, nil
}

// session finds what is stored, be it over or not.
func (s *Service) session(ctx context.Context, secret string) (Session, User, error) {
	if len(secret) != randomLength {
		return Session{}, User{}, ErrUnknown
	}
	want := hash(secret)
	if s.unwritten.isVoid(want) {
		return Session{}, User{}, ErrUnknown
	}
	one, u, err := s.sessionByHash(ctx, want)
	if errors.Is(err, queue.ErrNotFound) {
		return Session{}, User{}, ErrUnknown
	}
	if err != nil {
		return Session{}, User{}, fmt.Errorf("access: look up a session: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(one.Hash), []byte(want)) != 1 {
		return Session{}, User{}, ErrUnknown
	}
	return one, u, nil
}

// sessionByHash looks in memory and in the store, by the same rules.
func (s *Service) sessionByHash(ctx context.Context, want string) (Session, User, error) {
	b, ok := s.unwritten.find(want)
	if !ok {
		return s.Store.SessionByHash(ctx, want)
	}
	u, err := s.Store.User(ctx, b.User)
	if err == nil && !u.Changed.Equal(b.user.Changed) {
		err = queue.ErrNotFound
	}
	if errors.Is(err, queue.ErrNotFound) {
		s.unwritten.drop(b.User, want)
	}
	return b.Session, u, err
}

// End signs a browser out, also while the store takes no commits: it is tried
// again then. The error is ErrUnknown if there is nothing to end, or the
// store's.
func (s *Service) End(ctx context.Context, secret string) error {
	one, u, err := s.session(ctx, secret)
	if err != nil {
		return err
	}
	e := queue.Event{At: s.Now(), Type: queue.EventSignOut, Actor: fault.Actor{Name: u.Name, Role: string(u.Role), From: one.From}, Text: "signed out"}
	if s.unwritten.drop(one.User, one.Hash) {
		s.noted(ctx, e)
		return nil
	}
	err = s.Store.RemoveSessions(ctx, u.Name, one.Hash, e)
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return ErrUnknown
	case passing(err):
		s.Log.Warn("a session ended; the store is told when it takes commits", keyUser, u.Name, keyErr, err)
		s.unwritten.void(one.User, one.Hash, e)
		return nil
	}
	return err
}

// noted writes an event, now or when the store takes it.
func (s *Service) noted(ctx context.Context, e queue.Event) {
	if err := s.Store.AddEvents(ctx, e); err != nil {
		s.Log.Warn(e.Text+"; the ledger is told when it takes commits", keyUser, e.Actor.Name, keyFrom, e.Actor.From, keyErr, err)
		s.unwritten.note(e)
	}
}

// EndAll signs a user out everywhere. The error is queue.ErrNotFound if the
// user has no session, or the store's.
func (s *Service) EndAll(ctx context.Context, user string, by fault.Actor) error {
	e := queue.Event{At: s.Now(), Type: queue.EventSignOut, Actor: by, Text: "user " + user + " signed out everywhere", Facts: map[string]string{"user": user}}
	waiting := s.unwritten.drop(user, "")
	err := s.Store.RemoveSessions(ctx, user, "", e)
	switch {
	case passing(err):
		stored, failed := s.Store.Sessions(ctx, user)
		if failed != nil {
			return err
		}
		for _, one := range stored {
			s.unwritten.void(one.User, one.Hash)
		}
		s.noted(ctx, e)
		return nil
	case waiting && errors.Is(err, queue.ErrNotFound):
		s.noted(ctx, e)
		return nil
	}
	return err
}

// Sessions lists where a user is signed in, newest first.
func (s *Service) Sessions(ctx context.Context, user string) ([]Session, error) {
	all, err := s.Store.Sessions(ctx, user)
	if err != nil {
		return nil, err
	}
	all = append(s.unwritten.of(user), all...)
	slices.SortFunc(all, func(a, b Session) int { return b.Created.Compare(a.Created) })
	now := s.Now()
	var open []Session
	for _, one := range all {
		if !one.over(now) && !s.unwritten.isVoid(one.Hash) {
			open = append(open, one)
		}
	}
	return open, nil
}

// printable is what a stranger sent, as one line of at most n bytes.
func printable(text string, n int) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text[:min(len(text), n)])
}
