package lane

import (
	"time"

	"edigw/breaker"
	"edigw/internal/instant"
	"edigw/queue"
)

// whyLane says what a message waits for if its whole lane stands still.
var whyLane = map[queue.LaneState]queue.Why{
	queue.LaneOrphaned: queue.WhyOrphaned, queue.LaneMisconfigured: queue.WhyMisconfigured, queue.LaneStopped: queue.WhyStopped,
	queue.LaneNeedsFix: queue.WhyNeedsFix, queue.LaneIsolated: queue.WhyNetwork, queue.LaneBlackout: queue.WhyBlackout,
	queue.LaneWindow: queue.WhyWindow, queue.LaneBlocked: queue.WhyBlocked,
}

// Overlay says what a message waits for: what the message itself knows, with
// its lane laid over it. position is its place in line, 0 the first; negative
// if it is not known. Messages that do not stand in line are shown as they are.
func (s *Scheduler) Overlay(m queue.Message, position int) queue.Shown {
	if !m.State.Lined() {
		return queue.Shown{State: m.State, Why: m.Why, Next: m.NextAt}
	}
	now, l := s.Now(), s.peek(m.Lane)
	iso := s.net.now()
	o, set := l.obstacle(now, iso), l.settings()
	l.shown.Lock()
	lane, running, flying := l.lane, len(l.running), l.running[m.ID] != nil
	pace, replayPace := l.pace, l.replayPace
	l.shown.Unlock()
	wait := func(w queue.Why, next time.Time) queue.Shown {
		return queue.Shown{State: queue.Waiting, Why: w, Next: instant.Later(next, m.NextAt)}
	}
	switch {
	case flying:
		return queue.Shown{State: queue.Queued}
	case o.state == queue.LaneIsolated:
		return queue.Shown{State: queue.Waiting, Why: queue.WhyNetwork, Next: iso.NextTry}
	case o.state != "":
		return queue.Shown{State: queue.Waiting, Why: whyLane[o.state], Next: o.until}
	case m.Why == queue.WhyUndo && m.NextAt.After(now):
		return wait(queue.WhyUndo, m.NextAt)
	}
	b := lane.Breaker
	if set.pulled && b.Phase != breaker.Open {
		return queue.Shown{State: queue.Waiting, Why: queue.WhyPull}
	}
	switch {
	case b.Phase == breaker.Open && b.Holder == m.ID:
		return wait(queue.WhyBreaker, b.ReopenAt)
	case b.Phase == breaker.Open:
		return queue.Shown{State: queue.Waiting, Why: queue.WhyBreaker, Next: b.ReopenAt}
	case b.Phase == breaker.HalfOpen && (b.Probe != "" || b.Holder != "" && b.Holder != m.ID):
		return queue.Shown{State: queue.Waiting, Why: queue.WhyProbe}
	case set.inOrder() && position > 0:
		return queue.Shown{State: queue.Waiting, Why: queue.WhyOrder}
	case m.NextAt.After(now) && !lane.NotBefore.After(m.NextAt):
		return wait(queue.WhyBackoff, m.NextAt)
	case lane.NotBefore.After(now):
		return wait(queue.WhyBackoff, lane.NotBefore)
	case pace.After(now):
		return wait(queue.WhyRate, pace)
	case older(m, b) && replayPace.After(now):
		return wait(queue.WhyRate, replayPace)
	case l.overBudget.Load():
		return queue.Shown{State: queue.Waiting, Why: queue.WhyBudget}
	case l.s.slots.waits(l): // the whole gateway sends as much as it may
		return queue.Shown{State: queue.Waiting, Why: queue.WhyBudget}
	case lane.Ramp > 0 && running >= lane.Ramp:
		return queue.Shown{State: queue.Waiting, Why: queue.WhyRampUp}
	}
	return queue.Shown{State: queue.Queued}
}
