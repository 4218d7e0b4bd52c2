package lane

import (
	"time"

	"edigw/breaker"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
)

// settings is what steers one lane at the moment.
type settings struct {
	known   bool // there is a settings file
	usable  bool // and it is good enough to send by
	partner *partner.Partner
	lane    partner.Lane
	retry   retry.Policy
	breaker breaker.Policy
	ackWait time.Duration
	keep    bool // after_deadline: keep
	pulled  bool // the partner fetches: nothing starts by itself
}

// usualWait is how long an acknowledgement may take where no settings say so:
// never no time at all, which would make a letter at once.
const usualWait = time.Hour

// others is how lanes besides documents flow: always on hold, never in a
// strict order (delivery.md §7).
func others(p *partner.Partner) partner.Lane {
	return partner.Lane{Concurrency: 4, Connections: p.Lane.Connections, AfterDead: partner.DeadContinue,
		OnUnknown: retry.Resend, OnOpen: partner.OpenHold, HoldAfter: p.Lane.HoldAfter, ReplayRate: p.Lane.ReplayRate}
}

// settings reads the snapshot in force. Where the partner's settings cannot be
// used nothing is sent, and what must be decided all the same is decided the
// careful way: hold.
func (l *line) settings() settings {
	p, known := l.s.Partners.Partner(l.partner)
	if !known || p.Misconfigured {
		return settings{known: known, partner: p, retry: retry.Default(), breaker: breaker.Default(), ackWait: usualWait,
			lane: partner.Lane{Concurrency: 1, Connections: 1, AfterDead: partner.DeadContinue, OnUnknown: retry.Hold, OnOpen: partner.OpenHold}}
	}
	set := settings{known: true, usable: true, partner: p, lane: p.Lane, retry: p.Retry, breaker: p.Breaker, keep: p.KeepOverdue, ackWait: usualWait}
	if l.kind != queue.KindDocument {
		set.lane = others(p)
	}
	if l.own() {
		set.lane.Connections = 0 // of the partner's server
		set.retry, set.breaker, set.keep = retry.Default(), breaker.Default(), false
	}
	if p.AS2 != nil && p.AS2.Wait > 0 {
		set.ackWait = p.AS2.Wait
	}
	if p.AS4 != nil {
		if p.AS4.Wait > 0 {
			set.ackWait = p.AS4.Wait
		}
		set.pulled = l.kind == queue.KindDocument && p.AS4.Pulled()
	}
	return set
}

// inOrder reports whether the lane is strictly first in, first out.
func (set settings) inOrder() bool { return set.lane.Concurrency <= 1 }

// width is how many exchanges the lane may have at once.
func (set settings) width() int {
	n := max(1, set.lane.Concurrency)
	if set.lane.Connections > 0 {
		n = min(n, set.lane.Connections)
	}
	return n
}

// holds reports whether messages wait out an open breaker.
func (set settings) holds(lane queue.Lane) bool {
	return set.lane.OnOpen == partner.OpenHold || lane.Breaker.Manual || lane.Kind != queue.KindDocument || set.pulled
}

// buries reports whether messages of an open lane become letters.
func (set settings) buries(lane queue.Lane) bool { return !set.holds(lane) }

// rules is what steers queue.Next for m.
func (set settings) rules(m queue.Message) queue.Rules {
	return queue.Rules{Retry: set.retry, OnUnknown: set.lane.OnUnknown, AckAsked: m.AckAsked, AckWait: set.ackWait, KeepOverdue: set.keep, Pulled: set.pulled}
}

// obstacle is what keeps a whole lane from sending, breaker apart.
type obstacle struct {
	state queue.LaneState // empty: nothing
	until time.Time       // when it ends by itself, zero if only an event ends it
	note  string
}

// obstacle is the first that holds of the lane, in the order of interfaces.md
// §5, with iso as the state of our own network. It takes l.shown.
func (l *line) obstacle(now time.Time, iso queue.Isolation) obstacle {
	l.shown.Lock()
	lane, barred := l.lane, l.barred
	l.shown.Unlock()
	set := l.settings()
	switch {
	case !set.known:
		return obstacle{state: queue.LaneOrphaned}
	case !set.usable:
		return obstacle{state: queue.LaneMisconfigured}
	case lane.Stop != nil && (lane.Stop.Until.IsZero() || now.Before(lane.Stop.Until)):
		return obstacle{queue.LaneStopped, lane.Stop.Until, lane.Stop.Reason}
	case lane.Fix != nil:
		return obstacle{state: queue.LaneNeedsFix, note: lane.Fix.Detail}
	case iso.On() && !l.own() && !set.pulled: // who comes to us needs no way of ours
		return obstacle{state: queue.LaneIsolated}
	}
	if open, why, until, note := set.lane.Calendar.Open(now); !open {
		state := queue.LaneWindow
		if why == partner.ClosedBlackout {
			state = queue.LaneBlackout
		}
		return obstacle{state, until, note}
	}
	if barred {
		return obstacle{state: queue.LaneBlocked}
	}
	return obstacle{}
}
