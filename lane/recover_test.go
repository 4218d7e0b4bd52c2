package lane_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
)

// crash ends the process without a word: nothing it does afterwards reaches
// the store, and the next one starts.
func (g *gateway) crash() {
	g.t.Helper()
	g.dead.crash()
	g.stop()
	g.start()
}

func TestCrashDuringAnExchange(t *testing.T) {
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
			inBubble(t, &wire{async: c.async, answer: func(m queue.Message, n int) reply { return reply{receipt, time.Minute} }}, one(set), func(t *testing.T, g *gateway) {
				m := g.accept("northwind", "1")
				g.pass(time.Second)
				g.wantState(m, queue.Sending)
				g.crash()
				g.pass(2 * time.Minute)
				m = g.wantState(m, c.want)
				if m.Crashes != 1 || m.Attempts > 1 {
					t.Errorf("%d crashes, %d attempts", m.Crashes, m.Attempts)
				}
				if c.want == queue.Delivered {
					list := g.wire.arrivals("1")
					if len(list) != 2 || list[0].sha != list[1].sha {
						t.Errorf("arrivals %+v, want the same bytes twice", list)
					}
				}
			})
		})
	}
}

func TestThirdCrashIsALetter(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(queue.Message, int) reply { return reply{receipt, time.Minute} }}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		for range 3 {
			g.pass(time.Second)
			g.crash()
		}
		g.wantLetter(m, fault.ReasonUnknownOutcome)
	})
}

// A crash in the middle of burying goes on where it was.
func TestBuryingGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(opensAfter - time.Second)
		for i := range 600 {
			g.accept("northwind", fmt.Sprintf("r%d", i))
		}
		g.dead.after(queue.EventOutageBuried)
		g.pass(time.Minute)
		if n := len(g.events(queue.EventOutageBuried)); n != 1 {
			t.Fatalf("%d batches before the crash, want 1", n)
		}
		g.crash()
		g.pass(time.Second)
		out, err := g.store.Outage(t.Context(), "OUT-1")
		if err != nil || out.Letters != 600 {
			t.Errorf("%d letters, %v, want 600", out.Letters, err)
		}
		if v := g.wantLane("northwind", queue.LaneOpen); !v.Breaker.OpenedAt.Equal(epoch.Add(opensAfter)) {
			t.Errorf("opened at %v: stamped anew", v.Breaker.OpenedAt)
		}
	})
}

func TestAbandonedProbeReopensAndDoubles(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(m queue.Message, n int) reply {
		if n <= 5 {
			return reply{o: refused}
		}
		return reply{receipt, time.Minute}
	}}, one(hold), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(opensAfter + 5*time.Minute + time.Second)
		g.wantLane("northwind", queue.LaneHalfOpen)
		g.crash()
		g.pass(time.Second)
		v := g.wantLane("northwind", queue.LaneOpen)
		if v.Holder != m.ID || v.Breaker.Trips != 1 {
			t.Errorf("holder %s, trips %d", v.Holder, v.Breaker.Trips)
		}
		g.pass(time.Hour)
		g.wantState(m, queue.Delivered)
	})
}

func TestStopWaitsForRunningExchanges(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(queue.Message, int) reply { return reply{receipt, 30 * time.Second} }}, one(), func(t *testing.T, g *gateway) {
		m, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.s.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		g.wantState(m, queue.Delivered)
		g.wantState(other, queue.Queued)
		if d := time.Since(epoch); d != 30*time.Second {
			t.Errorf("stopped after %v", d)
		}
		if err := g.s.Stop(ctx); err != nil {
			t.Errorf("a second stop: %v", err)
		}
	})
}

func TestStopCutsAtTheDeadline(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(queue.Message, int) reply { return reply{receipt, time.Hour} }}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: %v", err)
		}
		m = g.wantState(m, queue.Queued)
		if !m.Uncertain || m.Attempts != 0 {
			t.Errorf("uncertain %v, %d attempts: cut after the first byte is unknown and not counted", m.Uncertain, m.Attempts)
		}
	})
}

// The result is committed however long the store is down, and nothing starts
// meanwhile.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(queue.Message, int) reply { return reply{receipt, time.Second} }}, []*partner.Partner{standard("northwind"), standard("contoso")}, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(500 * time.Millisecond)
		other := g.accept("contoso", "1")
		g.dead.down(true)
		g.s.Wake("contoso")
		g.pass(time.Hour)
		if n := len(g.wire.arrivals("")); n > 2 {
			t.Errorf("%d exchanges, want none to start while the store is down", n)
		}
		g.dead.down(false)
		g.pass(time.Minute)
		if m = g.wantState(m, queue.Delivered); m.Attempts != 1 {
			t.Errorf("%d attempts, want 1", m.Attempts)
		}
		g.wantState(other, queue.Delivered)
	})
}

// A write that went through although the store said otherwise is ours.
func TestStoreFailsAfterTheCommit(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		g.dead.lie(2) // `sending` and the result
		m := g.accept("northwind", "1")
		g.pass(time.Minute)
		if m = g.wantState(m, queue.Delivered); m.Attempts != 1 {
			t.Errorf("%d attempts, want 1", m.Attempts)
		}
		if n := len(g.wire.arrivals("1")); n != 1 {
			t.Errorf("%d arrivals, want 1", n)
		}
	})
}

func TestStartTwiceAndStopBeforeStart(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		if err := g.s.Start(t.Context()); err == nil {
			t.Error("a second Start succeeded")
		}
		synctest.Wait()
	})
}
