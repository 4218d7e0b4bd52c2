package lane_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
)

// Times of the default schedule at which a refusing partner opens its breaker:
// the fifth attempt, after waits of 1, 2, 4 and 8 s.
const opensAfter = 15 * time.Second

var operator = fault.Actor{Name: "kim", Role: "operator", From: "127.0.0.1"}

// firstFails refuses message 1 so many times; everything else is delivered.
func firstFails(times int) func(queue.Message, int) reply {
	return func(m queue.Message, n int) reply {
		if m.Key == "1" && n <= times {
			return reply{o: refused}
		}
		return reply{o: receipt}
	}
}

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

func TestHolderIsTheProbeAndClosesTheOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: firstFails(5)}, one(), func(t *testing.T, g *gateway) {
		first, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(opensAfter + time.Second)
		g.wantLetter(other, fault.ReasonCircuitOpen)
		g.pass(4 * time.Minute)
		g.wantLane("northwind", queue.LaneOpen)
		g.pass(time.Minute)
		m := g.wantState(first, queue.Delivered)
		if m.Attempts != 6 {
			t.Errorf("%d attempts, want 6", m.Attempts)
		}
		if v := g.wantLane("northwind", queue.LaneSending); v.Outage != "OUT-1" {
			t.Errorf("outage %q ended with a letter open", v.Outage)
		}
		g.replay(other)
		g.pass(time.Second)
		g.wantState(other, queue.Delivered)
		g.wantEvents(queue.EventOutageEnded, 1)
		if v := g.s.View("northwind"); v.Outage != "" {
			t.Errorf("outage %s still runs", v.Outage)
		}
	})
}

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

func TestCooldownDoublesWithEachFailedProbe(t *testing.T) {
	t.Parallel()
	forever := func(p *partner.Partner) { p.Retry.Attempts = 100; p.Retry.Cap = time.Second }
	inBubble(t, &wire{answer: always(refused)}, one(forever), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(3 * time.Hour)
		list := g.wire.arrivals("1")[4:]
		want := []time.Duration{5, 10, 20, 30, 30}
		for i, d := range want {
			if got := list[i+1].at.Sub(list[i].at); got != d*time.Minute { // chance 0.5: no jitter
				t.Errorf("cool-down %d is %v, want %v min", i+1, got, d)
			}
		}
		g.wantEvents(queue.EventBreakerOpened, 1)
		if out, _ := g.store.Outage(t.Context(), "OUT-1"); out.Since.IsZero() {
			t.Error("no outage")
		}
	})
}

func TestHoldWaitsAndChargesTheLane(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: firstFails(8)}, one(hold), func(t *testing.T, g *gateway) {
		first, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(opensAfter + 5*time.Minute + time.Second)
		m := g.wantState(first, queue.Queued)
		if m.Attempts != 5 {
			t.Errorf("%d attempts after a charged probe, want 5", m.Attempts)
		}
		g.wantState(other, queue.Queued)
		if attempts, _ := g.store.Attempts(t.Context(), m.ID); len(attempts) != 5 {
			t.Errorf("%d attempts stored, want 5", len(attempts))
		}
		v := g.wantLane("northwind", queue.LaneOpen)
		if len(v.Charged) != 1 || v.Charged[0].Message != m.ID {
			t.Errorf("charged %+v", v.Charged)
		}
		g.pass(10*time.Minute + 20*time.Minute + 30*time.Minute + time.Minute)
		if m = g.wantState(first, queue.Delivered); m.Attempts != 6 {
			t.Errorf("%d attempts, want 6", m.Attempts)
		}
		g.wantState(other, queue.Delivered)
		g.wantEvents(queue.EventOutageEnded, 1)
	})
}

func TestProbeThatIsRefusedForGoodActsOnTheDocument(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(m queue.Message, n int) reply {
		switch {
		case m.Key == "1" && n <= 5:
			return reply{o: refused}
		case m.Key == "1":
			return reply{o: notAcceptable}
		}
		return reply{o: receipt}
	}}, one(hold), func(t *testing.T, g *gateway) {
		first, other := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(6 * time.Minute)
		g.wantLetter(first, fault.ReasonRejected)
		g.wantState(other, queue.Delivered) // the next may test at once
		g.wantLane("northwind", queue.LaneSending)
	})
}

func TestUnknownProbeObeysHold(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: script(refused, refused, refused, refused, refused, cut)},
		one(hold, func(p *partner.Partner) { p.Lane.OnUnknown = "hold" }), func(t *testing.T, g *gateway) {
			m := g.accept("northwind", "1")
			g.pass(6 * time.Minute)
			g.wantLetter(m, fault.ReasonUnknownOutcome)
			if n := len(g.wire.arrivals("1")); n != 6 {
				t.Errorf("%d arrivals, want 6", n)
			}
		})
}

