package lane_test

import (
	"testing"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// An outage also ends when an operator closes its last letter.
func TestOutageEndsWithItsLastLetter(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: script(refused, refused, refused, refused, refused, receipt)}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		other := g.accept("northwind", "2")
		g.pass(10 * time.Minute)
		g.wantEvents(queue.EventOutageEnded, 0)
		l := g.letter(other)
		res, err := queue.Next(g.get(other), queue.Input{Trigger: queue.OnDiscard, At: time.Now(), Letter: &l, Actor: operator, Note: "test"}, queue.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.store.Record(t.Context(), &res); err != nil {
			t.Fatal(err)
		}
		g.s.LettersChanged("northwind")
		g.pass(time.Second)
		g.wantEvents(queue.EventOutageEnded, 1)
	})
}

func TestBlockStopsBehindALetter(t *testing.T) {
	t.Parallel()
	block := func(p *partner.Partner) { p.Lane.AfterDead = partner.DeadBlock }
	inBubble(t, &wire{answer: func(m queue.Message, n int) reply {
		if m.Key == "1" && n == 1 {
			return reply{o: notAcceptable}
		}
		return reply{o: receipt}
	}}, one(hold, block), func(t *testing.T, g *gateway) {
		first, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(time.Minute)
		g.wantLetter(first, fault.ReasonRejected)
		g.wantState(other, queue.Queued)
		g.wantLane("northwind", queue.LaneBlocked)
		g.wantEvents(queue.EventLaneBlocked, 1)
		g.replay(first)
		g.pass(time.Second)
		g.wantState(first, queue.Delivered)
		g.wantState(other, queue.Delivered)
		if v := g.wantLane("northwind", queue.LaneSending); v.Blocked != "" {
			t.Errorf("still behind %s", v.Blocked)
		}
	})
}

func TestHoldAfterStopsTheLane(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(undecrypted)}, one(), func(t *testing.T, g *gateway) {
		list := g.acceptAll("northwind", "1", "2", "3", "4")
		g.pass(time.Minute)
		for _, m := range list[:3] {
			g.wantLetter(m, fault.ReasonSignature)
		}
		g.wantState(list[3], queue.Queued)
		if v := g.wantLane("northwind", queue.LaneNeedsFix); v.Fix.Cause != "decryption-failed" || v.Fix.Ours {
			t.Errorf("fix %+v", v.Fix)
		}
		g.wire.change(func() { g.wire.answer = always(receipt) })
		if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(list[3], queue.Delivered)
	})
}

func TestOrphanedAndMisconfiguredLanesWait(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		p, _ := g.book.Partner("northwind")
		g.book.put(&partner.Partner{ID: "northwind", Protocol: "as2", Misconfigured: true})
		m := g.accept("northwind", "1")
		g.pass(time.Minute)
		g.wantState(m, queue.Queued)
		g.wantLane("northwind", queue.LaneMisconfigured)
		g.book.mu.Lock()
		delete(g.book.m, "northwind")
		g.book.mu.Unlock()
		if err := g.s.Reloaded(t.Context(), partner.Change{Removed: []string{"northwind"}}); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Minute)
		g.wantState(m, queue.Queued)
		g.wantLane("northwind", queue.LaneOrphaned)
		g.wantEvents(queue.EventLaneOrphaned, 1)
		g.book.put(p)
		if err := g.s.Reloaded(t.Context(), partner.Change{Added: []string{"northwind"}}); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(m, queue.Delivered)
		if row, _ := g.store.Lane(t.Context(), "northwind"); row.Orphaned || row.Breaker.Now() != breaker.Closed {
			t.Errorf("lane row %+v", row)
		}
	})
}
