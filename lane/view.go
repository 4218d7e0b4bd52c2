package lane

import (
	"time"

	"edigw/breaker"
	"edigw/queue"
)

// View shows the lane of a partner's documents. It asks no store and never
// blocks for long: a lane that is not in memory has nothing to show.
func (s *Scheduler) View(partner string) queue.LaneView {
	return s.LaneView(queue.LaneKey(partner, queue.KindDocument))
}

// LaneView is View for any lane.
func (s *Scheduler) LaneView(key string) queue.LaneView {
	now, l := s.Now(), s.peek(key)
	iso := s.net.now()
	o, set := l.obstacle(now, iso), l.settings()
	l.shown.Lock()
	lane, running := l.lane, len(l.running)
	l.shown.Unlock()
	b := lane.Breaker
	v := queue.LaneView{Partner: l.partner, Lane: key, State: o.state, Next: o.until, Note: o.note, Running: running,
		Holder: b.Holder, Probing: b.Probe != "", Outage: lane.Outage, Blocked: lane.Blocked, Stop: lane.Stop, Fix: lane.Fix,
		Isolation: iso, Breaker: b, NotBefore: lane.NotBefore, Ramp: lane.Ramp, Charged: lane.Charged}
	if set.partner != nil {
		v.Stale, v.Problems = set.partner.Stale, set.partner.Problems
	}
	switch o.state {
	case "":
		v.State, v.Since, v.Next = phase(b)
		if b.Manual && v.State != queue.LaneSending {
			v.Note = "an operator tripped the breaker"
		}
	case queue.LaneStopped:
		v.Since = lane.Stop.Since
	case queue.LaneNeedsFix:
		v.Since = lane.Fix.Since
	case queue.LaneIsolated:
		v.Since, v.Next = iso.Since, iso.NextTry
	}
	return v
}

// phase is the state that a breaker gives a lane with no other obstacle.
func phase(b breaker.State) (state queue.LaneState, since, next time.Time) {
	switch {
	case b.Phase == breaker.Open:
		return queue.LaneOpen, b.OpenedAt, b.ReopenAt
	case b.Phase == breaker.HalfOpen && b.Answering:
		return queue.LaneAnswering, b.Since, b.CheckAt
	case b.Phase == breaker.HalfOpen:
		return queue.LaneHalfOpen, b.Since, time.Time{}
	}
	return queue.LaneSending, b.Since, time.Time{}
}

// peek gives a line for looking only, without bringing it into memory.
func (s *Scheduler) peek(key string) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[key]; l != nil {
		return l
	}
	return newLine(s, key)
}
