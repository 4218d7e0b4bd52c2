package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
)

// When our own network is to blame (delivery.md §4).
const (
	isolationSpan     = time.Minute
	isolationPartners = 5
	firstTrial        = 5 * time.Second
	nextTrial         = 30 * time.Second
	maxFailed         = 100 // failures remembered of one partner
)

// network watches whether anybody answers at all.
type network struct {
	writing latch // held while the state is written, so that no older one lands last

	mu       sync.Mutex
	state    queue.Isolation
	since    time.Time          // beginning of the last isolation that ended
	ended    time.Time          // and its end
	contacts map[string]contact // partners since the last HTTP answer
}

// contact is what was tried with a partner since the last HTTP answer.
type contact struct {
	started time.Time
	failed  []time.Time // within isolationSpan, oldest first
}

// fail notes a failure. Of very many the oldest stay: they say when it began.
func (c *contact) fail(now time.Time) {
	c.forget(now)
	c.failed = append(c.failed[:min(len(c.failed), maxFailed-1)], now)
}

func (c *contact) forget(now time.Time) {
	c.failed = slices.DeleteFunc(c.failed, func(t time.Time) bool { return !within(t, now) })
}

func (n *network) now() queue.Isolation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

// started notes that a partner is contacted.
func (n *network) started(partner string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.contacts == nil {
		n.contacts = map[string]contact{}
	}
	c := n.contacts[partner]
	c.started = now
	n.contacts[partner] = c
}

// answered reports whether the partner gave any HTTP answer. What our proxy
// says to CONNECT is not the partner's.
func answered(o fault.Outcome) bool {
	return o.Status != 0 && o.Cause != fault.CauseProxy && o.Cause != fault.CauseProxyAuth
}

// silent reports whether the partner was contacted and gave no HTTP answer.
func silent(o fault.Outcome) bool {
	switch o.Cause {
	case fault.CauseNone:
		return false
	}
	return !ownFault(o.Cause) && !answered(o)
}

// turnaround is what an outcome did to the isolation.
type turnaround struct {
	state        queue.Isolation // now
	began, ended bool
	failed       []string // partners, if it began
}

// note judges an outcome. It is asked before a breaker may open.
func (n *network) note(partner string, o fault.Outcome, now time.Time) turnaround {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case answered(o):
		clear(n.contacts)
		t := turnaround{ended: n.state.On()}
		if t.ended {
			n.since, n.ended = n.state.Since, now
			n.state = queue.Isolation{}
		}
		return t
	case !silent(o) || n.state.On():
		return turnaround{state: n.state}
	}
	if n.contacts == nil {
		n.contacts = map[string]contact{}
	}
	c := n.contacts[partner]
	c.fail(now)
	n.contacts[partner] = c
	first, failed := now, []string(nil)
	for id, c := range n.contacts {
		c.forget(now)
		switch {
		case len(c.failed) > 0:
			n.contacts[id] = c
			failed = append(failed, id)
			first = instant.Sooner(first, c.failed[0])
		case !within(c.started, now):
			delete(n.contacts, id)
		default:
			n.contacts[id] = c
		}
	}
	if len(failed) < isolationPartners || 2*len(failed) < len(n.contacts) {
		return turnaround{}
	}
	n.state = queue.Isolation{Since: first, Partners: len(failed), Of: len(n.contacts), NextTry: now.Add(firstTrial)}
	return turnaround{state: n.state, began: true, failed: failed}
}

func within(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) <= isolationSpan }

// adopt takes a stored isolation into use.
func (n *network) adopt(i queue.Isolation, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i.On() && i.NextTry.Sub(now).Abs() > nextTrial {
		i.NextTry = now.Add(firstTrial)
	}
	n.state = i
}

func (n *network) nextTrial() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.state.On() {
		return time.Time{}
	}
	return n.state.NextTry
}

// trialDue reports whether a trial is due, and plans the next one.
func (n *network) trialDue(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.state.On() || now.Before(n.state.NextTry) {
		return false
	}
	n.state.NextTry = now.Add(nextTrial)
	return true
}

// turn notes whose trial it is.
func (n *network) turn(partner string) queue.Isolation {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state.On() {
		n.state.Turn = partner
	}
	return n.state
}

// blamed reports whether what a breaker learned since the returned moment is
// to be taken back.
func (n *network) blamed(b breaker.State, now time.Time) (since time.Time, yes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state.On() {
		since = n.state.Since
		old := func(t time.Time) bool { return t.Before(since) }
		yes = b.Now() != breaker.Closed && !b.Manual && !old(b.OpenedAt) || slices.ContainsFunc(b.Failures, func(t time.Time) bool { return !old(t) })
		return since, yes
	}
	yes = !n.ended.IsZero() && b.Now() != breaker.Closed && !b.Manual && !b.OpenedAt.Before(n.since) && !b.OpenedAt.After(n.ended)
	return n.since, yes
}

