package access

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"edigw/queue"
)

// Bounds of what waits in memory for a store that takes no commits.
const (
	settleEvery  = 5 * time.Second // between two tries
	maxUnwritten = 200             // sessions in all, and events of sign-ins
)

// unwritten is what could not be written because the store takes no commits, a
// full disk above all: who signs in then has a session all the same, who signs
// out is out at once. All of it is tried again with the next request of a
// browser. A restart forgets it: those sessions are over, and one that was
// ended, and whose secret its browser has dropped, lasts until its time.
type unwritten struct {
	mu     sync.Mutex
	begun  map[string]begun // by hash
	ended  map[string]ended
	events []queue.Event
	tried  time.Time
}

// begun is a session with its user as he signed in.
type begun struct {
	Session
	user User
}

// ended is a session of the store that is void, with the event that says so.
type ended struct {
	user  string
	event []queue.Event
}

// passing reports whether a write failed for a reason of the store's that will
// go.
func passing(err error) bool {
	return errors.Is(err, queue.ErrNoSpace) || errors.Is(err, queue.ErrUnavailable)
}

// begin keeps a session; false if there are too many.
func (u *unwritten) begin(one Session, of User) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	own, oldest := 0, ""
	for h, b := range u.begun {
		switch {
		case b.over(one.Created):
			delete(u.begun, h)
		case b.User == one.User:
			own++
			if oldest == "" || b.Created.Before(u.begun[oldest].Created) {
				oldest = h
			}
		}
	}
	if own >= maxSessions {
		delete(u.begun, oldest)
	}
	if len(u.begun) >= maxUnwritten {
		return false
	}
	if u.begun == nil {
		u.begun = map[string]begun{}
	}
	u.begun[one.Hash] = begun{one, of}
	return true
}

// find gives a session that waits here.
func (u *unwritten) find(hash string) (begun, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	b, ok := u.begun[hash]
	return b, ok
}

// touch notes a use.
func (u *unwritten) touch(hash string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if b, ok := u.begun[hash]; ok {
		b.Seen = at
		u.begun[hash] = b
	}
}

// drop forgets a session, with an empty hash all of a user; it reports whether
// there was one.
func (u *unwritten) drop(user, hash string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	found := false
	for h, b := range u.begun {
		if strings.EqualFold(b.User, user) && (hash == "" || h == hash) {
			delete(u.begun, h)
			found = true
		}
	}
	return found
}

// of lists the sessions of a user that wait here.
func (u *unwritten) of(user string) []Session {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []Session
	for _, b := range u.begun {
		if strings.EqualFold(b.User, user) {
			all = append(all, b.Session)
		}
	}
	return all
}

// void ends a session of the store from now on. There are at most as many as
// the store has sessions.
func (u *unwritten) void(user, hash string, events ...queue.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended == nil {
		u.ended = map[string]ended{}
	}
	if _, there := u.ended[hash]; !there {
		u.ended[hash] = ended{user, events}
	}
}

func (u *unwritten) isVoid(hash string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.ended[hash]
	return ok
}

// note keeps an event for later; of too many the log has to do.
func (u *unwritten) note(e queue.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.events) < maxUnwritten {
		u.events = append(u.events, e)
	}
}

// due gives all that waits, if it is time to try again.
func (u *unwritten) due(now time.Time) (b map[string]begun, e map[string]ended, events []queue.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.begun)+len(u.ended)+len(u.events) == 0 || now.Sub(u.tried) < settleEvery && !now.Before(u.tried) {
		return nil, nil, nil
	}
	u.tried = now
	b, e = map[string]begun{}, map[string]ended{}
	for h, one := range u.begun {
		b[h] = one
	}
	for h, one := range u.ended {
		e[h] = one
	}
	events, u.events = u.events, nil
	return b, e, events
}

// settle writes what waits, until the first write that fails.
func (s *Service) settle(ctx context.Context) {
	begun, ended, events := s.unwritten.due(s.Now())
	if len(events) > 0 {
		if err := s.Store.AddEvents(ctx, events...); err != nil {
			for _, e := range events {
				s.unwritten.note(e)
			}
			return
		}
	}
	for h, one := range ended {
		if err := s.Store.RemoveSessions(ctx, one.user, h, one.event...); err != nil && !errors.Is(err, queue.ErrNotFound) {
			return
		}
		s.unwritten.mu.Lock()
		delete(s.unwritten.ended, h)
		s.unwritten.mu.Unlock()
	}
	for h, one := range begun {
		if _, still := s.unwritten.find(h); !still {
			continue
		}
		err := s.Store.AddSession(ctx, one.Session, one.user, s.bounds())
		if err != nil && !errors.Is(err, queue.ErrConflict) { // his password changed meanwhile
			return
		}
		if !s.unwritten.drop(one.User, h) && err == nil { // it was ended meanwhile
			s.unwritten.void(one.User, h)
		}
	}
}

// bounds are those of a new session.
func (s *Service) bounds() SessionBounds {
	return SessionBounds{Most: maxSessions, Idle: s.Now().Add(-sessionIdle), Step: trimStep}
}
