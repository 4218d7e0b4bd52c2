package queue

import (
	"time"

	"edigw/fault"
	"edigw/retry"
)

// LetterStatus is where a letter stands.
type LetterStatus string

// Statuses of a letter.
const (
	LetterOpen      LetterStatus = "open"
	LetterReplaying LetterStatus = "replaying" // its message is in line, being sent or awaiting its acknowledgement
	LetterClosed    LetterStatus = "closed"
)

// ClosedAs says how a letter ended.
type ClosedAs string

// Ends of a letter.
const (
	ClosedDelivered     ClosedAs = "delivered"
	ClosedDeliveredLate ClosedAs = "delivered-late" // by an acknowledgement that nobody waited for any more
	ClosedConfirmed     ClosedAs = "confirmed"      // on the partner's word, never counted as proven
	ClosedSuperseded    ClosedAs = "superseded"
	ClosedDiscarded     ClosedAs = "discarded"
	ClosedWithdrawn     ClosedAs = "withdrawn" // our own network was down: it should not have been a letter
	ClosedFailedAgain   ClosedAs = "failed-again"
)

// Letter is a message in the dead-letter queue: a record of its own, so that a
// message may have had several. Open letters never expire (delivery.md §9).
type Letter struct {
	ID        string
	Version   int64
	Message   string
	Seq       int64 // of the message: its place in line
	Partner   string
	Lane      string
	Protocol  string
	Direction Direction
	Reason    fault.Reason
	Class     retry.Class
	Status    LetterStatus
	ClosedAs  ClosedAs
	Detail    string // the last error in one sentence
	Cause     string // configuration-like cause, groups letters; empty if none
	Last      *Attempt
	Attempts  int // of the round that ended
	Uncertain bool
	Overtaken bool
	Overdue   bool
	Again     bool   // a replay of an earlier letter failed
	Outage    string // OUT-… that it belongs to, empty if none
	Created   time.Time
	First     time.Time // first failure of the message
	Replayed  time.Time // when the running replay was asked for
	Closed    time.Time
	Actor     fault.Actor // who closed it or asked for the replay
	Note      string      // why, in the actor's words
	Before    *Before     // replaying: what the replay reset
}

// Contradicted reports whether the partner refused the document and then
// acknowledged it, with nothing sent in between: only he knows which holds.
func (l Letter) Contradicted() bool {
	return l.Status != LetterClosed && l.Last != nil && l.Last.Ack != nil && l.Last.Ack.Positive && l.Last.Ack.Verdict == fault.AckTrusted
}

// Before is what a replay resets in a message and its letter, so that one that
// is taken back leaves no trace but its events.
type Before struct {
	Round      int         `json:"round"`
	Attempts   int         `json:"attempts,omitempty"`
	Limited    int         `json:"limited,omitempty"`
	Credential int         `json:"credential,omitempty"`
	Crashes    int         `json:"crashes,omitempty"`
	Resent     bool        `json:"resent,omitempty"`
	Warned     bool        `json:"warned,omitempty"`
	Overdue    bool        `json:"overdue,omitempty"`
	Refusal    bool        `json:"refusal,omitempty"`
	DeliverBy  time.Time   `json:"deliverBy,omitzero"`
	Finished   time.Time   `json:"finished,omitzero"`
	Actor      fault.Actor `json:"actor,omitzero"`
	Note       string      `json:"note,omitempty"`
}