// write records results. Of the isolation it writes what holds at that moment,
// one after another: results of several lanes overtake each other.
func (s *Scheduler) write(ctx context.Context, results ...*queue.Result) error {
	if slices.ContainsFunc(results, func(r *queue.Result) bool { return r.Isolation != nil }) {
		if err := s.net.writing.LockUntil(ctx); err != nil {
			return err
		}
		defer s.net.writing.Unlock()
		for _, r := range results {
			if r.Isolation != nil {
				state := s.net.now()
				r.Isolation = &state
			}
		}
	}
	return s.Store.Record(ctx, results...)
}

// own reports whether the lane goes to a system of our own house. What such a
// one answers, or does not, says nothing of the way to partners; and while that
// is cut, what is our own goes on.
func (l *line) own() bool { return l.kind == queue.KindWebhook }

// contacts notes that whom the lane goes to is contacted.
func (l *line) contacts(now time.Time) {
	if !l.own() {
		l.s.net.started(l.partner, now)
	}
}

// judged is what an outcome of the lane tells of our own network.
func (l *line) judged(o fault.Outcome, now time.Time) turnaround {
	if l.own() {
		return turnaround{}
	}
	return l.s.net.note(l.partner, o, now)
}

// turned adds to a result what happened to the isolation, and wakes the lanes.
func (l *line) turned(res *queue.Result, t turnaround, now time.Time) {
	if !t.began && !t.ended {
		return
	}
	state := t.state
	res.Isolation = &state
	e := queue.Event{At: now, Type: queue.EventReconnected, Text: "our own network works again: " + l.partner + " answered"}
	if t.began {
		e.Type = queue.EventIsolated
		e.Text = fmt.Sprintf("our own network: %d of %d partners unreachable", state.Partners, state.Of)
		e.Facts = map[string]string{"partners": fmt.Sprint(state.Partners), "of": fmt.Sprint(state.Of)}
	}
	res.Events = append(res.Events, e)
	l.s.metrics.isolated(state.On())
	for _, id := range t.failed {
		l.s.wakeLane(queue.LaneKey(id, queue.KindDocument), now)
	}
	l.s.wakeAll(now)
}

// wakeLane gives one lane a turn.
func (s *Scheduler) wakeLane(key string, now time.Time) {
	l := s.hold(key)
	s.due(l, now)
	s.done(l)
}

// wakeAll gives every lane in memory a turn.
func (s *Scheduler) wakeAll(now time.Time) {
	s.mu.Lock()
	for _, l := range s.lines {
		s.plan(l, now)
	}
	s.mu.Unlock()
	s.poked()
}

// withdraw takes back what the lane suffered from our own network: its breaker
// closes, the letters of that outage return to the line.
func (l *line) withdraw(ctx context.Context, now time.Time, set settings) (bool, error) {
	if since, yes := l.s.net.blamed(l.lane.Breaker, now); yes && !l.own() {
		lane := l.lane
		var change breaker.Change
		lane.Breaker, change = breaker.Withdraw(lane.Breaker, since, now)
		res := &queue.Result{Lane: &lane}
		l.moved(res, change, now, fault.Actor{}, "it was our own network")
		lane.Ramp = 0
		if change.Closed && res.Outage != nil {
			res.Outage.Withdrawn = true
		}
		if err := l.record(ctx, res); err != nil {
			return false, err
		}
	}
	if l.outage == nil || !l.outage.Withdrawn {
		return false, nil
	}
	letters, err := l.returning(ctx)
	if err != nil {
		return false, err
	}
	var results []*queue.Result
	for _, letter := range letters {
		m, err := l.s.Store.Message(ctx, letter.Message)
		if err != nil {
			return false, err
		}
		res, err := queue.Next(m, queue.Input{Trigger: queue.OnWithdraw, At: now, Letter: &letter}, set.rules(m))
		if err != nil {
			return false, err
		}
		results = append(results, &res)
	}
	if len(results) == 0 {
		return l.settleOutage(ctx, now)
	}
	if err := l.record(ctx, results...); err != nil && !errors.Is(err, queue.ErrConflict) {
		return false, err
	}
	return true, nil
}

// returning gives the next letters that go back to the line because it was our
// own network. What waits for an operator's word (an unknown outcome, a missing
// receipt, a deadline that passed) stays a letter.
func (l *line) returning(ctx context.Context) (letters []queue.Letter, err error) {
	for _, reason := range []fault.Reason{fault.ReasonCircuitOpen, fault.ReasonMaxAttempts} {
		f := queue.LetterFilter{Outage: l.outage.ID, Reason: reason, Status: queue.LetterOpen}
		if letters, _, err = l.s.Store.Letters(ctx, f, queue.Page{Limit: batch}); err != nil || len(letters) > 0 {
			return letters, err
		}
	}
	return nil, nil
}
