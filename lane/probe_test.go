package lane_test

import (
	"fmt"
	"testing"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

func TestHolderIsTheProbeAndClosesTheOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: firstFails(5)}, one(), func(t *testing.T, g *gateway) {
		first, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(opensAfter + time.Second)
		g.wantLetter(other, fault.ReasonCircuitOpen)
		g.pass(4 * time.Minute)
		g.wantLane("northwind", queue.LaneOpen)
		g.pass(time.Minute)
		m := g.wantState(first, queue.Delivered)
		if m.Attempts != 6 {
			t.Errorf("%d attempts, want 6", m.Attempts)
		}
		if v := g.wantLane("northwind", queue.LaneSending); v.Outage != "OUT-1" {
			t.Errorf("outage %q ended with a letter open", v.Outage)
		}
		g.replay(other)
		g.pass(time.Second)
		g.wantState(other, queue.Delivered)
		g.wantEvents(queue.EventOutageEnded, 1)
		if v := g.s.View("northwind"); v.Outage != "" {
			t.Errorf("outage %s still runs", v.Outage)
		}
	})
}

func TestCooldownDoublesWithEachFailedProbe(t *testing.T) {
	t.Parallel()
	forever := func(p *partner.Partner) { p.Retry.Attempts = 100; p.Retry.Cap = time.Second }
	inBubble(t, &wire{answer: always(refused)}, one(forever), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(3 * time.Hour)
		list := g.wire.arrivals("1")[4:]
		want := []time.Duration{5, 10, 20, 30, 30}
		for i, d := range want {
			if got := list[i+1].at.Sub(list[i].at); got != d*time.Minute { // chance 0.5: no jitter
				t.Errorf("cool-down %d is %v, want %v min", i+1, got, d)
			}
		}
		g.wantEvents(queue.EventBreakerOpened, 1)
		if out, _ := g.store.Outage(t.Context(), "OUT-1"); out.Since.IsZero() {
			t.Error("no outage")
		}
	})
}

func TestHoldWaitsAndChargesTheLane(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: firstFails(8)}, one(hold), func(t *testing.T, g *gateway) {
		first, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(opensAfter + 5*time.Minute + time.Second)
		m := g.wantState(first, queue.Queued)
		if m.Attempts != 5 {
			t.Errorf("%d attempts after a charged probe, want 5", m.Attempts)
		}
		g.wantState(other, queue.Queued)
		if attempts, _ := g.store.Attempts(t.Context(), m.ID); len(attempts) != 5 {
			t.Errorf("%d attempts stored, want 5", len(attempts))
		}
		v := g.wantLane("northwind", queue.LaneOpen)
		if len(v.Charged) != 1 || v.Charged[0].Message != m.ID {
			t.Errorf("charged %+v", v.Charged)
		}
		g.pass(10*time.Minute + 20*time.Minute + 30*time.Minute + time.Minute)
		if m = g.wantState(first, queue.Delivered); m.Attempts != 6 {
			t.Errorf("%d attempts, want 6", m.Attempts)
		}
		g.wantState(other, queue.Delivered)
		g.wantEvents(queue.EventOutageEnded, 1)
	})
}

func TestProbeThatIsRefusedForGoodActsOnTheDocument(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(m queue.Message, n int) reply {
		switch {
		case m.Key == "1" && n <= 5:
			return reply{o: refused}
		case m.Key == "1":
			return reply{o: notAcceptable}
		}
		return reply{o: receipt}
	}}, one(hold), func(t *testing.T, g *gateway) {
		first, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(6 * time.Minute)
		g.wantLetter(first, fault.ReasonRejected)
		g.wantState(other, queue.Delivered) // the next may test at once
		g.wantLane("northwind", queue.LaneSending)
	})
}

