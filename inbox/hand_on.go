package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// Documents that could not be put into their folder are tried again so often,
// then they become letters.
const (
	pause    = 30 * time.Second
	maxTries = 10
	pageSize = 500
)

// NotPossible says why a received message cannot be processed again; nothing
// was changed.
type NotPossible struct{ Message, Why string }

// Error names the message.
func (e *NotPossible) Error() string { return fmt.Sprintf("message %s: %s", e.Message, e.Why) }

// handOn puts the document of m into its folder and records that. The caller
// holds the turn of m.ID. letter is m's, nil if it has none.
func (b *Inbox) handOn(ctx context.Context, m queue.Message, letter *queue.Letter, f Facts) error {
	where, err := b.place(m, f)
	if err != nil {
		return b.stuck(ctx, m, letter, err)
	}
	now := b.Now()
	m.State, m.Detail, m.Finished, m.Letter = queue.Delivered, "in the inbox folder: "+where, now, ""
	e := event(m, queue.EventDelivered, now, "put into the inbox folder")
	e.Facts = map[string]string{"direction": string(queue.In), "file": where}
	res := queue.Result{Message: &m, Events: []queue.Event{e}}
	if letter != nil {
		letter.Status, letter.ClosedAs, letter.Closed = queue.LetterClosed, queue.ClosedDelivered, now
		closed := event(m, queue.EventLetterClosed, now, string(letter.ClosedAs))
		closed.Letter, closed.Actor = letter.ID, letter.Actor
		closed.Facts = map[string]string{"as": string(letter.ClosedAs), "reason": string(letter.Reason)}
		res.Closed, res.Events = letter, append(res.Events, closed)
	}
	if err := b.Store.Record(ctx, &res); err != nil {
		if letter == nil {
			b.failed(m.ID)
		}
		b.Log.Error("a received document lies in its folder, but that could not be recorded", keyPartner, m.Partner, keyMessage, m.ID, keyFile, where, keyErr, err)
		return err
	}
	b.settled(m.ID)
	b.Count(m)
	return nil
}

// failed counts a failure and returns how many there were.
func (b *Inbox) failed(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures[id]++
	return b.failures[id]
}

// settled forgets the failures of a message.
func (b *Inbox) settled(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failures, id)
}

// stuck makes a letter of a document that cannot be handed on for too long.
func (b *Inbox) stuck(ctx context.Context, m queue.Message, letter *queue.Letter, cause error) error {
	b.Log.Error("a received document cannot be put into its folder", keyPartner, m.Partner, keyMessage, m.ID, keyErr, cause)
	cause = fmt.Errorf("inbox: the document cannot be put into the folder inbox/%s: %w", m.Partner, cause)
	if letter != nil || b.failed(m.ID) < maxTries {
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
			return b.resume(ctx, e.Message, &l)
		}
	}
	return &NotPossible{message, "its letter is closed"}
}

// resume hands on what was received before. The caller holds the turn of m.ID.
func (b *Inbox) resume(ctx context.Context, m queue.Message, letter *queue.Letter) error {
	builds, err := b.Store.Builds(ctx, m.ID)
	if err != nil {
		return err
	}
	record, err := ReadRecord(builds)
	if err != nil {
		return err
	}
	return b.handOn(ctx, m, letter, record.Facts)
}

// Start hands on what an earlier process left, and from then on what could not
// be handed on at once.
func (b *Inbox) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.halt != nil {
		return errors.New("inbox: it was started before")
	}
	ctx, b.halt = context.WithCancel(context.WithoutCancel(ctx))
	b.ended = make(chan struct{})
	go func() {
		defer close(b.ended)
		t := time.NewTicker(pause)
		defer t.Stop()
		for all := true; ; all = b.troubled() {
			if all {
				b.sweep(ctx)
			}
			select {
			case <-t.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// Stop ends what Start began, within ctx. It is idempotent and safe before
// Start.
func (b *Inbox) Stop(ctx context.Context) error {
	b.mu.Lock()
	halt, ended := b.halt, b.ended
	b.mu.Unlock()
	if halt == nil {
		return nil
	}
	halt()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Inbox) troubled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failures) > 0
}

// sweep hands on every document that is received and not delivered.
func (b *Inbox) sweep(ctx context.Context) {
	f := queue.MessageFilter{Direction: queue.In, States: []queue.State{queue.Received}}
	for cursor := ""; ctx.Err() == nil; {
		page, next, err := b.Store.Messages(ctx, f, queue.Page{Limit: pageSize, Cursor: cursor})
		if err != nil {
			b.failed("")
			b.Log.Error("received documents cannot be listed", keyErr, err)
			return
		}
		for _, m := range page {
			if ctx.Err() != nil {
				return
			}
			b.retry(ctx, m.ID)
		}
		if cursor = next; next == "" {
			b.settled("")
			return
		}
	}
}

// retry hands one document on, unless that happened meanwhile.
func (b *Inbox) retry(ctx context.Context, id string) {
	done, err := b.turns.wait(ctx, id)
	if err != nil {
		return
	}
	defer done()
	m, err := b.Store.Message(ctx, id)
	switch {
	case err != nil:
	case m.State == queue.Received:
		err = b.resume(ctx, m, nil)
	default:
		b.settled(id)
	}
	if err != nil {
		b.Log.Warn("a received document waits for its folder", keyMessage, id, keyErr, err)
	}
}
