package dlq

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
	"github.com/google/go-cmp/cmp"
)

// conflict fails unless err is a ConflictError, and gives it.
func conflict(t *testing.T, err error) *ConflictError {
	t.Helper()
	var c *ConflictError
	if !errors.As(err, &c) {
		t.Fatalf("got %v, want a ConflictError", err)
	}
	return c
}

// needs fails unless err asks for exactly these codes.
func needs(t *testing.T, err error, codes ...Code) {
	t.Helper()
	var c *ConfirmError
	if !errors.As(err, &c) {
		t.Fatalf("got %v, want a ConfirmError", err)
	}
	if d := cmp.Diff(codes, c.Codes); d != "" {
		t.Fatalf("codes (-want +got)\n%s", d)
	}
}

func TestReplayBeginsANewRound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.buried("northwind")
	out, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, Note: "they are back"})
	if err != nil {
		t.Fatal(err)
	}
	m := b.message(l.Message)
	if m.State != queue.Queued || m.Round != 2 || !m.Asked || out.Message.Version != m.Version || !out.Undo.IsZero() {
		t.Errorf("message %+v, answer %+v", m, out)
	}
	if got := b.letter(l.ID); got.Status != queue.LetterReplaying || got.Actor != kim || out.Letter.Version != got.Version {
		t.Errorf("letter %+v", got)
	}
	if e := b.events(queue.EventReplay); len(e) != 1 || e[0].Actor != kim {
		t.Errorf("events %+v", e)
	}
	if len(b.lanes.woken) == 0 || len(b.lanes.told) == 0 {
		t.Error("the lane was not woken, or not told of its letters")
	}
}

func TestSecondClickIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.buried("northwind")
	if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim}); err != nil {
		t.Fatal(err)
	}
	b.pass(20 * time.Second)
	_, err := b.Replay(ctx(t), l.ID, Ask{Actor: fault.Actor{Name: "Lee"}})
	if c := conflict(t, err); c.Text != "Kim replayed this 20 s ago. Nothing was sent twice." || c.By != kim {
		t.Errorf("told %+v", c)
	}
	if m := b.message(l.Message); m.Round != 2 {
		t.Errorf("round %d", m.Round)
	}
}

func TestOfManyClicksAtOnceOneWins(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.buried("northwind")
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 20 {
		wg.Go(func() {
			_, err := b.Replay(context.Background(), l.ID, Ask{Actor: kim})
			var c *ConflictError
			if err != nil && !errors.As(err, &c) {
				t.Errorf("got %v", err)
			}
			if err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if m := b.message(l.Message); won != 1 || m.Round != 2 {
		t.Errorf("%d won, round %d", won, m.Round)
	}
}

func TestReplayAsksFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.failed("northwind", distrusts, queue.Attempt{})
	b.lanes.set("northwind", breaker.State{Phase: breaker.Open})
	_, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim})
	needs(t, err, PossibleDuplicate, BreakerWait, BreakerProbe)
	if b.letter(l.ID).Status != queue.LetterOpen {
		t.Error("it was replayed all the same")
	}
	if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, Confirm: []Code{PossibleDuplicate, BreakerProbe}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{l.Message}, b.lanes.tests); d != "" {
		t.Errorf("tests (-want +got)\n%s", d)
	}
}

func TestWaitingForTheTestMakesNone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.buried("northwind")
	b.lanes.set("northwind", breaker.State{Phase: breaker.Open})
	if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, Confirm: []Code{BreakerWait}}); err != nil {
		t.Fatal(err)
	}
	if len(b.lanes.tests) != 0 {
		t.Errorf("tests %v", b.lanes.tests)
	}
}

func TestReplayIsRefusedWhileAnExchangeRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.failed("northwind", rejects, queue.Attempt{})
	b.lanes.running[l.Message] = true
	_, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, Confirm: Codes})
	conflict(t, err)
}

