package queue

import (
	"time"

	"edigw/fault"
	"edigw/retry"
)

// crash: the process that was sending is gone; the partner may have it
// (delivery.md §8). A crash counts no attempt, the third on one message makes
// a letter.
func (m *Message) crash(res *Result, in Input, r Rules) {
	m.Crashes++
	m.Uncertain, m.Incarnation = true, ""
	m.Detail = "edigw ended while the document was being sent"
	res.event(m, EventCrashed, in.At, m.Detail)
	lost := ending{reason: fault.ReasonUnknownOutcome, class: retry.Unknown, detail: m.Detail}
	switch {
	case m.Crashes >= 3, r.OnUnknown == retry.Hold:
		m.bury(res, in, lost)
	case r.OnUnknown == retry.Wait && r.AckAsked == fault.AckAsync:
		m.await(res, in, r)
	default:
		m.schedule(res, in, r, in.At)
	}
}

// ack applies an acknowledgement that came by itself, in whatever state the
// message is.
func (m *Message) ack(res *Result, in Input, r Rules) {
	v := in.Verdict
	m.Total++
	if in.Attempt != nil {
		in.Attempt.Counted = false
	}
	switch {
	case v.Class == retry.Success, v.Class == retry.AlreadyThere && v.Proof != "":
		m.ackPositive(res, in)
	case v.Class == retry.Permanent, v.Class == retry.AlreadyThere, v.Class == retry.Limited:
		m.ackNegative(res, in, r)
	default:
		res.event(m, EventAckIgnored, in.At, detail(in))
	}
}

func (m *Message) ackPositive(res *Result, in Input) {
	switch {
	case m.State == Superseded || m.State == Discarded:
		res.event(m, EventAckConflict, in.At, "the partner received a document that is "+string(m.State)+" here")
	case m.State == Delivered:
		if m.Proof == ProofReceipt || m.Refusal {
			res.event(m, EventAckIgnored, in.At, "delivered already")
			return
		}
		m.Proof = ProofReceipt // better proof for what was delivered on less
		res.event(m, EventDelivered, in.At, "receipt came later").Facts = map[string]string{"proof": string(ProofReceipt), "late": "true"}
	case m.Refusal:
		m.contradicted(res, in)
	case in.Letter != nil:
		m.deliver(res, in, ProofReceipt, ClosedDeliveredLate)
	default:
		m.deliver(res, in, ProofReceipt, ClosedDelivered)
	}
}

// contradicted: the partner said no and then yes to the same exchange. Which of
// the two holds only he knows: state and reason stay, and from here on he may
// have the document.
func (m *Message) contradicted(res *Result, in Input) {
	m.Uncertain = true
	e := res.event(m, EventAckConflict, in.At, "a positive receipt after a negative one, nothing was sent in between")
	if in.Letter == nil {
		return
	}
	l := *in.Letter
	l.Uncertain, l.Last = true, in.Attempt
	res.Closed = &l
	e.Letter, e.Outage = l.ID, l.Outage
}

func (m *Message) ackNegative(res *Result, in Input, r Rules) {
	v := in.Verdict
	switch m.State {
	case Delivered, Superseded, Discarded:
		res.event(m, EventAckConflict, in.At, "a negative receipt for a document that is "+string(m.State)+": "+detail(in))
		return
	case Dead:
		if in.Letter.Contradicted() {
			res.event(m, EventAckConflict, in.At, "a negative receipt again, after a positive one: "+detail(in))
			return
		}
		m.rewrite(res, in)
		return
	}
	m.Refusal = true
	m.Detail = detail(in)
	if v.Definite {
		m.Uncertain = false
	}
	if v.Uncertain {
		m.Uncertain = true
	}
	if m.FirstFailure.IsZero() {
		m.FirstFailure = in.At
	}
	m.Incarnation = ""
	if v.Class == retry.Limited && m.State.Lined() {
		return // another attempt is in line already
	}
	m.settleVerdict(res, in, r)
}

