package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
	"edigw/retry"
)

// landing is an exchange that ended, on its way into the ledger.
type landing struct {
	f       *flight
	o       fault.Outcome
	raw     string
	at      time.Time
	network turnaround
	verdict retry.Verdict // as the table says, for metrics
}

// finish commits what an exchange taught, the message and the breaker in one
// transaction, trying for ever.
func (l *line) finish(f *flight, o fault.Outcome, raw string) {
	g := &landing{f: f, o: o, raw: raw}
	m := f.m
	e := &entry{decide: func() (*queue.Result, error) { return l.landed(g, m) }}
	e.recorded = func(res *queue.Result) {
		l.s.metrics.attempt(m, g.verdict, res.Message, f.started, g.at)
		f.m = *res.Message
	}
	e.alone = func(res *queue.Result) {
		if res, m = l.insist(g, res, m); res != nil {
			e.recorded(res)
		}
	}
	l.enter(e)
}

// landed loads the lane and settles what landed.
func (l *line) landed(g *landing, m queue.Message) (*queue.Result, error) {
	if g.at.IsZero() {
		g.at = l.s.Now()     // one instant, so that the network's span begins with the breaker's failures
		if !g.f.set.pulled { // who comes to us says nothing of our way to others
			g.network = l.judged(g.o, g.at)
		}
	}
	if err := l.load(l.s.base, g.at); err != nil {
		return nil, err
	}
	return l.settle(l.s.base, g, m)
}

// insist records what landed, for ever, beginning with what was decided
// already. It gives what it recorded, nil if that cannot be, and the message
// that this came of.
func (l *line) insist(g *landing, res *queue.Result, m queue.Message) (*queue.Result, queue.Message) {
	s := l.s
	for s.base.Err() == nil {
		var err error
		if res == nil {
			res, err = l.landed(g, m)
		}
		if err == nil {
			err = l.record(s.base, res)
		}
		if err == nil {
			return res, m
		}
		res = nil
		if hopeless(err) {
			l.bad(m, err)
			return nil, m
		}
		if !errors.Is(err, queue.ErrConflict) {
			s.Log.Error("the result of an exchange cannot be recorded yet", keyMessage, m.ID, keyErr, err)
			instant.Rest(s.base, time.Second)
		}
		// Something else happened to the message meanwhile.
		if _, err := s.persist(s.base, func() (err error) { m, err = s.Store.Message(s.base, g.f.m.ID); return err }); err != nil {
			return nil, m
		}
	}
	return nil, m
}

