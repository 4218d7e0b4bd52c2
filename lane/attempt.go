package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
	"edigw/retry"
)

// flight is one message on its way from being chosen to the commit of its
// result.
type flight struct {
	m         queue.Message
	set       settings       // in force when it began: what it means for m is judged by them
	trial     bool           // tries our own network
	permit    breaker.Permit // of the breaker, once it began
	build     queue.Build
	preparing bool          // has its place among the starts
	starting  time.Time     // when `sending` was decided
	started   time.Time     // the same, zero until that was committed
	after     time.Duration // the lane rests so long when it lands
}

// launch sends m on its way. The places it needs were taken. The caller holds
// l.mu.
func (l *line) launch(m queue.Message, now time.Time, set settings, trial bool) {
	f := &flight{m: m, set: set, trial: trial, preparing: true}
	l.paced(m, now, set)
	l.shown.Lock()
	l.running[m.ID] = f
	l.shown.Unlock()
	l.s.hold(l.key) // until it lands
	l.s.work.Add(1)
	go l.s.fly(l, f)
}

// fly is the attempt protocol: build → commit `sending` → exchange → commit
// the result (delivery.md §8).
func (s *Scheduler) fly(l *line, f *flight) {
	defer s.work.Done()
	defer l.land(f)
	if !s.shielded(l, f.m.ID, func() { s.attempt(l, f) }) {
		return
	}
	f.after = 30 * time.Second
	if !f.started.IsZero() {
		s.shielded(l, f.m.ID, func() { l.crashed(f) })
	}
}

func (s *Scheduler) attempt(l *line, f *flight) {
	b, fresh, fail := s.prepare(l, f)
	if s.halting() || s.build.Err() != nil {
		return
	}
	if fail != nil {
		l.unbuilt(f, *fail)
		return
	}
	if !l.begin(f, b, fresh) {
		return
	}
	s.slots.free(l, 1, 0)
	f.preparing = false
	o, raw := s.exchange(f)
	s.heard(l, o)
	l.finish(f, o, raw)
	if o.Cause == fault.CauseStopped && !o.Phase.Reached() {
		f.after = later
	}
}

// later is how long a lane rests when its own side could not send a message
// now.
const later = 5 * time.Second

// land ends a flight, however it went, and gives the lane a turn.
func (l *line) land(f *flight) {
	now := l.s.Now()
	l.mu.Lock()
	l.fresh = l.fresh || f.m.State.Lined() // it may be due again
	if f.after > 0 {
		l.pause = instant.Later(l.pause, now.Add(f.after))
	}
	l.shown.Lock()
	delete(l.running, f.m.ID)
	l.shown.Unlock()
	l.mu.Unlock()
	held := 0
	if f.preparing {
		held = 1
	}
	l.s.slots.free(l, held, 1)
	l.s.due(l, now)
	l.s.done(l)
}

// prepare makes or finds the wire bytes.
func (s *Scheduler) prepare(l *line, f *flight) (b queue.Build, fresh bool, fail *fault.Outcome) {
	if f.m.Damaged != "" {
		return b, false, &fault.Outcome{Cause: fault.CauseBuild, Detail: "what is stored of the document is damaged: " + f.m.Damaged}
	}
	to, err := s.sender(f.m.Protocol, f.m.Kind)
	if err != nil {
		return b, false, &fault.Outcome{Cause: fault.CauseBuild, Detail: err.Error()}
	}
	var builds []queue.Build
	if f.m.Build > 0 {
		if builds, err = s.Store.Builds(s.build, f.m.ID); err != nil {
			return b, false, &fault.Outcome{Cause: fault.CauseStopped, Detail: "the store does not answer"}
		}
	}
	if s.shielded(l, f.m.ID, func() { b, fresh, fail = to.Prepare(s.build, f.m, builds) }) {
		fail = &fault.Outcome{Cause: fault.CauseBuild, Detail: "edigw has a defect: building this message failed"}
	}
	return b, fresh, fail
}

// begin asks the breaker and commits `sending`. False: nothing began, the
// message stands in line as before.
func (l *line) begin(f *flight, b queue.Build, fresh bool) (begun bool) {
	e := &entry{decide: func() (*queue.Result, error) { return l.permitted(f, b, fresh), nil }}
	e.recorded = func(res *queue.Result) {
		f.m, f.started, begun = *res.Message, f.starting, true
		if !f.set.pulled {
			l.contacts(f.started)
		}
	}
	e.alone = func(res *queue.Result) {
		if res == nil {
			res = l.permitted(f, b, fresh)
		}
		if res != nil && l.record(l.s.base, res) == nil { // else somebody else was faster, or the process ends
			e.recorded(res)
		}
	}
	l.enter(e)
	return begun
}