func TestFreshIDOnlyAfterADefiniteRefusal(t *testing.T) {
	t.Parallel()
	said409 := queue.Attempt{Status: 409}
	cases := map[string]struct {
		verdict retry.Verdict
		attempt queue.Attempt
		fresh   bool
	}{
		"refused by status":                 {rejects, said409, true},
		"refused by a receipt":              {rejects, queue.Attempt{Status: 200, Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted}}, true},
		"receipt that proves nothing":       {distrusts, queue.Attempt{Status: 200, Ack: &fault.Acknowledgement{Verdict: fault.AckBadSignature}}, false},
		"duplicate, though nothing arrived": {retry.Verdict{Class: retry.AlreadyThere, Reason: fault.ReasonRejected, Signal: fault.SignalSuccess}, said409, true},
		"a no after which they may have it": {retry.Verdict{Class: retry.Permanent, Reason: fault.ReasonRejected, Uncertain: true, Signal: fault.SignalNeutral}, queue.Attempt{Status: 400}, false},
		"our own side":                      {retry.Verdict{Class: retry.Configuration, Reason: fault.ReasonLocal, Signal: fault.SignalNeutral}, queue.Attempt{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			l := b.failed("northwind", c.verdict, c.attempt)
			out, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, FreshID: true, Confirm: []Code{PossibleDuplicate}})
			if !c.fresh {
				conflict(t, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			first, next := b.message(l.Message), b.message(out.Message.ID)
			if first.State != queue.Superseded || b.letter(l.ID).ClosedAs != queue.ClosedSuperseded {
				t.Errorf("the first is %s", first.State)
			}
			if next.Edition != 1 || next.Previous != first.ID || next.MessageID == first.MessageID || next.Key != first.Key || next.State != queue.Queued || !next.Asked {
				t.Errorf("the next edition is %+v", next)
			}
			if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, FreshID: true}); err == nil {
				t.Error("the second click made another")
			}
		})
	}
}

func TestPartnerSettingGivesAFreshIDByItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.partners["northwind"].FreshID = true
	refused := b.failed("northwind", rejects, queue.Attempt{Status: 400})
	unsure := b.failed("northwind", distrusts, queue.Attempt{Status: 200})
	out, err := b.Replay(ctx(t), refused.ID, Ask{Actor: kim})
	if err != nil || out.Message.Edition != 1 {
		t.Errorf("refused: edition %d, %v", out.Message.Edition, err)
	}
	out, err = b.Replay(ctx(t), unsure.ID, Ask{Actor: kim, Confirm: []Code{PossibleDuplicate}})
	if err != nil || out.Message.ID != unsure.Message {
		t.Errorf("uncertain: message %s, %v; want the same Message-ID", out.Message.ID, err)
	}
}

// TestNoThenYesAsksAndKeepsItsMessageID: the partner may have it, whatever his
// settings say of refusals.
func TestNoThenYesAsksAndKeepsItsMessageID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.partners["northwind"].FreshID = true
	l := b.failed("northwind", rejects, queue.Attempt{Status: 200, Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted}})
	b.move(l.Message, queue.Input{Trigger: queue.OnAck, Verdict: succeeds, Attempt: &queue.Attempt{Message: l.Message, N: 2, Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true}}})
	_, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim})
	var need *ConfirmError
	if !errors.As(err, &need) || !slices.Contains(need.Codes, PossibleDuplicate) {
		t.Fatalf("got %v, want %s asked for", err, PossibleDuplicate)
	}
	_, err = b.Replay(ctx(t), l.ID, Ask{Actor: kim, FreshID: true, Confirm: []Code{PossibleDuplicate}})
	conflict(t, err)
	out, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, Confirm: []Code{PossibleDuplicate}})
	if err != nil || out.Message.ID != l.Message || out.Message.Edition != 0 {
		t.Errorf("message %s edition %d, %v; want the same one again", out.Message.ID, out.Message.Edition, err)
	}
}

func TestSettleIsNotAProof(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.failed("northwind", distrusts, queue.Attempt{})
	got, err := b.Settle(ctx(t), l.ID, Ask{Actor: kim, Note: "Ms Lee, by phone"})
	if err != nil || got.ClosedAs != queue.ClosedConfirmed || got.Actor != kim || got.Note != "Ms Lee, by phone" {
		t.Fatalf("letter %+v, %v", got, err)
	}
	if m := b.message(l.Message); m.Proof != queue.ProofStatement {
		t.Errorf("proof %s", m.Proof)
	}
	_, err = b.Discard(ctx(t), l.ID, Ask{Actor: kim, Note: "test file"})
	conflict(t, err)
}