// settle says all that the end of an exchange changes.
func (l *line) settle(ctx context.Context, g *landing, m queue.Message) (*queue.Result, error) {
	set, now := l.settings(), g.at
	v := retry.Classify(g.o, retry.History{Uncertain: m.Uncertain})
	v.After = retry.ClampAfter(v.After, set.retry.Cap)
	g.verdict = v
	a := queue.AttemptFrom(m, g.o, v, g.f.started, now.Sub(g.f.started))
	a.Build, a.Probe, a.Raw = g.f.build.N, g.f.permit.Probe, g.raw
	ours := g.network.state.On() && silent(g.o) // our own network: counts for nobody
	charged := !ours && !g.f.set.pulled && g.f.permit.Probe && set.holds(l.lane) && (v.Class == retry.Transient || v.Class == retry.Unknown)
	applied := v
	switch {
	case ours || charged:
		applied = uncounted(v)
	case g.f.set.pulled:
		applied = handed(v)
		if v.Signal = fault.SignalNone; g.f.permit.Probe && applied.Class == v.Class && v.Class != retry.Unknown {
			v.Signal = fault.SignalSuccess // an operator had tripped the breaker, and the cool-down is over
		}
	}
	res, err := l.apply(ctx, g, m, &a, applied, g.f.set)
	if err != nil {
		return nil, err
	}
	lane := l.lane
	signal := v.Signal
	if ours {
		signal = fault.SignalNone
	}
	result := breaker.Result{Generation: g.f.permit.Generation, Signal: signal, Message: m.ID, Stays: res.Message.State.Lined()}
	var change breaker.Change
	lane.Breaker, change = breaker.Record(lane.Breaker, set.breaker, now, result, l.s.Chance())
	res.Lane = &lane
	if charged {
		l.charge(res, &lane, m, g, v)
	}
	l.pressure(&lane, v, now, set)
	l.ramp(&lane, change, v, set)
	l.streak(res, &lane, m, v, a.Detail, now, set)
	if change.Opened {
		if err := l.opened(ctx, res, g.o); err != nil {
			return nil, err
		}
	}
	l.moved(res, change, now, fault.Actor{}, a.Detail)
	l.left(res, &lane, now, set)
	l.turned(res, g.network, now)
	if g.o.Ack != nil && g.raw == "" { // it counts all the same: the partner has the document
		res.Events = append(res.Events, queue.Event{At: now, Type: queue.EventEvidenceLost, Partner: m.Partner, Lane: m.Lane, Message: m.ID,
			Text: "the receipt came and could not be kept, so the proof of it is missing; the log says why"})
	}
	if v.Defect {
		e := queue.Event{At: now, Type: queue.EventDefect, Partner: m.Partner, Lane: m.Lane, Message: m.ID,
			Text: "no row of the table fits this outcome: " + a.Detail, Facts: map[string]string{"phase": g.o.Phase.String(), "status": fmt.Sprint(g.o.Status)}}
		res.Events = append(res.Events, e)
	}
	return res, nil
}

// uncounted is a verdict that does not use up an attempt. What may have
// reached the partner stays unknown, so that on_unknown is obeyed.
func uncounted(v retry.Verdict) retry.Verdict {
	v.Signal = fault.SignalNone
	if v.Class != retry.Unknown {
		v.Class = retry.NotAnAttempt
	}
	return v
}

// handed is a verdict on a message that the partner fetched: no attempt, since he
// asked and not we. What broke off is in line again at once, unless on_unknown
// says otherwise; what cannot be read here is our own fault as ever.
func handed(v retry.Verdict) retry.Verdict {
	switch v.Class {
	case retry.Accepted, retry.Success, retry.Configuration:
		v.Signal = fault.SignalNone
		return v
	}
	return uncounted(v)
}

// apply is what the outcome does to the message. After it left `sending` only
// an acknowledgement still does anything.
func (l *line) apply(ctx context.Context, g *landing, m queue.Message, a *queue.Attempt, v retry.Verdict, set settings) (*queue.Result, error) {
	if m.State != queue.Sending || m.Incarnation != l.s.Incarnation {
		if g.o.Ack == nil || !queue.Fits(queue.OnAck, m.State) {
			a.Counted = false
			m.Total++
			return &queue.Result{Message: &m, Attempt: a}, nil
		}
		return l.next(ctx, queue.OnAck, m, a, v, g.at, set)
	}
	return l.next(ctx, queue.OnResult, m, a, v, g.at, set)
}

func (l *line) next(ctx context.Context, t queue.Trigger, m queue.Message, a *queue.Attempt, v retry.Verdict, now time.Time, set settings) (*queue.Result, error) {
	in, err := l.s.input(ctx, t, m, now)
	if err != nil {
		return nil, err
	}
	in.Attempt, in.Verdict = a, v
	res, err := step(m, in, set)
	return &res, err
}

// maxCharges bounds the failed tests that a lane remembers.
const maxCharges = 20

