package dlq

import (
	"context"
	"fmt"

	"edigw/queue"
)

// Again sends a delivered document once more, as a new edition under a
// Message-ID of its own: the partner will book it twice unless he was asked
// to expect it. A reason is required, and the code possible-duplicate, which
// a person types and a program sends.
//
// The error is a *ConfirmError, a *ConflictError (also for the second click:
// the newest edition is the one to send again), an *InputError,
// queue.ErrNotFound, or the store's.
func (s *Service) Again(ctx context.Context, message string, ask Ask) (queue.Message, error) {
	if err := ask.check(true); err != nil {
		return queue.Message{}, err
	}
	var sent queue.Message
	err := s.twice("document", func() error {
		m, err := s.Store.Message(ctx, message)
		if err != nil {
			return err
		}
		if m.State != queue.Delivered || m.Direction != queue.Out || m.Kind != queue.KindDocument {
			return moved(m, "sent again; only a document that was delivered to the partner can")
		}
		editions, err := s.Store.Editions(ctx, m.Partner, m.Key)
		if err != nil {
			return err
		}
		if later := newer(m, editions); later != nil {
			return &ConflictError{Message: later.ID, By: later.Actor, At: later.Accepted,
				Text: fmt.Sprintf("There is a later edition, %s, which is %s: act on that one. Nothing was sent twice.", later.ID, later.State)}
		}
		if !covered(PossibleDuplicate, ask.Confirm) {
			return &ConfirmError{Codes: []Code{PossibleDuplicate}}
		}
		res, err := s.edition(m, editions, ask, s.Now(), "delivered before, sent again")
		if err != nil {
			return err
		}
		if err := s.record(ctx, &res); err != nil {
			return err
		}
		sent = *res.Message
		return nil
	})
	if err != nil {
		return queue.Message{}, err
	}
	return sent, nil
}

// newer is an edition after m that was or may yet be sent, nil if none.
func newer(m queue.Message, editions []queue.Edition) *queue.Message {
	for _, e := range editions {
		if later := e.Message; later.Edition > m.Edition && later.State != queue.Superseded && later.State != queue.Discarded {
			return &later
		}
	}
	return nil
}
