package queue

import (
	"errors"
	"testing"
	"time"

	"edigw/fault"
	"edigw/retry"
	"github.com/google/go-cmp/cmp"
)

var t0 = time.Date(2026, 12, 1, 2, 10, 0, 0, time.UTC)

// rules are the built-in ones without jitter, so that waits can be compared.
func rules() Rules {
	p := retry.Default()
	p.Jitter = retry.Jitter{Mode: retry.JitterNone}
	return Rules{Retry: p, OnUnknown: retry.Resend, AckAsked: fault.AckSync, AckWait: time.Hour}
}

func sending() Message {
	return Message{ID: "m1", Seq: 7, Partner: "northwind", Lane: "northwind", Kind: KindDocument, Direction: Out, Protocol: "as2",
		Key: "INV-1", State: Sending, Round: 1, Accepted: t0, Incarnation: "gw1"}
}

// letter gives m an open or replaying letter of its own.
func letter(m *Message, s LetterStatus) *Letter {
	m.Letter = "l0"
	return &Letter{ID: "l0", Message: m.ID, Status: s, Reason: fault.ReasonCircuitOpen, Outage: "OUT-1"}
}

// verdict is what the table says of a class, as far as Next reads it.
func verdict(c retry.Class) retry.Verdict {
	v := retry.Verdict{Rule: "test", Class: c, Reason: fault.ReasonMaxAttempts, Signal: fault.SignalNeutral}
	switch c {
	case retry.Success:
		v.Proof = string(ProofReceipt)
	case retry.Unknown:
		v.Uncertain, v.Signal = true, fault.SignalFailure
	case retry.Limited:
		v.PerRound = 2
	case retry.Credential:
		v.PerRound, v.Reason = 2, fault.ReasonCredential
	case retry.Permanent:
		v.Reason, v.Definite = fault.ReasonSignature, true
	case retry.Configuration:
		v.Reason = fault.ReasonLocal
	case retry.AlreadyThere:
		v.Reason = fault.ReasonRejected
	case retry.NotAnAttempt, retry.NoOutcome:
		v.Signal = fault.SignalNone
	}
	return v
}

type outcome struct {
	State     State
	Wait      time.Duration
	Reason    fault.Reason
	Proof     Proof
	Attempts  int
	Uncertain bool
}

