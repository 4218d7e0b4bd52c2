package as4sender

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"edigw/as4"
	"edigw/fault"
	"edigw/lane/wire"
	"edigw/queue"
)

// Ping sends a message to the partner's test service, signed and encrypted as
// documents are, and gives the outcome as for a document: with a receipt the
// whole way works, certificates included. Nothing is delivered there
// (ebMS 3.0 Core App. D, test service). It is sent once.
func (s *Sender) Ping(ctx context.Context, id string) fault.Outcome {
	now, snapshot := s.Now(), s.Settings()
	p, err := snapshot.PMode(id, now)
	if err != nil {
		return *wire.Failed(err)
	}
	if networkOf(snapshot, id).Directory {
		return fault.Outcome{Cause: fault.CauseNotListed, Detail: "there is no one test service: as4.smp says that each receiver is looked up; send a document"}
	}
	name, err := queue.NewID(now, rand.Reader)
	if err != nil {
		return *wire.Failed(err)
	}
	p.ProductHeader = s.Product
	p.Receipt.Mode = as4.ReceiptSync // whoever asks waits for the answer
	var body bytes.Buffer
	r, err := as4.Build(&body, p, as4.Ping(fmt.Sprintf("ping-%s@%s", name, snapshot.Gateway().Identity.Domain), now), nil, now)
	if err != nil {
		return *wire.Failed(err)
	}
	c, limits, err := s.desk.Client(snapshot, id)
	if err != nil {
		return *wire.Failed(err)
	}
	reply, o := as4.Send(ctx, c, p, r, func() (io.ReadCloser, error) { return io.NopCloser(&body), nil }, limits)
	if reply.Status == 0 {
		return o
	}
	o, _ = as4.Interpret(o, reply, []as4.Rendition{r}, p, now)
	return o
}
