package lane_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
)

func TestDelivers(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "INV-1")
		g.pass(0)
		m = g.wantState(m, queue.Delivered)
		if m.Proof != queue.ProofReceipt || m.Attempts != 1 {
			t.Errorf("proof %s after %d attempts", m.Proof, m.Attempts)
		}
		builds, _ := g.store.Builds(t.Context(), m.ID)
		if len(builds) != 1 || !builds[0].Sent {
			t.Errorf("builds %+v, want one that was sent", builds)
		}
		attempts, _ := g.store.Attempts(t.Context(), m.ID)
		if len(attempts) != 1 || attempts[0].Class != retry.Success || attempts[0].Build != 1 {
			t.Errorf("attempts %+v", attempts)
		}
	})
}

// TestReceiptThatCannotBeKept: it settles the document, since the partner has
// it; that the proof is missing stands in the same transaction.
func TestReceiptThatCannotBeKept(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		inBubble(t, &wire{answer: always(receipt), full: full}, one(), func(t *testing.T, g *gateway) {
			m := g.accept("northwind", "INV-1")
			g.pass(0)
			m = g.wantState(m, queue.Delivered)
			events, err := g.store.Timeline(t.Context(), m.ID)
			if err != nil {
				t.Fatal(err)
			}
			lost := 0
			for _, e := range events {
				if e.Type == queue.EventEvidenceLost && e.Partner == "northwind" {
					lost++
				}
			}
			if (lost == 1) != full || m.Proof != queue.ProofReceipt {
				t.Errorf("receipts cannot be kept: %v; %d events say so, proof %s", full, lost, m.Proof)
			}
		})
	}
}

// The default schedule in fake time is retry.Policy's, and the same bytes go
// out each time.
func TestRetriesOnSchedule(t *testing.T) {
	t.Parallel()
	quiet := func(p *partner.Partner) { p.Breaker.Failures, p.Breaker.Consecutive = 1000, 1000 }
	inBubble(t, &wire{answer: always(busy)}, one(quiet), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "INV-1")
		g.pass(3 * time.Hour)
		g.wantLetter(m, fault.ReasonMaxAttempts)
		list := g.wire.arrivals("INV-1")
		policy := retry.Default()
		if len(list) != policy.Attempts {
			t.Fatalf("%d arrivals, want %d", len(list), policy.Attempts)
		}
		for n := 1; n < len(list); n++ {
			if got, want := list[n].at.Sub(list[n-1].at), policy.Ceiling(n); got != want {
				t.Errorf("wait %d is %v, want %v", n, got, want)
			}
			if list[n].sha != list[0].sha {
				t.Errorf("attempt %d sent other bytes", n+1)
			}
		}
	})
}

func TestFirstInFirstOut(t *testing.T) {
	t.Parallel()
	answer := func(m queue.Message, n int) reply {
		if m.Key == "1" && n < 3 {
			return reply{busy, time.Second}
		}
		return reply{receipt, time.Second}
	}
	inBubble(t, &wire{answer: answer}, one(), func(t *testing.T, g *gateway) {
		g.acceptAll("northwind", "1", "2", "3")
		g.pass(time.Minute)
		want := []string{"1", "1", "1", "2", "3"}
		for i, s := range g.wire.arrivals("") {
			if i >= len(want) || s.key != want[i] {
				t.Fatalf("arrival %d is %s, want %v", i, s.key, want)
			}
		}
	})
}

func TestConcurrencyBoundsALane(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(queue.Message, int) reply { return reply{receipt, time.Minute} }}, one(parallel), func(t *testing.T, g *gateway) {
		for range 20 {
			g.accept("northwind", "k"+string(rune('a'+g.ids)))
		}
		g.pass(time.Second)
		if n := len(g.wire.arrivals("")); n != 4 {
			t.Errorf("%d exchanges at once, want 4", n)
		}
		g.pass(10 * time.Minute)
		if g.wire.most["northwind"] != 4 {
			t.Errorf("at most %d at once, want 4", g.wire.most["northwind"])
		}
	})
}

func TestAwaitingAckFreesTheLane(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true, answer: always(later)}, one(), func(t *testing.T, g *gateway) {
		a, b := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(0)
		g.wantState(a, queue.AwaitingAck)
		g.wantState(b, queue.AwaitingAck)
	})
}