// rewrite: a negative acknowledgement for an open letter replaces its reason
// and last error; the partner surely does not hold it as processed.
func (m *Message) rewrite(res *Result, in Input) {
	l := *in.Letter
	if in.Verdict.Reason != "" {
		l.Reason = in.Verdict.Reason
	}
	l.Class, l.Detail, l.Cause, l.Last = in.Verdict.Class, detail(in), in.Verdict.Lane, in.Attempt
	l.Uncertain = in.Verdict.Uncertain
	m.Uncertain, m.Detail, m.Refusal = l.Uncertain, l.Detail, true
	res.Closed = &l
	e := res.event(m, EventLetterChanged, in.At, l.Detail)
	e.Letter, e.Outage = l.ID, l.Outage
	e.Facts = map[string]string{"reason": string(l.Reason)}
}

// ackOverdue: no acknowledgement within mdn.wait. Resend once, at once, as an
// attempt even beyond the last; then a letter.
func (m *Message) ackOverdue(res *Result, in Input, r Rules) {
	v := retry.MissingAck()
	m.Uncertain = m.Uncertain || v.Uncertain
	m.Detail = "no receipt within " + r.AckWait.String()
	if m.FirstFailure.IsZero() {
		m.FirstFailure = in.At
	}
	if r.Pulled && r.OnUnknown == retry.Resend {
		m.fetchAgain(res, in, r, ending{reason: v.Reason, class: v.Class, detail: m.Detail})
		return
	}
	if r.OnUnknown != retry.Resend || m.Resent || m.late(in.At) && !r.KeepOverdue {
		m.bury(res, in, ending{reason: v.Reason, class: v.Class, detail: m.Detail})
		return
	}
	m.Resent = true
	m.line(Waiting, WhyBackoff, in.At)
	res.event(m, EventRetry, in.At, m.Detail).Facts = map[string]string{"next": in.At.UTC().Format(time.RFC3339Nano), "class": string(v.Class)}
}

// fetchAgain puts a message back that the partner fetched and gave no receipt for:
// it is not lost with its receipt (known fault 58). That counts as an attempt,
// so that somebody hears of a partner who never gives one.
func (m *Message) fetchAgain(res *Result, in Input, r Rules, missing ending) {
	m.Attempts++
	if m.Attempts >= r.Retry.Attempts || m.late(in.At) && !r.KeepOverdue {
		m.bury(res, in, missing)
		return
	}
	m.line(Waiting, WhyBackoff, in.At)
	res.event(m, EventRetry, in.At, m.Detail+"; it can be fetched again").Facts = map[string]string{"next": in.At.UTC().Format(time.RFC3339Nano), "class": string(missing.class)}
}

// deadline: deliver_by passed and no attempt may start any more.
func (m *Message) deadline(res *Result, in Input, r Rules) {
	if r.KeepOverdue {
		m.overdue(res, in)
		return
	}
	text := "was due " + m.DeliverBy.UTC().Format(time.RFC3339)
	if m.Detail != "" {
		text += "; last: " + m.Detail
	}
	m.bury(res, in, ending{reason: fault.ReasonDeadline, class: retry.NotAnAttempt, detail: text})
}

func (m *Message) warn(res *Result, in Input, _ Rules) {
	m.Warned = true
	res.event(m, EventWarnBy, in.At, "not delivered by "+m.WarnBy.UTC().Format(time.RFC3339))
}

// buried: the breaker opened and the lane does not hold.
func (m *Message) buried(res *Result, in Input, _ Rules) {
	m.bury(res, in, ending{reason: fault.ReasonCircuitOpen, class: retry.NotAnAttempt, detail: in.Note, outage: in.Outage})
}

// fail: our own side cannot send it, or cannot go on with what it sent.
func (m *Message) fail(res *Result, in Input, _ Rules) {
	if m.State == Sending || m.State == AwaitingAck {
		m.Uncertain = true
	}
	if m.FirstFailure.IsZero() {
		m.FirstFailure = in.At
	}
	m.bury(res, in, ending{reason: in.Reason, class: in.Verdict.Class, detail: in.Note, cause: in.Verdict.Lane})
}