func TestEmptyLaneIsCheckedUntilItAnswers(t *testing.T) {
	t.Parallel()
	once := func(p *partner.Partner) { p.Retry.Attempts = 5 } // the fifth failure opens and ends the round
	down := true
	w := &wire{answer: always(refused)}
	w.check = func(string) fault.Outcome {
		if down {
			return refused
		}
		return alive
	}
	inBubble(t, w, one(once), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(opensAfter + time.Second)
		g.wantLetter(m, fault.ReasonMaxAttempts)
		g.wantLane("northwind", queue.LaneOpen)
		g.pass(5 * time.Minute)
		g.wantLane("northwind", queue.LaneOpen) // the check failed
		if w.checked() != 1 {
			t.Fatalf("%d checks, want 1", w.checked())
		}
		w.change(func() { down = false })
		g.pass(10 * time.Minute)
		v := g.wantLane("northwind", queue.LaneAnswering)
		if w.checked() != 2 || v.Next.IsZero() {
			t.Errorf("%d checks, next %v", w.checked(), v.Next)
		}
		g.wantEvents(queue.EventAnswering, 1)
		g.pass(31 * time.Minute)
		if w.checked() != 3 {
			t.Errorf("%d checks, want one more after max_cooldown", w.checked())
		}
		g.wantEvents(queue.EventAnswering, 1)
		w.change(func() { w.answer = always(receipt) })
		next := g.accept("northwind", "2")
		g.pass(time.Second)
		g.wantState(next, queue.Delivered)
		g.wantLane("northwind", queue.LaneSending)
		g.wantEvents(queue.EventOutageEnded, 1)
	})
}

func TestExactlyOneProbe(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: func(m queue.Message, n int) reply {
		if time.Since(epoch) < opensAfter+time.Minute {
			return reply{o: refused}
		}
		return reply{receipt, 10 * time.Second}
	}}, one(hold, parallel), func(t *testing.T, g *gateway) {
		for i := range 10 {
			g.accept("northwind", fmt.Sprint(i))
		}
		g.pass(time.Minute)
		g.wantLane("northwind", queue.LaneOpen)
		before := len(g.wire.arrivals(""))
		g.pass(4*time.Minute + 5*time.Second)
		g.wantLane("northwind", queue.LaneHalfOpen)
		if n := len(g.wire.arrivals("")) - before; n != 1 {
			t.Errorf("%d tests at once", n)
		}
		waiting := 0
		for i := range 10 {
			if o := g.s.Overlay(g.get(queue.Message{ID: fmt.Sprintf("m%06d", i+1)}), i); o.Why == queue.WhyProbe {
				waiting++
			}
		}
		if waiting != 9 {
			t.Errorf("%d wait for the test, want 9", waiting)
		}
		// Then 1, 2, 4 at once.
		g.pass(10 * time.Second)
		if v := g.s.View("northwind"); v.Ramp != 1 || v.Running != 1 {
			t.Errorf("ramp %d, running %d, want 1 and 1", v.Ramp, v.Running)
		}
		g.pass(10 * time.Second)
		if v := g.s.View("northwind"); v.Running != 2 {
			t.Errorf("running %d, want 2", v.Running)
		}
		g.pass(time.Hour)
		g.wantLane("northwind", queue.LaneSending)
	})
}

func TestTrustFaultTripsAndAChangeOfTrustTestsAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: script(distrust, receipt)}, one(hold), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Second)
		v := g.wantLane("northwind", queue.LaneOpen)
		if d := time.Until(v.Next); d < 29*time.Minute {
			t.Errorf("cool-down %v, want the longest", d)
		}
		change := partner.Change{Partners: []partner.PartnerChange{{ID: "northwind", Trust: true}}}
		if err := g.s.Reloaded(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
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

func TestCredentialIsRetriedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(login)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(time.Minute)
		g.wantLetter(m, fault.ReasonCredential)
		if n := len(g.wire.arrivals("1")); n != 2 {
			t.Errorf("%d arrivals, want 2", n)
		}
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

// What was being built when the breaker opened does not go out.
func TestBreakerOpensWhileAMessageIsBuilt(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(distrust), builds: func(m queue.Message) time.Duration {
		if m.Key == "slow" {
			return time.Minute
		}
		return 0
	}}
	inBubble(t, w, one(hold, parallel), func(t *testing.T, g *gateway) {
		slow := g.accept("northwind", "slow")
		g.pass(time.Second)
		g.accept("northwind", "1")
		g.pass(2 * time.Minute)
		g.wantLane("northwind", queue.LaneOpen)
		g.wantState(slow, queue.Queued)
		if n := len(g.wire.arrivals("slow")); n != 0 {
			t.Errorf("%d arrivals while the breaker is open", n)
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
