package queue

import (
	"time"

	"edigw/fault"
	"edigw/retry"
)

// Outage is the time from a breaker's opening until it is closed and none of
// its letters is open (delivery.md §1).
type Outage struct {
	ID        string // OUT-231
	Number    int64
	Partner   string
	Lane      string
	Cause     fault.Cause
	Status    int    // HTTP status that opened it, 0 if none
	Detail    string // one sentence for people
	Since     time.Time
	Answering time.Time // a connection check or probe succeeded
	Recovered time.Time // the breaker closed
	Ended     time.Time // and no letter of it was open
	Withdrawn bool      // it was our own network
	Letters   int       // letters that it made; counted by the store
	Open      int       // of these, open now; counted by the store
}

// Caused reports whether a letter that opens while o runs is of o: the message
// was given up for a reason that a partner who does not answer makes, and had
// begun to fail before he answered again. What he refused, and what is wrong on
// our own side, is never of an outage.
func (o Outage) Caused(l Letter) bool {
	if o.Withdrawn || !o.Recovered.IsZero() && (l.Again || !l.First.Before(o.Recovered)) {
		return false
	}
	switch l.Reason {
	case fault.ReasonCircuitOpen, fault.ReasonMaxAttempts, fault.ReasonUnknownOutcome, fault.ReasonReceiptMissing, fault.ReasonDeadline:
		return l.Class != retry.Credential && l.Class != retry.Permanent && l.Class != retry.Configuration
	}
	return false
}

// Blame gives the letter that the result opens to the outage that caused it,
// in letter and event. One that belongs to an outage stays with it.
func (res *Result) Blame(o Outage) {
	if res.Opened == nil || res.Opened.Outage != "" || !o.Caused(*res.Opened) {
		return
	}
	l := *res.Opened
	l.Outage = o.ID
	res.Opened = &l
	for i, e := range res.Events {
		if e.Type == EventDead && e.Letter == l.ID {
			res.Events[i].Outage = o.ID
		}
	}
}

// Isolation is the state of the whole gateway when our own network is at
// fault. The zero value means that all is well.
type Isolation struct {
	Since    time.Time `json:"since,omitzero"`
	Partners int       `json:"partners,omitempty"` // how many failed
	Of       int       `json:"of,omitempty"`       // of how many that were contacted
	NextTry  time.Time `json:"nextTry,omitzero"`   // when the next message or connection check goes out
	Turn     string    `json:"turn,omitempty"`     // partner that was tried last
}

// On reports whether the gateway is isolated.
func (i Isolation) On() bool { return !i.Since.IsZero() }
