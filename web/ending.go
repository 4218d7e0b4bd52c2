package web

import (
	"context"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// Ending is who ended a message by hand, when and why: closed it on the
// partner's word, discarded it, or cancelled it. The zero Ending: nobody did.
type Ending struct {
	By   fault.Actor
	At   time.Time
	Note string // in their words
}

// Ending finds it. Only a message that a person ended is looked up.
func (r Reader) Ending(ctx context.Context, m queue.Message) (Ending, error) {
	if m.Proof != queue.ProofStatement && m.State != queue.Discarded {
		return Ending{}, nil
	}
	letters, err := r.Ledger.LettersOf(ctx, m.ID)
	if err != nil {
		return Ending{}, err
	}
	for _, l := range letters {
		if l.ClosedAs == queue.ClosedConfirmed || l.ClosedAs == queue.ClosedDiscarded {
			return Ending{l.Actor, l.Closed, l.Note}, nil
		}
	}
	events, err := r.Ledger.Timeline(ctx, m.ID)
	if err != nil {
		return Ending{}, err
	}
	for _, e := range events { // one that never had a letter was cancelled
		if e.Type == queue.EventCancelled && !e.Actor.Gateway() {
			return Ending{e.Actor, e.At, e.Text}, nil
		}
	}
	return Ending{}, nil
}
