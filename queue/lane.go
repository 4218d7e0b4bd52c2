package queue

import (
	"time"

	"edigw/breaker"
	"edigw/fault"
)

// Lane is what is kept of a partner's outbound flow. A lane that was never
// troubled has no row: its zero value, with Key and Partner, stands for it.
type Lane struct {
	Key       string
	Version   int64
	Partner   string
	Kind      Kind
	Breaker   breaker.State
	Outage    string    // running outage, empty if none
	NotBefore time.Time // Retry-After of the partner, for every message of the lane
	Ramp      int       // concurrency allowed after an outage; 0 = the partner's own
	Stop      *Stop     // an operator stopped it
	Fix       *Fix      // it stopped itself: needs-fix
	Streak    Streak    // configuration-like results in a row
	Blocked   string    // letter behind which it stands (after_dead: block)
	Orphaned  bool      // its settings file is gone
	Damaged   string    // what of its row cannot be read, empty if all can; never stored
	Charged   []Charge  // failed probes that were charged to the lane, newest last, bounded
}

// Stop is an operator's stop. It always holds and makes no letters by itself.
type Stop struct {
	By     fault.Actor `json:"by"`
	Reason string      `json:"reason"`
	Since  time.Time   `json:"since"`
	Until  time.Time   `json:"until,omitzero"` // zero: without end
}

// Fix is a lane's own stop: the same configuration fault on several messages.
type Fix struct {
	Cause  string    `json:"cause"`
	Detail string    `json:"detail"`
	Ours   bool      `json:"ours"` // on our side
	Since  time.Time `json:"since"`
}

// Streak counts configuration-like results of one cause on different messages.
type Streak struct {
	Cause    string   `json:"cause,omitempty"`
	Messages []string `json:"messages,omitempty"` // at most hold_after ids
}

// Charge is a failed probe that did not use up an attempt of its message.
type Charge struct {
	At      time.Time `json:"at"`
	Message string    `json:"message"`
	Detail  string    `json:"detail"`
}

// LaneState is the one word shown of a lane (interfaces.md §5).
type LaneState string

// States of a lane; shown is the first that holds in this order.
const (
	LaneOrphaned      LaneState = "orphaned"
	LaneMisconfigured LaneState = "misconfigured"
	LaneStopped       LaneState = "stopped"
	LaneNeedsFix      LaneState = "needs-fix"
	LaneIsolated      LaneState = "isolated"
	LaneBlackout      LaneState = "blackout"
	LaneWindow        LaneState = "window"
	LaneBlocked       LaneState = "blocked"
	LaneOpen          LaneState = "open"
	LaneHalfOpen      LaneState = "half-open"
	LaneAnswering     LaneState = "answering"
	LaneSending       LaneState = "sending"
)

// Work is what a lane has to do.
type Work struct {
	Lane    string
	Partner string
	Depth   int       // queued, waiting and sending
	Bytes   int64     // of these
	NextAt  time.Time // earliest NextAt of a queued or waiting message, zero if none
	Oldest  time.Time // acceptance of the oldest
}
