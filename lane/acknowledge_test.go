package lane_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// Acknowledgements that come by themselves.
var (
	thanks = fault.Outcome{AckAsked: fault.AckAsync, Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Signer: "s", Token: true}}
	sorry  = fault.Outcome{AckAsked: fault.AckAsync, Detail: "decryption-failed",
		Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Type: "processed", Modifier: "error", Text: "decryption-failed", Signer: "s", Token: true}}
	stray = fault.Outcome{AckAsked: fault.AckAsync, Ack: &fault.Acknowledgement{Verdict: fault.AckUnsigned, Positive: true}}
)

func (g *gateway) acknowledge(m queue.Message, o fault.Outcome) {
	g.t.Helper()
	g.wire.change(func() { g.wire.judge = o })
	if _, err := g.s.Acknowledge(g.t.Context(), m.MessageID, "raw"); err != nil {
		g.t.Fatal(err)
	}
	g.pass(0)
}

func TestRow67AcknowledgementSettlesAnyState(t *testing.T) {
	t.Parallel()
	async := func(o fault.Outcome, took time.Duration) *wire {
		return &wire{async: true, answer: func(queue.Message, int) reply { return reply{o, took} }}
	}
	for _, c := range []struct {
		name  string
		wire  *wire
		after time.Duration
		from  queue.State
		ack   fault.Outcome
		want  queue.State
	}{
		{"awaiting", async(later, 0), time.Second, queue.AwaitingAck, thanks, queue.Delivered},
		{"awaiting, negative", async(later, 0), time.Second, queue.AwaitingAck, sorry, queue.Dead},
		{"awaiting, stray", async(later, 0), time.Second, queue.AwaitingAck, stray, queue.AwaitingAck},
		{"sending: it overtook the response", async(later, time.Minute), time.Second, queue.Sending, thanks, queue.Delivered},
		{"sending, negative", async(later, time.Minute), time.Second, queue.Sending, sorry, queue.Dead},
		{"waiting for a retry", async(cut, 0), time.Millisecond, queue.Waiting, thanks, queue.Delivered},
		{"dead", async(later, 0), 3 * time.Hour, queue.Dead, thanks, queue.Delivered},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.wire, one(), func(t *testing.T, g *gateway) {
				m := g.accept("northwind", "1")
				g.pass(c.after)
				m = g.wantState(m, c.from)
				g.acknowledge(m, c.ack)
				g.pass(10 * time.Minute)
				m = g.wantState(m, c.want)
				if c.from == queue.Dead {
					letters, _ := g.store.LettersOf(t.Context(), m.ID)
					if len(letters) != 1 || letters[0].ClosedAs != queue.ClosedDeliveredLate {
						t.Errorf("letters %+v", letters)
					}
				}
				attempts, _ := g.store.Attempts(t.Context(), m.ID)
				seen := map[int]bool{}
				for _, a := range attempts {
					if seen[a.N] {
						t.Errorf("attempt %d twice", a.N)
					}
					seen[a.N] = true
				}
				if c.from == queue.Sending && len(attempts) != 2 {
					t.Errorf("%d attempts, want the exchange recorded besides the acknowledgement", len(attempts))
				}
			})
		})
	}
}

// While the exchange runs its slot is taken, though the message is settled.
func TestSettledExchangeKeepsItsSlot(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true, answer: func(queue.Message, int) reply { return reply{later, time.Minute} }}, one(), func(t *testing.T, g *gateway) {
		m, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(time.Second)
		g.acknowledge(m, thanks)
		g.wantState(m, queue.Delivered)
		g.pass(30 * time.Second)
		g.wantState(other, queue.Queued)
		if !g.s.Running("northwind", m.ID) {
			t.Error("not running any more")
		}
		g.pass(30 * time.Second)
		g.wantState(other, queue.Sending)
		if g.s.Running("northwind", m.ID) {
			t.Error("still running")
		}
	})
}

func TestAcknowledgementOfNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		if _, err := g.s.Acknowledge(t.Context(), "<nobody@edi.acme.example>", "raw"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
	})
}

// Strangers can guess Message-IDs: what they post is kept within bounds.
func TestStrayAcknowledgementsAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true, answer: always(later)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Second)
		for range 300 {
			g.acknowledge(m, stray)
		}
		if attempts, _ := g.store.Attempts(t.Context(), m.ID); len(attempts) > 200 {
			t.Errorf("%d attempts kept", len(attempts))
		}
		g.acknowledge(m, thanks)
		g.wantState(m, queue.Delivered)
	})
}

// Three negative receipts of one configuration-like cause stop the lane, also
// if they come by themselves.
func TestNegativeReceiptsStopTheLane(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true, answer: always(later)}, one(), func(t *testing.T, g *gateway) {
		list := g.acceptAll("northwind", "1", "2", "3")
		g.pass(time.Second)
		for _, m := range list {
			g.acknowledge(m, sorry)
			g.wantLetter(m, fault.ReasonSignature)
		}
		g.wantLane("northwind", queue.LaneNeedsFix)
	})
}

// What cannot be judged for reasons of our own is not confirmed: the partner
// sends it again.
func TestUnjudgedAcknowledgementIsNotConfirmed(t *testing.T) {
	t.Parallel()
	for _, c := range []fault.Cause{fault.CauseBuild, fault.CauseKey, fault.CausePayload, fault.CauseStopped} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			inBubble(t, &wire{async: true, answer: always(later), judge: fault.Outcome{Cause: c}}, one(), func(t *testing.T, g *gateway) {
				m := g.accept("northwind", "1")
				g.pass(time.Second)
				if _, err := g.s.Acknowledge(t.Context(), m.MessageID, "raw"); err == nil {
					t.Error("confirmed")
				}
				g.wantEvents(queue.EventAckIgnored, 0)
				g.acknowledge(m, thanks)
				g.wantState(m, queue.Delivered)
			})
		})
	}
}

// While the store is down the partner waits no longer than its request.
func TestAcknowledgementGivesUpWithItsRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true, answer: func(queue.Message, int) reply { return reply{later, time.Second} }}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(500 * time.Millisecond)
		g.dead.down(true)
		g.pass(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		g.wire.change(func() { g.wire.judge = thanks })
		ended := make(chan error, 1)
		go func() { _, err := g.s.Acknowledge(ctx, m.MessageID, "raw"); ended <- err }()
		g.pass(6 * time.Second)
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended with %v", err)
			}
		default:
			t.Error("still waiting")
		}
		g.dead.down(false)
		g.pass(time.Minute)
		g.wantState(m, queue.AwaitingAck)
	})
}

// An exchange that runs keeps the settings it began with.
func TestSettingsGoneDuringAnExchange(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true, answer: func(queue.Message, int) reply { return reply{later, time.Minute} }}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Second)
		g.book.remove("northwind")
		g.pass(time.Minute)
		g.wantState(m, queue.AwaitingAck)
		g.pass(58 * time.Minute) // mdn.wait is 1 h
		g.wantState(m, queue.AwaitingAck)
	})
}
