package lane_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"edigw/fault"
	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
)

// wall is a clock that somebody sets.
type wall struct{ off atomic.Int64 }

func (w *wall) now() time.Time { return time.Now().Add(time.Duration(w.off.Load())).Round(0) }

// day is how far the clock is set.
const day = 24 * time.Hour

// settled is how long after a jump, with a partner that answers again, every
// document must be delivered: the longest cool-down and the longest wait.
const settled = 2 * time.Hour

// TestClockJumps sets the clock by a day, back and forth, while a lane waits
// for whatever it can wait for, with the process going on or started anew. No
// lane stands still for a day, and no storm of attempts follows.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	asked := fault.Outcome{Phase: fault.PhaseDone, Status: 503, HasRetry: true, RetryAfter: 10 * time.Minute, AckAsked: fault.AckSync}
	slow := func(p *partner.Partner) { p.Lane.Rate = 1.0 / 60 }
	for name, c := range map[string]struct {
		answer fault.Outcome // until the jump
		change []func(*partner.Partner)
		before time.Duration // from the first document to the jump
		upset  func(g *gateway)
	}{
		"a retry":            {answer: busy, change: []func(*partner.Partner){hold}, before: 3 * time.Second},
		"a late retry":       {answer: cut, change: []func(*partner.Partner){hold, parallel}, before: 2 * time.Minute},
		"the partner's wish": {answer: asked, change: []func(*partner.Partner){hold}, before: time.Minute},
		"a cool-down":        {answer: refused, change: []func(*partner.Partner){hold}, before: 10 * time.Minute},
		"a long cool-down":   {answer: refused, change: []func(*partner.Partner){hold, parallel}, before: 5 * time.Hour},
		"the rate":           {answer: receipt, change: []func(*partner.Partner){hold, parallel, slow}, before: 90 * time.Second},
		"an operator's test": {answer: refused, change: []func(*partner.Partner){hold}, before: time.Minute, upset: func(g *gateway) { _ = g.s.Trip(g.t.Context(), "northwind", operator) }},
		"a store that fails": {answer: busy, change: []func(*partner.Partner){hold}, before: 5 * time.Second, upset: func(g *gateway) {
			g.dead.down(true)
			g.pass(40 * time.Second)
			g.dead.down(false)
		}},
	} {
		for _, by := range []time.Duration{day, -day} {
			for _, anew := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %v, anew %v", name, by, anew), func(t *testing.T) {
					t.Parallel()
					w := &wall{}
					partners := one(c.change...)
					inBubbleAt(t, w, &wire{answer: always(c.answer)}, partners, func(t *testing.T, g *gateway) {
						all := g.acceptAll("northwind", "a", "b", "c", "d", "e")
						if c.upset != nil {
							c.upset(g)
						}
						g.pass(c.before)
						g.wire.change(func() { g.wire.answer = always(receipt) })
						sent := len(g.wire.arrivals(""))
						w.off.Add(int64(by))
						if anew {
							g.stop()
							g.start()
						}
						g.pass(time.Minute)
						if n := len(g.wire.arrivals("")) - sent; n > 2*len(all) {
							t.Errorf("%d attempts in the minute after the jump for %d documents", n, len(all))
						}
						g.pass(settled)
						for _, m := range all {
							g.wantState(m, queue.Delivered)
						}
						for _, m := range all {
							if n := len(g.wire.arrivals(m.Key)); n > 20 {
								t.Errorf("%s was sent %d times", m.Key, n)
							}
						}
					})
				})
			}
		}
	}
}

// TestClockJumpsWhileThePartnerIsDown: the schedule of tests goes on at its
// pace, neither asleep for a day nor hammering.
func TestClockJumpsWhileThePartnerIsDown(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{day, -day} {
		for _, anew := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, anew %v", by, anew), func(t *testing.T) {
				t.Parallel()
				w := &wall{}
				inBubbleAt(t, w, &wire{answer: always(refused)}, one(hold), func(t *testing.T, g *gateway) {
					g.acceptAll("northwind", "a", "b", "c")
					g.pass(3 * time.Hour)
					sent := len(g.wire.arrivals("")) + g.wire.checked()
					w.off.Add(int64(by))
					if anew {
						g.stop()
						g.start()
					}
					g.pass(6 * time.Hour)
					n := len(g.wire.arrivals("")) + g.wire.checked() - sent
					if n < 6*2-4 || n > 6*2+8 { // every 30 min, ± 10 %, and what the jump makes due
						t.Errorf("%d attempts in the 6 hours after the jump, want about 12", n)
					}
				})
			})
		}
	}
}

// inBubbleAt is inBubble with a clock that can be set.
func inBubbleAt(t *testing.T, w *wall, s *wire, partners []*partner.Partner, test func(*testing.T, *gateway)) {
	t.Helper()
	inBubble(t, s, partners, func(t *testing.T, g *gateway) {
		g.restart(func(o *lane.Options) { o.Now = w.now })
		test(t, g)
	})
}
