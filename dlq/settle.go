package dlq

import (
	"context"

	"edigw/queue"
)

// Settle closes a letter on the partner's word: they have the document, by
// phone or another way. It is never counted as proven. The note says who said
// so. The error is a *ConflictError, an *InputError, queue.ErrNotFound, or the
// store's.
func (s *Service) Settle(ctx context.Context, id string, ask Ask) (queue.Letter, error) {
	return s.end(ctx, id, ask, queue.OnSettle, false)
}

// Discard gives a document up: it will never be sent. A reason is required.
// The error is a *ConflictError, an *InputError, queue.ErrNotFound, or the
// store's.
func (s *Service) Discard(ctx context.Context, id string, ask Ask) (queue.Letter, error) {
	return s.end(ctx, id, ask, queue.OnDiscard, true)
}

func (s *Service) end(ctx context.Context, id string, ask Ask, on queue.Trigger, reason bool) (queue.Letter, error) {
	if err := ask.check(reason); err != nil {
		return queue.Letter{}, err
	}
	return s.close(ctx, id, func(t target) (queue.Result, error) {
		if t.letter.Status != queue.LetterOpen {
			return queue.Result{}, taken(t.letter, t.message, t.now)
		}
		if on == queue.OnSettle && t.letter.Direction == queue.In {
			return queue.Result{}, &ConflictError{Letter: t.letter.ID, Message: t.message.ID, Text: "This is a document that the partner sent us: process it again, or discard it."}
		}
		return queue.Next(t.message, t.input(on, ask), queue.Rules{})
	})
}
