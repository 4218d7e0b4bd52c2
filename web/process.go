package web

import (
	"context"

	"edigw/dlq"
	"edigw/fault"
	"edigw/queue"
)

// Received takes up again what partners sent.
type Received interface {
	// Process opens a refused message again under the settings of today, or
	// hands a document on once more that could not be. What cannot be is a
	// *Problem; one that is refused today too is StillRefused, and its letter
	// has the reason of today.
	Process(ctx context.Context, message string, by fault.Actor, note string) error
	// Processing says what Process would do.
	Processing(ctx context.Context, message string) (Processing, error)
	// Inbound says how a received message came and what followed. The error is
	// queue.ErrNotFound if that is not known any more.
	Inbound(ctx context.Context, message string) (Inbound, error)
}

// Processing is what Process would do with a received message.
type Processing struct {
	Refused bool   // the partner was told that it is refused: it is opened again
	Async   bool   // the new receipt goes out by itself; else the partner still believes that it is refused
	Why     string // why it cannot be done; empty: it can
}

// letterAction makes the route of an action on one letter.
type letterAction func(name, about string, out any, act func(*API, *call, string, dlq.Ask) (any, error)) route

func (a *API) processRoute(action letterAction) route {
	r := action("process", "Open a refused message again under today's settings, or hand a received document on again.", letter{}, processLetter)
	r.also = append(r.also, StillRefused)
	return r
}

// processLetter takes up what a partner sent.
func processLetter(a *API, c *call, id string, what dlq.Ask) (any, error) {
	ctx := c.r.Context()
	l, err := a.Ledger.Letter(ctx, id)
	if err != nil {
		return nil, err
	}
	if l.Status != queue.LetterOpen {
		return nil, &Problem{Slug: Conflict, Detail: "This letter is " + string(l.Status) + " already.", Letter: id}
	}
	if err := a.Received.Process(ctx, l.Message, what.Actor, what.Note); err != nil {
		return nil, err
	}
	l, err = a.Ledger.Letter(ctx, id)
	return viewLetter(l), err
}
