package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"edigw/fault"
	"edigw/queue"
)

// A document for a webhook is two messages that name the same stored bytes: the
// inbound one, and its post, a message of kind webhook in the lane
// <partner>/webhook. Both are made in one transaction. The inbound message
// stays received until its post ends, and what the post becomes is recorded on
// both in one transaction too: see Record.

// What an inbound message says of its post.
const (
	postWaits = "waits for its webhook"
	postTaken = "taken by the webhook"
	postDead  = "its webhook post is a dead letter: "
	// Somebody put it back: it waits for the folder.
	postRecalled = "goes to the inbox folder instead of the webhook"
)

// post is the message that carries the document of m on; nil if its partner
// has no webhook now. It is named in the record of m, so that the document
// keeps this way whatever the settings say later.
func (b *Inbox) post(m *queue.Message, f Facts) (*queue.Result, error) {
	if m.State != queue.Received || !b.Webhook(m.Partner) {
		return nil, nil
	}
	now := b.Now()
	id, err := queue.NewID(now, b.Random)
	if err != nil {
		return nil, err
	}
	record, err := json.Marshal(queue.Origin{Message: m.ID, MessageID: m.MessageID, From: f.From, To: f.To, Subject: f.Subject, Received: f.Received})
	if err != nil {
		return nil, err
	}
	m.Detail = postWaits
	post := queue.Message{
		ID: id, Partner: m.Partner, Lane: queue.LaneKey(m.Partner, queue.KindWebhook), Kind: queue.KindWebhook, Direction: queue.Out, Protocol: m.Protocol,
		Key: keyMark + "webhook:" + m.ID, CorrelationID: m.ID, Source: "inbox", Payload: m.Payload, Business: m.Business,
		State: queue.Queued, NextAt: now, Round: 1, Build: 1, Accepted: now,
	}
	build := queue.Build{Message: id, N: 1, Record: record, AckAsked: fault.AckNotAsked, Created: now}
	e := event(post, queue.EventAccepted, now, "the document of "+m.ID+" goes to the webhook")
	e.Facts = map[string]string{"kind": string(queue.KindWebhook), "for": m.ID}
	return &queue.Result{Message: &post, Build: &build, Events: []queue.Event{e}}, nil
}

// Record records results of lanes and letters, and with them what they mean to
// received documents: one whose post was delivered, settled, discarded or
// became a letter. It meets lane.Ledger and dlq.Ledger. The errors are the
// store's; a document that changed meanwhile is queue.ErrConflict, as a message
// that did is.
func (b *Inbox) Record(ctx context.Context, results ...*queue.Result) error {
	var follow []*queue.Result
	for _, r := range results {
		f, err := b.following(ctx, r)
		if err != nil {
			return err
		}
		if f != nil {
			follow = append(follow, f)
		}
	}
	if err := b.Store.Record(ctx, append(results[:len(results):len(results)], follow...)...); err != nil {
		return err
	}
	for _, f := range follow {
		b.followed(f)
	}
	return nil
}

// following is what a result means to the document of the post that it is
// about; nil if nothing.
func (b *Inbox) following(ctx context.Context, r *queue.Result) (*queue.Result, error) {
	if r.Message == nil || r.Message.Kind != queue.KindWebhook || r.Message.Direction != queue.Out {
		return nil, nil
	}
	replayed := r.Closed != nil && r.Closed.Status == queue.LetterReplaying
	if !r.Message.State.Terminal() && r.Message.State != queue.Dead && !replayed {
		return nil, nil
	}
	m, err := b.Store.Message(ctx, r.Message.CorrelationID)
	if errors.Is(err, queue.ErrNotFound) {
		return nil, nil // retention was faster
	}
	if err != nil {
		return nil, fmt.Errorf("inbox: the document of post %s: %w", r.Message.ID, err)
	}
	return b.follow(m, *r.Message), nil
}

