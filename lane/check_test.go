package lane_test

import (
	"testing"
	"time"

	"edigw/partner"
	"edigw/queue"
)

func has(r *queue.Result, t queue.EventType) bool {
	for _, e := range r.Events {
		if e.Type == t {
			return true
		}
	}
	return false
}

// A check whose result makes a panic is no test that runs for ever.
func TestPanicOfACheckFreesTheTest(t *testing.T) {
	t.Parallel()
	once := func(p *partner.Partner) { p.Retry.Attempts = 5 } // the fifth failure opens and ends the round
	inBubble(t, &wire{answer: always(refused)}, one(once), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(opensAfter + time.Second)
		panicked := 0
		g.dead.set(func() {
			g.dead.panics = func(r *queue.Result) bool {
				if !has(r, queue.EventCheck) || panicked > 0 {
					return false
				}
				panicked++
				return true
			}
		})
		g.pass(6 * time.Minute)
		if v := g.wantLane("northwind", queue.LaneHalfOpen); v.Probing || panicked != 1 {
			t.Errorf("probing %v after %d panics", v.Probing, panicked)
		}
		g.wantEvents(queue.EventDefect, 1)
		g.pass(6 * time.Minute)
		g.wantLane("northwind", queue.LaneAnswering)
	})
}

// A message whose timer panics is left alone for a while, and delays no other.
func TestPanicOfATimerIsToldOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(queue.Message, int) reply { return reply{receipt, 2 * time.Hour} }}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		warn := func(m *queue.Message) {
			m.WarnBy, m.DeliverBy = time.Now().Add(time.Minute), time.Now().Add(24*time.Hour)
		}
		sick := g.accept("northwind", "2", warn)
		g.accept("northwind", "3", warn)
		g.dead.set(func() {
			g.dead.panics = func(r *queue.Result) bool {
				return has(r, queue.EventWarnBy) && r.Message.ID == sick.ID
			}
		})
		g.pass(30 * time.Minute)
		g.wantEvents(queue.EventDefect, 1)
		g.wantEvents(queue.EventWarnBy, 1)
		g.dead.set(func() { g.dead.panics = nil })
		g.pass(time.Hour)
		g.wantEvents(queue.EventWarnBy, 2)
	})
}

// Also a lane of receipts can be stopped, and is started with the others.
func TestStartStartsEveryLane(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		for _, k := range []queue.Kind{queue.KindDocument, queue.KindReceipt, queue.KindWebhook} {
			l := &queue.Lane{Key: queue.LaneKey("northwind", k), Partner: "northwind", Kind: k, Fix: &queue.Fix{Cause: "restore", Since: time.Now()}}
			if err := g.store.Record(t.Context(), &queue.Result{Lane: l}); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		lanes, err := g.store.Lanes(t.Context())
		if err != nil || len(lanes) != 3 {
			t.Fatalf("%d lanes, %v", len(lanes), err)
		}
		for _, l := range lanes {
			if l.Fix != nil {
				t.Errorf("%s still needs a fix", l.Key)
			}
		}
		g.wantEvents(queue.EventLaneStarted, 3)
	})
}
