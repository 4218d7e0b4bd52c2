package lane_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

func many(n int, change ...func(*partner.Partner)) (list []*partner.Partner) {
	for i := range n {
		list = append(list, standard(fmt.Sprintf("p%05d", i), change...))
	}
	return list
}

// Our own network: breakers that opened in the span close again, their letters
// return, nothing counts, and any HTTP answer ends it.
func TestOwnNetworkDown(t *testing.T) {
	t.Parallel()
	down := true
	w := &wire{}
	w.answer = func(queue.Message, int) reply {
		w.mu.Lock()
		defer w.mu.Unlock()
		if down {
			return reply{o: refused}
		}
		return reply{o: receipt}
	}
	inBubble(t, w, many(6), func(t *testing.T, g *gateway) {
		first, buried := g.accept("p00000", "1"), g.accept("p00000", "2")
		g.pass(opensAfter + time.Second)
		g.wantLetter(buried, fault.ReasonCircuitOpen)
		var rest []queue.Message
		for i := 1; i < 6; i++ {
			rest = append(rest, g.accept(fmt.Sprintf("p%05d", i), "1"))
		}
		g.pass(time.Second)
		g.wantLane("p00000", queue.LaneIsolated)
		g.wantLane("p00005", queue.LaneIsolated)
		g.wantEvents(queue.EventIsolated, 1)
		g.wantState(buried, queue.Queued)
		letters, err := g.store.LettersOf(t.Context(), buried.ID)
		if err != nil || len(letters) != 1 || letters[0].ClosedAs != queue.ClosedWithdrawn {
			t.Errorf("letters %+v, %v", letters, err)
		}
		if out, _ := g.store.Outage(t.Context(), "OUT-1"); !out.Withdrawn || out.Ended.IsZero() {
			t.Errorf("outage %+v", out)
		}
		if o := g.s.Overlay(g.get(buried), 1); o.Why != queue.WhyNetwork {
			t.Errorf("shown as %+v", o)
		}
		attempts := g.get(rest[0]).Attempts
		before := len(w.arrivals("")) + w.checked()
		w.change(func() { w.check = func(string) fault.Outcome { return refused } })
		g.pass(5*time.Second + 10*30*time.Second)
		if n := len(w.arrivals("")) + w.checked() - before; n != 11 {
			t.Errorf("%d trials, want one after 5 s and 10 more, one each 30 s", n)
		}
		if n := g.get(rest[0]).Attempts; n != attempts {
			t.Errorf("%d attempts after trials, want %d", n, attempts)
		}
		g.crash() // it is stored
		g.wantLane("p00000", queue.LaneIsolated)
		w.change(func() { down = false; w.check = nil })
		g.pass(2 * time.Minute)
		for _, m := range append(rest, first, buried) {
			g.wantState(m, queue.Delivered)
		}
		g.wantEvents(queue.EventReconnected, 1)
		g.wantEvents(queue.EventOutageEnded, 1)
	})
}

// What used up its attempts on our own network returns with the others.
func TestOwnNetworkGivesBackWhatItUsedUp(t *testing.T) {
	t.Parallel()
	partners := many(6)
	partners[0].Retry.Attempts = 5
	inBubble(t, &wire{answer: always(refused)}, partners, func(t *testing.T, g *gateway) {
		used := g.accept("p00000", "1")
		g.pass(opensAfter + time.Second)
		if l := g.wantLetter(used, fault.ReasonMaxAttempts); l.Outage != "OUT-1" {
			t.Fatalf("letter %+v", l)
		}
		for i := 1; i < 6; i++ {
			g.accept(fmt.Sprintf("p%05d", i), "1")
		}
		g.pass(time.Second)
		g.wantEvents(queue.EventIsolated, 1)
		g.wantState(used, queue.Queued)
		if out, err := g.store.Outage(t.Context(), "OUT-1"); err != nil || !out.Withdrawn || out.Ended.IsZero() || out.Open != 0 {
			t.Errorf("outage %+v, %v", out, err)
		}
	})
}

// One partner that answers shows that it is not our network.
func TestFivePartnersDownIsNotOurNetwork(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(m queue.Message, _ int) reply {
		if m.Partner == "p00009" {
			return reply{o: receipt}
		}
		return reply{o: refused}
	}}
	inBubble(t, w, many(10), func(t *testing.T, g *gateway) {
		for i := range 6 {
			g.accept(fmt.Sprintf("p%05d", i), "1")
			g.accept("p00009", fmt.Sprint(i))
			g.pass(time.Second)
		}
		for i := range 40 {
			g.accept("p00009", fmt.Sprint("more", i))
			g.pass(500 * time.Millisecond)
		}
		g.wantEvents(queue.EventIsolated, 0)
		g.wantLane("p00000", queue.LaneOpen)
	})
}

// Five that fail while more are contacted and have not failed is not half.
func TestLessThanHalfIsNotOurNetwork(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(m queue.Message, _ int) reply {
		if m.Partner < "p00005" {
			return reply{o: refused}
		}
		return reply{receipt, 30 * time.Second}
	}}
	inBubble(t, w, many(11), func(t *testing.T, g *gateway) {
		for i := 10; i >= 0; i-- {
			g.accept(fmt.Sprintf("p%05d", i), "1")
			synctest.Wait()
		}
		g.pass(10 * time.Second)
		g.wantEvents(queue.EventIsolated, 0)
	})
}

func TestStalledPartnerDelaysNobody(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(m queue.Message, _ int) reply {
		if m.Partner < "p00050" {
			return reply{receipt, time.Hour}
		}
		return reply{o: receipt}
	}}
	inBubble(t, w, many(100), func(t *testing.T, g *gateway) {
		for i := range 50 {
			g.accept(fmt.Sprintf("p%05d", i), "1")
		}
		g.pass(time.Second)
		for i := 50; i < 100; i++ {
			m := g.accept(fmt.Sprintf("p%05d", i), "1")
			synctest.Wait()
			g.wantState(m, queue.Delivered)
		}
	})
}

