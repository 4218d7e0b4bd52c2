package lane_test

import (
	"fmt"
	"testing"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// What is buried when the breaker opens once more goes out again, too.
func TestAutoReplayAfterEachOpening(t *testing.T) {
	t.Parallel()
	auto := func(p *partner.Partner) { p.Lane.AutoReplay = &partner.AutoReplay{MaxAge: time.Hour, Max: 3} }
	w := &wire{answer: func(m queue.Message, n int) reply {
		if (m.Key == "1" || m.Key == "11") && n <= 5 {
			return reply{o: refused}
		}
		return reply{o: receipt}
	}}
	inBubble(t, w, one(auto), func(t *testing.T, g *gateway) {
		g.acceptAll("northwind", "1", "2", "3", "4", "5")
		g.pass(10 * time.Minute)
		list := g.acceptAll("northwind", "11", "12", "13")
		g.pass(10 * time.Minute)
		for _, m := range list {
			g.wantState(m, queue.Delivered)
		}
		g.wantEvents(queue.EventBreakerOpened, 2)
	})
}

func TestAutoReplayLooksBehindWhatMustStay(t *testing.T) {
	t.Parallel()
	auto := func(p *partner.Partner) {
		p.Lane.AutoReplay = &partner.AutoReplay{MaxAge: time.Hour, Max: 3}
		p.Retry.Attempts = 100
	}
	inBubble(t, &wire{answer: always(refused)}, one(auto), func(t *testing.T, g *gateway) {
		for i := range 520 {
			g.accept("northwind", fmt.Sprint(i))
		}
		g.pass(100 * time.Minute)
		m := g.accept("northwind", "young")
		g.wire.change(func() { g.wire.answer = always(receipt) })
		g.pass(35 * time.Minute)
		g.wantState(m, queue.Delivered)
	})
}

func TestAutoReplay(t *testing.T) {
	t.Parallel()
	auto := func(p *partner.Partner) { p.Lane.AutoReplay = &partner.AutoReplay{MaxAge: time.Hour, Max: 3} }
	inBubble(t, &wire{answer: firstFails(5)}, one(auto), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		others := g.acceptAll("northwind", "2", "3", "4", "5")
		g.pass(10 * time.Minute)
		for _, m := range others[:3] {
			g.wantState(m, queue.Delivered)
		}
		g.wantLetter(others[3], fault.ReasonCircuitOpen) // max: 3
	})
}
