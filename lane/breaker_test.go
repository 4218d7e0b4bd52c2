package lane_test

import (
	"testing"
	"time"

	"edigw/partner"
	"edigw/queue"
)

// Times of the default schedule at which a refusing partner opens its breaker:
// the fifth attempt, after waits of 1, 2, 4 and 8 s.
const opensAfter = 15 * time.Second

// firstFails refuses message 1 so many times; everything else is delivered.
func firstFails(times int) func(queue.Message, int) reply {
	return func(m queue.Message, n int) reply {
		if m.Key == "1" && n <= times {
			return reply{o: refused}
		}
		return reply{o: receipt}
	}
}

func TestTrustFaultTripsAndAChangeOfTrustTestsAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: script(distrust, receipt)}, one(hold), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Second)
		v := g.wantLane("northwind", queue.LaneOpen)
		if d := time.Until(v.Next); d < 29*time.Minute {
			t.Errorf("cool-down %v, want the longest", d)
		}
		change := partner.Change{Partners: []partner.PartnerChange{{ID: "northwind", Trust: true}}}
		if err := g.s.Reloaded(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(m, queue.Delivered)
	})
}

// TestAChangedWayToThePartnerTestsAtOnce: a new URL, proxy or login may mend
// what opened the breaker; a trip by an operator is his to end.
func TestAChangedWayToThePartnerTestsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change partner.PartnerChange
		tested bool
	}{
		"url, proxy or TLS trust": {partner.PartnerChange{ID: "northwind", Trust: true}, true},
		"login":                   {partner.PartnerChange{ID: "northwind", Credentials: true}, true},
		"certificates":            {partner.PartnerChange{ID: "northwind", Certificates: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, &wire{answer: firstFails(5)}, one(hold), func(t *testing.T, g *gateway) {
				m := g.accept("northwind", "1")
				g.pass(opensAfter + time.Second)
				g.wantLane("northwind", queue.LaneOpen)
				if err := g.s.Reloaded(t.Context(), partner.Change{Partners: []partner.PartnerChange{c.change}}); err != nil {
					t.Fatal(err)
				}
				g.pass(time.Second)
				if !c.tested {
					g.wantLane("northwind", queue.LaneOpen)
					return
				}
				g.wantLane("northwind", queue.LaneHalfOpen)
				g.pass(16 * time.Second) // the wait of the test's own document
				g.wantState(m, queue.Delivered)
			})
		})
	}
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		if err := g.s.Trip(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		if err := g.s.Reloaded(t.Context(), partner.Change{Partners: []partner.PartnerChange{{ID: "northwind", Trust: true}}}); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantLane("northwind", queue.LaneOpen)
	})
}

// What was being built when the breaker opened does not go out.
func TestBreakerOpensWhileAMessageIsBuilt(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(distrust), builds: func(m queue.Message) time.Duration {
		if m.Key == "slow" {
			return time.Minute
		}
		return 0
	}}
	inBubble(t, w, one(hold, parallel), func(t *testing.T, g *gateway) {
		slow := g.accept("northwind", "slow")
		g.pass(time.Second)
		g.accept("northwind", "1")
		g.pass(2 * time.Minute)
		g.wantLane("northwind", queue.LaneOpen)
		g.wantState(slow, queue.Queued)
		if n := len(g.wire.arrivals("slow")); n != 0 {
			t.Errorf("%d arrivals while the breaker is open", n)
		}
	})
}
