package inbox

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
)

// Refused messages that are kept: anybody who knows two AS2 names can send
// them.
const (
	refusedMost = 30 // of one partner
	refusedSpan = 10 * time.Minute
	maxProblem  = 1000 // bytes of what is said about it
)

// refuse records a message that was refused as a letter, with the request as
// evidence: whole, so that it can be opened again, unless that took too much
// of the room. The same message refused for the same reason is one
// letter, however often it comes.
func (b *Inbox) refuse(ctx context.Context, a *arrival, editions []queue.Edition) error {
	reason, now := reasonOf(a.Reason), b.Now()
	a.Problem = problemOf(a.Problem)
	a.facts.Problem = a.Problem
	if n := len(editions); n > 0 {
		if last := editions[n-1]; last.Letter != nil && last.Letter.Reason == reason && last.Letter.Detail == a.Problem {
			return b.refusedAgain(ctx, last.Message, a.Problem, now)
		}
	}
	if a.request == "" {
		if !b.budget.take("refused "+a.Partner, refusedMost, refusedSpan, now) {
			return b.refusedMany(ctx, a, now)
		}
		most := b.share(a.WireSize)
		if err := b.Spool.HasRoom(min(a.WireSize, most) + margin); err != nil {
			return fmt.Errorf("inbox: no room for a message of %s: %w", a.Partner, err)
		}
		var err error
		if a.request, err = b.keepRequest(a.Header, io.LimitReader(a.Wire, most)); err != nil {
			return err
		}
		a.cut = a.WireSize > most
	}
	m, err := b.message(a, editions)
	if err != nil {
		return err
	}
	l, e, err := b.bury(&m, reason, a.Problem)
	if err != nil {
		return err
	}
	if a.cut {
		e.Text += "; only the beginning of the request was kept, for want of room"
	}
	return b.record(ctx, a, &m, l, e, editions)
}

// problemOf is why a message was refused, bounded.
func problemOf(said string) string {
	return strings.ToValidUTF8(said[:min(len(said), maxProblem)], "")
}

// share is how much is kept of a refused request of so many bytes: all of it,
// as long as that is at most a quarter of what may be filled with such, which
// ends where a quarter of the disk is left. Else its beginning: anybody who
// knows two AS2 names can send them, and open letters keep theirs for ever.
func (b *Inbox) share(size int64) int64 {
	if size <= maxRefused {
		return maxRefused
	}
	free, disk, err := b.room()
	if err != nil || size > (free-disk/4)/4 {
		return maxRefused
	}
	return size
}

// refusedAgain takes note of a copy that is refused like the one before. If its
// receipt goes out by itself, the partner seems not to have it.
func (b *Inbox) refusedAgain(ctx context.Context, m queue.Message, problem string, now time.Time) error {
	builds, err := b.Store.Builds(ctx, m.ID)
	if err != nil {
		return fmt.Errorf("inbox: read the answer to the first copy: %w", err)
	}
	record, err := ReadRecord(builds)
	if err != nil {
		return err
	}
	if err := b.oweAgain(ctx, m, record.answered()); err != nil {
		return err
	}
	if !b.budget.take("again "+m.ID, 1, time.Minute, now) {
		return nil
	}
	e := event(m, queue.EventRefused, now, "came again and was refused again: "+problem)
	e.Facts = map[string]string{"direction": string(queue.In), "message_id": m.MessageID}
	if err := b.Store.AddEvents(ctx, e); err != nil {
		return fmt.Errorf("inbox: record a repeat of %s: %w", m.ID, err)
	}
	return nil
}

// refusedMany takes note of a refused message that is not kept: as many in the
// log as are kept, and that there are such at all in the ledger, once in a span.
func (b *Inbox) refusedMany(ctx context.Context, a *arrival, now time.Time) error {
	if b.budget.take("told "+a.Partner, refusedMost, refusedSpan, now) {
		b.Log.Warn("message refused and not kept: too many of this partner", keyPartner, a.Partner, keyMessageID, a.MessageID, keyDetail, a.Problem)
	}
	if !b.budget.take("many "+a.Partner, 1, refusedSpan, now) {
		return unkept(a)
	}
	e := queue.Event{At: now, Type: queue.EventRefused, Partner: a.Partner, Lane: a.Partner + "/inbox",
		Text:  fmt.Sprintf("more than %d messages were refused within %v: the others of these minutes are not kept, the log has the next %d; the first: %s", refusedMost, refusedSpan, refusedMost, a.Problem),
		Facts: map[string]string{"direction": string(queue.In), "message_id": a.MessageID}}
	if err := b.Store.AddEvents(ctx, e); err != nil {
		return fmt.Errorf("inbox: record that messages of %s are not kept: %w", a.Partner, err)
	}
	return unkept(a)
}

// errUnkept tells a partner to send again later who wants his receipt by
// another way: what is not kept cannot be owed one.
var errUnkept = fmt.Errorf("inbox: more than %d messages of the partner were refused within %v, and this one asks for an asynchronous receipt", refusedMost, refusedSpan)

func unkept(a *arrival) error {
	if a.Answer != nil && a.Answer.URL != "" {
		return errUnkept
	}
	return nil
}

// bury makes m dead, with its letter and the event of it.
func (b *Inbox) bury(m *queue.Message, reason fault.Reason, detail string) (*queue.Letter, queue.Event, error) {
	now := b.Now()
	id, err := queue.NewID(now, b.Random)
	if err != nil {
		return nil, queue.Event{}, err
	}
	m.State, m.Detail, m.Letter, m.FirstFailure, m.Finished = queue.Dead, detail, id, now, now
	l := &queue.Letter{
		ID: id, Message: m.ID, Seq: m.Seq, Partner: m.Partner, Lane: m.Lane, Protocol: m.Protocol, Direction: queue.In,
		Reason: reason, Class: retry.Permanent, Status: queue.LetterOpen, Detail: detail, Created: now, First: now,
	}
	e := event(*m, queue.EventDead, now, detail)
	e.Letter = id
	e.Facts = map[string]string{"direction": string(queue.In), "reason": string(reason), "class": string(retry.Permanent), "message_id": m.MessageID}
	return l, e, nil
}
