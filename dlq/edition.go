package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"edigw/queue"
)

// fresh replays a refused document under a new Message-ID: the next edition of
// the same content, linked, which supersedes the letter's.
func (s *Service) fresh(ctx context.Context, t target, ask Ask) ([]*queue.Result, error) {
	editions, err := s.Store.Editions(ctx, t.message.Partner, t.message.Key)
	if err != nil {
		return nil, err
	}
	res, err := s.edition(t.message, editions, ask, t.now, "sent again under a fresh id")
	if err != nil {
		return nil, err
	}
	in := t.input(queue.OnSupersede, ask)
	in.Next = res.Message.ID
	if in.Note == "" {
		in.Note = "sent again under a fresh id, as " + res.Message.ID
	}
	gone, err := queue.Next(t.message, in, queue.Rules{})
	if err != nil {
		return nil, err
	}
	return []*queue.Result{&gone, &res}, nil
}

// replaced ends the earlier editions that a document which was held back at the
// door takes the place of, now that it is to go out as edition next: what waits
// in line or as a letter and cannot have been sent (delivery.md §3). One that is
// being sent now must end first.
func (s *Service) replaced(ctx context.Context, t target, next string, ask Ask) (ended []*queue.Result, err error) {
	m := t.message
	if !m.Parked {
		return nil, nil
	}
	editions, err := s.Store.Editions(ctx, m.Partner, m.Key)
	if err != nil {
		return nil, err
	}
	editions = slices.DeleteFunc(editions, func(e queue.Edition) bool { return e.Message.Edition >= m.Edition })
	for _, e := range editions {
		if e.Message.State == queue.Sending || s.Lanes.Running(e.Message.Lane, e.Message.ID) {
			return nil, &ConflictError{Letter: t.letter.ID, Message: m.ID,
				Text: fmt.Sprintf("Not possible: edition %s is being sent right now. Wait for the result. Nothing was changed.", e.Message.ID)}
		}
	}
	gone, _ := queue.Succeed(editions)
	for _, e := range gone {
		in := e.Replaced(next, t.now)
		in.Actor = ask.Actor
		res, err := queue.Next(e.Message, in, queue.Rules{})
		if err != nil {
			return nil, err
		}
		ended = append(ended, &res)
	}
	return ended, nil
}

// edition makes the next edition of m's content. Of two that are made at once
// the store refuses one.
func (s *Service) edition(m queue.Message, editions []queue.Edition, ask Ask, now time.Time, text string) (queue.Result, error) {
	identity, known := s.Partners.Identity(m.Partner)
	if !known {
		return queue.Result{}, &ConflictError{Message: m.ID, Text: "The partner's settings file is gone: put it back first."}
	}
	id, err := s.id()
	if err != nil {
		return queue.Result{}, err
	}
	n := m.Edition + 1
	if len(editions) > 0 {
		n = editions[len(editions)-1].Message.Edition + 1
	}
	next := queue.Message{
		ID: id, Partner: m.Partner, Lane: m.Lane, Kind: m.Kind, Direction: m.Direction, Protocol: m.Protocol,
		Key: m.Key, KeyGiven: m.KeyGiven, Edition: n, Previous: m.ID, MessageID: identity.MessageID(m.Key, n),
		CorrelationID: m.CorrelationID, Actor: ask.Actor, Source: m.Source, Payload: m.Payload, Business: m.Business, Properties: m.Properties,
		State: queue.Queued, NextAt: now, Round: 1, Asked: true, Warned: true, AckAsked: m.AckAsked, Accepted: now,
	}
	e := queue.Event{At: now, Type: queue.EventAccepted, Partner: m.Partner, Lane: m.Lane, Message: id, Actor: ask.Actor, Text: text}
	if ask.Note != "" {
		e.Text += ": " + ask.Note
	}
	e.Facts = map[string]string{"previous": m.ID, "edition": fmt.Sprint(n)}
	return queue.Result{Message: &next, Events: []queue.Event{e}}, nil
}
