package lane_test

import (
	"fmt"
	"testing"
	"time"

	"edigw/fault"
	"edigw/queue"
)

func TestOpenBreakerBuriesAllButTheHolder(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
		first := g.accept("northwind", "1")
		var rest []queue.Message
		for i := range 600 {
			rest = append(rest, g.accept("northwind", fmt.Sprintf("r%d", i)))
		}
		g.pass(opensAfter + time.Second)
		v := g.wantLane("northwind", queue.LaneOpen)
		if v.Holder != first.ID || v.Outage != "OUT-1" {
			t.Errorf("holder %s, outage %s", v.Holder, v.Outage)
		}
		g.wantState(first, queue.Waiting)
		for _, m := range rest {
			if l := g.wantLetter(m, fault.ReasonCircuitOpen); l.Outage != "OUT-1" {
				t.Fatalf("letter %+v", l)
			}
		}
		g.wantEvents(queue.EventOutageBuried, 6) // batches of at most 100
		arriving := g.accept("northwind", "late")
		g.pass(time.Second)
		g.wantLetter(arriving, fault.ReasonCircuitOpen)
		out, err := g.store.Outage(t.Context(), "OUT-1")
		if err != nil || out.Cause != fault.CauseRefused || out.Letters != 601 || out.Open != 601 {
			t.Errorf("outage %+v, %v", out, err)
		}
		if o := g.s.Overlay(g.get(first), 0); o.Why != queue.WhyBreaker || o.Next != v.Breaker.ReopenAt {
			t.Errorf("holder shown as %+v", o)
		}
	})
}

func TestConfirmedReplayIsNotBuriedBeforeItsFirstAttempt(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		other := g.accept("northwind", "2")
		g.pass(opensAfter + time.Second)
		g.wantLetter(other, fault.ReasonCircuitOpen)
		g.replay(other)
		g.pass(time.Second)
		g.wantState(other, queue.Queued)
		if err := g.s.UseAsTest(t.Context(), other.ID, operator); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		if n := len(g.wire.arrivals("2")); n != 0 {
			t.Errorf("a later message overtook the head as test, %d arrivals", n)
		}
	})
}

// A stopped lane buries nothing, though its breaker is open; once started it
// does.
func TestStoppedLaneBuriesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(opensAfter - time.Second)
		if err := g.s.StopLane(t.Context(), "northwind", operator, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		other := g.accept("northwind", "2")
		g.pass(time.Hour)
		g.wantState(other, queue.Queued)
	})
}

// A backlog is read once, a batch at a time, however many confirmed replays
// stand before it in line.
func TestBuryingReadsTheBacklogOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
		const asked, waiting = 400, 1000
		var replays []queue.Message
		for i := range asked {
			replays = append(replays, g.accept("northwind", fmt.Sprint("a", i)))
		}
		g.pass(opensAfter + time.Second)
		for _, m := range replays[1:] {
			g.wantLetter(m, fault.ReasonCircuitOpen)
			g.replay(m)
		}
		g.pass(time.Second)
		g.dead.set(func() { g.dead.rows, g.dead.most, g.dead.reads = 0, 0, 0 })
		for i := range waiting {
			g.accept("northwind", fmt.Sprint("w", i))
		}
		g.pass(time.Minute)
		for _, m := range replays[1:] {
			g.wantState(m, queue.Queued)
		}
		out, err := g.store.Outage(t.Context(), "OUT-1")
		if err != nil || out.Open != waiting {
			t.Errorf("%d letters, want %d, %v", out.Open, waiting, err)
		}
		g.dead.set(func() {
			if g.dead.rows != waiting || g.dead.most > 100 {
				t.Errorf("%d rows read to bury %d, at most %d at once", g.dead.rows, waiting, g.dead.most)
			}
		})
	})
}

// The document that is the test uses up its attempts while the partner is down.
// Its letter is the outage's like those that were made at once: it is counted,
// comes first when the outage is replayed, and the outage does not end without it.
func TestTheUsedUpTestBelongsToItsOutage(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(refused), check: func(string) fault.Outcome { return alive }}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		first, second := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(opensAfter + 5*time.Minute + 20*time.Second)
		g.wantState(first, queue.Waiting)
		g.pass(40 * time.Minute)
		g.wantLetter(second, fault.ReasonCircuitOpen)
		if l := g.wantLetter(first, fault.ReasonMaxAttempts); l.Outage != "OUT-1" || l.Attempts != 7 {
			t.Fatalf("letter of the test: outage %q after %d attempts", l.Outage, l.Attempts)
		}
		for _, e := range g.wantEvents(queue.EventDead, 2) {
			if e.Outage != "OUT-1" {
				t.Errorf("event %+v", e)
			}
		}
		w.change(func() { w.answer = always(receipt) })
		g.pass(40 * time.Minute)
		third := g.accept("northwind", "3")
		g.pass(time.Second)
		g.wantState(third, queue.Delivered)
		g.replay(second)
		g.pass(time.Minute)
		g.wantState(second, queue.Delivered)
		out, err := g.store.Outage(t.Context(), "OUT-1")
		if err != nil || out.Letters != 2 || out.Open != 1 || out.Recovered.IsZero() || !out.Ended.IsZero() {
			t.Errorf("outage %+v, %v", out, err)
		}
		left, err := g.store.OutageLetters(t.Context(), "OUT-1", queue.LetterOpen, 10)
		if err != nil || len(left) != 1 || left[0].Message != first.ID {
			t.Errorf("left of the outage: %+v, %v", left, err)
		}
		g.wantEvents(queue.EventOutageEnded, 0)
		g.replay(first)
		g.pass(time.Minute)
		g.wantState(first, queue.Delivered)
		g.wantEvents(queue.EventOutageEnded, 1)
	})
}

// While letters of an outage are open, what the partner refuses, and what fails
// after he answered again, is no part of it.
func TestWhatTheOutageDidNotCauseIsNotOfIt(t *testing.T) {
	t.Parallel()
	down := true
	w := &wire{}
	w.answer = func(m queue.Message, _ int) reply {
		switch {
		case down:
			return reply{o: refused}
		case m.Key == "rejected":
			return reply{o: notAcceptable}
		case m.Key == "later":
			return reply{o: fault.Outcome{Phase: fault.PhaseDone, Status: 500, Detail: "oops", AckAsked: fault.AckSync}}
		}
		return reply{o: receipt}
	}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(opensAfter + time.Second)
		buried := g.accept("northwind", "2")
		g.pass(time.Second)
		g.wantLetter(buried, fault.ReasonCircuitOpen)
		w.change(func() { down = false })
		g.pass(20 * time.Minute)
		rejected, late := g.accept("northwind", "rejected"), g.accept("northwind", "later")
		g.pass(time.Minute)
		if l := g.wantLetter(rejected, fault.ReasonRejected); l.Outage != "" {
			t.Errorf("what was refused is of %s", l.Outage)
		}
		if l := g.wantLetter(late, fault.ReasonMaxAttempts); l.Outage != "" {
			t.Errorf("what failed afterwards is of %s", l.Outage)
		}
		if out, err := g.store.Outage(t.Context(), "OUT-1"); err != nil || out.Letters != 1 || !out.Ended.IsZero() {
			t.Errorf("outage %+v, %v", out, err)
		}
	})
}
