package lane

import (
	"context"
	"errors"
	"time"

	"edigw/breaker"
	"edigw/internal/instant"
	"edigw/queue"
)

// How many due messages a lane without order looks at.
const (
	window = 64
	wide   = 2048 // if all before are paced
)

// burst is how many exchanges a turn begins at most. The lanes take turns, but a
// look into the store for each start would cost more than it is worth.
const burst = 8

// choice is what stands first in a lane.
type choice struct {
	m     queue.Message
	ok    bool
	more  []queue.Message // due as well, behind m
	next  time.Time       // if not ok: when to look again, zero if only an event can tell
	empty bool            // nothing stands in line at all
}

// start begins at most a burst of exchanges, so that the lanes take turns, or a
// connection check where a test is due and nothing stands in line.
func (l *line) start(ctx context.Context, now time.Time, set settings) (time.Time, error) {
	if set.pulled {
		return time.Time{}, nil // see HandOut; deadlines have timers of their own
	}
	room := l.width(set) - len(l.running)
	half := l.lane.Breaker.Phase == breaker.HalfOpen
	if room <= 0 || half && (l.lane.Breaker.Probe != "" || l.checking) || l.s.halting() {
		return time.Time{}, nil
	}
	if t := l.earliest(set, now); t.After(now) {
		c, err := l.choose(ctx, now, set, 1)
		if err != nil || c.empty && !half {
			return time.Time{}, err
		}
		return t, nil
	}
	c, err := l.choose(ctx, now, set, room)
	switch {
	case err != nil:
		return time.Time{}, err
	case !c.ok:
		if half && c.empty && l.kind == queue.KindDocument && l.checkDue(now) {
			return time.Time{}, l.check(ctx, now, set)
		}
		return c.next, nil
	case late(c.m, now):
		return now, l.expire(ctx, c.m, now, set)
	}
	if wait, ok := l.afford(c.m, now); !ok {
		return wait, nil
	}
	l.launch(c.m, now, set, false)
	if half || room == 1 {
		return time.Time{}, nil
	}
	return l.startMore(c.more, room-1, now, set)
}

// startMore begins the exchanges that are due behind one that began, and says
// when to go on.
func (l *line) startMore(more []queue.Message, room int, now time.Time, set settings) (time.Time, error) {
	for _, m := range more[:min(room, burst-1, len(more))] {
		if l.earliest(set, now).After(now) || older(m, l.lane.Breaker) && l.replayPace.After(now) || late(m, now) {
			break // for the next turn to decide
		}
		if wait, ok := l.afford(m, now); !ok {
			return wait, nil
		}
		l.launch(m, now, set, false)
		room--
	}
	if room == 0 {
		return time.Time{}, nil
	}
	return now, nil
}

// width is the room that the lane has after an outage, or its own.
func (l *line) width(set settings) int {
	n := set.width()
	if l.lane.Ramp > 0 {
		n = min(n, l.lane.Ramp)
	}
	return n
}

// earliest is when the lane as a whole may next start: the partner's
// Retry-After, its rate, a fault of our own.
func (l *line) earliest(set settings, now time.Time) time.Time {
	t := l.pause
	if l.lane.NotBefore.Sub(now) <= 2*set.retry.Cap { // else a clock was set back
		t = instant.Later(t, l.lane.NotBefore)
	}
	return instant.Later(t, l.pace)
}

// afford asks for the places and the budget that a start needs. If it may not
// be, wait is when to ask again; zero: the lane is woken.
func (l *line) afford(m queue.Message, now time.Time) (wait time.Time, ok bool) {
	if !l.s.slots.take(l, m.Payload.Size) {
		return time.Time{}, false
	}
	again := m.Attempts > 0 || m.Crashes > 0 || m.Resent
	l.asked = again
	ok, after := l.s.purse.ask(l, now, again)
	if ok {
		return time.Time{}, true
	}
	l.s.slots.free(l, 1, 1)
	l.s.metrics.overBudget()
	if after > 0 {
		wait = now.Add(after)
	}
	return wait, false
}

// choose finds the message whose turn it is, and of those that are due as well
// as many as there is room for.
func (l *line) choose(ctx context.Context, now time.Time, set settings, room int) (choice, error) {
	if set.inOrder() {
		return l.head(ctx, now)
	}
	if holder := l.lane.Breaker.Holder; holder != "" && l.lane.Breaker.Phase == breaker.HalfOpen {
		return l.holder(ctx, holder, now)
	}
	// Those on their way to `sending` still stand in line, before all others:
	// the first behind them will do, unless they must be paced.
	few := min(room, burst) + l.beginning()
	first := l.pick
	if l.lane.Breaker.Phase == breaker.HalfOpen {
		first, few = l.oldest, window+len(l.running)
	}
	if best, more, err := first(ctx, now, few); err != nil || best.ok || !more {
		return best, err
	}
	best, more, err := l.pick(ctx, now, window+len(l.running))
	if err != nil || best.ok || !more {
		return best, err
	}
	return l.behind(ctx, now, best)
}