// permitted is the step to `sending`, nil if it may not be made now.
func (l *line) permitted(f *flight, b queue.Build, fresh bool) *queue.Result {
	s, now := l.s, l.s.Now()
	if err := l.load(s.base, now); err != nil || s.halting() {
		return nil
	}
	o := l.obstacle(now, s.net.now())
	if o.state != "" && !(f.trial && o.state == queue.LaneIsolated) || late(f.m, now) {
		return nil
	}
	set, lane := l.settings(), l.lane
	if set.pulled != f.set.pulled { // it goes another way now
		return nil
	}
	if set.inOrder() || set.pulled { // the order binds the test too
		if h := lane.Breaker.Holder; h != "" && lane.Breaker.Phase == breaker.HalfOpen {
			lane.Breaker = breaker.Hold(lane.Breaker, f.m.ID)
		}
	}
	lane.Breaker, f.permit = breaker.Allow(lane.Breaker, now, f.m.ID, s.Incarnation)
	if !f.permit.OK {
		return nil
	}
	res, err := l.starting(f, b, fresh, now, set)
	if err != nil {
		f.after = time.Second
		l.bad(f.m, err)
		return nil
	}
	res.Lane = &lane
	l.moved(res, f.permit.Change, now, fault.Actor{}, "the cool-down is over")
	f.set, f.starting = set, now
	return res
}

// starting is the step to `sending`.
func (l *line) starting(f *flight, b queue.Build, fresh bool, now time.Time, set settings) (*queue.Result, error) {
	in, err := l.s.input(l.s.base, queue.OnStart, f.m, now)
	if err != nil {
		return nil, err
	}
	in.By = l.s.Incarnation
	m := f.m
	m.Build, m.AckAsked = b.N, b.AckAsked
	res, err := step(m, in, set)
	if err != nil {
		return nil, err
	}
	b.Message, b.Sent = m.ID, true
	if f.build = b; b.N > 0 { // else there is nothing that could be sent, and exchange says why
		res.Build = &b
	}
	if fresh {
		e := queue.Event{At: now, Type: queue.EventBuilt, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Text: "built",
			Facts: map[string]string{"build": fmt.Sprint(b.N), "size": fmt.Sprint(b.Size)}}
		if b.Why != "" {
			e.Text = "built anew: " + b.Why
		}
		res.Events = append([]queue.Event{e}, res.Events...)
	}
	if f.permit.Probe {
		e := &res.Events[len(res.Events)-1]
		e.Text, e.Facts = "sending, as the test after the outage", map[string]string{"probe": "true"}
	}
	return &res, nil
}

// exchange sends once.
func (s *Scheduler) exchange(f *flight) (o fault.Outcome, raw string) {
	to, err := s.sender(f.m.Protocol, f.m.Kind)
	if err != nil {
		return fault.Outcome{Cause: fault.CauseBuild, Detail: err.Error()}, ""
	}
	return to.Exchange(s.wire, f.m, f.build)
}

// unbuilt ends a flight whose message could not be built: our own side.
func (l *line) unbuilt(f *flight, o fault.Outcome) {
	v := retry.Classify(o, retry.History{Uncertain: f.m.Uncertain})
	if v.Class == retry.NotAnAttempt || v.Class == retry.NoOutcome {
		l.s.Log.Warn("a message cannot be built now; it waits", keyLane, l.key, keyMessage, f.m.ID, keyErr, o.Detail)
		f.after = later
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.s.Now()
	f.after = time.Second // if it cannot be recorded
	if err := l.load(l.s.base, now); err != nil {
		return
	}
	in, err := l.s.input(l.s.base, queue.OnFail, f.m, now)
	if err != nil {
		l.bad(f.m, err)
		return
	}
	in.Verdict, in.Reason, in.Note = v, v.Reason, o.Detail
	set := l.settings()
	res, err := step(f.m, in, set)
	if err != nil {
		l.bad(f.m, err)
		return
	}
	lane := l.lane
	l.streak(&res, &lane, f.m, v, o.Detail, now, set)
	l.left(&res, &lane, now, set)
	res.Lane = &lane
	if l.record(l.s.base, &res) == nil {
		f.after = 0
	}
}

// crashed ends a flight that panicked after `sending`: what the partner has is
// unknown, as if the process had ended.
func (l *line) crashed(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.recoverMessage(l.s.base, f.m, f.permit); err != nil && !errors.Is(err, context.Canceled) {
		l.s.Log.Error("an exchange that panicked cannot be recorded", keyMessage, f.m.ID, keyErr, err)
	}
}

// expire ends the wait of a message whose deadline has passed.
func (l *line) expire(ctx context.Context, m queue.Message, now time.Time, set settings) error {
	return l.timed(ctx, queue.OnDeadline, m, now, set)
}
