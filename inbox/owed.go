package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"edigw/queue"
	"edigw/store/spool"
)

// A receipt that we owe is a message of kind receipt in the lane
// <partner>/receipts. Its build is complete from the beginning: the body lies
// in the spool as wire bytes, the record is the answer as its protocol has it.

// headStart is how long a receipt waits in any case, so that the message is
// answered before its receipt is posted (RFC 4130 §7.2): the answer leaves when
// this was recorded.
const headStart = 200 * time.Millisecond

// owed makes the receipt for an inbound message durable and puts it in line;
// nil if none is owed. earlier are its editions so far.
func (b *Inbox) owed(m queue.Message, answer *answer, earlier []queue.Edition) (*queue.Result, error) {
	if answer == nil || answer.URL == "" {
		return nil, nil
	}
	now := b.Now()
	id, err := queue.NewID(now, b.Random)
	if err != nil {
		return nil, err
	}
	w, err := b.Spool.Create(spool.Wire, 0)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if _, err := io.Copy(w, bytes.NewReader(answer.Body)); err != nil {
		return nil, fmt.Errorf("inbox: keep a receipt that is owed: %w", err)
	}
	name, size, err := w.Commit()
	if err != nil {
		return nil, err
	}
	record, err := json.Marshal(answer.protocol())
	if err != nil {
		return nil, err
	}
	receipt := queue.Message{
		ID: id, Partner: m.Partner, Lane: queue.LaneKey(m.Partner, queue.KindReceipt), Kind: queue.KindReceipt, Direction: queue.Out, Protocol: m.Protocol,
		Key: receiptKey(m), MessageID: answer.MessageID, CorrelationID: m.ID, Source: "inbox", Payload: queue.Payload{Size: size},
		State: queue.Queued, NextAt: now.Add(headStart), Round: 1, Build: 1, Accepted: now,
	}
	if n := len(earlier); n > 0 {
		receipt.Edition, receipt.Previous = earlier[n-1].Message.Edition+1, earlier[n-1].Message.ID
	}
	build := queue.Build{Message: id, N: 1, MessageID: answer.MessageID, SHA256: name, Size: size, Record: record, Created: now}
	e := event(receipt, queue.EventAccepted, now, "the receipt for "+m.ID+" is owed")
	e.Facts = map[string]string{"kind": string(queue.KindReceipt), "for": m.ID}
	return &queue.Result{Message: &receipt, Build: &build, Events: []queue.Event{e}}, nil
}

func receiptKey(m queue.Message) string { return keyMark + "receipt:" + m.ID }

// oweAgain puts a receipt in line once more: the partner, who sent the message
// again, seems not to have it. One that is still under way is enough.
func (b *Inbox) oweAgain(ctx context.Context, m queue.Message, answer *answer) error {
	if answer == nil || answer.URL == "" {
		return nil
	}
	editions, err := b.Store.Editions(ctx, m.Partner, receiptKey(m))
	if err != nil {
		return fmt.Errorf("inbox: look for the receipt of %s: %w", m.ID, err)
	}
	var results []*queue.Result
	if n := len(editions); n > 0 {
		last := editions[n-1]
		switch {
		case last.Message.State.Lined(), last.Message.State == queue.Sending, b.Now().Sub(last.Message.Accepted) < time.Minute:
			return nil
		case last.Message.State == queue.Dead && last.Letter != nil:
			step, err := queue.Next(last.Message, queue.Input{Trigger: queue.OnSupersede, At: b.Now(), Letter: last.Letter, Note: "the message came again"}, queue.Rules{})
			if err != nil {
				return err
			}
			results = append(results, &step)
		}
	}
	owed, err := b.owed(m, answer, editions)
	if err != nil {
		return err
	}
	if err := b.Store.Record(ctx, append(results, owed)...); err != nil {
		return fmt.Errorf("inbox: owe the receipt of %s again: %w", m.ID, err)
	}
	b.Wake(owed.Message.Lane)
	return nil
}
