package retry

import "time"

// Budget keeps the retries of the whole gateway a bounded share of all its
// starts, so that a thousand failing partners do not crowd out the healthy
// ones (delivery.md §5). It does not choose whose retry comes next: the
// scheduler asks for its partners in turn. The zero Budget allows no share,
// only Floor retries a second; take NewBudget.
//
// It must not be used concurrently.
type Budget struct {
	Share float64 // retries of all starts of the last minute, 0 to 1
	Floor int     // retries in a second that are never refused

	seconds [60]second
}

// second counts the starts of one second of Unix time.
type second struct {
	unix            int64
	starts, retries int
}

// NewBudget allows that share of retries, and 10 in any second.
func NewBudget(share float64) Budget {
	return Budget{Share: share, Floor: 10}
}

// Allow asks to start an exchange now, and counts it if it may start. First
// attempts always may. A retry over budget may not; it is asked for again
// after wait, which is at most a second, and uses up no attempt.
func (b *Budget) Allow(now time.Time, retry bool) (ok bool, wait time.Duration) {
	current := b.at(now)
	if retry {
		retries, starts := b.Last(now)
		within := float64(retries+1) <= b.Share*float64(starts+1)
		if !within && current.retries >= b.Floor {
			return false, now.Truncate(time.Second).Add(time.Second).Sub(now)
		}
		current.retries++
	}
	current.starts++
	return true, 0
}

// Last counts the retries and all the starts of the last minute.
func (b *Budget) Last(now time.Time) (retries, starts int) {
	newest := now.Unix()
	for _, s := range b.seconds {
		// After a jump of the clock, back or forth, old counts are left out.
		if s.unix <= newest && s.unix > newest-int64(len(b.seconds)) {
			retries += s.retries
			starts += s.starts
		}
	}
	return retries, starts
}

// at is the counter of this second, emptied if it still holds another one.
func (b *Budget) at(now time.Time) *second {
	unix := now.Unix()
	n := int64(len(b.seconds))
	s := &b.seconds[(unix%n+n)%n]
	if s.unix != unix {
		*s = second{unix: unix}
	}
	return s
}
