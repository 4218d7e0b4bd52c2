package dlq

import (
	"context"

	"edigw/queue"
)

// Undo takes back a replay that has not started yet: its letter is open again.
// The error is a *ConflictError if it has started, or began at once.
func (s *Service) Undo(ctx context.Context, id string, ask Ask) (queue.Letter, error) {
	if err := ask.check(false); err != nil {
		return queue.Letter{}, err
	}
	return s.close(ctx, id, func(t target) (queue.Result, error) {
		switch {
		case t.letter.Status == queue.LetterOpen:
			return queue.Result{}, &ConflictError{Letter: t.letter.ID, Message: t.message.ID, Text: "The letter is not being replayed: there is nothing to undo."}
		case t.letter.Status == queue.LetterClosed:
			return queue.Result{}, taken(t.letter, t.message, t.now)
		case t.message.Why != queue.WhyUndo || !t.message.State.Lined():
			return queue.Result{}, &ConflictError{Letter: t.letter.ID, Message: t.message.ID, By: t.letter.Actor, At: t.letter.Replayed,
				Text: "Too late to undo: the replay has begun. If the document still waits in line, cancel it."}
		}
		return queue.Next(t.message, t.input(queue.OnUndo, ask), queue.Rules{})
	})
}
