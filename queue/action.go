package queue

import (
	"time"
)

// replay begins a new round under the same key and Message-ID: attempts reset,
// deadline cleared (delivery.md §9).
func (m *Message) replay(res *Result, in Input, _ Rules) {
	l := *in.Letter
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

// back returns a replaying letter to open.
func (m *Message) back(res *Result, in Input, t EventType, text string) {
	m.line(Dead, "", time.Time{})
	m.Asked, m.Finished = false, in.At
	e := res.event(m, t, in.At, text)
	e.Actor = in.Actor
	if in.Letter == nil {
		return
	}
	l := *in.Letter
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
	res.event(m, EventSuperseded, in.At, in.Note).Actor = in.Actor
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
