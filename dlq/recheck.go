package dlq

import (
	"context"
	"fmt"

	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
)

// Rechecked is what a second look at a receipt found.
type Rechecked struct {
	Letter queue.Letter // as it is now; closed if the receipt is good
	Detail string       // what was found, one sentence
}

// Recheck verifies the stored receipt of a letter receipt-invalid again, under
// today's certificates and settings. A good one delivers the document, a
// negative one that can be believed gives the letter its true reason, any
// other changes nothing. Nothing is sent.
//
// The error is a *ConflictError, an *InputError, queue.ErrNotFound, or the
// store's.
func (s *Service) Recheck(ctx context.Context, id string, ask Ask) (Rechecked, error) {
	if err := ask.check(false); err != nil {
		return Rechecked{}, err
	}
	var out Rechecked
	err := s.twice("letter", func() error {
		t, err := s.target(ctx, id)
		if err != nil {
			return err
		}
		if t.letter.Status != queue.LetterOpen {
			return taken(t.letter, t.message, t.now)
		}
		raw, err := s.receipt(ctx, t)
		if err != nil {
			return err
		}
		builds, err := s.Store.Builds(ctx, t.message.ID)
		if err != nil {
			return err
		}
		o := s.Judge.Judge(ctx, t.message, builds, raw)
		if o.Cause == fault.CauseStopped { // nothing was found: the receipt could not be looked at
			return fmt.Errorf("dlq: check the receipt of letter %s again: %w: %s", id, queue.ErrUnavailable, o.Sentence())
		}
		out, err = s.judged(ctx, t, ask, o, raw)
		return err
	})
	if err != nil {
		return Rechecked{}, err
	}
	return out, nil
}

// receipt finds the newest acknowledgement that was kept.
func (s *Service) receipt(ctx context.Context, t target) (string, error) {
	if t.letter.Reason != fault.ReasonReceiptInvalid {
		return "", &ConflictError{Letter: t.letter.ID, Message: t.message.ID,
			Text: fmt.Sprintf("The reason of this letter is %s: there is no receipt to check again.", t.letter.Reason)}
	}
	attempts, err := s.Store.Attempts(ctx, t.message.ID)
	if err != nil {
		return "", err
	}
	for i := len(attempts) - 1; i >= 0; i-- {
		if raw := attempts[i].Raw; raw != "" {
			return raw, nil
		}
	}
	return "", &ConflictError{Letter: t.letter.ID, Message: t.message.ID,
		Text: "The receipt was not kept: it cannot be checked again. Ask the partner whether they have the document."}
}

// judged records what a receipt says under today's settings.
func (s *Service) judged(ctx context.Context, t target, ask Ask, o fault.Outcome, raw string) (Rechecked, error) {
	v := retry.Classify(o, retry.History{Uncertain: t.message.Uncertain})
	out := Rechecked{Letter: t.letter, Detail: o.Sentence()}
	in := t.input(queue.OnRecheck, ask)
	switch {
	case v.Class == retry.Success:
		if out.Detail == "" {
			out.Detail = "the receipt is good under today's settings"
		}
		if in.Note == "" {
			in.Note = out.Detail
		}
	case v.Definite, v.Class == retry.AlreadyThere:
		a := queue.AttemptFrom(t.message, o, v, t.now, 0)
		a.Async, a.Raw = true, raw
		in.Trigger, in.Attempt, in.Verdict = queue.OnAck, &a, v
	default:
		e := queue.Event{At: t.now, Type: queue.EventAckIgnored, Partner: t.letter.Partner, Lane: t.letter.Lane, Message: t.message.ID,
			Letter: t.letter.ID, Outage: t.letter.Outage, Actor: ask.Actor, Text: "the receipt was checked again and is still not to be trusted: " + out.Detail}
		return out, s.Store.AddEvents(ctx, e)
	}
	res, err := queue.Next(t.message, in, queue.Rules{})
	if err != nil {
		return out, err
	}
	if n := len(res.Events); n > 0 {
		res.Events[n-1].Actor = ask.Actor
	}
	if err := s.record(ctx, &res); err != nil {
		return out, err
	}
	if res.Closed != nil {
		out.Letter = *res.Closed
	}
	return out, nil
}
