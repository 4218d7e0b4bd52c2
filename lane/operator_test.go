package lane_test

import (
	"errors"
	"testing"
	"time"

	"edigw/fault"
	"edigw/lane"
	"edigw/queue"
)

var operator = fault.Actor{Name: "kim", Role: "operator", From: "127.0.0.1"}

func TestOperatorTripHoldsAndResetCloses(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		if err := g.s.Trip(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		m := g.accept("northwind", "1")
		g.pass(time.Minute)
		g.wantState(m, queue.Queued)
		if v := g.wantLane("northwind", queue.LaneOpen); v.Outage != "" || !v.Breaker.Manual {
			t.Errorf("a trip by hand made outage %q", v.Outage)
		}
		if err := g.s.Reset(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(m, queue.Delivered)
		for _, e := range append(g.wantEvents(queue.EventBreakerOpened, 1), g.wantEvents(queue.EventBreakerClosed, 1)...) {
			if e.Actor != operator {
				t.Errorf("event %s is not audited: %+v", e.Type, e.Actor)
			}
		}
	})
}

func TestOperatorStop(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(receipt)}, one(), func(t *testing.T, g *gateway) {
		if err := g.s.StopLane(t.Context(), "northwind", operator, "their maintenance", time.Time{}); err != nil {
			t.Fatal(err)
		}
		m := g.accept("northwind", "1")
		g.pass(3*time.Hour + 59*time.Minute)
		g.wantState(m, queue.Queued)
		v := g.wantLane("northwind", queue.LaneStopped)
		if o := g.s.Overlay(m, 0); o.Why != queue.WhyStopped || o.Next != v.Stop.Until {
			t.Errorf("shown as %+v", o)
		}
		g.pass(2 * time.Minute)
		g.wantState(m, queue.Delivered)
		if err := g.s.StopLane(t.Context(), "northwind", operator, "again", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		m = g.accept("northwind", "2")
		g.pass(time.Minute)
		if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(m, queue.Delivered)
		if err := g.s.StopLane(t.Context(), "nobody", operator, "", time.Time{}); !errors.Is(err, lane.ErrNoPartner) {
			t.Errorf("stopping nobody: %v", err)
		}
	})
}

func TestOperatorTest(t *testing.T) {
	t.Parallel()
	w := &wire{answer: script(refused, refused, refused, refused, refused, receipt)}
	inBubble(t, w, one(hold), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(opensAfter + time.Second)
		w.change(func() { w.check = func(string) fault.Outcome { return refused } })
		if o, err := g.s.Test(t.Context(), "northwind", operator); err != nil || o.Cause != fault.CauseRefused {
			t.Fatalf("test: %+v, %v", o, err)
		}
		before := g.wantLane("northwind", queue.LaneOpen).Next
		w.change(func() { w.check = nil })
		if o, err := g.s.Test(t.Context(), "northwind", operator); err != nil || o.Status != alive.Status {
			t.Fatalf("test: %+v, %v", o, err)
		}
		if !before.After(time.Now()) {
			t.Error("the cool-down was over anyway")
		}
		g.pass(20 * time.Second) // the holder's own backoff
		g.wantState(m, queue.Delivered)
		g.wantLane("northwind", queue.LaneSending)
	})
}

// After a restore nothing goes out by itself, receipts neither, until the
// partner is started.
func TestARestoredPartnerSendsNothingUntilItIsStarted(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(receipt)}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		g.stop()
		document := g.accept("northwind", "1")
		owed := func(m *queue.Message) {
			m.Kind, m.Lane = queue.KindReceipt, queue.LaneKey("northwind", queue.KindReceipt)
		}
		before := g.accept("northwind", "owed", owed)
		if _, _, err := g.store.MarkRestored(t.Context(), time.Now(), g.book.IDs()); err != nil {
			t.Fatal(err)
		}
		g.tune = func(o *lane.Options) { o.Senders[lane.Route{Protocol: "as2", Kind: queue.KindReceipt}] = w }
		g.start()
		after := g.accept("northwind", "owed later", owed)
		g.pass(30 * 24 * time.Hour)
		if n := len(w.arrivals("")); n != 0 {
			t.Fatalf("%d arrivals before anybody started the partner", n)
		}
		if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Minute)
		for _, m := range []queue.Message{document, before, after} {
			g.wantState(m, queue.Delivered)
		}
	})
}
