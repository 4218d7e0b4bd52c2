package inbox

import (
	"context"
	"errors"
	"fmt"

	"edigw/fault"
	"edigw/queue"
)

// maxTries is how often it is tried to put a document into its folder; then it
// becomes a letter.
const maxTries = 10

// handOn puts documents into their folders and records that. What fails is the
// err of its parcel, and no other's.
func (b *Inbox) handOn(ctx context.Context, all ...*parcel) {
	b.place(all)
	var placed []*parcel
	for _, p := range all {
		if p.err != nil {
			p.err = b.stuck(ctx, p)
			continue
		}
		placed = append(placed, p)
	}
	if len(placed) > 0 {
		b.deliver(ctx, placed)
	}
}

// deliver records that documents lie in their folders: together, or one by one
// if that fails, so that one that was changed meanwhile holds no other back.
func (b *Inbox) deliver(ctx context.Context, placed []*parcel) {
	results := make([]*queue.Result, len(placed))
	for i, p := range placed {
		results[i] = b.delivered(p)
	}
	err := b.Store.Record(ctx, results...)
	if err != nil && len(placed) > 1 {
		for _, p := range placed {
			b.deliver(ctx, []*parcel{p})
		}
		return
	}
	for i, p := range placed {
		if p.err = err; err == nil {
			b.settled(p.message.ID)
			b.Count(*results[i].Message)
			continue
		}
		if p.letter == nil {
			b.failed(p.message.ID, true)
		}
		b.Log.Error("a received document lies in its folder, but that could not be recorded", keyPartner, p.message.Partner, keyMessage, p.message.ID, keyFile, p.where(), keyErr, err)
	}
}

// where the document lies, or the first of its files, below the partner's
// folder.
func (p *parcel) where() string {
	if len(p.parts) > 0 {
		return p.parts[0].where()
	}
	return p.placing.where()
}

// delivered is the result of a document that lies in its folder.
func (b *Inbox) delivered(p *parcel) *queue.Result {
	m, now := p.message, b.Now()
	m.State, m.Detail, m.Finished, m.Letter = queue.Delivered, "in the inbox folder: "+p.where(), now, ""
	if n := len(p.parts); n > 1 {
		m.Detail += fmt.Sprintf(" and %d more of its files", n-1)
	}
	e := event(m, queue.EventDelivered, now, "put into the inbox folder")
	e.Facts = map[string]string{"direction": string(queue.In), "file": p.where()}
	res := &queue.Result{Message: &m, Events: []queue.Event{e}}
	if p.letter != nil {
		l := *p.letter
		l.Status, l.ClosedAs, l.Closed = queue.LetterClosed, queue.ClosedDelivered, now
		closed := event(m, queue.EventLetterClosed, now, string(l.ClosedAs))
		closed.Letter, closed.Actor = l.ID, l.Actor
		closed.Facts = map[string]string{"as": string(l.ClosedAs), "reason": string(l.Reason)}
		res.Closed, res.Events = &l, append(res.Events, closed)
	}
	return res
}

// failed notes a failure, and returns how many there were that count. The
// others are our own store's, which does not answer now: the folder and the
// document may be as good as ever.
func (b *Inbox) failed(id string, counts bool) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.failures[id]
	if counts {
		n++
	}
	b.failures[id] = n
	return n
}

func passes(err error) bool {
	return errors.Is(err, queue.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// settled forgets the failures of a message.
func (b *Inbox) settled(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failures, id)
}

// stuck makes a letter of a document that cannot be handed on for too long. It
// returns why it cannot.
func (b *Inbox) stuck(ctx context.Context, p *parcel) error {
	m := p.message
	b.Log.Error("a received document cannot be put into its folder", keyPartner, m.Partner, keyMessage, m.ID, keyErr, p.err)
	cause := fmt.Errorf("inbox: the document cannot be put into the folder inbox/%s: %w", m.Partner, p.err)
	if p.letter != nil || b.failed(m.ID, !passes(p.err)) < maxTries {
		return cause
	}
	l, e, err := b.bury(&m, fault.ReasonLocal, cause.Error())
	if err == nil {
		err = b.Store.Record(ctx, &queue.Result{Message: &m, Opened: l, Events: []queue.Event{e}})
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	b.settled(m.ID)
	b.Count(m)
	return cause
}

// parcel is a document that was received before. The caller holds its turn.
func (b *Inbox) parcel(ctx context.Context, m queue.Message, letter *queue.Letter) (*parcel, error) {
	builds, err := b.Store.Builds(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	record, err := ReadRecord(builds)
	if err != nil {
		return nil, err
	}
	return &parcel{message: m, letter: letter, facts: record.Facts, post: record.Post}, nil
}
