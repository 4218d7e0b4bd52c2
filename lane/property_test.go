package lane_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
)

// Whatever partners answer and whenever the process dies: every accepted
// message ends delivered or dead, with one open letter for each dead one; no
// message is ever sent twice at once, no lane exceeds its concurrency, the
// order of strict lanes holds, and the bytes of a message never change.
func TestPromisesHoldForAnyScript(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chance := rand.New(rand.NewPCG(seed, 7)) // of the partners, under wire.mu
			story := rand.New(rand.NewPCG(seed, 8))
			async := seed%3 == 0
			outcomes := []fault.Outcome{receipt, receipt, receipt, refused, busy, cut, login, notAcceptable, undecrypted, distrust, refused}
			if async {
				outcomes[0], outcomes[1] = later, later
			}
			var partners []*partner.Partner
			for i := range 4 {
				partners = append(partners, standard(fmt.Sprintf("p%d", i), func(p *partner.Partner) {
					p.Lane.Concurrency = 1 + 3*(i%2)
					p.Lane.OnUnknown = []retry.OnUnknown{retry.Resend, retry.Hold, retry.Resend, retry.Wait}[i]
					p.Lane.HoldAfter = 1000
					if i >= 2 {
						hold(p)
					}
				}))
			}
			scripts := map[string][]reply{}
			w := &wire{async: async}
			w.check = func(string) fault.Outcome { return []fault.Outcome{alive, refused}[chance.IntN(2)] }
			w.answer = func(m queue.Message, n int) reply {
				w.mu.Lock()
				defer w.mu.Unlock()
				for len(scripts[m.ID]) < n {
					o := outcomes[chance.IntN(len(outcomes))]
					scripts[m.ID] = append(scripts[m.ID], reply{o, time.Duration(chance.IntN(2000)) * time.Millisecond})
				}
				return scripts[m.ID][n-1]
			}
			inBubble(t, w, partners, func(t *testing.T, g *gateway) {
				var all []queue.Message
				for i := range 40 {
					all = append(all, g.accept(fmt.Sprintf("p%d", i%4), fmt.Sprint(i)))
					if story.IntN(4) == 0 {
						g.pass(time.Duration(story.IntN(5000)) * time.Millisecond)
					}
					if story.IntN(8) == 0 {
						g.crash()
					}
				}
				for range 3 {
					g.pass(time.Duration(story.IntN(600)) * time.Second)
					g.crash()
				}
				w.change(func() { w.check = nil })
				g.pass(7 * 24 * time.Hour)
				g.wantPromises(all)
			})
		})
	}
}

// wantPromises holds the end of a story against the promises.
func (g *gateway) wantPromises(all []queue.Message) {
	g.t.Helper()
	for _, m := range all {
		now := g.get(m)
		letters, err := g.store.LettersOf(g.t.Context(), m.ID)
		if err != nil {
			g.t.Fatal(err)
		}
		open := 0
		for _, l := range letters {
			if l.Status == queue.LetterOpen {
				open++
			}
		}
		switch {
		case now.State == queue.Delivered && open == 0:
		case now.State == queue.Dead && open == 1:
		default:
			g.t.Errorf("%s of %s ended %s (%s %s), %d open letters", m.Key, m.Partner, now.State, now.Why, now.Detail, open)
		}
		list := g.wire.arrivals(m.Key)
		for _, s := range list {
			if s.sha != list[0].sha {
				g.t.Errorf("%s went out with other bytes", m.Key)
			}
		}
	}
	g.wire.mu.Lock()
	defer g.wire.mu.Unlock()
	for _, f := range g.wire.faults {
		g.t.Error(f)
	}
	last := map[string]int{}
	for _, s := range g.wire.log {
		p, _ := g.book.Partner(s.partner)
		if n := g.wire.most[s.partner]; n > p.Lane.Concurrency {
			g.t.Fatalf("%d exchanges at once with %s, want at most %d", n, s.partner, p.Lane.Concurrency)
		}
		var key int
		fmt.Sscan(s.key, &key)
		if p.Lane.Concurrency == 1 && !g.wire.async && key < last[s.partner] {
			g.t.Errorf("%s: %d went out after %d", s.partner, key, last[s.partner])
		}
		last[s.partner] = key
	}
	for _, id := range g.book.IDs() {
		if v := g.s.View(id); v.State == queue.LaneOpen || v.State == queue.LaneHalfOpen {
			g.t.Errorf("lane %s is %s after a week", id, v.State)
		}
	}
}
