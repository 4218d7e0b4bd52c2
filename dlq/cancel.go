package dlq

import (
	"context"

	"edigw/queue"
)

// Cancel takes a message that is queued or waiting out of the line. One that
// is being replayed goes back to its letter; any other is discarded, which
// needs a reason, and the code possible-duplicate if the partner may have it.
//
// The error is a *ConfirmError, a *ConflictError, an *InputError,
// queue.ErrNotFound, or the store's.
func (s *Service) Cancel(ctx context.Context, message string, ask Ask) (queue.Message, error) {
	if err := ask.check(false); err != nil {
		return queue.Message{}, err
	}
	var after queue.Message
	err := s.twice("document", func() error {
		m, err := s.Store.Message(ctx, message)
		if err != nil {
			return err
		}
		if !m.State.Lined() {
			return moved(m, "cancelled")
		}
		in := queue.Input{Trigger: queue.OnCancel, At: s.Now(), Actor: ask.Actor, Note: ask.Note}
		if m.Letter != "" {
			l, err := s.Store.Letter(ctx, m.Letter)
			if err != nil {
				return err
			}
			in.Letter = &l
		} else if err := ask.check(true); err != nil {
			return err
		} else if m.Uncertain && !covered(PossibleDuplicate, ask.Confirm) {
			return &ConfirmError{Codes: []Code{PossibleDuplicate}}
		}
		res, err := queue.Next(m, in, queue.Rules{})
		if err != nil {
			return err
		}
		if err := s.record(ctx, &res); err != nil {
			return err
		}
		after = *res.Message
		return nil
	})
	if err != nil {
		return queue.Message{}, err
	}
	return after, nil
}
