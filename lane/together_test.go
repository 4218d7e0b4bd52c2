package lane_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// eight is a lane with eight exchanges at once.
func eight(p *partner.Partner) { p.Lane.Concurrency = 8 }

// crowd lets eight documents of one lane begin and end at the same time, while
// each commit takes a while.
func (g *gateway) crowd() (list []queue.Message) {
	g.dead.set(func() { g.dead.slow = func(*queue.Result) time.Duration { return 10 * time.Millisecond } })
	for i := range 8 {
		list = append(list, g.accept("northwind", fmt.Sprintf("doc-%d", i)))
	}
	g.pass(time.Minute)
	return list
}

// atOnce answers all at the same instant, however late each began.
func atOnce(o fault.Outcome) func(queue.Message, int) reply {
	end := sync.OnceValue(func() time.Time { return time.Now().Add(2 * time.Second) })
	return func(queue.Message, int) reply { return reply{o, time.Until(end())} }
}

// shared gives how many results the largest transaction had, and how many
// transactions there were.
func (g *gateway) shared() (most, n int) {
	g.dead.set(func() {
		n = len(g.dead.writes)
		for _, w := range g.dead.writes {
			most = max(most, len(w))
		}
	})
	return most, n
}

func TestResultsOfALaneShareACommit(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: atOnce(receipt)}, one(eight), func(t *testing.T, g *gateway) {
		for _, m := range g.crowd() {
			if m := g.wantState(m, queue.Delivered); m.Total != 1 {
				t.Errorf("%s took %d attempts", m.Key, m.Total)
			}
		}
		// Sixteen steps: at most eight beginnings alone, and of the results, which
		// come together, all gather that come while another commits.
		if most, n := g.shared(); most < 3 || n > 12 {
			t.Errorf("%d commits, at most %d steps in one", n, most)
		}
	})
}

// What fails for one message is recorded for all others, and nothing twice.
func TestWhatCannotBeRecordedTogetherIsRecordedAlone(t *testing.T) {
	t.Parallel()
	delivers := func(r *queue.Result, key string) bool {
		return r.Message != nil && r.Message.State == queue.Delivered && (key == "" || r.Message.Key == key)
	}
	for name, c := range map[string]struct {
		spoil func(*fragile)
		other queue.State // of doc-5
		total int
	}{
		"the schema forbids one": {func(f *fragile) {
			f.refuse = func(r *queue.Result) error {
				if delivers(r, "doc-5") {
					return fmt.Errorf("%w: scripted", queue.ErrForbidden)
				}
				return nil
			}
		}, queue.Dead, 1},
		"a defect of one": {func(f *fragile) {
			n := 0
			f.panics = func(r *queue.Result) bool {
				if delivers(r, "doc-5") {
					n++
				}
				return delivers(r, "doc-5") && n <= 2 // together, and alone
			}
		}, queue.Delivered, 2},
		"a commit went through and said no": {func(f *fragile) {
			f.refuse = func(r *queue.Result) error {
				if delivers(r, "") && f.lies == 0 {
					f.lies, f.refuse = 3, nil
				}
				return nil
			}
		}, queue.Delivered, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, &wire{answer: atOnce(receipt)}, one(eight), func(t *testing.T, g *gateway) {
				g.dead.set(func() { c.spoil(g.dead) })
				list := g.crowd()
				g.pass(2 * time.Hour)
				for i, m := range list {
					state, total := queue.Delivered, 1
					if i == 5 {
						state, total = c.other, c.total
					}
					m = g.wantState(m, state)
					attempts, err := g.store.Attempts(t.Context(), m.ID)
					if state == queue.Delivered && (err != nil || len(attempts) == 0 || m.Total > total) {
						t.Errorf("%s: %d attempts stored of %d, want %d: %v", m.Key, len(attempts), m.Total, total, err)
					}
				}
				if most, _ := g.shared(); most < 3 {
					t.Errorf("nothing was to be recorded together: at most %d", most)
				}
			})
		})
	}
}

// A failure changes the breaker, so it is recorded with it and with nothing
// else: what comes after it is decided on what is stored.
func TestAResultThatMovesTheLaneIsRecordedAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: atOnce(refused)}, one(eight, hold), func(t *testing.T, g *gateway) {
		g.crowd()
		g.wantEvents(queue.EventBreakerOpened, 1)
		moved := 0
		for _, w := range g.dead.writes {
			for _, r := range w {
				if r.Attempt == nil || r.Lane == nil {
					continue // the breaker was open already
				}
				if moved++; len(w) > 1 {
					t.Errorf("attempt %s/%d with the breaker was recorded with %d others", r.Attempt.Message, r.Attempt.N, len(w)-1)
				}
			}
		}
		if moved < 5 {
			t.Errorf("%d failures were recorded with the breaker, want 5 or more", moved)
		}
	})
}
