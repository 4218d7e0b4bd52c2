package queue

import (
	"fmt"
	"time"

	"edigw/fault"
	"edigw/retry"
)

// Input is what happens to a message. Which fields a trigger needs stands
// beside them.
type Input struct {
	Trigger  Trigger
	At       time.Time
	Attempt  *Attempt      // result, ack: as it is to be recorded
	Verdict  retry.Verdict // result, ack
	Letter   *Letter       // the message's open or replaying letter; needed whenever Message.Letter is set
	LetterID string        // id for a letter that may be opened; needed by every trigger that can end in dead
	Reason   fault.Reason  // fail
	Outage   string        // bury: the outage that the letter belongs to
	Next     string        // supersede: the message that takes its place, empty if the note says all
	Actor    fault.Actor   // replay, undo, cancel, settle, discard, supersede, recheck
	Note     string        // why, in the actor's words; fail and bury: one sentence
	NotUntil time.Time     // replay: undo is possible until then; zero: start at once
	By       string        // start: process incarnation
	Fire     float64       // chance in [0,1) for the jitter of the next wait
}

// Rules is what steers Next: the partner's settings in force.
type Rules struct {
	Retry       retry.Policy
	OnUnknown   retry.OnUnknown
	AckAsked    fault.AckTiming
	AckWait     time.Duration // how long an asynchronous acknowledgement may take
	KeepOverdue bool
	Pulled      bool // the partner fetches it: what he did not acknowledge waits for him again
}

// ending is how a message becomes a letter.
type ending struct {
	reason fault.Reason
	class  retry.Class
	detail string
	cause  string
	outage string
}

// Next applies a trigger to a message and says all that changes. It is pure:
// nothing in m or in is altered. The error is a *MoveError if the trigger does
// not fit the message's state, and a plain one if the caller left out what the
// trigger needs.
func Next(m Message, in Input, r Rules) (Result, error) {
	from := m.State
	if !Fits(in.Trigger, from) {
		return Result{}, &MoveError{Message: m.ID, State: from, Trigger: in.Trigger}
	}
	if (m.Letter != "" || from == Dead) && (in.Letter == nil || in.Letter.ID != m.Letter) {
		return Result{}, fmt.Errorf("queue: message %s: %s needs its letter %s", m.ID, in.Trigger, m.Letter)
	}
	res := Result{Message: &m, Attempt: in.Attempt}
	apply := steps[in.Trigger]
	if apply == nil {
		return Result{}, fmt.Errorf("queue: message %s: trigger %q makes no step", m.ID, in.Trigger)
	}
	apply(&m, &res, in, r)
	if !Allowed(in.Trigger, from, m.State) {
		return Result{}, fmt.Errorf("queue: message %s: %s led from %s to %s, which the table forbids", m.ID, in.Trigger, from, m.State)
	}
	return res, nil
}

// steps holds one function for each trigger that Next takes. Acceptance and
// refusal are Admit's.
var steps = map[Trigger]func(*Message, *Result, Input, Rules){
	OnStart:      (*Message).start,
	OnResult:     (*Message).result,
	OnCrash:      (*Message).crash,
	OnAck:        (*Message).ack,
	OnAckOverdue: (*Message).ackOverdue,
	OnDeadline:   (*Message).deadline,
	OnWarn:       (*Message).warn,
	OnBury:       (*Message).buried,
	OnFail:       (*Message).fail,
	OnWithdraw:   (*Message).withdraw,
	OnReplay:     (*Message).replay,
	OnUndo:       (*Message).undo,
	OnCancel:     (*Message).cancel,
	OnSettle:     (*Message).settle,
	OnDiscard:    (*Message).discard,
	OnRecheck:    (*Message).recheck,
	OnSupersede:  (*Message).supersede,
}

func (m *Message) start(res *Result, in Input, _ Rules) {
	m.State, m.Why, m.NextAt = Sending, "", time.Time{}
	m.Incarnation, m.Asked, m.Refusal, m.Parked = in.By, false, false, false
	res.event(m, EventSending, in.At, "sending")
}

