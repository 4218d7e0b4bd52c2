package queue

import (
	"testing"
	"time"

	"edigw/fault"
	"edigw/retry"
	"pgregory.net/rapid"
)

// A message driven by arbitrary triggers never loses its letter, never leaves
// the table, and attempts never pass the policy but for the one resend.
func TestAnySequenceKeepsTheInvariants(t *testing.T) {
	t.Parallel()
	triggers := []Trigger{OnStart, OnResult, OnCrash, OnAck, OnAckOverdue, OnDeadline, OnWarn, OnBury, OnFail, OnWithdraw, OnReplay, OnUndo, OnCancel, OnSettle, OnDiscard, OnRecheck, OnSupersede}
	rapid.Check(t, func(t *rapid.T) {
		r := rules()
		r.OnUnknown = rapid.SampledFrom([]retry.OnUnknown{retry.Resend, retry.Wait, retry.Hold}).Draw(t, "unknown")
		r.AckAsked = rapid.SampledFrom([]fault.AckTiming{fault.AckSync, fault.AckAsync}).Draw(t, "ack")
		r.Pulled = rapid.Bool().Draw(t, "pulled")
		m := sending()
		m.State = Queued
		var open *Letter
		at := t0
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "pass")) * time.Second)
			in := Input{
				Trigger: rapid.SampledFrom(triggers).Draw(t, "trigger"), At: at, Letter: open, LetterID: "l" + string(rune('a'+i%26)),
				Verdict: verdict(rapid.SampledFrom(retry.Classes).Draw(t, "class")), Reason: fault.ReasonLocal, By: "gw1", Fire: 0.5,
			}
			if in.Trigger == OnUndo && (open == nil || open.Status != LetterReplaying) {
				continue // undo is offered on replaying letters only
			}
			res, err := Next(m, in, r)
			if err != nil {
				if !isMove(err) {
					t.Fatalf("%s in %s: %v", in.Trigger, m.State, err)
				}
				continue
			}
			m = *res.Message
			if res.Closed != nil {
				open = res.Closed
				if open.Status == LetterClosed {
					open = nil
				}
			}
			if res.Opened != nil {
				open = res.Opened
			}
			check(t, m, open, r)
		}
	})
}

func check(t *rapid.T, m Message, open *Letter, r Rules) {
	if (m.State == Dead) != (open != nil && open.Status == LetterOpen) {
		t.Fatalf("message is %s, its letter %+v", m.State, open)
	}
	if (m.Letter != "") != (open != nil) || open != nil && open.ID != m.Letter {
		t.Fatalf("message names letter %q, there is %+v", m.Letter, open)
	}
	if m.State == Delivered && m.Proof == "" {
		t.Fatal("delivered without a proof")
	}
	if m.Attempts > r.Retry.Attempts+2 {
		t.Fatalf("%d attempts in a round of %d", m.Attempts, r.Retry.Attempts)
	}
	if m.State == Sending && m.Incarnation == "" {
		t.Fatal("sending by nobody")
	}
	if (m.State == Waiting || m.State == AwaitingAck) && m.NextAt.IsZero() {
		t.Fatalf("%s without an end", m.State)
	}
}