// Alone, not beside others: it counts the goroutines of the process.
func TestIdleLanesCostNothing(t *testing.T) {
	const lanes = 10_000
	inBubble(t, &wire{answer: always(receipt)}, many(lanes), func(t *testing.T, g *gateway) {
		before := runtime.NumGoroutine()
		for i := range lanes {
			g.s.Wake(fmt.Sprintf("p%05d", i))
		}
		g.pass(time.Minute)
		if n := runtime.NumGoroutine() - before; n > 10 {
			t.Errorf("%d goroutines for idle lanes", n)
		}
		if n := g.s.LanesInMemory(); n != 0 {
			t.Errorf("%d idle lanes in memory", n)
		}
		m := g.accept("p00001", "1")
		g.pass(0)
		g.wantState(m, queue.Delivered)
		if n := g.s.LanesInMemory(); n != 0 {
			t.Errorf("%d idle lanes in memory after a delivery", n)
		}
	})
}

// Retries are a bounded share of all starts; first attempts are not held up.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	quiet := func(p *partner.Partner) {
		p.Breaker.Failures, p.Breaker.Consecutive = 1000, 1000
		p.Retry.Cap, p.Retry.Attempts = time.Second, 100
	}
	inBubble(t, &wire{answer: always(busy)}, many(300, quiet), func(t *testing.T, g *gateway) {
		for i := range 300 {
			g.accept(fmt.Sprintf("p%05d", i), "1")
		}
		g.pass(30 * time.Second)
		retries := len(g.wire.arrivals("")) - 300
		// 10 a second, or 20 % of the starts of the last minute.
		if retries > 30*10+10+75 || retries < 250 {
			t.Errorf("%d retries in 30 s", retries)
		}
		seen := map[string]int{}
		for _, s := range g.wire.arrivals("") {
			seen[s.partner]++
		}
		least, most := 1000, 0
		for _, n := range seen {
			least, most = min(least, n), max(most, n)
		}
		if most-least > 1 {
			t.Errorf("partners had %d to %d starts, want turns", least, most)
		}
		shown := 0
		for i := range 300 {
			if o := g.s.Overlay(g.get(queue.Message{ID: fmt.Sprintf("m%06d", i+1)}), 0); o.Why == queue.WhyBudget {
				shown++
			}
		}
		if shown < 200 {
			t.Errorf("%d messages are shown to wait for the budget", shown)
		}
	})
}

// fall makes each of the partners fail once, now.
func (g *gateway) fall(ids ...string) {
	for _, id := range ids {
		g.accept(id, "1")
	}
	g.pass(0)
}

// The span begins with the first failure, not with what failed late.
func TestLateFailureDoesNotHideTheOutage(t *testing.T) {
	t.Parallel()
	wide := func(p *partner.Partner) { p.Lane.Concurrency, p.Lane.Connections = 8, 8 }
	w := &wire{answer: func(m queue.Message, _ int) reply {
		switch m.Key[0] {
		case '4':
			return reply{refused, 4 * time.Second}
		case '5':
			return reply{refused, 5 * time.Second}
		}
		return reply{o: refused}
	}}
	inBubble(t, w, many(6, wide), func(t *testing.T, g *gateway) {
		for i := range 5 {
			g.accept("p00000", fmt.Sprint("4 s: ", i))
		}
		g.accept("p00000", "5 s")
		g.pass(4500 * time.Millisecond)
		g.wantLane("p00000", queue.LaneOpen)
		buried := g.accept("p00000", "buried")
		g.pass(time.Second)
		g.wantLetter(buried, fault.ReasonCircuitOpen)
		g.fall("p00001", "p00002", "p00003", "p00004")
		g.wantLane("p00000", queue.LaneIsolated)
		g.wantState(buried, queue.Queued)
	})
}

func TestFailuresOfTheSpanLeaveTheBreaker(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, many(6), func(t *testing.T, g *gateway) {
		g.fall("p00000")
		g.pass(8 * time.Second) // it fails at 0, 1, 3 and 7 s
		if b := g.s.View("p00000").Breaker; b.Row != 4 {
			t.Fatalf("row %d, want 4", b.Row)
		}
		g.fall("p00001", "p00002", "p00003", "p00004")
		v := g.wantLane("p00000", queue.LaneIsolated)
		if v.Breaker.Row != 0 || len(v.Breaker.Failures) != 0 {
			t.Errorf("row %d and %d failures left", v.Breaker.Row, len(v.Breaker.Failures))
		}
	})
}

// What was true before must not land in the store last.
func TestIsolationIsStoredInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, many(6), func(t *testing.T, g *gateway) {
		g.fall("p00000", "p00001", "p00002", "p00003", "p00004")
		g.wantLane("p00000", queue.LaneIsolated)
		g.dead.set(func() {
			g.dead.slow = func(r *queue.Result) time.Duration {
				if r.Isolation != nil && r.Isolation.On() {
					return 3 * time.Second
				}
				return 0
			}
		})
		g.pass(6 * time.Second) // the first trial is being noted
		g.wire.change(func() { g.wire.answer = always(receipt) })
		if _, err := g.s.Test(t.Context(), "p00005", operator); err != nil {
			t.Fatal(err)
		}
		g.wantEvents(queue.EventReconnected, 1)
		g.pass(5 * time.Second)
		if iso, err := g.store.Isolation(t.Context()); err != nil || iso.On() {
			t.Errorf("stored as %+v, %v", iso, err)
		}
	})
}
