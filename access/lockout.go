package access

import (
	"strings"
	"sync"
	"time"
)

// The rule of interfaces.md §5: ten wrong passwords for a name within 15 min
// lock it for 15 min, also for the right one.
const (
	wrongAllowed = 10
	wrongWithin  = 15 * time.Minute
	lockedFor    = 15 * time.Minute

	maxNames = 10_000 // remembered at once
)

// Lockout is what is remembered of one name's wrong passwords. The zero
// Lockout is a name that never had one. It is a value.
type Lockout struct {
	wrong []time.Time // within the window, oldest first, at most wrongAllowed
	until time.Time   // locked until then
}

// Locked is until when the name is locked at now; zero: it is not.
func (l Lockout) Locked(now time.Time) time.Time {
	if now.Before(l.until) {
		return l.until
	}
	return time.Time{}
}

// Wrong notes a wrong password at now. It reports whether this one locked the
// name.
func (l Lockout) Wrong(now time.Time) (Lockout, bool) {
	var wrong []time.Time
	for _, t := range l.wrong {
		if age := now.Sub(t); age >= 0 && age < wrongWithin {
			wrong = append(wrong, t)
		}
	}
	wrong = append(wrong, now)
	if len(wrong) < wrongAllowed {
		return Lockout{wrong: wrong, until: l.until}, false
	}
	return Lockout{until: now.Add(lockedFor)}, true
}

// idle reports whether nothing is left to remember.
func (l Lockout) idle(now time.Time) bool {
	return !now.Before(l.until) && (len(l.wrong) == 0 || now.Sub(l.wrong[len(l.wrong)-1]) >= wrongWithin)
}

// lockouts remembers names, also those of no user: an answer must not tell
// them apart. It lives as long as the process.
type lockouts struct {
	mu    sync.Mutex
	names map[string]Lockout // in lower case
}

func (l *lockouts) locked(name string, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names[strings.ToLower(name)].Locked(now)
}

// wrong notes a wrong password. When too many names are remembered, those that
// are not locked are forgotten first.
func (l *lockouts) wrong(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	name = strings.ToLower(name)
	if _, known := l.names[name]; !known && len(l.names) >= maxNames {
		l.forget(now)
	}
	next, locked := l.names[name].Wrong(now)
	l.names[name] = next
	return locked
}

// forget makes room for a quarter of the names at once: a flood of them must
// not cost a look at all for each.
func (l *lockouts) forget(now time.Time) {
	for name, one := range l.names {
		if one.idle(now) {
			delete(l.names, name)
		}
	}
	for name, one := range l.names {
		if len(l.names) <= maxNames/4*3 {
			return
		}
		if one.Locked(now).IsZero() {
			delete(l.names, name)
		}
	}
}

func (l *lockouts) lift(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.names, strings.ToLower(name))
}
