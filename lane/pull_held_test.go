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
)

func TestPulledIsHeldBack(t *testing.T) {
	t.Parallel()
	t.Run("by an operator", func(t *testing.T) {
		t.Parallel()
		forPickUp(t, func(t *testing.T, g *gateway) {
			m := g.accept("northwind", "1")
			if err := g.s.StopLane(t.Context(), "northwind", operator, "their maintenance", time.Time{}); err != nil {
				t.Fatal(err)
			}
			g.wantNothing()
			g.wantShown(m, queue.WhyStopped)
			if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
				t.Fatal(err)
			}
			g.fetch().Done(nil)
		})
	})
	t.Run("by a blackout", func(t *testing.T) {
		t.Parallel()
		cal := calendar(t, "  blackouts: [{cron: \"0 0 * * *\", for: 3h}]\n")
		forPickUp(t, func(t *testing.T, g *gateway) {
			m := g.accept("northwind", "1")
			g.wantNothing()
			g.wantShown(m, queue.WhyBlackout)
			g.pass(3*time.Hour + 10*time.Minute) // with its spread
			g.fetch().Done(nil)
		}, func(p *partner.Partner) { p.Lane.Calendar = cal })
	})
	t.Run("by settings that are gone or bad", func(t *testing.T) {
		t.Parallel()
		forPickUp(t, func(t *testing.T, g *gateway) {
			g.accept("northwind", "1")
			g.book.put(standard("northwind", fetches, func(p *partner.Partner) { p.Misconfigured = true }))
			g.wantNothing()
			g.book.remove("northwind")
			g.wantNothing()
			g.book.put(standard("northwind", fetches))
			g.fetch().Done(nil)
		})
	})
}

// TestPulledHoldsStop: the process waits for who fetches right now, hands out
// nothing more, and tells him when he must end.
func TestPulledHoldsStop(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"he ends": true, "he is cut": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forPickUp(t, func(t *testing.T, g *gateway) {
				m, other := g.accept("northwind", "1"), g.accept("northwind", "2")
				h := g.fetch()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				stopped := make(chan error, 1)
				go func() { stopped <- g.s.Stop(ctx) }()
				g.pass(30 * time.Second)
				if _, err := g.s.HandOut(t.Context(), "northwind"); !errors.Is(err, queue.ErrUnavailable) {
					t.Errorf("%v, want ErrUnavailable", err)
				}
				if len(stopped) > 0 || h.Cut.Err() != nil {
					t.Fatal("it did not wait")
				}
				want := queue.AwaitingAck
				if ends {
					h.Done(nil)
				} else {
					want = queue.Queued
					<-h.Cut.Done()
					h.Done(context.Cause(h.Cut))
				}
				synctest.Wait()
				if err := <-stopped; (err == nil) != ends {
					t.Errorf("stopped with %v", err)
				}
				if now := g.wantState(m, want); now.Uncertain == ends {
					t.Errorf("uncertain %v", now.Uncertain)
				}
				g.wantState(other, queue.Queued)
				g.start()
			})
		})
	}
}

// TestPulledWhileWeAreIsolated: our way to partners is cut, theirs to us is not.
// Nobody who fetches is asked whether it works again, and that one comes says
// nothing of it.
func TestPulledWhileWeAreIsolated(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(refused), check: func(string) fault.Outcome { return refused }}
	partners := append(many(6, parallel), standard("northwind", fetches), standard("contoso", fetches))
	inBubble(t, w, partners, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		for i := range 6 {
			g.accept(fmt.Sprintf("p%05d", i), "1")
		}
		g.pass(time.Minute)
		g.wantLane("p00000", queue.LaneIsolated)
		g.wantLane("northwind", queue.LaneSending)
		g.wantShown(m, queue.WhyPull)
		h := g.fetch()
		contacts := func() int { return len(w.arrivals("")) + w.checked() }
		before := contacts()
		g.pass(10 * time.Minute)
		if n := contacts() - before; n != 20 {
			t.Errorf("others were tried %d times in 10 min, want 20: none of these for nothing", n)
		}
		h.Done(nil)
		g.wantState(m, queue.AwaitingAck)
		g.wantLane("p00000", queue.LaneIsolated)
		w.change(func() {
			for _, s := range append(w.log, w.checks...) {
				if s.partner == "northwind" || s.partner == "contoso" {
					t.Errorf("%s was contacted", s.partner)
				}
			}
		})
	})
}

// TestPulledTripAndReset: an operator's trip holds what is there back, as for
// any lane; after its cool-down what is fetched next is the test.
func TestPulledTripAndReset(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m, next := g.accept("northwind", "1"), g.accept("northwind", "2")
		trip := func() {
			t.Helper()
			if err := g.s.Trip(t.Context(), "northwind", operator); err != nil {
				t.Fatal(err)
			}
			g.pass(time.Second)
			g.wantNothing()
			g.wantLane("northwind", queue.LaneOpen)
		}
		trip()
		if o := g.wantShown(m, queue.WhyBreaker); o.Next.IsZero() {
			t.Error("nobody is told until when")
		}
		if err := g.s.Reset(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		h := g.fetch()
		trip()
		h.Done(nil) // it was under way
		g.wantState(m, queue.AwaitingAck)
		g.wantLane("northwind", queue.LaneOpen)
		g.pass(10 * time.Minute)
		g.wantLane("northwind", queue.LaneHalfOpen)
		g.wantShown(next, queue.WhyPull)
		h = g.fetch()
		g.wantNothing()
		h.Done(errCut)
		g.wantLane("northwind", queue.LaneHalfOpen)
		if now := g.wantState(next, queue.Queued); !now.Uncertain {
			t.Error("not uncertain")
		}
		g.fetch().Done(nil)
		g.wantLane("northwind", queue.LaneSending)
		g.wantEvents(queue.EventDead, 0)
		if n := g.wire.checked(); n > 0 {
			t.Errorf("%d connection checks", n)
		}
	}, parallel)
}

// TestPulledAfterAnOutage: a partner that could not be reached and now fetches:
// no document of his is buried.
func TestPulledAfterAnOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(opensAfter + time.Second)
		g.wantLane("northwind", queue.LaneOpen)
		g.book.put(standard("northwind", fetches))
		m := g.accept("northwind", "2")
		g.pass(30 * time.Minute)
		g.wantState(m, queue.Queued)
		for _, want := range []string{"1", "2"} {
			h := g.fetch()
			if h.Message.Key != want {
				t.Errorf("%s, want %s", h.Message.Key, want)
			}
			h.Done(nil)
		}
		g.wantLane("northwind", queue.LaneSending)
	})
}
