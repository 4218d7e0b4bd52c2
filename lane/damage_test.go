package lane_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// cutOff leaves a document behind as an earlier process was sending it.
func (g *gateway) cutOff(partner, key string, how ...func(*queue.Message)) queue.Message {
	g.t.Helper()
	m := g.message(partner, key, how...)
	m.State, m.Incarnation, m.Round, m.Accepted = queue.Sending, "an earlier life", 1, time.Now()
	if err := g.store.Record(g.t.Context(), &queue.Result{Message: &m}); err != nil {
		g.t.Fatal(err)
	}
	return m
}

// A row that no step can be made of becomes a letter of its partner; the
// gateway starts, and everything else goes on.
func TestOneBadRowIsItsPartnersProblem(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(receipt)}
	inBubble(t, w, []*partner.Partner{standard("northwind"), standard("globex")}, func(t *testing.T, g *gateway) {
		g.stop()
		bad := g.cutOff("northwind", "bad", func(m *queue.Message) { m.Letter = "nowhere" })
		good := g.cutOff("globex", "good")
		g.start()
		waits := g.accept("northwind", "waits")
		g.pass(time.Second)
		l := g.wantLetter(bad, fault.ReasonLocal)
		if !l.Uncertain || !strings.Contains(l.Detail, "its letter nowhere is gone") {
			t.Errorf("letter %+v", l)
		}
		g.wantState(good, queue.Delivered)
		g.wantState(waits, queue.Delivered)
	})
}

// So it is with what stands in line, waits for a receipt or for its deadline,
// and with what an open breaker would bury.
func TestABadRowInLineBecomesALetter(t *testing.T) {
	t.Parallel()
	spoil := func(g *gateway, m queue.Message, how func(*queue.Message)) {
		g.t.Helper()
		m = g.get(m)
		m.Letter = "nowhere"
		how(&m)
		if err := g.store.Record(g.t.Context(), &queue.Result{Message: &m}); err != nil {
			g.t.Fatal(err)
		}
	}
	as := func(*queue.Message) {}
	for name, how := range map[string]func(*queue.Message){
		"in line": as,
		"past its deadline": func(m *queue.Message) {
			m.DeliverBy = m.Accepted.Add(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, &wire{answer: always(receipt)}, []*partner.Partner{standard("northwind"), standard("globex")}, func(t *testing.T, g *gateway) {
				for _, id := range []string{"northwind", "globex"} {
					if err := g.s.StopLane(t.Context(), id, operator, "test", time.Time{}); err != nil {
						t.Fatal(err)
					}
				}
				bad := g.accept("northwind", "bad")
				good := g.accept("globex", "good", func(m *queue.Message) { m.DeliverBy = time.Now().Add(2 * time.Second) })
				spoil(g, bad, how)
				if name == "in line" {
					if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
						t.Fatal(err)
					}
				}
				g.s.Wake("northwind")
				g.pass(10 * time.Second)
				g.wantLetter(bad, fault.ReasonLocal)
				g.wantLetter(good, fault.ReasonDeadline) // its timer is not held up
			})
		})
	}
	t.Run("behind an open breaker", func(t *testing.T) {
		t.Parallel()
		inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
			g.accept("northwind", "1")
			bad, good := g.accept("northwind", "bad"), g.accept("northwind", "good")
			spoil(g, bad, as)
			g.pass(opensAfter + time.Minute)
			g.wantLetter(bad, fault.ReasonLocal)
			g.wantLetter(good, fault.ReasonCircuitOpen)
		})
	})
}

// A row that cannot be read in full is not sent: its subject or references may
// be gone.
func TestADamagedDocumentIsNotSent(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(receipt)}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "bad", func(m *queue.Message) { m.Damaged = "business: unexpected end" })
		g.pass(time.Second)
		if l := g.wantLetter(m, fault.ReasonLocal); !strings.Contains(l.Detail, "business: unexpected end") {
			t.Errorf("letter %+v", l)
		}
		if n := len(w.arrivals("")); n != 0 {
			t.Errorf("%d arrivals", n)
		}
	})
}

// A lane whose row cannot be read stops for a fix until it is started.
func TestADamagedLaneStops(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		g.stop()
		l := queue.Lane{Key: "northwind", Partner: "northwind", Kind: queue.KindDocument, Damaged: "breaker: unexpected end"}
		if err := g.store.Record(t.Context(), &queue.Result{Lane: &l}); err != nil {
			t.Fatal(err)
		}
		g.start()
		m := g.accept("northwind", "1")
		g.pass(time.Second)
		if v := g.wantLane("northwind", queue.LaneNeedsFix); v.Fix == nil || !strings.Contains(v.Fix.Detail, "breaker: unexpected end") {
			t.Errorf("fix %+v", v.Fix)
		}
		g.wantEvents(queue.EventLaneNeedsFix, 1)
		if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(m, queue.Delivered)
	})
}

// Where not even a letter can be written the lane stops, and what was cut off
// is recovered when the lane is started.
func TestAnExchangeThatCannotBeRecoveredStopsItsLane(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(receipt)}
	inBubble(t, w, []*partner.Partner{standard("northwind"), standard("globex")}, func(t *testing.T, g *gateway) {
		g.stop()
		bad, good := g.cutOff("northwind", "bad"), g.cutOff("globex", "good")
		broken := true
		g.refuse = func(r *queue.Result) error {
			if broken && r.Message != nil && r.Message.ID == bad.ID {
				return fmt.Errorf("malformed row: %w", queue.ErrForbidden)
			}
			return nil
		}
		g.start()
		g.pass(time.Second)
		g.wantState(good, queue.Delivered)
		g.wantState(bad, queue.Sending)
		v := g.wantLane("northwind", queue.LaneNeedsFix)
		if v.Fix == nil || !strings.Contains(v.Fix.Detail, fmt.Sprintf("message %s cannot go on", bad.ID)) {
			t.Errorf("fix %+v", v.Fix)
		}
		broken = false
		if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(bad, queue.Delivered)
	})
}
