// Package queue holds messages as facts: their states and the table of
// transitions between them, builds, attempts, letters, outages and events, and
// Next, the pure function that applies a trigger to a message.
//
// It does no I/O, owns no goroutine and reads no clock. A store writes what
// it says, package lane and package dlq ask it what follows.
package queue

import (
	"time"

	"edigw/edi"
	"edigw/fault"
)

// State is where a message stands (interfaces.md §5).
type State string

// States of a message. Terminal says which of them end it.
const (
	Refused     State = "refused"      // turned away at the door, recorded for search
	Queued      State = "queued"       // in line, never tried in this round or free to start
	Waiting     State = "waiting"      // in line, not before NextAt
	Sending     State = "sending"      // an exchange may be running; committed before it begins
	AwaitingAck State = "awaiting-ack" // the partner has it, acknowledgement due by NextAt
	Delivered   State = "delivered"
	Dead        State = "dead" // a letter stands for it
	Superseded  State = "superseded"
	Discarded   State = "discarded"
	Received    State = "received" // inbound: acknowledged and durable, not yet handed on
)

// States lists every state.
var States = []State{Refused, Queued, Waiting, Sending, AwaitingAck, Delivered, Dead, Superseded, Discarded, Received}

// Terminal reports whether nothing happens to the message any more by itself.
// A dead message is not terminal: its letter can be acted upon.
func (s State) Terminal() bool {
	return s == Refused || s == Delivered || s == Superseded || s == Discarded
}

// Lined reports whether the message stands in its lane's line.
func (s State) Lined() bool { return s == Queued || s == Waiting }

// Why says what a waiting message waits for.
type Why string

// Whys of a waiting message. WhyBackoff and WhyUndo are stored with the
// message; the others are the lane's and are laid over when it is shown.
const (
	WhyBackoff       Why = "backoff"
	WhyBreaker       Why = "breaker"
	WhyProbe         Why = "probe"
	WhyRate          Why = "rate"
	WhyWindow        Why = "window"
	WhyBudget        Why = "budget"
	WhyStopped       Why = "stopped"
	WhyNeedsFix      Why = "needs-fix"
	WhyNetwork       Why = "network"
	WhyMisconfigured Why = "misconfigured"
	WhyOrphaned      Why = "orphaned"
	WhyOrder         Why = "order"
	WhyBlocked       Why = "blocked"
	WhyBlackout      Why = "blackout"
	WhyRampUp        Why = "ramp-up"
	WhyUndo          Why = "undo"
	WhyPull          Why = "pull"
)

// Proof says how we know of a delivery.
type Proof string

// Proofs of a delivery.
const (
	ProofReceipt   Proof = "receipt"          // a verified acknowledgement
	ProofDuplicate Proof = "duplicate-answer" // after an uncertain attempt the partner said that it has it
	ProofHTTP      Proof = "http-only"        // 2xx, no acknowledgement asked for
	ProofStatement Proof = "statement"        // an operator, on the partner's word
)

// Kind says what a message carries.
type Kind string

// Kinds of messages.
const (
	KindDocument Kind = "document"
	KindReceipt  Kind = "receipt" // an asynchronous MDN that we owe
	KindWebhook  Kind = "webhook" // a received document on its way to a webhook
)

// Kinds lists every kind; a partner has a lane for each.
var Kinds = []Kind{KindDocument, KindReceipt, KindWebhook}

// Direction of a message, seen from us.
type Direction string

// Directions.
const (
	Out Direction = "out"
	In  Direction = "in"
)

// Payload names the stored document. Letters, editions and builds refer to it;
// nobody copies it.
type Payload struct {
	SHA256      string `json:"sha256"` // lower-case hex; also its name in the spool
	Size        int64  `json:"size"`
	FileName    string `json:"fileName,omitempty"`
	ContentType string `json:"contentType,omitempty"`
}

// Business is what package edi recognised in the document.
type Business struct {
	Kind       edi.Kind        `json:"kind,omitempty"`
	Type       string          `json:"type,omitempty"`
	References []edi.Reference `json:"references,omitempty"`
}

