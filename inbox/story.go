package inbox

import (
	"context"
	"errors"
	"fmt"

	"edigw/queue"
)

// Story is what is known of a received message besides the message itself: for
// people who want to see how it came and what followed.
type Story struct {
	Record  Record
	Receipt *queue.Message // newest receipt that is owed for it to an address; nil: none
	Post    *queue.Message // that carries its document to a webhook; nil: none
}

// Story tells the story of a received message, whatever became of it. The error
// is queue.ErrNotFound if there is no such message or retention took its
// record, or the store's.
func (b *Inbox) Story(ctx context.Context, id string) (s Story, err error) {
	m, record, err := b.recorded(ctx, id)
	if err != nil {
		return s, err
	}
	if m.Direction != queue.In {
		return s, fmt.Errorf("inbox: message %s was not received: %w", id, queue.ErrNotFound)
	}
	s.Record = record
	if record.owes() {
		editions, err := b.Store.Editions(ctx, m.Partner, receiptKey(m))
		if err != nil {
			return s, fmt.Errorf("inbox: look for the receipt of %s: %w", id, err)
		}
		if n := len(editions); n > 0 {
			s.Receipt = &editions[n-1].Message
		}
	}
	if record.Post == "" {
		return s, nil
	}
	post, err := b.Store.Message(ctx, record.Post)
	switch {
	case errors.Is(err, queue.ErrNotFound): // retention took it
	case err != nil:
		return s, fmt.Errorf("inbox: the post of document %s: %w", id, err)
	default:
		s.Post = &post
	}
	return s, nil
}
