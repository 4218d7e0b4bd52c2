package lane

import (
	"context"
	"fmt"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
)

// checkDue reports whether the connection must be checked: half-open with
// nothing to send, and not known to answer for the time being.
func (l *line) checkDue(now time.Time) bool {
	b := l.lane.Breaker
	return !b.Answering || !b.CheckAt.IsZero() && !now.Before(b.CheckAt)
}

// answers reports whether a connection check succeeded: any HTTP answer but
// 502, 503 and 504 (delivery.md §6).
func answers(o fault.Outcome) bool {
	return answered(o) && (o.Status < 502 || o.Status > 504)
}

// check begins a connection check, as the breaker's test if it wants one. The
// caller holds l.mu.
func (l *line) check(ctx context.Context, now time.Time, set settings) error {
	lane := l.lane
	var probe bool
	if lane.Breaker, probe = breaker.BeginCheck(lane.Breaker, l.s.Incarnation); probe {
		if err := l.record(ctx, &queue.Result{Lane: &lane}); err != nil {
			return err
		}
	}
	l.checking = true
	l.s.hold(l.key)
	l.s.work.Add(1)
	generation := l.lane.Breaker.Generation
	go func() {
		defer l.s.work.Done()
		defer l.s.done(l)
		l.checked(l.s.contact(l, set), generation, probe, fault.Actor{})
		l.s.due(l, l.s.Now())
	}()
	return nil
}

// contact performs a connection check.
func (s *Scheduler) contact(l *line, set settings) (o fault.Outcome) {
	to, err := s.sender(set.partner.Protocol, l.kind)
	if err != nil {
		return fault.Outcome{Cause: fault.CauseBuild, Detail: err.Error()}
	}
	l.contacts(s.Now())
	if s.shielded(l, "", func() { o = to.Check(s.wire, l.partner) }) {
		return fault.Outcome{Cause: fault.CauseStopped, Detail: "edigw has a defect: the connection check failed"}
	}
	s.heard(l, o)
	return o
}

// heard notes whether the partner gave any answer, for its right to a socket.
func (s *Scheduler) heard(l *line, o fault.Outcome) {
	if answered(o) || silent(o) {
		s.slots.answered(l, answered(o))
	}
}

// checked records what a connection check found. If that panics, the check has
// decided nothing: its place as the test is free again.
func (l *line) checked(o fault.Outcome, generation int64, probe bool, by fault.Actor) {
	if l.s.shielded(l, "", func() { l.conclude(o, generation, probe, by) }) {
		l.s.shielded(l, "", func() { l.undecided(generation, probe) })
	}
}

// undecided frees the test that a connection check was.
func (l *line) undecided(generation int64, probe bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, now := l.s, l.s.Now()
	l.checking, l.pause = false, instant.Later(l.pause, now.Add(l.settings().breaker.Cooldown))
	if !probe || l.load(s.base, now) != nil {
		return
	}
	lane := l.lane
	result := breaker.Result{Generation: generation, Signal: fault.SignalNone, Message: breaker.CheckProbe}
	lane.Breaker, _ = breaker.Record(lane.Breaker, l.settings().breaker, now, result, 0)
	if err := l.record(s.base, &queue.Result{Lane: &lane}); err != nil {
		s.Log.Error("a connection check that panicked cannot be recorded", keyLane, l.key, keyErr, err)
	}
}

// conclude is checked.
func (l *line) conclude(o fault.Outcome, generation int64, probe bool, by fault.Actor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checking = false
	s, now := l.s, l.s.Now()
	network := l.judged(o, now)
	for s.base.Err() == nil {
		err := l.load(s.base, now)
		if err == nil {
			err = l.record(s.base, l.checkResult(o, generation, probe, by, now, network))
		}
		if err == nil {
			return
		}
		s.Log.Error("a connection check cannot be recorded yet", keyLane, l.key, keyErr, err)
		instant.Rest(s.base, time.Second)
	}
}

func (l *line) checkResult(o fault.Outcome, generation int64, probe bool, by fault.Actor, now time.Time, network turnaround) *queue.Result {
	lane := l.lane
	res := &queue.Result{Lane: &lane}
	ok, set := answers(o), l.settings()
	text := o.Detail
	if ok {
		text = fmt.Sprintf("the partner answers: HTTP status %d", o.Status)
	}
	e := l.event(queue.EventCheck, now, by, text)
	e.Facts = map[string]string{"ok": fmt.Sprint(ok), "status": fmt.Sprint(o.Status), "phase": o.Phase.String(), "cause": string(o.Cause)}
	res.Events = append(res.Events, e)
	l.turned(res, network, now)
	if !probe {
		return res
	}
	var change breaker.Change
	ours := !answered(o) && !silent(o)
	if ours || network.state.On() && silent(o) {
		// Our own side: it says nothing of the partner, who is asked again.
		undecided := breaker.Result{Generation: generation, Signal: fault.SignalNone, Message: breaker.CheckProbe}
		lane.Breaker, change = breaker.Record(lane.Breaker, set.breaker, now, undecided, l.s.Chance())
		if ours {
			l.pause = now.Add(set.breaker.Cooldown)
		}
	} else {
		lane.Breaker, change = breaker.RecordCheck(lane.Breaker, set.breaker, now, generation, ok, l.s.Chance())
	}
	if change.Answering {
		l.look.Store(true) // auto_replay
	}
	l.moved(res, change, now, by, text)
	return res
}
