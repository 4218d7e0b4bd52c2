package queue

import (
	"time"

	"edigw/breaker"
	"edigw/internal/conf"
)

// LaneView is a lane as it is shown.
type LaneView struct {
	Partner   string
	Lane      string
	State     LaneState
	Since     time.Time // when that state began, zero if not known
	Next      time.Time // next automatic step, zero: none, or only an event makes one
	Note      string    // what the settings file or an operator says about it
	Running   int       // exchanges in flight or being built
	Holder    string    // message that is the next test
	Probing   bool      // a test runs
	Outage    string    // running outage
	Blocked   string    // letter behind which it stands
	Stop      *Stop
	Fix       *Fix
	Isolation Isolation
	Breaker   breaker.State
	NotBefore time.Time // Retry-After of the partner
	Ramp      int
	Charged   []Charge
	Stale     bool // the settings in force are not those on disk
	Problems  []conf.Problem
}

// Shown is how a message in line is shown.
type Shown struct {
	State State
	Why   Why
	Next  time.Time // zero: only an event can tell
}
