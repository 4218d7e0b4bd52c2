package partner

import (
	"hash/fnv"
	"time"
)

// What keeps a calendar closed.
const (
	ClosedWindow   = "window"   // outside the partner's hours
	ClosedBlackout = "blackout" // inside their maintenance
)

// maxSpread bounds the delay of a start, so that partners whose windows open
// at the same minute do not all start in its first second.
const maxSpread = time.Minute

// Calendar says when a lane may send: inside a window, if there is any, and
// outside every blackout. The zero Calendar is always open. It is immutable.
type Calendar struct {
	windows   []span
	blackouts []span
	seed      uint32 // from the partner's id
}

// span is a length of time, again and again or once.
type span struct {
	cron     Cron // zero: once
	length   time.Duration
	zone     *time.Location
	from, to time.Time
	note     string
}

// newCalendar spreads the starts of the partner's windows by its id: the same
// partner always starts at the same second.
func newCalendar(id string, windows, blackouts []span) Calendar {
	h := fnv.New32a()
	h.Write([]byte(id))
	return Calendar{windows, blackouts, h.Sum32()}
}

// Open reports whether the lane may send at now and until when that holds; the
// zero time means for ever. If it may not, why is ClosedWindow, and until is
// when it may again, or why is ClosedBlackout, and until is the end of the
// blackout, with what the file notes about it. Every start, of a
// window or after a blackout, is delayed by up to 60 s (at most a tenth of the
// span), always the same for one partner.
func (c Calendar) Open(now time.Time) (open bool, why string, until time.Time, note string) {
	if end, note, in := c.during(c.blackouts, now, true); in {
		return false, ClosedBlackout, end, note
	}
	if len(c.windows) > 0 {
		end, _, in := c.during(c.windows, now, false)
		if !in {
			return false, ClosedWindow, c.reopens(now), ""
		}
		until = end
	}
	return true, "", sooner(until, c.starts(c.blackouts, now, true)), ""
}

// reopens is the next start of a window outside blackouts.
func (c Calendar) reopens(now time.Time) time.Time {
	const most = 64 // windows that begin inside a blackout
	at := c.starts(c.windows, now, false)
	for range most {
		end, _, in := c.during(c.blackouts, at, true)
		if !in || at.IsZero() {
			break
		}
		if _, _, in := c.during(c.windows, end, false); in {
			return end
		}
		at = c.starts(c.windows, end, false)
	}
	return at
}

// during finds the spans around now and the end of the time that they and
// those that follow without a gap cover.
func (c Calendar) during(spans []span, now time.Time, blackout bool) (end time.Time, note string, in bool) {
	const joined = 32 // spans looked at in a row; the caller asks again at the end
	end = now
	for range joined {
		further := false
		for _, s := range spans {
			begin, stop, ok := c.around(s, end, blackout)
			if ok && !begin.After(end) && stop.After(end) {
				if note == "" {
					note = s.note
				}
				end, in, further = stop, true, true
			}
		}
		if !further {
			break
		}
	}
	return end, note, in
}

// around is the last occurrence of a span that has begun at t.
func (c Calendar) around(s span, t time.Time, blackout bool) (begin, end time.Time, ok bool) {
	spread := c.spread(s)
	open, closed := spread, time.Duration(0) // a window opens late, a blackout ends late
	if blackout {
		open, closed = 0, spread
	}
	if s.cron.IsZero() {
		return s.from.Add(open), s.to.Add(closed), !t.Before(s.from.Add(open)) && t.Before(s.to.Add(closed))
	}
	start := s.last(t.Add(-open), s.length+closed-open)
	return start.Add(open), start.Add(s.length + closed), !start.IsZero()
}

// last is the latest start in (t−most, t], or the zero time. It looks back in
// growing steps, so that a start every minute costs no more than one a year.
func (s span) last(t time.Time, most time.Duration) time.Time {
	for back := time.Minute; ; back = min(2*back, most) {
		var found time.Time
		for at := s.cron.Next(t.Add(-back), s.zone); !at.IsZero() && !at.After(t); at = s.cron.Next(at, s.zone) {
			found = at
		}
		if !found.IsZero() || back >= most {
			return found
		}
	}
}

// starts is when the next span begins after now; the zero time if none does.
func (c Calendar) starts(spans []span, now time.Time, blackout bool) time.Time {
	var first time.Time
	for _, s := range spans {
		late := c.spread(s)
		if blackout {
			late = 0
		}
		at := s.from
		if !s.cron.IsZero() {
			at = s.cron.Next(now.Add(-late), s.zone)
		}
		if at = at.Add(late); at.After(now) && !at.IsZero() {
			first = sooner(first, at)
		}
	}
	return first
}

// spread is the delay of this partner's starts for a span.
func (c Calendar) spread(s span) time.Duration {
	length := s.length
	if s.cron.IsZero() {
		length = s.to.Sub(s.from)
	}
	most := min(maxSpread, length/10)
	return (most * time.Duration(c.seed%1000) / 1000).Truncate(time.Second)
}

// sooner is the earlier of two times of which the zero one means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// longestClosed is the longest time without sending that begins within a year
// of now, as far as it can be found in a bounded number of steps.
func (c Calendar) longestClosed(now time.Time) time.Duration {
	const steps = 2000
	if len(c.windows)+len(c.blackouts) == 0 {
		return 0
	}
	var longest time.Duration
	closed := time.Time{}
	t := now
	for range steps {
		open, _, until, _ := c.Open(t)
		if open && !closed.IsZero() {
			longest, closed = max(longest, t.Sub(closed)), time.Time{}
		}
		if !open && closed.IsZero() {
			closed = t
		}
		if until.IsZero() || until.Sub(now) > 366*day {
			break
		}
		t = until
	}
	return longest
}

const day = 24 * time.Hour