func TestUnknownProbeObeysHold(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: script(refused, refused, refused, refused, refused, cut)},
		one(hold, func(p *partner.Partner) { p.Lane.OnUnknown = "hold" }), func(t *testing.T, g *gateway) {
			m := g.accept("northwind", "1")
			g.pass(6 * time.Minute)
			g.wantLetter(m, fault.ReasonUnknownOutcome)
			if n := len(g.wire.arrivals("1")); n != 6 {
				t.Errorf("%d arrivals, want 6", n)
			}
		})
}

func TestEmptyLaneIsCheckedUntilItAnswers(t *testing.T) {
	t.Parallel()
	once := func(p *partner.Partner) { p.Retry.Attempts = 5 } // the fifth failure opens and ends the round
	down := true
	w := &wire{answer: always(refused)}
	w.check = func(string) fault.Outcome {
		if down {
			return refused
		}
		return alive
	}
	inBubble(t, w, one(once), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(opensAfter + time.Second)
		g.wantLetter(m, fault.ReasonMaxAttempts)
		g.wantLane("northwind", queue.LaneOpen)
		g.pass(5 * time.Minute)
		g.wantLane("northwind", queue.LaneOpen) // the check failed
		if w.checked() != 1 {
			t.Fatalf("%d checks, want 1", w.checked())
		}
		w.change(func() { down = false })
		g.pass(10 * time.Minute)
		v := g.wantLane("northwind", queue.LaneAnswering)
		if w.checked() != 2 || v.Next.IsZero() {
			t.Errorf("%d checks, next %v", w.checked(), v.Next)
		}
		g.wantEvents(queue.EventAnswering, 1)
		g.pass(31 * time.Minute)
		if w.checked() != 3 {
			t.Errorf("%d checks, want one more after max_cooldown", w.checked())
		}
		g.wantEvents(queue.EventAnswering, 1)
		w.change(func() { w.answer = always(receipt) })
		next := g.accept("northwind", "2")
		g.pass(time.Second)
		g.wantState(next, queue.Delivered)
		g.wantLane("northwind", queue.LaneSending)
		g.wantEvents(queue.EventOutageEnded, 0) // the document that opened it is not delivered
		g.replay(m)
		g.pass(time.Second)
		g.wantState(m, queue.Delivered)
		g.wantEvents(queue.EventOutageEnded, 1)
	})
}

func TestExactlyOneProbe(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(m queue.Message, n int) reply {
		if time.Since(epoch) < opensAfter+time.Minute {
			return reply{o: refused}
		}
		return reply{receipt, 10 * time.Second}
	}}, one(hold, parallel), func(t *testing.T, g *gateway) {
		for i := range 10 {
			g.accept("northwind", fmt.Sprint(i))
		}
		g.pass(time.Minute)
		g.wantLane("northwind", queue.LaneOpen)
		before := len(g.wire.arrivals(""))
		g.pass(4*time.Minute + 5*time.Second)
		g.wantLane("northwind", queue.LaneHalfOpen)
		if n := len(g.wire.arrivals("")) - before; n != 1 {
			t.Errorf("%d tests at once", n)
		}
		waiting := 0
		for i := range 10 {
			if o := g.s.Overlay(g.get(queue.Message{ID: fmt.Sprintf("m%06d", i+1)}), i); o.Why == queue.WhyProbe {
				waiting++
			}
		}
		if waiting != 9 {
			t.Errorf("%d wait for the test, want 9", waiting)
		}
		// Then 1, 2, 4 at once.
		g.pass(10 * time.Second)
		if v := g.s.View("northwind"); v.Ramp != 1 || v.Running != 1 {
			t.Errorf("ramp %d, running %d, want 1 and 1", v.Ramp, v.Running)
		}
		g.pass(10 * time.Second)
		if v := g.s.View("northwind"); v.Running != 2 {
			t.Errorf("running %d, want 2", v.Running)
		}
		g.pass(time.Hour)
		g.wantLane("northwind", queue.LaneSending)
	})
}
