// Package breaker is the three-state machine that keeps a troubled partner
// from being hammered, and a recovered one from being flooded (delivery.md §6).
//
// It is pure and persistent: a State is a value that the store keeps with the
// attempt's result; time and chance are parameters. It knows messages only by
// their id and decides nothing about them.
package breaker

import "time"

// Phase is the phase of a breaker. Operators never see these words
// (words.md); metrics and the API do.
type Phase string

// Phases of a breaker.
const (
	Closed   Phase = "closed"
	HalfOpen Phase = "half-open"
	Open     Phase = "open"
)

// Policy steers a breaker. The zero Policy is not usable; take Default.
type Policy struct {
	Failures    int           // failures within Within that open it, ≥ 1
	Within      time.Duration // length of the rolling window, > 0
	Consecutive int           // failures in a row, however slow, that open it, ≥ 1
	Cooldown    time.Duration // first cool-down, > 0
	MaxCooldown time.Duration // cap of the doubling cool-down, ≥ Cooldown
}

// Default is the policy of a partner whose file says nothing.
func Default() Policy {
	return Policy{Failures: 5, Within: time.Minute, Consecutive: 5, Cooldown: 5 * time.Minute, MaxCooldown: 30 * time.Minute}
}

// CheckProbe stands in State.Probe while a connection check, which carries no
// document, is the probe.
const CheckProbe = "check"

// State is all that a breaker remembers. The zero State, with Phase empty, is
// a closed breaker that saw nothing. A State is never changed in place: its
// slices are shared between copies.
type State struct {
	Phase      Phase       `json:"phase,omitempty"`
	Generation int64       `json:"generation,omitempty"` // +1 with every transition; results of an older one are ignored
	Failures   []time.Time `json:"failures,omitempty"`   // failures inside the window, oldest first, at most Policy.Failures
	Row        int         `json:"row,omitempty"`        // failures since the last success
	Since      time.Time   `json:"since,omitzero"`       // when the present phase began
	OpenedAt   time.Time   `json:"openedAt,omitzero"`    // when it left closed; kept through half-open and re-opening, never re-stamped by a restart
	ReopenAt   time.Time   `json:"reopenAt,omitzero"`    // open: when the probe is due
	Trips      int         `json:"trips,omitempty"`      // failed probes since OpenedAt: the exponent of the cool-down
	Holder     string      `json:"holder,omitempty"`     // id of the message whose attempt is the next probe, empty if none
	Probe      string      `json:"probe,omitempty"`      // id of the message that is the running probe, or CheckProbe
	ProbeBy    string      `json:"probeBy,omitempty"`    // process incarnation that runs it
	Answering  bool        `json:"answering,omitempty"`  // half-open after a good connection check
	CheckAt    time.Time   `json:"checkAt,omitzero"`     // answering: when the connection is checked again
	Manual     bool        `json:"manual,omitempty"`     // tripped by an operator: holds, makes no outage
}

// Now is the phase, with the zero State read as closed.
func (s State) Now() Phase {
	if s.Phase == "" {
		return Closed
	}
	return s.Phase
}