// result applies the verdict on an exchange (delivery.md §4, §8).
func (m *Message) result(res *Result, in Input, r Rules) {
	v := in.Verdict
	m.Total++
	m.Incarnation = ""
	m.Detail = detail(in)
	if v.Definite {
		m.Uncertain = false
		m.Refusal = in.Attempt != nil && in.Attempt.Ack != nil
	}
	if v.Uncertain {
		m.Uncertain = true
	}
	if v.Counts() {
		m.Attempts++
	}
	if in.Attempt != nil {
		in.Attempt.Counted = v.Counts()
	}
	switch v.Class {
	case retry.Success, retry.Accepted:
	default:
		if m.FirstFailure.IsZero() && v.Counts() {
			m.FirstFailure = in.At
		}
	}
	m.settleVerdict(res, in, r)
}

// settleVerdict is the part that exchanges and acknowledgements share: what
// the class of a verdict does to the message.
func (m *Message) settleVerdict(res *Result, in Input, r Rules) {
	v := in.Verdict
	end := ending{reason: v.Reason, class: v.Class, detail: m.Detail, cause: v.Lane}
	switch v.Class {
	case retry.Success:
		m.deliver(res, in, Proof(v.Proof), ClosedDelivered)
	case retry.AlreadyThere:
		if v.Proof != "" {
			m.deliver(res, in, Proof(v.Proof), ClosedDelivered)
			return
		}
		m.bury(res, in, end)
	case retry.Accepted:
		m.await(res, in, r)
	case retry.Permanent, retry.Configuration:
		m.bury(res, in, end)
	case retry.Unknown:
		m.unknown(res, in, r)
	case retry.Limited:
		m.Limited++
		m.again(res, in, r, v.PerRound > 0 && m.Limited >= v.PerRound)
	case retry.Credential:
		m.Credential++
		if v.PerRound > 0 && m.Credential >= v.PerRound {
			m.bury(res, in, end)
			return
		}
		m.again(res, in, r, false)
	case retry.NotAnAttempt:
		m.line(Queued, "", in.At)
	case retry.NoOutcome:
		// Uncounted, but not for nothing: a partner that always answers beside
		// the point must not be asked without a pause.
		m.line(Waiting, WhyBackoff, in.At.Add(r.Retry.Delay(m.Total, in.Fire)))
	default:
		m.again(res, in, r, false)
	}
}

// unknown: the partner may have the document.
func (m *Message) unknown(res *Result, in Input, r Rules) {
	m.Uncertain = true
	switch {
	case r.OnUnknown == retry.Hold:
		m.bury(res, in, ending{reason: fault.ReasonUnknownOutcome, class: retry.Unknown, detail: m.Detail})
	case r.OnUnknown == retry.Wait && r.AckAsked == fault.AckAsync:
		m.await(res, in, r)
	case !in.Verdict.Counts():
		m.line(Queued, "", in.At)
	default:
		m.again(res, in, r, false)
	}
}

// again schedules the next attempt, or ends the round if there is none left.
func (m *Message) again(res *Result, in Input, r Rules, spent bool) {
	v := in.Verdict
	if spent || m.Attempts >= r.Retry.Attempts {
		m.bury(res, in, ending{reason: fault.ReasonMaxAttempts, class: v.Class, detail: m.Detail})
		return
	}
	n := max(m.Attempts, 1)
	wait := r.Retry.Delay(n, in.Fire)
	if v.HasAfter {
		wait = r.Retry.DelayAfter(n, v.After, in.Fire)
	}
	m.schedule(res, in, r, in.At.Add(wait))
}

// schedule puts the message in line for at, unless its deadline comes first.
func (m *Message) schedule(res *Result, in Input, r Rules, at time.Time) {
	if m.late(at) {
		if !r.KeepOverdue {
			m.bury(res, in, ending{reason: fault.ReasonDeadline, class: in.Verdict.Class, detail: m.Detail})
			return
		}
		m.overdue(res, in)
	}
	m.line(Waiting, WhyBackoff, at)
	e := res.event(m, EventRetry, in.At, m.Detail)
	e.Facts = map[string]string{"next": at.UTC().Format(time.RFC3339Nano), "attempts": fmt.Sprint(m.Attempts), "class": string(in.Verdict.Class)}
}

// late reports whether an attempt at t would start after the deadline.
func (m *Message) late(t time.Time) bool {
	return !m.DeliverBy.IsZero() && !m.Overdue && t.After(m.DeliverBy)
}

