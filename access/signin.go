package access

import (
	"context"
	"errors"
	"fmt"

	"edigw/fault"
	"edigw/queue"
)

// SignIn gives the user whom name and password belong to; from is the address
// that asks. The error is ErrUnknown, a *LockedError, ctx's, or the store's.
// Whether a name has a user is not told, neither by the answer nor by the time
// it takes.
func (s *Service) SignIn(ctx context.Context, name, password, from string) (User, error) {
	if !namePattern.MatchString(name) || len(password) > maxPassword {
		return User{}, ErrUnknown
	}
	u, err := s.Store.User(ctx, name)
	known := err == nil
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return User{}, fmt.Errorf("access: look up user %s: %w", name, err)
	}
	if !known {
		u.Password = s.cost.nobody()
	}
	release, err := s.slot(ctx)
	if err != nil {
		return User{}, err
	}
	defer release()
	// Judged only now: who waited for the slot may have been locked meanwhile.
	if until := s.lockouts.locked(name, s.Now()); !until.IsZero() {
		return User{}, &LockedError{Until: until}
	}
	right, err := fits(u.Password, password)
	if err != nil {
		return User{}, fmt.Errorf("access: user %s: %w", name, err)
	}
	if !known || !right {
		return User{}, s.refused(ctx, name, from)
	}
	s.lockouts.lift(name)
	e := queue.Event{At: s.Now(), Type: queue.EventSignIn, Actor: fault.Actor{Name: u.Name, Role: string(u.Role), From: from}, Text: "signed in"}
	err = s.Store.AddEvents(ctx, e)
	if passing(err) { // whoever must look why the disk is full must come in
		s.Log.Warn("signed in; the ledger is told when it takes commits", keyUser, u.Name, keyFrom, from, keyErr, err)
		s.unwritten.note(e)
		return u, nil
	}
	if err != nil {
		return User{}, fmt.Errorf("access: note a sign-in: %w", err)
	}
	return u, nil
}

// refused notes a wrong password.
func (s *Service) refused(ctx context.Context, name, from string) error {
	s.Log.Warn("sign-in refused", keyUser, name, keyFrom, from)
	if !s.lockouts.wrong(name, s.Now()) {
		return ErrUnknown
	}
	e := queue.Event{
		At: s.Now(), Type: queue.EventSignIn, Actor: fault.Actor{Name: name, From: from},
		Text:  fmt.Sprintf("locked for %d min after %d wrong passwords", int(lockedFor.Minutes()), wrongAllowed),
		Facts: map[string]string{"user": name, "locked": "true"},
	}
	if err := s.Store.AddEvents(ctx, e); err != nil {
		s.Log.Error("a lock-out could not be recorded", keyUser, name, keyErr, err)
	}
	return ErrUnknown
}
