package as2sender

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"edigw/as2"
	"edigw/fault"
	"edigw/lane/wire"
	"edigw/queue"
)

// Receipts carries asynchronous MDNs that we owe: it posts each, as it was made
// when the message came, to the address that the partner asked for
// (RFC 4130 §7.2). It meets lane.Sender for queue.KindReceipt.
type Receipts struct{ *Sender }

// Prepare gives the only build there is: a receipt is never built anew, the
// partner may have taken a first copy of it.
func (r Receipts) Prepare(_ context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	return r.desk.Owed(m, builds)
}

// Exchange posts the receipt. Any 2xx says that it arrived.
func (r Receipts) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	fail := func(err error) (fault.Outcome, string) {
		o := *wire.Failed(err)
		o.AckAsked = fault.AckNotAsked
		return o, ""
	}
	var answer as2.Answer
	if err := json.Unmarshal(b.Record, &answer); err != nil {
		return fail(fmt.Errorf("receipt %s cannot be read back: %w", m.MessageID, err))
	}
	c, limits, err := r.desk.Client(r.Settings(), m.Partner)
	if err != nil {
		return fail(err)
	}
	body, err := r.desk.Open(b)
	if err != nil {
		return fail(err)
	}
	rendition := as2.Rendition{MessageID: answer.MessageID, Headers: answer.Headers, Size: b.Size, SHA256: b.SHA256, Ack: fault.AckNotAsked}
	_, o := as2.Send(ctx, c, as2.Agreement{URL: answer.URL}, rendition, func() (io.ReadCloser, error) { return body, nil }, limits)
	o.AckAsked = fault.AckNotAsked
	return o, ""
}

// Judge has nothing to verify: nobody acknowledges a receipt.
func (Receipts) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return wire.NotAcknowledged()
}