func (m *Message) overdue(res *Result, in Input) {
	m.Overdue = true
	res.event(m, EventOverdue, in.At, "was due "+m.DeliverBy.UTC().Format(time.RFC3339)+", goes on as the partner file says")
}

func (m *Message) line(s State, w Why, at time.Time) { m.State, m.Why, m.NextAt = s, w, at }

// await waits for an acknowledgement that comes by itself.
func (m *Message) await(res *Result, in Input, r Rules) {
	m.line(AwaitingAck, "", in.At.Add(r.AckWait))
	res.event(m, EventAwaiting, in.At, "sent, receipt due by "+m.NextAt.UTC().Format(time.RFC3339))
}

// deliver ends the message well and closes its letter.
func (m *Message) deliver(res *Result, in Input, p Proof, as ClosedAs) {
	m.line(Delivered, "", time.Time{})
	m.Proof, m.Uncertain, m.Finished, m.Letter, m.Incarnation, m.Detail = p, false, in.At, "", "", detail(in)
	res.Overtakes = m.Kind == KindDocument && m.Direction == Out
	e := res.event(m, EventDelivered, in.At, "delivered")
	e.Facts = map[string]string{"proof": string(p), "attempts": fmt.Sprint(m.Attempts)}
	if in.Letter != nil {
		res.closeLetter(*in.Letter, as, in)
	}
}

// bury ends the round with a letter. A replaying letter is closed as failed
// again before the next one opens.
func (m *Message) bury(res *Result, in Input, e ending) {
	l := Letter{
		ID: in.LetterID, Message: m.ID, Seq: m.Seq, Partner: m.Partner, Lane: m.Lane, Protocol: m.Protocol, Direction: m.Direction,
		Reason: e.reason, Class: e.class, Status: LetterOpen, Detail: e.detail, Cause: e.cause, Last: in.Attempt,
		Attempts: m.Attempts, Uncertain: m.Uncertain, Overtaken: m.Overtaken, Overdue: m.Overdue || m.late(in.At),
		Outage: e.outage, Created: in.At, First: m.FirstFailure,
	}
	if l.First.IsZero() {
		l.First = in.At
	}
	if in.Letter != nil {
		l.Again = true
		if l.Outage == "" { // what an outage left behind is its own until it is settled
			l.Outage = in.Letter.Outage
		}
		res.closeLetter(*in.Letter, ClosedFailedAgain, in)
	}
	m.line(Dead, "", time.Time{})
	m.Letter, m.Detail, m.Finished, m.Incarnation, m.Asked = l.ID, e.detail, in.At, "", false
	res.Opened = &l
	ev := res.event(m, EventDead, in.At, e.detail)
	ev.Letter, ev.Outage = l.ID, l.Outage
	ev.Facts = map[string]string{"reason": string(l.Reason), "class": string(l.Class), "cause": l.Cause, "attempts": fmt.Sprint(m.Attempts), "uncertain": fmt.Sprint(m.Uncertain)}
}

// closeLetter closes l in the result.
func (res *Result) closeLetter(l Letter, as ClosedAs, in Input) {
	l.Status, l.ClosedAs, l.Closed, l.Before = LetterClosed, as, in.At, nil
	if !in.Actor.Gateway() {
		l.Actor, l.Note = in.Actor, in.Note
	}
	res.Closed = &l
	e := res.event(res.Message, EventLetterClosed, in.At, string(as))
	e.Letter, e.Outage = l.ID, l.Outage
	e.Facts = map[string]string{"as": string(as), "reason": string(l.Reason)}
}

// event appends an event about m and returns it for more facts.
func (res *Result) event(m *Message, t EventType, at time.Time, text string) *Event {
	e := m.event(t, at)
	e.Text = text
	res.Events = append(res.Events, e)
	return &res.Events[len(res.Events)-1]
}

func (m *Message) event(t EventType, at time.Time) Event {
	return Event{At: at, Type: t, Partner: m.Partner, Lane: m.Lane, Message: m.ID}
}

// detail is the sentence that an input leaves on the message.
func detail(in Input) string {
	switch {
	case in.Attempt != nil && in.Attempt.Detail != "":
		return in.Attempt.Detail
	case in.Note != "":
		return in.Note
	}
	return string(in.Verdict.Class)
}