func TestRow21Row82AckOverdueResendsOnceThenLetter(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true, answer: always(later)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Hour + time.Second)
		if n := len(g.wire.arrivals("1")); n != 2 {
			t.Fatalf("%d arrivals after mdn.wait, want 2", n)
		}
		g.pass(time.Hour)
		if l := g.wantLetter(m, fault.ReasonReceiptMissing); !l.Uncertain {
			t.Error("the letter is not uncertain")
		}
		if n := len(g.wire.arrivals("1")); n != 2 {
			t.Errorf("%d arrivals, want 2", n)
		}
	})
}

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on    retry.OnUnknown
		async bool
		want  queue.State
	}{
		{retry.Resend, false, queue.Delivered},
		{retry.Hold, false, queue.Dead},
		{retry.Wait, true, queue.AwaitingAck},
	} {
		t.Run(string(c.on), func(t *testing.T) {
			t.Parallel()
			set := func(p *partner.Partner) { p.Lane.OnUnknown = c.on }
			inBubble(t, &wire{async: c.async, answer: script(cut, receipt)}, one(set), func(t *testing.T, g *gateway) {
				m := g.accept("northwind", "1")
				g.pass(time.Minute)
				m = g.wantState(m, c.want)
				if c.want == queue.Dead {
					g.wantLetter(m, fault.ReasonUnknownOutcome)
				}
			})
		})
	}
}

func TestCannotBuildIsALetter(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(receipt), broken: func(queue.Message) *fault.Outcome {
		return &fault.Outcome{Cause: fault.CauseKey, Detail: "our key expired"}
	}}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		list := g.acceptAll("northwind", "1", "2", "3", "4")
		g.pass(time.Second)
		for _, m := range list[:3] {
			g.wantLetter(m, fault.ReasonLocal)
		}
		g.wantState(list[3], queue.Queued)
		v := g.wantLane("northwind", queue.LaneNeedsFix)
		if v.Fix == nil || !v.Fix.Ours || v.Fix.Cause != "local" {
			t.Errorf("fix %+v", v.Fix)
		}
		g.wantEvents(queue.EventLaneNeedsFix, 1)
		w.change(func() { w.broken = nil })
		if err := g.s.Reloaded(t.Context(), partner.Change{Partners: []partner.PartnerChange{{ID: "northwind", Certificates: true}}}); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(list[3], queue.Delivered)
	})
}

// TestAS4Row22ADirectoryThatDoesNotAnswerIsAnAttempt: without wire bytes, and
// without a word on the document; the breaker learns nothing of it.
func TestAS4Row22ADirectoryThatDoesNotAnswerIsAnAttempt(t *testing.T) {
	t.Parallel()
	down := fault.Outcome{Phase: fault.PhaseResolve, Cause: fault.CauseDirectory, Detail: "the SMP answers 503", AckAsked: fault.AckSync}
	tries := 0
	w := &wire{
		lacks: func(queue.Message) bool { tries++; return tries <= 2 },
		answer: func(_ queue.Message, n int) reply {
			if n <= 2 {
				return reply{o: down}
			}
			return reply{o: receipt}
		},
	}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "INV-1")
		g.pass(0)
		if m := g.wantState(m, queue.Waiting); m.Uncertain || m.Build != 0 || m.Detail != down.Detail {
			t.Errorf("after the first: %+v", m)
		}
		g.pass(time.Minute)
		m = g.wantState(m, queue.Delivered)
		attempts, _ := g.store.Attempts(t.Context(), m.ID)
		builds, _ := g.store.Builds(t.Context(), m.ID)
		if len(attempts) != 3 || attempts[0].Class != retry.Transient || attempts[0].Build != 0 || attempts[2].Build != 1 || len(builds) != 1 || m.Attempts != 3 {
			t.Errorf("attempts %+v, builds %+v", attempts, builds)
		}
	})
}

func TestNoSpaceToBuildIsNoAttempt(t *testing.T) {
	t.Parallel()
	full := true
	w := &wire{answer: always(receipt), broken: func(queue.Message) *fault.Outcome {
		if full {
			return &fault.Outcome{Cause: fault.CauseStopped, Detail: "disk full"}
		}
		return nil
	}}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Minute)
		g.wantState(m, queue.Queued)
		w.change(func() { full = false })
		g.pass(time.Minute)
		if m = g.wantState(m, queue.Delivered); m.Attempts != 1 {
			t.Errorf("%d attempts, want 1", m.Attempts)
		}
	})
}

func TestPanicDelaysOnlyItsLane(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(receipt), panics: func(m queue.Message) bool { return m.Partner == "northwind" }}
	inBubble(t, w, []*partner.Partner{standard("northwind"), standard("contoso")}, func(t *testing.T, g *gateway) {
		bad, good := g.accept("northwind", "1"), g.accept("contoso", "1")
		g.pass(0)
		g.wantState(good, queue.Delivered)
		g.pass(10 * time.Minute)
		g.wantLetter(bad, fault.ReasonUnknownOutcome)
		if n := len(g.wire.arrivals("1")); n != 4 {
			t.Errorf("%d arrivals, want 1 and 3", n)
		}
	})
}