// follow is what a post means to the received document m; nil if m says so
// already. Who settles or discards the letter of a post decides about the
// document.
func (b *Inbox) follow(m, post queue.Message) *queue.Result {
	if m.State != queue.Received {
		return nil
	}
	now, before := b.Now(), m.Detail
	var events []queue.Event
	end := func(s queue.State, t queue.EventType, detail string) {
		m.State, m.Detail, m.Finished = s, detail, now
		e := event(m, t, now, detail)
		e.Facts = map[string]string{"direction": string(queue.In), "webhook": post.ID}
		events = append(events, e)
	}
	switch {
	case post.State == queue.Delivered && post.Proof == queue.ProofStatement:
		end(queue.Delivered, queue.EventDelivered, "its webhook post was closed as delivered by hand: "+post.Detail)
	case post.State == queue.Delivered:
		end(queue.Delivered, queue.EventDelivered, postTaken)
	case post.State == queue.Discarded:
		end(queue.Discarded, queue.EventCancelled, "its webhook post was discarded: "+post.Detail)
	case post.State == queue.Dead:
		m.Detail = postDead + post.Detail
	default:
		m.Detail = postWaits
	}
	if len(events) == 0 && m.Detail == before {
		return nil
	}
	return &queue.Result{Message: &m, Events: events}
}

// followed tells metrics and log what was recorded of a document.
func (b *Inbox) followed(r *queue.Result) {
	m := *r.Message
	if m.State != queue.Received {
		b.Count(m)
	}
	b.Log.Info("received document", keyPartner, m.Partner, keyMessage, m.ID, keyState, m.State, keyDetail, m.Detail)
}

// mend brings a document in line with its post: nothing should have come
// between them, but what waits must not wait for ever if something did.
func (b *Inbox) mend(ctx context.Context, m, post queue.Message) error {
	r := b.follow(m, post)
	if r == nil {
		return nil
	}
	if err := b.Store.Record(ctx, r); err != nil {
		return fmt.Errorf("inbox: record what became of the post of document %s: %w", m.ID, err)
	}
	b.followed(r)
	return nil
}

// intoFolder puts the document of a dead post into the folder instead; the
// letter of the post is closed as superseded. If the folder does not take it
// now, it is tried again like any document that was received.
func (b *Inbox) intoFolder(ctx context.Context, post queue.Message, by fault.Actor, note string) error {
	done, err := b.turns.wait(ctx, post.CorrelationID)
	if err != nil {
		return err
	}
	defer done()
	editions, err := b.Store.Editions(ctx, post.Partner, post.Key)
	if err != nil {
		return err
	}
	var letter *queue.Letter
	for _, e := range editions {
		if e.Message.ID == post.ID {
			post, letter = e.Message, e.Letter
		}
	}
	if post.State != queue.Dead || letter == nil {
		return &NotPossible{post.ID, "it is " + string(post.State) + ": only the document of a dead letter is put into the folder"}
	}
	m, err := b.Store.Message(ctx, post.CorrelationID)
	if err != nil {
		return err
	}
	if m.State != queue.Received {
		return &NotPossible{post.ID, "its document is " + string(m.State) + " already"}
	}
	if note == "" {
		note = "its document was put into the folder"
	}
	step, err := queue.Next(post, queue.Input{Trigger: queue.OnSupersede, At: b.Now(), Letter: letter, Actor: by, Note: note}, queue.Rules{})
	if err != nil {
		return err
	}
	// The post ends first: from here on it cannot be replayed, so that no
	// document reaches both. Until it lies in the folder it is received, and
	// the sweep takes it up.
	m.Detail = postRecalled
	if err := b.Store.Record(ctx, &step, &queue.Result{Message: &m}); err != nil {
		return fmt.Errorf("inbox: record that the document of post %s goes to the folder: %w", post.ID, err)
	}
	b.Wake(post.Lane)
	p, err := b.parcel(ctx, m, nil)
	if err != nil {
		b.failed(m.ID, true)
		return err
	}
	b.handOn(ctx, p)
	return p.err
}
