package dlq

import (
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
)

// Facts is what is known around a letter when somebody wants to replay it.
type Facts struct {
	Known      bool          // the partner has a settings file
	Running    bool          // an exchange of the message is in flight
	Phase      breaker.Phase // of the lane's breaker
	Answering  bool          // a connection check succeeded: the next document is the test anyway
	Window     bool          // the lane may send now, as far as windows and blackouts go
	FIFO       bool          // the lane is strictly first in, first out
	Duplicates time.Duration // how long the partner remembers a Message-ID; 0: not at all
}

// Assessment says whether a letter can be replayed.
type Assessment struct {
	Refused string // why it cannot be, one sentence; empty if it can
	Codes   []Code // what must be confirmed; of the two breaker codes either is enough
}

// Missing are the codes that none of confirm covers.
func (a Assessment) Missing(confirm []Code) []Code {
	var missing []Code
	for _, c := range a.Codes {
		if !covered(c, confirm) {
			missing = append(missing, c)
		}
	}
	return missing
}

// Assess says whether letter l of message m can be replayed now, and what must
// be confirmed before (delivery.md §9). It is pure.
func Assess(l queue.Letter, m queue.Message, f Facts, now time.Time) Assessment {
	if why := refusal(l, f); why != "" {
		return Assessment{Refused: why}
	}
	var a Assessment
	ask := func(holds bool, codes ...Code) {
		if holds {
			a.Codes = append(a.Codes, codes...)
		}
	}
	ask(l.Uncertain || m.Uncertain || forgotten(m, f.Duplicates, now), PossibleDuplicate)
	ask(m.Parked || l.Reason == fault.ReasonChangedContent, ChangedContent)
	ask(f.FIFO && (l.Overtaken || m.Overtaken), Overtaken)
	ask(m.Missed(now), Overdue)
	ask(!f.Window, OutsideWindow)
	ask(f.shut(), BreakerWait, BreakerProbe)
	return a
}

func refusal(l queue.Letter, f Facts) string {
	switch {
	case l.Status != queue.LetterOpen:
		return "the letter is " + string(l.Status)
	case l.Direction == queue.In:
		return "this is a document that the partner sent us: process it again instead"
	case !f.Known:
		return "the partner's settings file is gone: put it back, or settle or discard the letter"
	case f.Running:
		return "the document is being sent right now: wait for the result. Nothing was sent twice."
	}
	return ""
}

// shut reports whether a replay would stand before a partner that does not
// answer.
func (f Facts) shut() bool {
	return f.Phase == breaker.Open || f.Phase == breaker.HalfOpen && !f.Answering
}

// forgotten reports whether the partner saw the Message-ID so long ago that it
// takes a second copy for new. One that was never tried cannot be forgotten.
func forgotten(m queue.Message, window time.Duration, now time.Time) bool {
	if m.Total == 0 || window <= 0 {
		return false
	}
	seen := m.FirstFailure
	if seen.IsZero() {
		seen = m.Accepted
	}
	return now.Sub(seen) > window
}