func TestRetryAfterBindsTheLane(t *testing.T) {
	t.Parallel()
	asks := busy
	asks.HasRetry, asks.RetryAfter = true, 10*time.Minute
	answer := func(m queue.Message, n int) reply {
		if m.Key == "1" && n == 1 {
			return reply{o: asks}
		}
		return reply{o: receipt}
	}
	inBubble(t, &wire{answer: answer}, one(parallel), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(0)
		second := g.accept("northwind", "2")
		g.pass(9 * time.Minute)
		g.wantState(second, queue.Queued)
		if o := g.s.Overlay(g.get(second), 1); o.Why != queue.WhyBackoff || time.Until(o.Next) < time.Minute {
			t.Errorf("shown as %+v", o)
		}
		g.pass(3 * time.Minute)
		g.wantState(second, queue.Delivered)
	})
}

func TestRetryAfterIsClamped(t *testing.T) {
	t.Parallel()
	asks := busy
	asks.HasRetry, asks.RetryAfter = true, 1000*time.Hour
	inBubble(t, &wire{answer: script(asks, receipt)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(40 * time.Minute)
		g.wantState(m, queue.Delivered)
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	due := func(d time.Duration) func(*queue.Message) {
		return func(m *queue.Message) { m.DeliverBy = time.Now().Add(d) }
	}
	inBubble(t, &wire{answer: always(busy)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1", due(5*time.Second))
		g.pass(time.Minute)
		g.wantLetter(m, fault.ReasonDeadline)
		if n := len(g.wire.arrivals("1")); n != 3 { // at 0, 1 and 3 s; the next would be at 7
			t.Errorf("%d arrivals, want 3", n)
		}
	})
	keep := func(p *partner.Partner) { p.KeepOverdue = true }
	inBubble(t, &wire{answer: script(busy, busy, busy, receipt)}, one(keep), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1", due(5*time.Second))
		g.pass(time.Minute)
		if m = g.wantState(m, queue.Delivered); !m.Overdue {
			t.Error("not marked overdue")
		}
	})
	// Behind another message: nothing tried it, time alone ends it.
	inBubble(t, &wire{answer: func(queue.Message, int) reply { return reply{receipt, time.Hour} }}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		m := g.accept("northwind", "2", due(time.Minute), func(m *queue.Message) { m.WarnBy = time.Now().Add(30 * time.Second) })
		g.pass(59 * time.Second)
		g.wantState(m, queue.Queued)
		g.wantEvents(queue.EventWarnBy, 1)
		g.pass(2 * time.Second)
		g.wantLetter(m, fault.ReasonDeadline)
	})
}

func TestCredentialIsRetriedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(login)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Minute)
		g.wantLetter(m, fault.ReasonCredential)
		if n := len(g.wire.arrivals("1")); n != 2 {
			t.Errorf("%d arrivals, want 2", n)
		}
	})
}

// What is to be sent cannot be read after `sending` was committed: that is no
// attempt, and the lane does not spin.
func TestWhatCannotBeReadNowIsSentLater(t *testing.T) {
	t.Parallel()
	unread := true
	w := &wire{answer: func(queue.Message, int) reply {
		if unread {
			return reply{o: fault.Outcome{Cause: fault.CauseStopped, Detail: "the store does not answer", AckAsked: fault.AckSync}}
		}
		return reply{o: receipt}
	}}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Minute)
		g.wantState(m, queue.Queued)
		if n := len(w.arrivals("1")); n < 2 || n > 13 {
			t.Errorf("tried %d times in a minute", n)
		}
		w.change(func() { unread = false })
		g.pass(time.Minute)
		if m = g.wantState(m, queue.Delivered); m.Attempts != 1 {
			t.Errorf("%d attempts, want 1", m.Attempts)
		}
	})
}

// One lane that cannot be written keeps no other from the new settings.
func TestAReloadReachesEveryPartner(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(receipt), broken: func(queue.Message) *fault.Outcome {
		return &fault.Outcome{Cause: fault.CauseKey, Detail: "our key expired"}
	}}
	inBubble(t, w, []*partner.Partner{standard("contoso"), standard("northwind")}, func(t *testing.T, g *gateway) {
		for _, id := range []string{"contoso", "northwind"} {
			g.acceptAll(id, id+"1", id+"2", id+"3", id+"4")
		}
		g.pass(time.Second)
		g.wantEvents(queue.EventLaneNeedsFix, 2)
		w.change(func() { w.broken = nil })
		g.dead.set(func() {
			g.dead.refuse = func(r *queue.Result) error {
				if r.Lane != nil && r.Lane.Partner == "contoso" {
					return queue.ErrForbidden
				}
				return nil
			}
		})
		change := partner.Change{Partners: []partner.PartnerChange{{ID: "contoso", Certificates: true}, {ID: "northwind", Certificates: true}}}
		if err := g.s.Reloaded(t.Context(), change); !errors.Is(err, queue.ErrForbidden) || !strings.Contains(err.Error(), "contoso") {
			t.Errorf("%v", err)
		}
		g.wantLane("northwind", queue.LaneSending)
		g.wantLane("contoso", queue.LaneNeedsFix)
		g.dead.set(func() { g.dead.refuse = nil })
		if err := g.s.Reloaded(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		g.wantLane("contoso", queue.LaneSending)
	})
}
