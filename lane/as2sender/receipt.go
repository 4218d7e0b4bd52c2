package as2sender

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"edigw/as2"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
)

// Receipts carries asynchronous MDNs that we owe: it posts each, as it was made
// when the message came, to the address that the partner asked for
// (RFC 4130 §7.2). It meets lane.Sender for queue.KindReceipt.
type Receipts struct{ *Sender }

// Prepare gives the only build there is: a receipt is never built anew, the
// partner may have taken a first copy of it.
func (r Receipts) Prepare(_ context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	if len(builds) == 0 {
		return queue.Build{}, false, &fault.Outcome{Cause: fault.CausePayload, Detail: "the receipt " + m.MessageID + " was not kept"}
	}
	b := builds[len(builds)-1]
	gone, err := r.gone(b)
	if err != nil {
		return queue.Build{}, false, failed(err)
	}
	if gone {
		return queue.Build{}, false, &fault.Outcome{Cause: fault.CausePayload, Detail: "the body of receipt " + m.MessageID + " is gone (restored from a backup?)"}
	}
	return b, false, nil
}

// Exchange posts the receipt. Any 2xx says that it arrived.
func (r Receipts) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	fail := func(err error) (fault.Outcome, string) {
		o := *failed(err)
		o.AckAsked = fault.AckNotAsked
		return o, ""
	}
	var answer as2.Answer
	if err := json.Unmarshal(b.Record, &answer); err != nil {
		return fail(fmt.Errorf("receipt %s cannot be read back: %w", m.MessageID, err))
	}
	c, limits, err := r.client(r.Settings(), m.Partner)
	if err != nil {
		return fail(err)
	}
	wire, err := r.Spool.Open(spool.Wire, b.SHA256)
	if err != nil {
		return fail(unread(err))
	}
	rendition := as2.Rendition{MessageID: answer.MessageID, Headers: answer.Headers, Size: b.Size, SHA256: b.SHA256, Ack: fault.AckNotAsked}
	_, o := as2.Send(ctx, c, as2.Agreement{URL: answer.URL}, rendition, func() (io.ReadCloser, error) { return wire, nil }, limits)
	o.AckAsked = fault.AckNotAsked
	return o, ""
}

// Judge has nothing to verify: nobody acknowledges a receipt.
func (Receipts) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return fault.Outcome{Phase: fault.PhaseDone, AckAsked: fault.AckNotAsked, Detail: "a receipt is not acknowledged"}
}
