package lane_test

import (
	"fmt"
	"testing"
	"time"

	"edigw/partner"
	"edigw/queue"
)

// backlog gives a lane without order so many messages that piled up behind a
// breaker and are paced now that it is closed.
func (g *gateway) backlog(n int) {
	g.t.Helper()
	if err := g.s.Trip(g.t.Context(), "northwind", operator); err != nil {
		g.t.Fatal(err)
	}
	for i := range n {
		g.accept("northwind", fmt.Sprint("old", i))
	}
	g.pass(time.Second)
	if err := g.s.Reset(g.t.Context(), "northwind", operator); err != nil {
		g.t.Fatal(err)
	}
}

func TestPacedBacklogDoesNotSpin(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(hold, parallel), func(t *testing.T, g *gateway) {
		g.backlog(200)
		g.pass(2*time.Second + time.Millisecond)
		if n := len(g.wire.arrivals("")); n != 11 { // at 0, 0.2, … 2 s
			t.Errorf("%d arrivals in 2 s at 5/s, want 11", n)
		}
		reads := 0
		if g.dead.set(func() { reads = g.dead.reads }); reads > 1000 {
			t.Errorf("the line was read %d times", reads)
		}
	})
}

func TestFreshDocumentsPassThePacedBacklog(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(hold, parallel), func(t *testing.T, g *gateway) {
		g.backlog(500)
		g.pass(time.Second)
		m := g.accept("northwind", "fresh")
		g.pass(100 * time.Millisecond)
		g.wantState(m, queue.Delivered)
		g.wire.change(func() {
			g.wire.answer = func(m queue.Message, n int) reply {
				if m.Key == "again" && n == 1 {
					return reply{o: busy}
				}
				return reply{o: receipt}
			}
		})
		m = g.accept("northwind", "again")
		g.pass(1500 * time.Millisecond) // its retry, too
		g.wantState(m, queue.Delivered)
		if n := len(g.wire.arrivals("")); n > 20 {
			t.Errorf("%d arrivals, want the backlog at 5/s", n)
		}
	})
}

func TestRateBindsAnIdleLane(t *testing.T) {
	t.Parallel()
	slow := func(p *partner.Partner) { p.Lane.Rate = 0.5 }
	inBubble(t, &wire{answer: always(receipt)}, one(slow), func(t *testing.T, g *gateway) {
		first := g.accept("northwind", "1")
		g.pass(time.Second)
		g.wantState(first, queue.Delivered)
		second := g.accept("northwind", "2")
		g.pass(900 * time.Millisecond)
		g.wantState(second, queue.Queued)
		g.pass(200 * time.Millisecond)
		g.wantState(second, queue.Delivered)
		g.pass(3 * time.Second)
		if n := g.s.LanesInMemory(); n != 0 {
			t.Errorf("%d idle lanes in memory", n)
		}
	})
}

// As a test the oldest goes out, though others are due longer.
func TestOldestIsTheTest(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: firstFails(1)}, one(hold, parallel), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(100 * time.Millisecond)
		if err := g.s.Trip(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			g.accept("northwind", fmt.Sprint("o", i))
		}
		g.pass(6 * time.Minute)
		if list := g.wire.arrivals(""); len(list) < 2 || list[1].key != "1" {
			t.Errorf("the test was %+v, want 1", list[1:2])
		}
	})
}

// A retry that is planned for the deadline itself may start.
func TestRetryAtTheDeadline(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: script(busy, busy, busy, receipt)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1", func(m *queue.Message) { m.DeliverBy = time.Now().Add(7 * time.Second) })
		g.pass(time.Minute) // attempts at 0, 1, 3 and 7 s
		g.wantState(m, queue.Delivered)
	})
}

func TestRate(t *testing.T) {
	t.Parallel()
	slow := func(p *partner.Partner) { p.Lane.Rate = 2; p.Lane.Concurrency = 4 }
	inBubble(t, &wire{answer: always(receipt)}, one(slow), func(t *testing.T, g *gateway) {
		var last queue.Message
		for i := range 10 {
			last = g.accept("northwind", fmt.Sprint(i))
		}
		g.pass(2 * time.Second)
		if n := len(g.wire.arrivals("")); n != 5 { // at 0, 0.5, … 2 s
			t.Errorf("%d arrivals in 2 s at 2/s, want 5", n)
		}
		if o := g.s.Overlay(last, 9); o.Why != queue.WhyRate {
			t.Errorf("shown as %+v", o)
		}
	})
}

func TestReplaysArePaced(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		var letters []queue.Message
		for i := range 20 {
			letters = append(letters, g.accept("northwind", fmt.Sprint("r", i)))
		}
		g.pass(opensAfter + time.Second)
		g.wire.change(func() { g.wire.answer = always(receipt) })
		if err := g.s.Reset(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Hour)
		before := len(g.wire.arrivals(""))
		for _, m := range letters {
			g.replay(m)
		}
		g.pass(2*time.Second + time.Millisecond)
		if n := len(g.wire.arrivals("")) - before; n != 11 { // at 0, 0.2, … 2 s
			t.Errorf("%d replays in 2 s at 5/s, want 11", n)
		}
		g.pass(3 * time.Second)
		g.wantState(letters[19], queue.Delivered)
	})
}
