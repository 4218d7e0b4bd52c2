package queue

import (
	"testing"
	"time"

	"edigw/fault"
	"edigw/retry"
)

func TestBlame(t *testing.T) {
	t.Parallel()
	running := Outage{ID: "OUT-1", Since: t0}
	over := running
	over.Recovered = t0.Add(time.Hour)
	withdrawn := running
	withdrawn.Withdrawn = true
	for name, c := range map[string]struct {
		out    Outage
		reason fault.Reason
		class  retry.Class
		first  time.Duration
		again  bool
		before string
		want   string
	}{
		"attempts used up":                         {out: running, reason: fault.ReasonMaxAttempts, class: retry.Transient, want: "OUT-1"},
		"attempts used up, outcome unknown":        {out: running, reason: fault.ReasonMaxAttempts, class: retry.Unknown, want: "OUT-1"},
		"twice a fault of their server":            {out: running, reason: fault.ReasonMaxAttempts, class: retry.Limited, want: "OUT-1"},
		"the last attempt was a refused login":     {out: running, reason: fault.ReasonMaxAttempts, class: retry.Credential},
		"held because the outcome is unknown":      {out: running, reason: fault.ReasonUnknownOutcome, class: retry.Unknown, want: "OUT-1"},
		"no receipt":                               {out: running, reason: fault.ReasonReceiptMissing, class: retry.MissingAck().Class, want: "OUT-1"},
		"too late":                                 {out: running, reason: fault.ReasonDeadline, class: retry.NotAnAttempt, want: "OUT-1"},
		"too late for the next attempt":            {out: running, reason: fault.ReasonDeadline, class: retry.Transient, want: "OUT-1"},
		"refused":                                  {out: running, reason: fault.ReasonRejected, class: retry.Permanent},
		"signature":                                {out: running, reason: fault.ReasonSignature, class: retry.Permanent},
		"format":                                   {out: running, reason: fault.ReasonFormat, class: retry.Permanent},
		"login":                                    {out: running, reason: fault.ReasonCredential, class: retry.Credential},
		"receipt not to be trusted":                {out: running, reason: fault.ReasonReceiptInvalid, class: retry.Permanent},
		"our own side":                             {out: running, reason: fault.ReasonLocal, class: retry.Configuration},
		"began to fail before they answered again": {out: over, reason: fault.ReasonMaxAttempts, class: retry.Transient, first: time.Minute, want: "OUT-1"},
		"began to fail afterwards":                 {out: over, reason: fault.ReasonMaxAttempts, class: retry.Transient, first: time.Hour},
		"an old letter that failed again later":    {out: over, reason: fault.ReasonMaxAttempts, class: retry.Transient, first: -time.Hour, again: true},
		"it was our own network":                   {out: withdrawn, reason: fault.ReasonMaxAttempts, class: retry.Transient},
		"of another outage":                        {out: running, reason: fault.ReasonMaxAttempts, class: retry.Transient, before: "OUT-0", want: "OUT-0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := Result{
				Opened: &Letter{ID: "l", Reason: c.reason, Class: c.class, First: t0.Add(c.first), Again: c.again, Outage: c.before},
				Events: []Event{{Type: EventLetterClosed, Letter: "k"}, {Type: EventDead, Letter: "l", Outage: c.before}},
			}
			res.Blame(c.out)
			if res.Opened.Outage != c.want || res.Events[1].Outage != c.want || res.Events[0].Outage != "" {
				t.Errorf("letter of %q, events %+v, want %q", res.Opened.Outage, res.Events, c.want)
			}
		})
	}
	none := Result{Events: []Event{{Type: EventRetry}}}
	if none.Blame(running); none.Opened != nil || none.Events[0].Outage != "" {
		t.Errorf("nothing died: %+v", none)
	}
}
