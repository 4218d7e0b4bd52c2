package as4sender

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"edigw/as4"
	"edigw/fault"
	"edigw/lane/wire"
	"edigw/queue"
)

// Receipts carries receipts and errors that we owe: it posts each, as it was
// made when the message came, to the partner's address (AS4 §5.1.8, reply
// pattern Callback; for a message that we pulled always so). It meets
// lane.Sender for queue.KindReceipt.
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
	var answer as4.Answer
	if err := json.Unmarshal(b.Record, &answer); err != nil {
		return fail(fmt.Errorf("receipt %s cannot be read back: %w", m.MessageID, err))
	}
	snapshot := r.Settings()
	p, err := snapshot.ReceivingPMode(m.Partner, r.Now())
	if err != nil {
		return fail(err)
	}
	c, limits, err := r.desk.Client(snapshot, m.Partner)
	if err != nil {
		return fail(err)
	}
	body, err := r.desk.Open(b)
	if err != nil {
		return fail(err)
	}
	p.URL, p.ProductHeader = answer.URL, r.Product
	rendition := as4.Rendition{MessageID: answer.MessageID, ContentType: answer.ContentType, Size: b.Size, SHA256: b.SHA256, Ack: fault.AckNotAsked}
	_, o := as4.Send(ctx, c, p, rendition, func() (io.ReadCloser, error) { return body, nil }, limits)
	o.AckAsked = fault.AckNotAsked
	return o, ""
}

// Judge has nothing to verify: nobody acknowledges a receipt.
func (Receipts) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return wire.NotAcknowledged()
}
