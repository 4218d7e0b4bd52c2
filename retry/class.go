// Package retry decides what an outcome means and when the next attempt is
// due: the classification table, the schedule and the retry budget
// (delivery.md §4, §5).
//
// It is pure: time and chance are parameters, there is no I/O and no
// goroutine. It applies nothing: attempts, letters and states are the business
// of queue.Next.
package retry

import (
	"time"

	"edigw/fault"
)

// Class is what an outcome means for the message (interfaces.md §5).
type Class string

// Classes of an attempt.
const (
	Success       Class = "success"        // delivered
	Accepted      Class = "accepted"       // acknowledgement due later
	Transient     Class = "transient"      // did not reach or was refused for now: retry
	Unknown       Class = "unknown"        // the partner may have it: as on_unknown says
	Limited       Class = "limited"        // retry once in a round
	Credential    Class = "credential"     // login refused: read the secret again, one retry
	AlreadyThere  Class = "already-there"  // the partner says that it has it
	Permanent     Class = "permanent"      // never the same bytes again by itself
	Configuration Class = "configuration"  // our own side must be fixed
	NotAnAttempt  Class = "not-an-attempt" // nothing happened that counts
	NoOutcome     Class = "no-outcome"     // the answer belongs to something else
	AckMissing    Class = "ack-missing"    // no acknowledgement within mdn.wait
)

// Classes lists every class.
var Classes = []Class{Success, Accepted, Transient, Unknown, Limited, Credential, AlreadyThere, Permanent, Configuration, NotAnAttempt, NoOutcome, AckMissing}

// OnUnknown says what follows an attempt after which the partner may have the
// document (delivery.md §8).
type OnUnknown string

// What follows an unknown outcome.
const (
	Resend OnUnknown = "resend" // the same bytes under the same Message-ID
	Wait   OnUnknown = "wait"   // for an asynchronous acknowledgement
	Hold   OnUnknown = "hold"   // a letter at once
)

// History is what Classify needs to know of the message besides the outcome.
type History struct {
	Uncertain bool // an earlier attempt of this Message-ID ended unknown
}

// Verdict is the row of the table that fits an outcome.
type Verdict struct {
	Rule      string       // id of the row, also the anchor in docs/errors.md
	Class     Class        // what it means for the message
	Signal    fault.Signal // what the breaker learns
	Reason    fault.Reason // reason of the letter if the message dies of this; max-attempts for retried classes
	Uncertain bool         // the partner may have the document after this outcome
	Definite  bool         // the partner surely does not hold it as processed: clears an earlier uncertainty (negative acknowledgement)
	PerRound  int          // how many of this class one round may see before a letter (limited and credential: 2); 0 = as the policy says
	After     time.Duration
	HasAfter  bool   // the partner asked to wait: After is a lower bound for the whole lane
	Lane      string // configuration-like cause for hold_after ("credential", "decryption-failed", …); empty if it is none
	Proof     string // proof of a delivery: receipt, http-only, duplicate-answer; empty otherwise
	Defect    bool   // no row fits: logged as our own defect
}

// Counts reports whether the outcome uses up an attempt. What was no exchange
// in the breaker's sense does not, even if it leaves the message uncertain: a
// cut by our own stopping.
func (v Verdict) Counts() bool { return v.Signal != fault.SignalNone }

// Proofs of a delivery that an outcome can give (interfaces.md §5).
const (
	ProofReceipt   = "receipt"          // a verified MDN or Receipt
	ProofHTTP      = "http-only"        // a 2xx where no acknowledgement was asked for
	ProofDuplicate = "duplicate-answer" // the partner says that it has it
)

// Classify returns the verdict of the first row of the table that fits. It is
// total: what no row foresees is Limited, neutral and marked as our Defect.
//
// An acknowledgement that came by itself, asynchronously, is an Outcome with
// Ack set and Status 0. Retry-After is handed on wherever the class is one
// that is retried; the caller clamps it (ClampAfter).
func Classify(o fault.Outcome, h History) Verdict {
	v := look(o, h)
	for _, r := range table {
		if r.when != nil && r.when(v) {
			verdict := r.verdict(o)
			if v.ack.Verdict == fault.AckUnsigned {
				verdict.Definite = false // a receipt that proves more may yet come
			}
			return verdict
		}
	}
	return Verdict{} // not reached: the last row fits everything
}

// MissingAck is the verdict on a message whose acknowledgement did not come
// within mdn.wait. Nothing was exchanged, so that no outcome leads to it.
func MissingAck() Verdict {
	for _, r := range table {
		if r.class == AckMissing {
			return r.verdict(fault.Outcome{})
		}
	}
	return Verdict{} // not reached: the table has this row
}

func (r rule) verdict(o fault.Outcome) Verdict {
	v := Verdict{
		Rule: r.id, Class: r.class, Signal: r.signal, Reason: r.reason,
		Uncertain: r.uncertain, Definite: r.definite,
		Lane: r.lane, Proof: r.proof, Defect: r.defect,
	}
	if r.once {
		v.PerRound = 2
	}
	switch r.class {
	case Transient, Unknown, Limited: // RFC 9110 §10.2.3
		v.After, v.HasAfter = max(0, o.RetryAfter), o.HasRetry
	}
	return v
}