// charge puts a failed test on the lane's account: it is told in the timeline
// and stands nowhere among the attempts (delivery.md §6).
func (l *line) charge(res *queue.Result, lane *queue.Lane, m queue.Message, g *landing, v retry.Verdict) {
	list := append(slices.Clone(lane.Charged), queue.Charge{At: g.at, Message: m.ID, Detail: g.o.Sentence()})
	lane.Charged = list[max(0, len(list)-maxCharges):]
	if res.Attempt == nil || !res.Message.State.Lined() {
		return
	}
	res.Message.Total = m.Total
	res.Attempt = nil
	e := queue.Event{At: g.at, Type: queue.EventCheck, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Outage: lane.Outage,
		Text:  "the test failed and is charged to the lane: " + g.o.Sentence(),
		Facts: map[string]string{"class": string(v.Class), "status": fmt.Sprint(g.o.Status), "phase": g.o.Phase.String(), "charged": "true"}}
	res.Events = append(res.Events, e)
}

// pressure obeys Retry-After, for the whole lane: a lower bound, jitter above.
func (l *line) pressure(lane *queue.Lane, v retry.Verdict, now time.Time, set settings) {
	if !v.HasAfter {
		return
	}
	spread := max(retry.Floor, v.After/10)
	until := now.Add(v.After + time.Duration(float64(spread)*l.s.Chance()))
	lane.NotBefore = instant.Later(lane.NotBefore, until)
}

// ramp lets concurrency grow again after an outage: 1, 2, 4 … with each
// success.
func (l *line) ramp(lane *queue.Lane, c breaker.Change, v retry.Verdict, set settings) {
	if lane.Ramp == 0 || c.Moved() || v.Signal != fault.SignalSuccess {
		return
	}
	if lane.Ramp *= 2; lane.Ramp >= set.width() {
		lane.Ramp = 0
	}
}

// streak counts configuration-like results of one cause on different messages,
// and stops the lane when there are enough (delivery.md §4).
func (l *line) streak(res *queue.Result, lane *queue.Lane, m queue.Message, v retry.Verdict, detail string, now time.Time, set settings) {
	if v.Lane == "" {
		switch v.Class {
		case retry.Success, retry.Accepted, retry.AlreadyThere, retry.Permanent:
			lane.Streak = queue.Streak{}
		}
		return
	}
	if lane.Streak.Cause != v.Lane {
		lane.Streak = queue.Streak{Cause: v.Lane}
	}
	if !slices.Contains(lane.Streak.Messages, m.ID) {
		lane.Streak.Messages = append(slices.Clone(lane.Streak.Messages), m.ID)
	}
	if set.lane.HoldAfter <= 0 || len(lane.Streak.Messages) < set.lane.HoldAfter || lane.Fix != nil {
		return
	}
	n := len(lane.Streak.Messages)
	lane.Fix = &queue.Fix{Cause: v.Lane, Detail: detail, Ours: v.Lane == "local" || v.Lane == "credential", Since: now}
	lane.Streak = queue.Streak{}
	e := l.event(queue.EventLaneNeedsFix, now, fault.Actor{}, fmt.Sprintf("%d documents in a row ended with %s; the lane stops, the rest waits untried: %s", n, v.Lane, detail))
	e.Message = m.ID
	e.Facts = map[string]string{"cause": v.Lane, "ours": fmt.Sprint(lane.Fix.Ours), "messages": fmt.Sprint(n)}
	res.Events = append(res.Events, e)
}

// left sees to what follows from a message that left the line: its letter is
// the outage's if that caused it, the test is nobody's any more, the lane may
// stand behind its letter, an outage may end.
func (l *line) left(res *queue.Result, lane *queue.Lane, now time.Time, set settings) {
	if m := res.Message; m != nil && !m.State.Lined() && m.State != queue.Sending {
		lane.Breaker = breaker.ForgetHolder(lane.Breaker, m.ID)
	}
	if out := cmp.Or(res.Outage, l.outage); out != nil && out.ID == lane.Outage {
		res.Blame(*out)
	}
	if res.Closed != nil && res.Closed.Outage != "" {
		l.look.Store(true)
	}
	l.bar(res, lane, now, set)
}
