package queue

import (
	"time"

	"edigw/fault"
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
