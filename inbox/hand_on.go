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

// NotPossible says why a received message cannot be processed again; nothing
// was changed.
type NotPossible struct{ Message, Why string }

// Error names the message.
func (e *NotPossible) Error() string { return fmt.Sprintf("message %s: %s", e.Message, e.Why) }

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

// delivered is the result of a document that lies in its folder.
func (b *Inbox) delivered(p *parcel) *queue.Result {
	m, now := p.message, b.Now()
	m.State, m.Detail, m.Finished, m.Letter = queue.Delivered, "in the inbox folder: "+p.where(), now, ""
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

// Process hands a received document on once more: the letter `local` of it is
// closed as delivered. Whoever asks is by, with a note why. The error is a
// *NotPossible if the message is no such one, queue.ErrNotFound if there is
// none, queue.ErrConflict if somebody else was faster; anything else is why
// the folder still does not take it.
func (b *Inbox) Process(ctx context.Context, message string, by fault.Actor, note string) error {
	done, err := b.turns.wait(ctx, message)
	if err != nil {
		return err
	}
	defer done()
	m, err := b.Store.Message(ctx, message)
	if err != nil {
		return err
	}
	switch {
	case m.Direction != queue.In:
		return &NotPossible{message, "it was not received but sent"}
	case m.Payload.SHA256 == "":
		return &NotPossible{message, "the partner was told that it is refused; he must send it again"}
	case m.State != queue.Dead:
		return &NotPossible{message, "it is " + string(m.State) + " already"}
	}
	editions, err := b.Store.Editions(ctx, m.Partner, m.Key)
	if err != nil {
		return err
	}
	for _, e := range editions {
		if e.Message.ID == m.ID && e.Letter != nil {
			l := *e.Letter
			l.Actor, l.Note = by, note
			p, err := b.parcel(ctx, e.Message, &l)
			if err != nil {
				return err
			}
			b.handOn(ctx, p)
			return p.err
		}
	}
	return &NotPossible{message, "its letter is closed"}
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
	return &parcel{message: m, letter: letter, facts: record.Facts}, nil
}