func TestResultFollowsTheClass(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*Message, *Input, *Rules)
		class  retry.Class
		want   outcome
	}{
		"success delivers with its proof":          {class: retry.Success, want: outcome{State: Delivered, Proof: ProofReceipt, Attempts: 1}},
		"accepted waits for the acknowledgement":   {class: retry.Accepted, want: outcome{State: AwaitingAck, Wait: time.Hour, Attempts: 1}},
		"transient waits the first step":           {class: retry.Transient, want: outcome{State: Waiting, Wait: time.Second, Attempts: 1}},
		"permanent is a letter at once":            {class: retry.Permanent, want: outcome{State: Dead, Reason: fault.ReasonSignature, Attempts: 1}},
		"configuration is a letter at once":        {class: retry.Configuration, want: outcome{State: Dead, Reason: fault.ReasonLocal, Attempts: 1}},
		"first limited result is retried":          {class: retry.Limited, want: outcome{State: Waiting, Wait: time.Second, Attempts: 1}},
		"unknown is retried and uncertain":         {class: retry.Unknown, want: outcome{State: Waiting, Wait: time.Second, Attempts: 1, Uncertain: true}},
		"not an attempt leaves attempts untouched": {class: retry.NotAnAttempt, want: outcome{State: Queued}},
		"an answer to something else leaves all":   {class: retry.NoOutcome, want: outcome{State: Waiting, Wait: time.Second}},
		"a duplicate answer out of the blue":       {class: retry.AlreadyThere, want: outcome{State: Dead, Reason: fault.ReasonRejected, Attempts: 1}},
		"second limited result ends the round": {
			change: func(m *Message, _ *Input, _ *Rules) { m.Limited, m.Attempts = 1, 1 },
			class:  retry.Limited, want: outcome{State: Dead, Reason: fault.ReasonMaxAttempts, Attempts: 2},
		},
		"second refused login ends the round": {
			change: func(m *Message, _ *Input, _ *Rules) { m.Credential, m.Attempts = 1, 1 },
			class:  retry.Credential, want: outcome{State: Dead, Reason: fault.ReasonCredential, Attempts: 2},
		},
		"the seventh failure ends the round": {
			change: func(m *Message, _ *Input, _ *Rules) { m.Attempts = 6 },
			class:  retry.Transient, want: outcome{State: Dead, Reason: fault.ReasonMaxAttempts, Attempts: 7},
		},
		"a letter is uncertain if any attempt was": {
			change: func(m *Message, _ *Input, _ *Rules) { m.Attempts, m.Uncertain = 6, true },
			class:  retry.Transient, want: outcome{State: Dead, Reason: fault.ReasonMaxAttempts, Attempts: 7, Uncertain: true},
		},
		"a definite refusal ends the uncertainty": {
			change: func(m *Message, _ *Input, _ *Rules) { m.Uncertain = true },
			class:  retry.Permanent, want: outcome{State: Dead, Reason: fault.ReasonSignature, Attempts: 1},
		},
		"on_unknown hold makes a letter": {
			change: func(_ *Message, _ *Input, r *Rules) { r.OnUnknown = retry.Hold },
			class:  retry.Unknown, want: outcome{State: Dead, Reason: fault.ReasonUnknownOutcome, Attempts: 1, Uncertain: true},
		},
		"on_unknown wait waits for an asynchronous receipt": {
			change: func(_ *Message, _ *Input, r *Rules) { r.OnUnknown, r.AckAsked = retry.Wait, fault.AckAsync },
			class:  retry.Unknown, want: outcome{State: AwaitingAck, Wait: time.Hour, Attempts: 1, Uncertain: true},
		},
		"Retry-After replaces a shorter wait": {
			change: func(_ *Message, in *Input, _ *Rules) { in.Verdict.After, in.Verdict.HasAfter = 30*time.Second, true },
			class:  retry.Transient, want: outcome{State: Waiting, Wait: 30 * time.Second, Attempts: 1},
		},
		"a retry past the deadline is a letter": {
			change: func(m *Message, _ *Input, _ *Rules) { m.DeliverBy = t0.Add(500 * time.Millisecond) },
			class:  retry.Transient, want: outcome{State: Dead, Reason: fault.ReasonDeadline, Attempts: 1},
		},
		"a retry past the deadline goes on where the partner keeps": {
			change: func(m *Message, _ *Input, r *Rules) {
				m.DeliverBy, r.KeepOverdue = t0.Add(500*time.Millisecond), true
			},
			class: retry.Transient, want: outcome{State: Waiting, Wait: time.Second, Attempts: 1},
		},
		"a duplicate answer after an uncertain attempt delivers": {
			change: func(m *Message, in *Input, _ *Rules) { m.Uncertain, in.Verdict.Proof = true, string(ProofDuplicate) },
			class:  retry.AlreadyThere, want: outcome{State: Delivered, Proof: ProofDuplicate, Attempts: 1},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, r := sending(), rules()
			in := Input{Trigger: OnResult, At: t0, LetterID: "l1", Verdict: verdict(c.class), Attempt: &Attempt{Detail: "what happened"}}
			if c.change != nil {
				c.change(&m, &in, &r)
			}
			res, err := Next(m, in, r)
			if err != nil {
				t.Fatal(err)
			}
			got := outcome{State: res.Message.State, Proof: res.Message.Proof, Attempts: res.Message.Attempts, Uncertain: res.Message.Uncertain}
			if (got.State == Waiting || got.State == AwaitingAck) && !res.Message.NextAt.IsZero() {
				got.Wait = res.Message.NextAt.Sub(t0)
			}
			if res.Opened != nil {
				got.Reason = res.Opened.Reason
				if res.Opened.Uncertain != res.Message.Uncertain {
					t.Errorf("letter uncertain %v, message %v", res.Opened.Uncertain, res.Message.Uncertain)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if (got.State == Dead) != (res.Opened != nil) {
				t.Errorf("state %s, letter %v", got.State, res.Opened)
			}
		})
	}
}

func TestThirdCrashOnOneMessageIsALetter(t *testing.T) {
	t.Parallel()
	m := sending()
	for n := 1; n <= 3; n++ {
		m.State = Sending
		res, err := Next(m, Input{Trigger: OnCrash, At: t0, LetterID: "l1"}, rules())
		if err != nil {
			t.Fatal(err)
		}
		m = *res.Message
		if !m.Uncertain || m.Attempts != 0 {
			t.Errorf("crash %d: uncertain %v, attempts %d", n, m.Uncertain, m.Attempts)
		}
		switch {
		case n < 3 && (m.State != Waiting || !m.NextAt.Equal(t0)):
			t.Errorf("crash %d: %s at %v, want waiting and due at once", n, m.State, m.NextAt)
		case n == 3 && (m.State != Dead || res.Opened.Reason != fault.ReasonUnknownOutcome):
			t.Errorf("third crash: %s, want a letter unknown-outcome", m.State)
		}
	}
}

