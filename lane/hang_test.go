package lane_test

import (
	"fmt"
	"testing"
	"time"

	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
)

// wide is a partner who takes ten documents at once.
func wide(p *partner.Partner) { p.Lane.Concurrency, p.Lane.Connections = 10, 10 }

// hangs lets the partners of many hang; others answer.
func hangs(m queue.Message, _ int) reply {
	if m.Partner[0] == 'p' {
		return reply{o: receipt, took: 24 * time.Hour}
	}
	return reply{o: receipt}
}

// However many partners hang with however many exchanges, one that works gets
// its next document, and a new one its first as long as few hang.
func TestHungPartnersLeaveSocketsToOthers(t *testing.T) {
	t.Parallel()
	partners := append(many(10, wide), standard("northwind"), standard("globex"))
	w := &wire{answer: hangs}
	inBubble(t, w, partners, func(t *testing.T, g *gateway) {
		g.restart(func(o *lane.Options) { o.Sockets = 10 })
		g.pass(time.Second)
		g.wantState(g.acceptAndPass("northwind", "before"), queue.Delivered)
		hang := func(n int) {
			id := fmt.Sprintf("p%05d", n)
			for i := range 10 {
				g.accept(id, fmt.Sprint(id, "-", i))
			}
			g.pass(time.Second)
		}
		hang(0)
		if n := w.running("p00000"); n != 8 {
			t.Errorf("one partner has %d of 10 sockets, want 8", n)
		}
		g.wantState(g.acceptAndPass("globex", "first"), queue.Delivered)
		for i := 1; i < 10; i++ {
			hang(i)
		}
		for i := range 5 {
			g.wantState(g.acceptAndPass("northwind", fmt.Sprint("n", i)), queue.Delivered)
		}
		waiting := g.accept("p00009", "waiting")
		g.pass(time.Second)
		if s := g.s.Overlay(g.get(waiting), -1); s.State != queue.Waiting || s.Why != queue.WhyBudget {
			t.Errorf("a document that waits for a socket is shown as %+v", s)
		}
	})
}

// A partner has no more exchanges than its connections, whatever its
// concurrency.
func TestConnectionsBoundAPartner(t *testing.T) {
	t.Parallel()
	narrow := func(p *partner.Partner) { p.Lane.Concurrency, p.Lane.Connections = 10, 3 }
	w := &wire{answer: hangs}
	inBubble(t, w, many(1, narrow), func(t *testing.T, g *gateway) {
		for i := range 10 {
			g.accept("p00000", fmt.Sprint(i))
		}
		g.pass(time.Minute)
		if n := w.running("p00000"); n != 3 {
			t.Errorf("%d exchanges at once, want 3", n)
		}
	})
}

// acceptAndPass puts a document in line and lets a second pass.
func (g *gateway) acceptAndPass(partner, key string) queue.Message {
	g.t.Helper()
	m := g.accept(partner, key)
	g.pass(time.Second)
	return m
}
