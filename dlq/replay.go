package dlq

import (
	"context"
	"time"

	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
)

// Replayed says what a replay set going.
type Replayed struct {
	Letter  queue.Letter  // as it is now
	Message queue.Message // that goes out: the letter's, or a new edition of it
	Undo    time.Time     // until when it can be undone; zero: it starts at once
}

// Replay sends a dead document again: the same key and Message-ID, attempts
// reset, deadline dropped, at its old place in line. A letter that a partner
// definitely refused goes out under a fresh id if ask or the partner's
// settings say so: as a new edition that supersedes the first, started at
// once.
//
// The error is a *ConfirmError, a *ConflictError (also for the second click),
// an *InputError, queue.ErrNotFound, or the store's.
func (s *Service) Replay(ctx context.Context, id string, ask Ask) (Replayed, error) {
	if err := ask.check(false); err != nil {
		return Replayed{}, err
	}
	var results []*queue.Result
	var test bool
	err := s.act(ctx, id, func(t target) ([]*queue.Result, error) {
		if t.letter.Status != queue.LetterOpen {
			return nil, taken(t.letter, t.message, t.now)
		}
		f := s.facts(t.letter, t.now)
		a := Assess(t.letter, t.message, f, t.now)
		if a.Refused != "" {
			return nil, &ConflictError{Letter: t.letter.ID, Message: t.message.ID, Text: "Not possible: " + a.Refused}
		}
		if codes := a.Missing(ask.Confirm); len(codes) > 0 {
			return nil, &ConfirmError{Codes: codes}
		}
		if ask.FreshID && !refused(t) {
			return nil, &ConflictError{Letter: t.letter.ID, Message: t.message.ID,
				Text: "A fresh id needs a definite refusal by the partner: as long as they may have the document, it keeps its Message-ID."}
		}
		test = f.shut() && asTest(ask.Confirm)
		var err error
		results, err = s.again(ctx, t, ask)
		return results, err
	})
	if err != nil {
		return Replayed{}, err
	}
	out := Replayed{Letter: *results[0].Closed, Message: outgoing(results)}
	if out.Message.Why == queue.WhyUndo {
		out.Undo = out.Message.NextAt
	}
	if test {
		s.test(ctx, out.Message.ID, ask.Actor)
	}
	return out, nil
}

// test makes a replayed message the breaker's test. If that fails it waits in
// line for another test, and nothing is lost.
func (s *Service) test(ctx context.Context, message string, by fault.Actor) {
	if err := s.Lanes.UseAsTest(ctx, message, by); err != nil {
		s.Log.Warn("a replay waits for the test of its lane instead of being the test", keyMessage, message, keyErr, err)
	}
}

// outgoing is the message that goes out of a replay; all others of it end.
func outgoing(results []*queue.Result) queue.Message {
	for _, r := range results {
		if r.Message.State.Lined() {
			return *r.Message
		}
	}
	return *results[len(results)-1].Message
}

// again is the replay of an open letter. The first result closes the letter or
// sets it replaying. One that ends earlier editions starts at once: that they
// ended cannot be undone.
func (s *Service) again(ctx context.Context, t target, ask Ask) ([]*queue.Result, error) {
	p, known := s.Partners.Partner(t.letter.Partner)
	if (ask.FreshID || known && p.FreshID) && refused(t) {
		return s.fresh(ctx, t, ask)
	}
	earlier, err := s.replaced(ctx, t, t.message.ID, ask)
	if err != nil {
		return nil, err
	}
	in := t.input(queue.OnReplay, ask)
	if len(earlier) == 0 {
		in.NotUntil = t.now.Add(ask.UndoFor)
	}
	res, err := queue.Next(t.message, in, queue.Rules{})
	if err != nil {
		return nil, err
	}
	return append([]*queue.Result{&res}, earlier...), nil
}

// refused reports whether the partner's last word on a document was a clear
// no, so that a new Message-ID cannot make two of it.
func refused(t target) bool {
	l, m := t.letter, t.message
	last := l.Last
	if l.Uncertain || m.Uncertain || m.Kind != queue.KindDocument || m.Key == "" {
		return false
	}
	if m.Refusal {
		return true
	}
	if last == nil {
		return false
	}
	if last.Ack != nil {
		return last.Ack.Verdict == fault.AckTrusted && !last.Ack.Positive
	}
	return last.Status >= 300 && (last.Class == retry.Permanent || last.Class == retry.AlreadyThere)
}