func TestMissingAckIsResentOnceThenALetter(t *testing.T) {
	t.Parallel()
	m := sending()
	m.State, m.Attempts, m.NextAt = AwaitingAck, 7, t0
	res, err := Next(m, Input{Trigger: OnAckOverdue, At: t0, LetterID: "l1"}, rules())
	if err != nil {
		t.Fatal(err)
	}
	if m = *res.Message; m.State != Waiting || !m.NextAt.Equal(t0) || !m.Uncertain {
		t.Fatalf("first: %s at %v uncertain %v, want a resend at once, also beyond the last attempt", m.State, m.NextAt, m.Uncertain)
	}
	m.State = AwaitingAck
	res, err = Next(m, Input{Trigger: OnAckOverdue, At: t0, LetterID: "l1"}, rules())
	if err != nil {
		t.Fatal(err)
	}
	if res.Opened == nil || res.Opened.Reason != fault.ReasonReceiptMissing || !res.Opened.Uncertain {
		t.Fatalf("second: %+v, want an uncertain letter receipt-missing", res.Opened)
	}
}

func TestAcknowledgementInEveryState(t *testing.T) {
	t.Parallel()
	in := func(s State) func(*Message) *Letter {
		return func(m *Message) *Letter { m.State = s; return nil }
	}
	dead := func(m *Message) *Letter { m.State = Dead; return letter(m, LetterOpen) }
	cases := map[string]struct {
		change func(*Message) *Letter
		class  retry.Class
		state  State
		closed ClosedAs
		event  EventType
	}{
		"early, while sending":           {in(Sending), retry.Success, Delivered, "", EventDelivered},
		"as awaited":                     {in(AwaitingAck), retry.Success, Delivered, "", EventDelivered},
		"late, on a letter":              {dead, retry.Success, Delivered, ClosedDeliveredLate, EventDelivered},
		"late, on a replaying letter":    {func(m *Message) *Letter { m.State = Queued; return letter(m, LetterReplaying) }, retry.Success, Delivered, ClosedDeliveredLate, EventDelivered},
		"positive after a negative":      {func(m *Message) *Letter { m.Refusal = true; return dead(m) }, retry.Success, Dead, "", EventAckConflict},
		"positive on a discarded one":    {in(Discarded), retry.Success, Discarded, "", EventAckConflict},
		"negative after delivery":        {in(Delivered), retry.Permanent, Delivered, "", EventAckConflict},
		"negative while waiting for it":  {in(AwaitingAck), retry.Permanent, Dead, "", EventDead},
		"negative on a letter":           {dead, retry.Permanent, Dead, "", EventLetterChanged},
		"limited negative is retried":    {in(AwaitingAck), retry.Limited, Waiting, "", EventRetry},
		"not to be trusted, no token":    {in(AwaitingAck), retry.NoOutcome, AwaitingAck, "", EventAckIgnored},
		"a second positive changes none": {func(m *Message) *Letter { m.State, m.Proof = Delivered, ProofReceipt; return nil }, retry.Success, Delivered, "", EventAckIgnored},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := sending()
			l := c.change(&m)
			res, err := Next(m, Input{Trigger: OnAck, At: t0, LetterID: "l1", Letter: l, Verdict: verdict(c.class), Attempt: &Attempt{Detail: "their words"}}, rules())
			if err != nil {
				t.Fatal(err)
			}
			if res.Message.State != c.state {
				t.Errorf("state %s, want %s", res.Message.State, c.state)
			}
			if c.closed != "" && (res.Closed == nil || res.Closed.ClosedAs != c.closed) {
				t.Errorf("letter %+v, want closed as %s", res.Closed, c.closed)
			}
			if len(res.Events) == 0 || res.Events[0].Type != c.event {
				t.Errorf("events %+v, want %s first", res.Events, c.event)
			}
			if c.event == EventLetterChanged && (res.Closed.Reason != fault.ReasonSignature || res.Message.Uncertain) {
				t.Errorf("letter %+v, uncertain %v", res.Closed, res.Message.Uncertain)
			}
		})
	}
}

