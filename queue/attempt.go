package queue

import (
	"time"

	"edigw/fault"
	"edigw/retry"
)

// Attempt is one exchange with the partner, or an acknowledgement that came by
// itself, as it is kept for the timeline.
type Attempt struct {
	Message  string
	N        int // 1, 2, … over the whole life of the message
	Round    int
	Build    int
	Probe    bool // it was the breaker's probe
	Counted  bool // it used up an attempt
	Async    bool // an acknowledgement that arrived as its own request
	Started  time.Time
	Duration time.Duration
	Phase    fault.Phase
	Cause    fault.Cause
	Class    retry.Class
	Rule     string // row of the classification table
	Signal   fault.Signal
	Status   int
	Detail   string
	Headers  map[string]string
	Head     []byte // first 4 KiB of the partner's answer at most
	Ack      *fault.Acknowledgement
	Raw      string // spool name of the raw acknowledgement with its headers, empty if none
	Timings  fault.Timings
}

// AttemptFrom copies the facts of an outcome and the verdict on it.
func AttemptFrom(m Message, o fault.Outcome, v retry.Verdict, started time.Time, d time.Duration) Attempt {
	return Attempt{
		Message: m.ID, N: m.Total + 1, Round: m.Round, Build: m.Build, Counted: v.Counts(),
		Started: started, Duration: d, Phase: o.Phase, Cause: o.Cause, Class: v.Class, Rule: v.Rule, Signal: v.Signal,
		Status: o.Status, Detail: o.Sentence(), Headers: o.Headers, Head: o.Head, Ack: o.Ack, Timings: o.Timings,
	}
}
