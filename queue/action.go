package queue

import (
	"strings"
	"time"
)

// replay begins a new round under the same key and Message-ID: attempts reset,
// deadline cleared (delivery.md §9).
func (m *Message) replay(res *Result, in Input, _ Rules) {
	l := *in.Letter
	l.Before = m.before(l)
	l.Status, l.Replayed, l.Actor, l.Note = LetterReplaying, in.At, in.Actor, in.Note
	res.Closed = &l
	m.newRound()
	m.Asked = true
	m.line(Queued, "", in.At)
	if in.NotUntil.After(in.At) {
		m.line(Waiting, WhyUndo, in.NotUntil)
	}
	e := res.event(m, EventReplay, in.At, "replay asked for")
	e.Letter, e.Outage, e.Actor = l.ID, l.Outage, in.Actor
}

// before keeps what newRound resets.
func (m *Message) before(l Letter) *Before {
	return &Before{Round: m.Round, Attempts: m.Attempts, Limited: m.Limited, Credential: m.Credential, Crashes: m.Crashes,
		Resent: m.Resent, Warned: m.Warned, Overdue: m.Overdue, Refusal: m.Refusal,
		DeliverBy: m.DeliverBy, Finished: m.Finished, Actor: l.Actor, Note: l.Note}
}

// restore gives back what a replay reset. What the round taught stays: where
// something was tried only the deadline is as it was.
func (m *Message) restore(l *Letter, b Before) {
	untried := m.Asked
	m.Warned, m.Overdue, m.DeliverBy = b.Warned, b.Overdue, b.DeliverBy
	l.Actor, l.Note, l.Before = b.Actor, b.Note, nil
	if !untried {
		return
	}
	m.Round, m.Attempts, m.Limited, m.Credential, m.Crashes = b.Round, b.Attempts, b.Limited, b.Credential, b.Crashes
	m.Resent, m.Finished = b.Resent, b.Finished
	m.Refusal = m.Refusal || b.Refusal // a receipt may have come meanwhile
}

func (m *Message) newRound() {
	m.Round++
	m.Attempts, m.Limited, m.Credential, m.Crashes = 0, 0, 0, 0
	m.Resent, m.Warned, m.Overdue, m.Refusal = false, true, false, false
	m.DeliverBy, m.Finished = time.Time{}, time.Time{}
}

// undo puts a replayed message that was not tried yet back to its letter.
func (m *Message) undo(res *Result, in Input, _ Rules) { m.back(res, in, EventUndo, "replay undone") }

// cancel takes a message out of the line: a replaying letter opens again,
// anything else is discarded.
func (m *Message) cancel(res *Result, in Input, _ Rules) {
	if in.Letter != nil {
		m.back(res, in, EventCancelled, "replay cancelled")
		return
	}
	m.line(Discarded, "", time.Time{})
	m.Finished, m.Detail = in.At, in.Note
	e := res.event(m, EventCancelled, in.At, in.Note)
	e.Actor = in.Actor
}

// back returns a replaying letter to open, as it was before.
func (m *Message) back(res *Result, in Input, t EventType, text string) {
	m.line(Dead, "", time.Time{})
	m.Finished = in.At
	e := res.event(m, t, in.At, text)
	e.Actor = in.Actor
	if in.Letter == nil {
		m.Asked = false
		return
	}
	l := *in.Letter
	if l.Before != nil {
		m.restore(&l, *l.Before)
	}
	m.Asked = false
	l.Status, l.Replayed, l.Uncertain = LetterOpen, time.Time{}, m.Uncertain
	res.Closed = &l
	e.Letter, e.Outage = l.ID, l.Outage
}

// settle closes a letter on the partner's word; it is never counted as proven.
func (m *Message) settle(res *Result, in Input, _ Rules) {
	m.deliver(res, in, ProofStatement, ClosedConfirmed)
	res.Overtakes = false
	audit(res, in)
}

// recheck: the stored receipt verifies under today's settings.
func (m *Message) recheck(res *Result, in Input, _ Rules) {
	m.deliver(res, in, ProofReceipt, ClosedDelivered)
	audit(res, in)
}

func (m *Message) discard(res *Result, in Input, _ Rules) {
	m.end(res, in, Discarded, ClosedDiscarded)
}

func (m *Message) supersede(res *Result, in Input, _ Rules) {
	m.end(res, in, Superseded, ClosedSuperseded)
	e := res.event(m, EventSuperseded, in.At, in.Note)
	e.Actor = in.Actor
	if in.Next == "" {
		return
	}
	e.Facts = map[string]string{"next": in.Next}
	if !strings.Contains(e.Text, in.Next) {
		e.Text = "replaced by edition " + in.Next + ": " + e.Text
	}
}

func (m *Message) end(res *Result, in Input, s State, as ClosedAs) {
	m.line(s, "", time.Time{})
	m.Finished, m.Detail, m.Letter, m.Asked = in.At, in.Note, "", false
	if in.Letter != nil {
		res.closeLetter(*in.Letter, as, in)
		audit(res, in)
	}
}

// withdraw: our own network was down, the letter should not have been made.
func (m *Message) withdraw(res *Result, in Input, _ Rules) {
	m.line(Queued, "", in.At)
	m.Letter, m.Finished = "", time.Time{}
	if in.Letter != nil {
		res.closeLetter(*in.Letter, ClosedWithdrawn, in)
	}
}

// audit marks the last event as an operator's act.
func audit(res *Result, in Input) {
	if n := len(res.Events); n > 0 && !in.Actor.Gateway() {
		res.Events[n-1].Actor = in.Actor
	}
}