// Message is one AS2 or AS4 message that carries a document. It is a value:
// functions return changed copies, slices are never changed in place.
type Message struct {
	ID        string // ours: 26 lower-case characters, ordered by time
	Version   int64  // +1 with every write; a write with another version than the stored one is ErrConflict; 0 = not stored yet
	Seq       int64  // place in line, given by the store at acceptance and kept for life
	Partner   string
	Lane      string // LaneKey(Partner, Kind)
	Kind      Kind
	Direction Direction
	Protocol  string // as2, as4

	Key           string // idempotency key, unique with (Partner, Edition)
	KeyGiven      bool   // by the caller, not derived
	Edition       int    // n of delivery.md §3: 0, then +1 for each new edition or fresh id
	Previous      string // id of the message that this edition replaces or repeats
	MessageID     string // on the wire, with angle brackets for AS2
	CorrelationID string
	Actor         fault.Actor // who handed it in
	Source        string      // api, cli, outbox, console

	Payload    Payload
	Business   Business
	Properties Properties // that came with the document

	State         State
	Why           Why
	Detail        string    // one sentence: what the last result or refusal said
	NextAt        time.Time // queued, waiting: earliest start; awaiting-ack: when the acknowledgement is due
	Round         int       // 1 with acceptance, +1 with each replay that was not taken back untried
	Attempts      int       // counted attempts of this round
	Limited       int       // results of class limited in this round
	Credential    int       // results of class credential in this round
	Total         int       // attempts of all rounds, counted or not
	Crashes       int       // crashes of our own process during an exchange of this message
	Resent        bool      // this round's one resend after a missing acknowledgement was spent
	Asked         bool      // this round is a replay that an operator confirmed and that has not been tried: never buried
	Uncertain     bool      // the partner may have it
	Parked        bool      // dead at the door while another edition was, or may yet be, sent: never sent, waits for an operator's word
	Refusal       bool      // a negative acknowledgement stands and nothing was sent since
	Overtaken     bool      // a document accepted later was delivered
	Overdue       bool      // past DeliverBy, but kept
	Warned        bool      // the WarnBy alert was raised
	Proof         Proof
	Incarnation   string // process incarnation of the running exchange
	Build         int    // number of the newest build, 0 if none
	Letter        string // id of its open or replaying letter
	AckAsked      fault.AckTiming
	Accepted      time.Time
	FirstFailure  time.Time
	Finished      time.Time // when it became terminal or dead
	WarnBy        time.Time
	DeliverBy     time.Time
	DeadlineGiven bool // by the caller, not by the partner file

	Damaged string // what of its row cannot be read, empty if all can; never stored
}

// LaneKey is the lane of a partner for one kind of message: the partner's id
// for documents, "<id>/receipts" and "<id>/webhook" for the others.
func LaneKey(partner string, k Kind) string {
	switch k {
	case KindReceipt:
		return partner + "/receipts"
	case KindWebhook:
		return partner + "/webhook"
	}
	return partner
}

// InboxLane is where the messages that a partner sends us are counted: no
// scheduler works there.
func InboxLane(partner string) string { return partner + "/inbox" }

// Missed reports whether a deadline that the caller had set has passed.
func (m Message) Missed(now time.Time) bool {
	return m.DeadlineGiven && !m.DeliverBy.IsZero() && now.After(m.DeliverBy)
}

// Timer is the next instant at which time alone changes the message, apart
// from its turn in the lane: an acknowledgement falls due, a warning or a
// deadline passes. Zero if there is none.
func (m Message) Timer() time.Time {
	switch {
	case m.State == AwaitingAck:
		return m.NextAt
	case !m.State.Lined():
		return time.Time{}
	}
	var t time.Time
	if !m.Warned && !m.WarnBy.IsZero() {
		t = m.WarnBy
	}
	if !m.Overdue && !m.DeliverBy.IsZero() && (t.IsZero() || m.DeliverBy.Before(t)) {
		t = m.DeliverBy
	}
	return t
}
