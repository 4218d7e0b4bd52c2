package queue

import (
	"testing"

	"edigw/fault"
	"edigw/retry"
)

// TestNoThenYesIsUncertain: whatever comes after both words, only a person
// settles it, and the partner may have the document.
func TestNoThenYesIsUncertain(t *testing.T) {
	t.Parallel()
	no := Input{Trigger: OnAck, At: t0, LetterID: "l1", Verdict: verdict(retry.Permanent), Attempt: &Attempt{Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted}}}
	no.Verdict.Definite, no.Verdict.Reason = true, fault.ReasonRejected
	yes := Input{Trigger: OnAck, At: t0, LetterID: "l2", Verdict: verdict(retry.Success), Attempt: &Attempt{Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true}}}

	m := sending()
	m.State = AwaitingAck
	res, err := Next(m, no, rules())
	if err != nil {
		t.Fatal(err)
	}
	l := *res.Opened
	if l.Uncertain || l.Contradicted() {
		t.Fatalf("after the no: %+v", l)
	}
	for i, in := range []Input{yes, yes, no} {
		in.Letter = &l
		if res, err = Next(*res.Message, in, rules()); err != nil {
			t.Fatal(err)
		}
		if len(res.Events) != 1 || res.Events[0].Type != EventAckConflict {
			t.Fatalf("%d: events %+v, want an alert", i, res.Events)
		}
		if res.Closed != nil {
			l = *res.Closed
		}
		if res.Message.State != Dead || !res.Message.Uncertain || l.Status != LetterOpen || l.Reason != fault.ReasonRejected || !l.Uncertain || !l.Contradicted() {
			t.Errorf("%d: %s, uncertain %v, letter %+v; want the letter with its reason, uncertain", i, res.Message.State, res.Message.Uncertain, l)
		}
	}
	res, err = Next(*res.Message, Input{Trigger: OnReplay, At: t0, Letter: &l}, rules())
	if err != nil || !res.Message.Uncertain || res.Message.MessageID != m.MessageID {
		t.Errorf("replay: %+v, %v; want it uncertain under its Message-ID", res.Message, err)
	}
}

// TestNoThenYesWhileInLine: the next attempt is due already; it goes out, and
// the message is known as uncertain.
func TestNoThenYesWhileInLine(t *testing.T) {
	t.Parallel()
	m := sending()
	m.State, m.Why, m.Refusal = Waiting, WhyBackoff, true
	res, err := Next(m, Input{Trigger: OnAck, At: t0, LetterID: "l1", Verdict: verdict(retry.Success), Attempt: &Attempt{}}, rules())
	if err != nil {
		t.Fatal(err)
	}
	if res.Message.State != Waiting || !res.Message.Uncertain || res.Events[0].Type != EventAckConflict || res.Closed != nil {
		t.Errorf("%+v, events %+v", res.Message, res.Events)
	}
}
