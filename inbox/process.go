package inbox

import (
	"context"
	"fmt"

	"edigw/fault"
	"edigw/queue"
)

// NotPossible says why a received message cannot be processed again; nothing
// was changed.
type NotPossible struct{ Message, Why string }

// Error names the message.
func (e *NotPossible) Error() string { return fmt.Sprintf("message %s: %s", e.Message, e.Why) }

// Process takes up a received message whose letter is open. One that was
// refused is opened again under the settings of today; if it is good its
// document is kept and handed on as the next edition, which closes the letter,
// and the receipt for it is the answer from then on. A document that could not
// be handed on is handed on once more, which closes the letter as delivered. Of
// a post to a webhook the document is put into the folder instead.
// Whoever asks is by, with a note why.
//
// The error is a *NotPossible if the message is no such one, *StillRefused if
// it is refused today too, queue.ErrNotFound if there is none,
// queue.ErrConflict if somebody else was faster; anything else is why the
// folder still does not take it.
func (b *Inbox) Process(ctx context.Context, message string, by fault.Actor, note string) error {
	m, err := b.Store.Message(ctx, message)
	if err != nil {
		return err
	}
	switch {
	case m.Direction == queue.In && m.Payload.SHA256 == "":
		return b.reopen(ctx, message, by, note)
	case m.Kind == queue.KindWebhook && m.Direction == queue.Out:
		return b.intoFolder(ctx, m, by, note)
	}
	return b.handOnAgain(ctx, message, by, note)
}

func (b *Inbox) handOnAgain(ctx context.Context, message string, by fault.Actor, note string) error {
	done, err := b.turns.wait(ctx, message)
	if err != nil {
		return err
	}
	defer done()
	m, err := b.Store.Message(ctx, message)
	if err != nil {
		return err
	}
	switch {
	case m.Direction != queue.In:
		return &NotPossible{message, "it was not received but sent"}
	case m.State != queue.Dead:
		return &NotPossible{message, "it is " + string(m.State) + " already"}
	}
	editions, err := b.Store.Editions(ctx, m.Partner, m.Key)
	if err != nil {
		return err
	}
	for _, e := range editions {
		if e.Message.ID == m.ID && e.Letter != nil {
			l := *e.Letter
			l.Actor, l.Note = by, note
			p, err := b.parcel(ctx, e.Message, &l)
			if err != nil {
				return err
			}
			b.handOn(ctx, p)
			return p.err
		}
	}
	return &NotPossible{message, "its letter is closed"}
}
