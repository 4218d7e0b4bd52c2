package breaker

import "time"

// Why a Permit was refused, as a waiting message shows it (interfaces.md §5).
const (
	WhyBreaker = "breaker" // open: wait for Until
	WhyProbe   = "probe"   // another message is, or will be, the probe
)

// Permit answers whether a message may be sent now.
type Permit struct {
	OK         bool
	Probe      bool      // it is the one message that decides; its result must be recorded, whatever it is
	Generation int64     // goes back in with the result
	Until      time.Time // refused: when to ask again; zero if only an event can tell
	Why        string    // refused: WhyBreaker or WhyProbe
	Change     Change    // the transition by timer that was found due
}

// Allow asks for a message whether it may be sent. A message that is admitted
// as the probe is noted in the State together with the incarnation, the id of
// the running process; a caller that does not start it after all records
// SignalNone. Windows, blackouts and operator stops are asked before.
func Allow(s State, now time.Time, message, incarnation string) (State, Permit) {
	s, change := Tick(s, now)
	permit := Permit{Generation: s.Generation, Change: change}
	switch {
	case s.Now() == Closed:
		permit.OK = true
	case s.Phase == Open:
		permit.Until, permit.Why = s.ReopenAt, WhyBreaker
	case s.Probe != "", s.Holder != "" && s.Holder != message:
		permit.Why = WhyProbe
	default: // exactly one probe (delivery.md §6)
		s.Probe, s.ProbeBy = message, incarnation
		permit.OK, permit.Probe = true, true
	}
	return s, permit
}

// Hold makes a waiting message the next probe, in place of any other: an
// operator's "use this document as the test". A closed breaker has no probe
// and stays as it is. With DueNow the test does not wait for the cool-down.
func Hold(s State, message string) State {
	if s.Now() != Closed {
		s.Holder = message
	}
	return s
}

// ForgetHolder takes back the right to be the next probe from a message that
// was settled, cancelled or left the lane. Any message may then be the probe.
func ForgetHolder(s State, message string) State {
	if s.Holder == message {
		s.Holder = ""
	}
	return s
}
