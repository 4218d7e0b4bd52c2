package alerts

import (
	"slices"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
)

// nearDeadline is how long before its first deadline a troubled lane is told
// of (delivery.md §10).
const nearDeadline = time.Hour

// Advance brings an incident to what the store says now: whether its condition
// still holds, and what there is to tell. It is pure.
func Advance(in Incident, s Situation, p Pace, now time.Time) Incident {
	if in.Stage != Over {
		switch stage := s.stage(in, now); {
		case stage == Over:
			in = in.over(now)
		case stage != in.Stage:
			in = in.turn(stage, p, now)
		}
	}
	m := manners[in.Kind]
	switch {
	case in.Stage == Over && m.silent && in.Told > 0, in.Stage == Over && s.Outage.Withdrawn && in.Told == 0:
		in.News, in.Closed = NewsNone, now
	case in.Stage == Over && in.News != NewsOver && in.Told == 0:
		in.News = NewsOver // opened and over before it was told
	case in.Stage == Over && in.News != NewsOver:
		in.News, in.Due = NewsOver, now
	case in.Stage != Over && !m.lasting && in.News == NewsNone && !now.Before(in.LastTold.Add(p.Repeat)):
		in.Closed = now
	case in.News == NewsNone && m.reminds && in.Ack == nil && (in.Stage == Running || s.Outage.Open > 0):
		in.News, in.Due = NewsReminder, in.LastTold.Add(p.Repeat)
	}
	return in
}

// turn takes an outage from running to answering or back.
func (in Incident) turn(stage Stage, p Pace, now time.Time) Incident {
	in.Stage = stage
	switch {
	case stage == Answering && in.Told == 0:
		in.News = NewsAnswers // a partner that comes and goes is told of all the same
	case stage == Answering:
		in.News, in.Due = NewsAnswers, now.Add(p.Wait)
		if next := in.Answers.Add(p.Repeat); !in.Answers.IsZero() && in.Due.Before(next) {
			in.Due = next
		}
	case in.Told == 0:
		in.News = NewsOpened
	case in.News == NewsAnswers:
		in.News, in.Due = NewsChanged, in.LastTold.Add(p.Repeat)
	}
	return in
}

// stage says how the condition of an incident stands.
func (s Situation) stage(in Incident, now time.Time) Stage {
	holds := true
	switch in.Kind {
	case KindOutage:
		switch {
		case !s.Found || s.Outage.Withdrawn || !s.Outage.Ended.IsZero():
			return Over
		case !s.Outage.Recovered.IsZero() || !s.Outage.Answering.IsZero():
			return Answering
		}
	case KindLetters:
		holds = s.Letters.Open+s.Letters.Replaying > 0 || s.fixes(in)
	case KindBlocked:
		holds = s.Lane.Blocked != ""
	case KindOrphaned:
		holds = s.Lane.Orphaned
	case KindSettings:
		holds = in.Partner == "" || s.Partner != nil && (s.Partner.Misconfigured || s.Partner.Stale)
	case KindDeadline:
		holds = near(s.Depth, now) && s.troubled()
	case KindCertificate:
		holds = s.Certificate != nil && uncovered(*s.Certificate, now)
	case KindIsolated:
		holds = s.Isolation.On()
	case KindHealth:
		holds = s.Health.Letters > s.Bounds.Depth || s.Health.Oldest > time.Duration(s.Bounds.Oldest) || now.Sub(in.Changed) < time.Hour
	}
	if holds {
		return Running
	}
	return Over
}

// fixes reports whether the lane stopped itself for what the incident gathers.
func (s Situation) fixes(in Incident) bool {
	return s.Lane.Fix != nil && (in.Cause == "" || s.Lane.Fix.Cause == in.Cause)
}

// troubled reports whether something keeps the lane from sending.
func (s Situation) troubled() bool {
	l := s.Lane
	return s.Isolation.On() || l.Breaker.Now() != breaker.Closed || l.Stop != nil || l.Fix != nil || l.Blocked != "" || l.Orphaned ||
		s.Partner != nil && s.Partner.Misconfigured
}

// inhibited finds the active incident that says already what this one would:
// our own network, or the partner's outage.
func inhibited(in Incident, all []Incident) (by string, yes bool) {
	if in.News == NewsOver && in.Told > 0 {
		return "", false
	}
	lost := in.Kind == KindLetters && slices.Contains(unreached, fault.Reason(in.Cause))
	for _, o := range all {
		switch {
		case o.Stage != Running:
		case o.Kind == KindIsolated && (in.Kind == KindOutage || in.Kind == KindDeadline || in.Kind == KindFetch || lost),
			o.Kind == KindOutage && o.Partner == in.Partner && (lost || in.Kind == KindFetch || in.Kind == KindDeadline && o.names(in)):
			return o.ID, true
		}
	}
	return "", false
}

// names reports whether the outage says that the deadline is near, or will.
func (in Incident) names(deadline Incident) bool {
	due, err := time.Parse(time.RFC3339, deadline.Facts["due"])
	return in.Told == 0 || err == nil && in.LastTold.After(due.Add(-nearDeadline))
}

// again returns a closed incident that goes on after all: it is told as more
// of the same.
func (in Incident) again(stored Incident, p Pace, now time.Time) Incident {
	stored.Stage, stored.Over, stored.Closed, stored.Under = Running, time.Time{}, time.Time{}, ""
	stored.Events += in.Events
	stored.Changed, stored.Facts, stored.Detail = in.Changed, in.Facts, in.Detail
	stored.News, stored.Due = NewsOpened, in.Due
	if stored.Told > 0 {
		stored.News, stored.Due = NewsChanged, stored.LastTold.Add(p.Repeat)
		if stored.Due.Before(now.Add(p.Wait)) {
			stored.Due = now.Add(p.Wait)
		}
	}
	return stored
}

// unreached are the reasons of letters that a partner who does not answer
// makes without them being of its outage.
var unreached = []fault.Reason{fault.ReasonMaxAttempts, fault.ReasonUnknownOutcome, fault.ReasonDeadline, fault.ReasonReceiptMissing, fault.ReasonCircuitOpen}

// told returns the incident after its news went to every channel.
func (in Incident) told(now time.Time) Incident {
	in.Told++
	in.LastTold = now
	switch in.News {
	case NewsAnswers:
		in.Answers = now
	case NewsOver:
		in.Closed = now
	}
	in.News, in.Due, in.Held = NewsNone, time.Time{}, false
	return in
}

// near reports whether the first deadline of a lane is lost within the hour.
func near(d queue.Depth, now time.Time) bool {
	return !d.First.IsZero() && d.First.Sub(now) <= nearDeadline && d.First.After(now)
}
