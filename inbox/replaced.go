package inbox

import (
	"context"
	"fmt"

	"edigw/queue"
)

// replaced ends earlier copies that were refused: their letters, and receipts
// that we still owe for them. who had the message opened again, nil if the
// partner sent it again.
func (b *Inbox) replaced(ctx context.Context, editions []queue.Edition, m queue.Message, who *asked) ([]*queue.Result, error) {
	var all []*queue.Result
	for _, e := range editions {
		if e.Message.State != queue.Dead || e.Letter == nil || e.Message.Payload.SHA256 != "" {
			continue
		}
		in := queue.Input{Trigger: queue.OnSupersede, At: m.Accepted, Letter: e.Letter, Next: m.ID, Note: "came again as " + m.ID}
		if who != nil {
			in.Actor, in.Note = who.by, "opened again as "+m.ID
			if who.note != "" {
				in.Note += ": " + who.note
			}
		}
		step, err := queue.Next(e.Message, in, queue.Rules{})
		if err != nil {
			return nil, err
		}
		all = append(all, &step)
		late, err := b.recalled(ctx, e.Message, m)
		if err != nil {
			return nil, err
		}
		all = append(all, late...)
	}
	return all, nil
}

// recalled ends receipts for a refused copy that have not gone out: a partner
// who learned that a message was accepted must not learn later that it was
// refused. One that is being sent cannot be called back, and would be sent
// again after a failure: until its attempt has ended nothing is accepted.
func (b *Inbox) recalled(ctx context.Context, old, m queue.Message) ([]*queue.Result, error) {
	editions, err := b.Store.Editions(ctx, old.Partner, receiptKey(old))
	if err != nil {
		return nil, fmt.Errorf("inbox: look for the receipt of %s: %w", old.ID, err)
	}
	var all []*queue.Result
	for _, e := range editions {
		if e.Message.State == queue.Sending {
			return nil, &NotPossible{old.ID, "the receipt that refuses it is being sent at this moment: try again when that has ended"}
		}
		if !e.Message.State.Lined() && e.Message.State != queue.Dead {
			continue
		}
		step, err := queue.Next(e.Message, queue.Input{Trigger: queue.OnSupersede, At: m.Accepted, Letter: e.Letter, Note: "the message that it refuses was accepted as " + m.ID}, queue.Rules{})
		if err != nil {
			return nil, err
		}
		all = append(all, &step)
	}
	return all, nil
}