// behind looks for a message that need not be paced behind many that must be,
// but only if one may have come since it looked last. best is what to do else.
func (l *line) behind(ctx context.Context, now time.Time, best choice) (choice, error) {
	if !l.fresh && (l.freshAt.IsZero() || now.Before(l.freshAt)) {
		return best, nil
	}
	ready, next, err := l.s.Store.Ready(ctx, l.key, false, now, wide)
	if err != nil {
		return choice{}, err
	}
	for _, m := range ready {
		if l.running[m.ID] == nil && !older(m, l.lane.Breaker) {
			return choice{m: m, ok: true}, nil
		}
	}
	l.fresh, l.freshAt = false, next
	if len(ready) == wide {
		l.freshAt = now.Add(10 * time.Second)
	}
	return best, nil
}

// oldest finds the oldest of the messages that are due, which goes out as the
// test, among the first limit in line; more if it may be behind them.
func (l *line) oldest(ctx context.Context, now time.Time, limit int) (best choice, more bool, err error) {
	line, _, err := l.s.Store.Ready(ctx, l.key, true, now, limit)
	if err != nil {
		return choice{}, false, err
	}
	best.empty = len(line) == 0
	for _, m := range line {
		c := l.timely(m, now)
		if c.ok {
			return c, false, nil
		}
		best.next = instant.Sooner(best.next, c.next)
	}
	return best, len(line) == limit, nil
}

// beginning is how many of the running messages are not `sending` yet.
func (l *line) beginning() (n int) {
	for _, f := range l.running {
		if f.started.IsZero() {
			n++
		}
	}
	return n
}

// pick finds the message whose turn it is among the first limit that are due;
// more if there may be others behind them.
func (l *line) pick(ctx context.Context, now time.Time, limit int) (best choice, more bool, err error) {
	ready, next, err := l.s.Store.Ready(ctx, l.key, false, now, limit)
	if err == nil && !next.IsZero() && !l.settings().due(next, now).After(now) && next.After(now) {
		ready, next, err = l.s.Store.Ready(ctx, l.key, false, next, limit)
	}
	if err != nil {
		return choice{}, false, err
	}
	best = choice{empty: len(ready) == 0 && next.IsZero()}
	if next.After(now) { // else it is due, behind all that were read
		best.next = next
	}
	for _, m := range ready {
		if l.running[m.ID] != nil {
			continue
		}
		if older(m, l.lane.Breaker) && l.replayPace.After(now) {
			best.next = instant.Sooner(best.next, l.replayPace)
			continue
		}
		if best.ok {
			best.more = append(best.more, m)
			continue
		}
		best.m, best.ok = m, true // the one that is due longest
	}
	return best, len(ready) == limit, nil
}

// head is the first in line, which holds the lane whatever it waits for.
func (l *line) head(ctx context.Context, now time.Time) (choice, error) {
	ready, _, err := l.s.Store.Ready(ctx, l.key, true, now, 1)
	if err != nil || len(ready) == 0 {
		return choice{empty: true}, err
	}
	return l.timely(ready[0], now), nil
}

// holder is the message that has the right to be the test; one that left the
// line loses it.
func (l *line) holder(ctx context.Context, id string, now time.Time) (choice, error) {
	m, err := l.s.Store.Message(ctx, id)
	switch {
	case err != nil && !errors.Is(err, queue.ErrNotFound):
		return choice{}, err
	case err == nil && m.State.Lined() && m.Lane == l.key:
		return l.timely(m, now), nil
	}
	lane := l.lane
	lane.Breaker = breaker.ForgetHolder(lane.Breaker, id)
	return choice{next: now}, l.record(ctx, &queue.Result{Lane: &lane})
}

// timely is m if it may start now.
func (l *line) timely(m queue.Message, now time.Time) choice {
	at := l.settings().due(m.NextAt, now)
	if older(m, l.lane.Breaker) {
		at = instant.Later(at, l.replayPace)
	}
	switch {
	case l.running[m.ID] != nil:
		return choice{}
	case late(m, now), !at.After(now):
		return choice{m: m, ok: true}
	}
	return choice{next: at}
}

// older reports whether m is paced by replay_rate: a replay, or what piled up
// while the partner was away.
func older(m queue.Message, b breaker.State) bool {
	return m.Round > 1 || b.Now() == breaker.Closed && m.Accepted.Before(b.Since)
}

// late reports whether m's deadline has passed, so that no attempt may start.
// At the deadline itself one may: queue.Next plans a retry for that instant.
func late(m queue.Message, now time.Time) bool {
	return !m.DeliverBy.IsZero() && !m.Overdue && now.After(m.DeliverBy)
}

// paced notes a start for the rates.
func (l *line) paced(m queue.Message, now time.Time, set settings) {
	l.shown.Lock()
	defer l.shown.Unlock()
	if set.lane.Rate > 0 {
		l.pace = now.Add(time.Duration(float64(time.Second) / set.lane.Rate))
	}
	if older(m, l.lane.Breaker) && set.lane.ReplayRate > 0 {
		l.replayPace = now.Add(time.Duration(float64(time.Second) / set.lane.ReplayRate))
	}
}