func TestDiscardNeedsAReason(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.buried("northwind")
	_, err := b.Discard(ctx(t), l.ID, Ask{Actor: kim, Note: "  "})
	var in *InputError
	if !errors.As(err, &in) || in.Field != "reason" {
		t.Fatalf("got %v, want an InputError about the reason", err)
	}
	if got, err := b.Discard(ctx(t), l.ID, Ask{Actor: kim, Note: "test file"}); err != nil || got.ClosedAs != queue.ClosedDiscarded {
		t.Errorf("letter %+v, %v", got, err)
	}
	_, err = b.Replay(ctx(t), l.ID, Ask{Actor: kim})
	if c := conflict(t, err); !strings.HasPrefix(c.Text, "Discarded by Kim") {
		t.Errorf("told %q", c.Text)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	queued := b.accept("northwind")
	if _, err := b.Cancel(ctx(t), queued.ID, Ask{Actor: kim}); err == nil {
		t.Error("cancelled without a reason")
	}
	m, err := b.Cancel(ctx(t), queued.ID, Ask{Actor: kim, Note: "wrong file"})
	if err != nil || m.State != queue.Discarded {
		t.Errorf("queued: %s, %v", m.State, err)
	}
	_, err = b.Cancel(ctx(t), queued.ID, Ask{Actor: kim, Note: "wrong file"})
	conflict(t, err)

	unsure := b.accept("northwind")
	b.fail(unsure.ID, retry.Verdict{Class: retry.Unknown, Uncertain: true, Signal: fault.SignalFailure, Reason: fault.ReasonMaxAttempts}, queue.Attempt{})
	_, err = b.Cancel(ctx(t), unsure.ID, Ask{Actor: kim, Note: "wrong file"})
	needs(t, err, PossibleDuplicate)
	if _, err := b.Cancel(ctx(t), unsure.ID, Ask{Actor: kim, Note: "wrong file", Confirm: []Code{PossibleDuplicate}}); err != nil {
		t.Error(err)
	}

	l := b.buried("northwind")
	if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim}); err != nil {
		t.Fatal(err)
	}
	m, err = b.Cancel(ctx(t), l.Message, Ask{Actor: kim})
	if err != nil || m.State != queue.Dead || b.letter(l.ID).Status != queue.LetterOpen {
		t.Errorf("replaying: %s, letter %s, %v", m.State, b.letter(l.ID).Status, err)
	}
}

func TestSendAgainIsANewEdition(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.accept("northwind")
	ask := Ask{Actor: kim, Note: "they lost it", Confirm: []Code{PossibleDuplicate}}
	_, err := b.Again(ctx(t), first.ID, ask)
	conflict(t, err) // not delivered yet
	b.deliver(first.ID)
	if _, err := b.Again(ctx(t), first.ID, Ask{Actor: kim, Confirm: ask.Confirm}); err == nil {
		t.Error("sent without a reason")
	}
	_, err = b.Again(ctx(t), first.ID, Ask{Actor: kim, Note: "they lost it"})
	needs(t, err, PossibleDuplicate)
	second, err := b.Again(ctx(t), first.ID, ask)
	if err != nil {
		t.Fatal(err)
	}
	if second.Previous != first.ID || second.Edition != 1 || second.MessageID == first.MessageID || second.Payload != first.Payload || !second.Properties.Equal(first.Properties) || second.State != queue.Queued || second.Version == 0 {
		t.Errorf("edition %+v", second)
	}
	if b.message(first.ID).State != queue.Delivered {
		t.Error("the first changed")
	}
	_, err = b.Again(ctx(t), first.ID, ask)
	if c := conflict(t, err); c.By != kim {
		t.Errorf("told %+v", c)
	}
	b.deliver(second.ID)
	if third, err := b.Again(ctx(t), second.ID, ask); err != nil || third.Edition != 2 {
		t.Errorf("edition %+v, %v", third, err)
	}
}

func TestAgainTwiceAtOnceSendsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.accept("northwind")
	b.deliver(first.ID)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := b.Again(context.Background(), first.ID, Ask{Actor: kim, Note: "lost", Confirm: []Code{PossibleDuplicate}})
			var c *ConflictError
			if err != nil && !errors.As(err, &c) {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if e, err := b.store.Editions(ctx(t), "northwind", first.Key); err != nil || len(e) != 2 {
		t.Errorf("%d editions, %v", len(e), err)
	}
}

func TestChangedContentGoesOutOnConfirmation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.accept("northwind")
	b.deliver(first.ID)
	identity, _ := b.Identity("northwind")
	m := first
	m.ID, m.Payload = "corrected", queue.Payload{SHA256: strings.Repeat("c", 64), Size: 100}
	m.Version, m.Seq, m.Proof = 0, 0, ""
	ad, err := b.store.Accept(ctx(t), queue.Arrival{Message: m, Identity: identity, Now: t0, LetterID: "parked"})
	if err != nil || ad.Outcome != queue.AdmitParked {
		t.Fatalf("%s, %v", ad.Outcome, err)
	}
	_, err = b.Replay(ctx(t), "parked", Ask{Actor: kim})
	needs(t, err, ChangedContent)
	out, err := b.Replay(ctx(t), "parked", Ask{Actor: kim, Confirm: []Code{ChangedContent}})
	if err != nil || out.Message.ID != "corrected" || out.Message.Edition != 1 || out.Message.State != queue.Queued {
		t.Errorf("%+v, %v", out.Message, err)
	}
}

func TestRecheck(t *testing.T) {
	t.Parallel()
	negative := fault.Outcome{Detail: "their words", Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Signer: "ab", Modifier: "error", Text: "decryption-failed"}}
	cases := map[string]struct {
		found  fault.Outcome
		state  queue.State
		closed queue.ClosedAs
		reason fault.Reason
		event  queue.EventType
	}{
		"good now": {fault.Outcome{Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Signer: "ab"}},
			queue.Delivered, queue.ClosedDelivered, fault.ReasonReceiptInvalid, queue.EventLetterClosed},
		"believed now, and it says no": {negative, queue.Dead, "", fault.ReasonSignature, queue.EventLetterChanged},
		"still bad": {fault.Outcome{Detail: "signed by a stranger", Ack: &fault.Acknowledgement{Verdict: fault.AckWrongSigner, Token: true}},
			queue.Dead, "", fault.ReasonReceiptInvalid, queue.EventAckIgnored},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			l := b.failed("northwind", distrusts, queue.Attempt{Raw: "receipts/ab"})
			b.judge = c.found
			out, err := b.Recheck(ctx(t), l.ID, Ask{Actor: kim})
			if err != nil {
				t.Fatal(err)
			}
			got := b.letter(l.ID)
			if m := b.message(l.Message); m.State != c.state || got.ClosedAs != c.closed || got.Reason != c.reason || out.Letter.Version != got.Version {
				t.Errorf("message %s, letter %+v, answer %+v", m.State, got, out)
			}
			e := b.events(c.event)
			if len(e) != 1 || e[0].Actor != kim {
				t.Errorf("events %+v, want one %s by Kim", e, c.event)
			}
			if len(b.events(queue.EventSending)) != 1 {
				t.Error("something was sent")
			}
		})
	}
}

func TestRecheckNeedsAReceipt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Recheck(ctx(t), b.failed("northwind", distrusts, queue.Attempt{}).ID, Ask{Actor: kim})
	conflict(t, err)
	_, err = b.Recheck(ctx(t), b.buried("northwind").ID, Ask{Actor: kim})
	conflict(t, err)
}

func TestUnknownLetterIsNotFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.Replay(ctx(t), "nothing", Ask{Actor: kim}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Cancel(ctx(t), "nothing", Ask{Actor: kim, Note: "x"}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// A receipt that cannot be read now was not checked: nothing is said of it.
func TestRecheckOfWhatCannotBeReadNow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.failed("northwind", distrusts, queue.Attempt{Raw: "receipts/ab"})
	b.judge = fault.Outcome{Cause: fault.CauseStopped, Detail: "the store does not answer"}
	if _, err := b.Recheck(ctx(t), l.ID, Ask{Actor: kim}); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if e := b.events(queue.EventAckIgnored); len(e) != 0 || b.letter(l.ID).Version != l.Version {
		t.Errorf("events %+v", e)
	}
}
