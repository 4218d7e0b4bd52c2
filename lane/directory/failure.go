package directory

import (
	"errors"
	"fmt"

	"edigw/as4/smp"
	"edigw/fault"
)

// notListed is the definite word of the directory: waiting does not help.
func notListed(suspect, format string, args ...any) *Failure {
	return &Failure{fault.Outcome{Cause: fault.CauseNotListed, Suspect: suspect, Detail: fmt.Sprintf(format, args...)}, keepAbsent}
}

// publisherFailed is trouble with the SMP of one receiver: it says nothing about
// the receiver, nor about others.
func publisherFailed(base, what string) *Failure {
	return &Failure{fault.Outcome{Phase: fault.PhaseResolve, Cause: fault.CauseDirectory, Suspect: host(base), Detail: fmt.Sprintf("the SMP %s of the receiver: %s", host(base), what)}, keepFailed}
}

// judged tells what an answer that was read means.
func judged(base string, q Query, err error) *Failure {
	switch {
	case errors.Is(err, smp.ErrNoEndpoint):
		return notListed(host(base), "%s: %v (SMP %s)", q.Participant, err, host(base))
	case errors.Is(err, smp.ErrUntrusted):
		// Whoever sends to what nobody vouches for may send to anybody.
		return &Failure{fault.Outcome{Cause: fault.CauseBuild, Suspect: host(base), Detail: fmt.Sprintf("the SMP %s about %s: %v; authorities are named in as4.smp.authorities and as4.trust.authorities", host(base), q.Participant, err)}, keepAbsent}
	}
	return publisherFailed(base, err.Error())
}
