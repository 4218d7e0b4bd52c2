package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/lane"
	"edigw/queue"
)

// ebmsErrors counts errors of ebMS: out are those that a partner answered to a
// message of ours, in are those that we answered to his.
type ebmsErrors struct{ *prometheus.CounterVec }

func newEBMSErrors() ebmsErrors {
	return ebmsErrors{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "edigw_ebms_errors_total", Help: "Errors of ebMS, by the direction of the message that they are about.",
	}, []string{"partner", "code", "direction"})}
}

// count counts one. Codes that no standard has are told as other: a partner must
// not make series of his own.
func (c ebmsErrors) count(partner, code string, d queue.Direction) {
	if code == "" {
		return
	}
	name := "other"
	if known, ok := ebms.LookupCode(code); ok {
		name = known.Code
	}
	c.WithLabelValues(partner, name, string(d)).Inc()
}

// heard counts the errors that come back for what a sender sends.
type heard struct {
	lane.Sender
	errors ebmsErrors
}

// Exchange meets lane.Sender.
func (h heard) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	o, raw := h.Sender.Exchange(ctx, m, b)
	h.note(m, o)
	return o, raw
}

// Judge meets lane.Sender.
func (h heard) Judge(ctx context.Context, m queue.Message, builds []queue.Build, raw string) fault.Outcome {
	o := h.Sender.Judge(ctx, m, builds, raw)
	h.note(m, o)
	return o
}

func (h heard) note(m queue.Message, o fault.Outcome) {
	if o.Ack != nil {
		h.errors.count(m.Partner, o.Ack.EBMS, queue.Out)
	}
}

// answering counts the errors that an inbox's messages are answered with.
type answering struct {
	as4.Inbox
	errors ebmsErrors
}

// Receive meets as4.Inbox.
func (a answering) Receive(ctx context.Context, r as4.Received) (*as4.Answer, bool, error) {
	stored, repeated, err := a.Inbox.Receive(ctx, r)
	if err == nil && !repeated && !r.Accepted {
		a.errors.count(r.Partner, r.Code, queue.In)
	}
	return stored, repeated, err
}