func TestReplayBeginsARoundAndUndoEndsIt(t *testing.T) {
	t.Parallel()
	m := sending()
	m.State, m.Attempts, m.DeliverBy, m.DeadlineGiven = Dead, 7, t0.Add(-time.Hour), true
	l := letter(&m, LetterOpen)
	kim := fault.Actor{Name: "Kim", Role: "operator"}
	res, err := Next(m, Input{Trigger: OnReplay, At: t0, Letter: l, Actor: kim, NotUntil: t0.Add(5 * time.Second)}, rules())
	if err != nil {
		t.Fatal(err)
	}
	got := *res.Message
	if got.State != Waiting || got.Why != WhyUndo || got.Attempts != 0 || got.Round != 2 || !got.DeliverBy.IsZero() || !got.Asked || got.Seq != m.Seq {
		t.Errorf("replayed: %+v", got)
	}
	if res.Closed.Status != LetterReplaying || res.Events[0].Actor != kim {
		t.Errorf("letter %+v, events %+v", res.Closed, res.Events)
	}
	if l.Status != LetterOpen {
		t.Error("Next changed the letter that it was given")
	}
	if _, err := Next(got, Input{Trigger: OnReplay, At: t0, Letter: res.Closed, Actor: kim}, rules()); !isMove(err) {
		t.Errorf("second click: %v, want a MoveError", err)
	}
	res, err = Next(got, Input{Trigger: OnUndo, At: t0, Letter: res.Closed, Actor: kim}, rules())
	if err != nil {
		t.Fatal(err)
	}
	if res.Message.State != Dead || res.Closed.Status != LetterOpen || res.Opened != nil {
		t.Errorf("undone: %s, letter %+v, opened %v", res.Message.State, res.Closed, res.Opened)
	}
}

func TestAReplayThatFailsOpensTheNextLetter(t *testing.T) {
	t.Parallel()
	m := sending()
	l := letter(&m, LetterReplaying)
	res, err := Next(m, Input{Trigger: OnResult, At: t0, LetterID: "l1", Letter: l, Verdict: verdict(retry.Permanent)}, rules())
	if err != nil {
		t.Fatal(err)
	}
	if res.Closed.ClosedAs != ClosedFailedAgain || res.Opened.ID != "l1" || !res.Opened.Again || res.Message.Letter != "l1" || res.Opened.Outage != l.Outage {
		t.Errorf("closed %+v, opened %+v", res.Closed, res.Opened)
	}
}

func isMove(err error) bool {
	var m *MoveError
	return errors.As(err, &m)
}

func TestAParkedDocumentStaysParkedUntilItStarts(t *testing.T) {
	t.Parallel()
	m := sending()
	m.State, m.Parked = Dead, true
	l := letter(&m, LetterOpen)
	step := func(in Input) {
		t.Helper()
		in.At, in.Letter, in.LetterID = t0, l, "l1"
		res, err := Next(m, in, rules())
		if err != nil {
			t.Fatal(err)
		}
		m = *res.Message
		if res.Closed != nil {
			l = res.Closed
		}
	}
	step(Input{Trigger: OnReplay})
	step(Input{Trigger: OnUndo})
	if !m.Parked {
		t.Error("an undone replay forgot that an operator's word is needed")
	}
	step(Input{Trigger: OnReplay})
	step(Input{Trigger: OnStart, By: "gw1"})
	if m.Parked {
		t.Error("sent, and still parked")
	}
}

func TestAPositiveReceiptAfterANegativeAnswerIsAConflict(t *testing.T) {
	t.Parallel()
	m := sending()
	res, err := Next(m, Input{Trigger: OnResult, At: t0, LetterID: "l1", Verdict: verdict(retry.Permanent), Attempt: &Attempt{Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted}}}, rules())
	if err != nil {
		t.Fatal(err)
	}
	res, err = Next(*res.Message, Input{Trigger: OnAck, At: t0, Letter: res.Opened, Verdict: verdict(retry.Success), Attempt: &Attempt{}}, rules())
	if err != nil {
		t.Fatal(err)
	}
	if res.Message.State != Dead || res.Events[0].Type != EventAckConflict {
		t.Errorf("%s, events %+v: want the letter to stand and an alert", res.Message.State, res.Events)
	}
}

func TestAReplayForgetsCrashes(t *testing.T) {
	t.Parallel()
	m := sending()
	m.State, m.Crashes = Dead, 3
	res, err := Next(m, Input{Trigger: OnReplay, At: t0, Letter: letter(&m, LetterOpen)}, rules())
	if err != nil || res.Message.Crashes != 0 {
		t.Errorf("%d crashes, %v", res.Message.Crashes, err)
	}
}

func TestAMissingReceiptPastTheDeadline(t *testing.T) {
	t.Parallel()
	for keep, want := range map[bool]State{false: Dead, true: Waiting} {
		m, r := sending(), rules()
		m.State, m.DeliverBy, r.KeepOverdue = AwaitingAck, t0.Add(-time.Minute), keep
		res, err := Next(m, Input{Trigger: OnAckOverdue, At: t0, LetterID: "l1"}, r)
		if err != nil || res.Message.State != want {
			t.Errorf("keep %v: %s, %v; want %s", keep, res.Message.State, err, want)
		}
	}
}
