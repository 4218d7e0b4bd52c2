package lane_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"edigw/as4"
	"edigw/fault"
	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
)

// fetches makes a partner one who fetches what we have for him.
func fetches(p *partner.Partner) {
	p.Protocol, p.AS2 = "as4", nil
	p.AS4 = &partner.AS4{Template: as4.PMode{MEP: as4.OneWayPull}, Wait: time.Hour}
}

// forPickUp is a gateway whose partner northwind fetches; nothing is ever sent
// to him.
func forPickUp(t *testing.T, test func(*testing.T, *gateway), change ...func(*partner.Partner)) {
	t.Helper()
	w := &wire{async: true, answer: func(m queue.Message, _ int) reply {
		t.Errorf("%s was sent", m.Key)
		return reply{o: later}
	}}
	inBubble(t, w, one(append([]func(*partner.Partner){fetches}, change...)...), test)
}

// fetch is the partner's request for what is there.
func (g *gateway) fetch() *lane.Handed {
	g.t.Helper()
	h, err := g.s.HandOut(g.t.Context(), "northwind")
	if err != nil {
		g.t.Fatalf("nothing handed out: %v", err)
	}
	return h
}

// wantNothing is a request of the partner that finds nothing.
func (g *gateway) wantNothing() {
	g.t.Helper()
	if h, err := g.s.HandOut(g.t.Context(), "northwind"); !errors.Is(err, queue.ErrNotFound) {
		g.t.Errorf("handed out %v, %v", h, err)
		if h != nil {
			h.Done(nil)
		}
	}
}

// wantShown says how a message in line is shown.
func (g *gateway) wantShown(m queue.Message, want queue.Why) queue.Shown {
	g.t.Helper()
	o := g.s.Overlay(g.get(m), 0)
	if o.State != queue.Waiting || o.Why != want {
		g.t.Errorf("%s is shown as %s %s, want waiting %s", m.Key, o.State, o.Why, want)
	}
	return o
}

var errCut = errors.New("broken pipe")

func TestPulledDocumentIsFetchedAndAcknowledged(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		g.wantNothing()
		m := g.accept("northwind", "1")
		g.pass(time.Hour)
		g.wantState(m, queue.Queued)
		g.wantShown(m, queue.WhyPull)
		h := g.fetch()
		if h.Message.ID != m.ID || h.Build.N != 1 || h.Build.SHA256 == "" {
			t.Errorf("handed out %+v", h)
		}
		g.wantState(m, queue.Sending)
		if !g.s.Running("northwind", m.ID) {
			t.Error("it is not running")
		}
		g.pass(time.Minute)
		g.wantState(m, queue.Sending)
		h.Done(nil)
		now := g.wantState(m, queue.AwaitingAck)
		if now.Attempts != 0 || now.Total != 1 || now.Uncertain || g.s.Running("northwind", m.ID) {
			t.Errorf("%+v", now)
		}
		g.wantNothing()
		g.acknowledge(m, thanks)
		if now = g.wantState(m, queue.Delivered); now.Proof != queue.ProofReceipt || now.Attempts != 0 {
			t.Errorf("%+v", now)
		}
		attempts, _ := g.store.Attempts(t.Context(), m.ID)
		if len(attempts) != 2 || attempts[0].Counted || attempts[0].Class != retry.Accepted {
			t.Errorf("attempts %+v", attempts)
		}
	})
}

func TestPulledReceiptOvertakesTheEndOfTheResponse(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		h := g.fetch()
		g.acknowledge(m, thanks)
		g.wantState(m, queue.Delivered)
		h.Done(nil)
		g.wantState(m, queue.Delivered)
	})
}

func TestPulledNegativeSignalIsALetter(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.fetch().Done(nil)
		g.acknowledge(m, sorry)
		g.wantLetter(m, fault.ReasonSignature)
		g.wantNothing()
	})
}

// TestPulledConnectionBreaks: it is in line again at once, as the same bytes, and
// nobody knows whether the partner has it; on_unknown says whether he may get it
// again.
func TestPulledConnectionBreaks(t *testing.T) {
	t.Parallel()
	for on, want := range map[retry.OnUnknown]queue.State{retry.Resend: queue.Queued, retry.Wait: queue.AwaitingAck, retry.Hold: queue.Dead} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			forPickUp(t, func(t *testing.T, g *gateway) {
				m := g.accept("northwind", "1")
				h := g.fetch()
				h.Done(errCut)
				now := g.wantState(m, want)
				if !now.Uncertain || now.Attempts != 0 {
					t.Errorf("uncertain %v, %d attempts", now.Uncertain, now.Attempts)
				}
				switch want {
				case queue.Dead:
					g.wantLetter(m, fault.ReasonUnknownOutcome)
				case queue.Queued:
					g.wantShown(m, queue.WhyPull)
					again := g.fetch()
					if again.Build.SHA256 != h.Build.SHA256 || again.Build.N != 1 {
						t.Errorf("other bytes: %+v", again.Build)
					}
					again.Done(nil)
					g.acknowledge(m, thanks)
					g.wantState(m, queue.Delivered)
				}
			}, func(p *partner.Partner) { p.Lane.OnUnknown = on })
		})
	}
}

// TestPulledBreaksCountForNothing: however often he breaks off, and others with
// him, no breaker opens and no network of ours is to blame.
func TestPulledBreaksCountForNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true}, many(6, fetches), func(t *testing.T, g *gateway) {
		for i := range 6 {
			id := fmt.Sprintf("p%05d", i)
			m := g.accept(id, "1")
			for range 10 {
				h, err := g.s.HandOut(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				h.Done(errCut)
			}
			g.wantState(m, queue.Queued)
			g.wantLane(id, queue.LaneSending)
		}
		g.wantEvents(queue.EventBreakerOpened, 0)
		g.wantEvents(queue.EventIsolated, 0)
	})
}

// TestAS4Row58PulledWithoutReceipt: known fault 58. It comes back after receipt.wait, as
// the same bytes, until somebody must hear of it.
func TestAS4Row58PulledWithoutReceipt(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		first := g.fetch()
		first.Done(nil)
		g.pass(59 * time.Minute)
		g.wantNothing()
		g.pass(2 * time.Minute)
		if now := g.wantState(m, queue.Waiting); !now.Uncertain {
			t.Error("not uncertain")
		}
		g.wantShown(m, queue.WhyPull)
		for n := range 6 {
			h := g.fetch()
			if h.Build.SHA256 != first.Build.SHA256 {
				t.Fatalf("time %d: other bytes", n+2)
			}
			h.Done(nil)
			g.pass(time.Hour + time.Second)
		}
		if l := g.wantLetter(m, fault.ReasonReceiptMissing); !l.Uncertain {
			t.Error("the letter is not uncertain")
		}
		g.acknowledge(m, thanks)
		g.wantState(m, queue.Delivered)
	})
}

func TestPulledOldestFirst(t *testing.T) {
	t.Parallel()
	t.Run("in order", func(t *testing.T) {
		t.Parallel()
		forPickUp(t, func(t *testing.T, g *gateway) {
			g.acceptAll("northwind", "1", "2", "3")
			for _, want := range []string{"1", "2", "3"} {
				h := g.fetch()
				if h.Message.Key != want {
					t.Errorf("%s, want %s", h.Message.Key, want)
				}
				g.wantNothing() // one at a time
				h.Done(nil)
			}
			g.wantNothing()
		})
	})
	t.Run("what broke off goes first", func(t *testing.T) {
		t.Parallel()
		forPickUp(t, func(t *testing.T, g *gateway) {
			g.acceptAll("northwind", "1", "2")
			g.fetch().Done(errCut)
			h := g.fetch()
			if h.Message.Key != "1" {
				t.Errorf("%s, want 1", h.Message.Key)
			}
			h.Done(nil)
		})
	})
	t.Run("several at once", func(t *testing.T) {
		t.Parallel()
		forPickUp(t, func(t *testing.T, g *gateway) {
			g.acceptAll("northwind", "1", "2", "3", "4", "5")
			var all []*lane.Handed
			for _, want := range []string{"1", "2", "3", "4"} {
				h := g.fetch()
				if h.Message.Key != want {
					t.Errorf("%s, want %s", h.Message.Key, want)
				}
				all = append(all, h)
			}
			g.wantNothing() // as many as lane.concurrency
			all[2].Done(errCut)
			if h := g.fetch(); h.Message.Key != "3" {
				t.Errorf("%s, want 3", h.Message.Key)
			} else {
				h.Done(nil)
			}
			for _, i := range []int{0, 1, 3} {
				all[i].Done(nil)
			}
			h := g.fetch()
			if h.Message.Key != "5" {
				t.Errorf("%s, want 5", h.Message.Key)
			}
			h.Done(nil)
		}, parallel)
	})
}

// TestPulledDeadline: it runs while a document waits to be fetched, and while its
// receipt is waited for.
func TestPulledDeadline(t *testing.T) {
	t.Parallel()
	due := func(m *queue.Message) { m.DeliverBy = time.Now().Add(30 * time.Minute) }
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1", due)
		g.pass(29 * time.Minute)
		g.wantState(m, queue.Queued)
		g.pass(2 * time.Minute)
		g.wantLetter(m, fault.ReasonDeadline)
		g.wantNothing()
	})
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1", due)
		g.fetch().Done(nil)
		g.pass(31 * time.Minute)
		g.wantState(m, queue.AwaitingAck) // it may have been in time
		g.pass(30 * time.Minute)
		g.wantLetter(m, fault.ReasonReceiptMissing)
	})
}

func TestPulledIsHeldBack(t *testing.T) {
	t.Parallel()
	t.Run("by an operator", func(t *testing.T) {
		t.Parallel()
		forPickUp(t, func(t *testing.T, g *gateway) {
			m := g.accept("northwind", "1")
			if err := g.s.StopLane(t.Context(), "northwind", operator, "their maintenance", time.Time{}); err != nil {
				t.Fatal(err)
			}
			g.wantNothing()
			g.wantShown(m, queue.WhyStopped)
			if err := g.s.StartLane(t.Context(), "northwind", operator); err != nil {
				t.Fatal(err)
			}
			g.fetch().Done(nil)
		})
	})
	t.Run("by a blackout", func(t *testing.T) {
		t.Parallel()
		cal := calendar(t, "  blackouts: [{cron: \"0 0 * * *\", for: 3h}]\n")
		forPickUp(t, func(t *testing.T, g *gateway) {
			m := g.accept("northwind", "1")
			g.wantNothing()
			g.wantShown(m, queue.WhyBlackout)
			g.pass(3*time.Hour + 10*time.Minute) // with its spread
			g.fetch().Done(nil)
		}, func(p *partner.Partner) { p.Lane.Calendar = cal })
	})
	t.Run("by settings that are gone or bad", func(t *testing.T) {
		t.Parallel()
		forPickUp(t, func(t *testing.T, g *gateway) {
			g.accept("northwind", "1")
			g.book.put(standard("northwind", fetches, func(p *partner.Partner) { p.Misconfigured = true }))
			g.wantNothing()
			g.book.remove("northwind")
			g.wantNothing()
			g.book.put(standard("northwind", fetches))
			g.fetch().Done(nil)
		})
	})
}

// TestPulledThatCannotBeBuilt: the document becomes a letter, and the partner
// gets the next one; three in a row stop the lane.
func TestPulledThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	fail := func(keys ...string) func(queue.Message) *fault.Outcome {
		return func(m queue.Message) *fault.Outcome {
			for _, k := range keys {
				if m.Key == k {
					return &fault.Outcome{Cause: fault.CauseKey, Detail: "our key expired"}
				}
			}
			return nil
		}
	}
	forPickUp(t, func(t *testing.T, g *gateway) {
		list := g.acceptAll("northwind", "1", "2")
		g.wire.change(func() { g.wire.broken = fail("1") })
		h := g.fetch()
		if h.Message.Key != "2" {
			t.Errorf("%s, want 2", h.Message.Key)
		}
		h.Done(nil)
		g.wantLetter(list[0], fault.ReasonLocal)
		list = g.acceptAll("northwind", "3", "4", "5", "6")
		g.wire.change(func() { g.wire.broken = fail("3", "4", "5", "6") })
		g.wantNothing()
		g.wantState(list[3], queue.Queued)
		g.wantLane("northwind", queue.LaneNeedsFix)
		g.wantNothing()
		g.wantShown(list[3], queue.WhyNeedsFix)
	})
}

// TestPulledWhenOurSideFails: what passes by itself changes nothing, and the
// partner asks again.
func TestPulledWhenOurSideFails(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.wire.change(func() {
			g.wire.broken = func(queue.Message) *fault.Outcome {
				return &fault.Outcome{Cause: fault.CauseStopped, Detail: "disk full"}
			}
		})
		for range 3 {
			if _, err := g.s.HandOut(t.Context(), "northwind"); !errors.Is(err, queue.ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
		}
		g.wantState(m, queue.Queued)
		g.wire.change(func() { g.wire.broken = nil })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.s.HandOut(ctx, "northwind"); err == nil {
			t.Error("handed out to nobody")
		}
		if now := g.wantState(m, queue.Queued); now.Uncertain || now.Total != 0 {
			t.Errorf("%+v", now)
		}
		g.wire.change(func() { g.wire.builds = func(queue.Message) time.Duration { panic("scripted") } })
		if _, err := g.s.HandOut(t.Context(), "northwind"); err == nil {
			t.Error("a defect went unnoticed")
		}
		g.wantLetter(m, fault.ReasonLocal)
	})
}

// TestPulledThatCannotBeRead: nothing of it was written, so nobody needs to ask
// the partner.
func TestPulledThatCannotBeRead(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.fetch().Unread(fault.Outcome{Cause: fault.CauseStopped, Detail: "the store does not answer"})
		if now := g.wantState(m, queue.Queued); now.Uncertain || now.Attempts != 0 {
			t.Errorf("%+v", now)
		}
		g.fetch().Unread(fault.Outcome{Cause: fault.CausePayload, Detail: "the wire bytes are unreadable"})
		if l := g.wantLetter(m, fault.ReasonLocal); l.Uncertain {
			t.Error("the letter is uncertain")
		}
	})
}

func TestPulledCrash(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		sha := ""
		for n := range 2 {
			h := g.fetch()
			if sha == "" {
				sha = h.Build.SHA256
			}
			g.crash()
			h.Done(nil) // of the dead process
			if now := g.wantState(m, queue.Waiting); now.Crashes != n+1 || !now.Uncertain || now.Attempts != 0 {
				t.Errorf("%+v", now)
			}
			g.wantShown(m, queue.WhyPull)
			if h := g.fetch(); h.Build.SHA256 != sha {
				t.Error("other bytes")
			} else {
				h.Done(errCut)
			}
		}
		h := g.fetch()
		g.crash()
		h.Done(nil)
		g.wantLetter(m, fault.ReasonUnknownOutcome)
	})
}

// TestPulledCrashWhileAcknowledging: the receipt that comes after the crash
// settles it.
func TestPulledCrashWhileAcknowledging(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		h := g.fetch()
		g.crash()
		h.Done(nil)
		g.acknowledge(m, thanks)
		g.wantState(m, queue.Delivered)
		g.wantNothing()
	})
}

// TestPulledHoldsStop: the process waits for who fetches right now, hands out
// nothing more, and tells him when he must end.
func TestPulledHoldsStop(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"he ends": true, "he is cut": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forPickUp(t, func(t *testing.T, g *gateway) {
				m, other := g.accept("northwind", "1"), g.accept("northwind", "2")
				h := g.fetch()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				stopped := make(chan error, 1)
				go func() { stopped <- g.s.Stop(ctx) }()
				g.pass(30 * time.Second)
				if _, err := g.s.HandOut(t.Context(), "northwind"); !errors.Is(err, queue.ErrUnavailable) {
					t.Errorf("%v, want ErrUnavailable", err)
				}
				if len(stopped) > 0 || h.Cut.Err() != nil {
					t.Fatal("it did not wait")
				}
				want := queue.AwaitingAck
				if ends {
					h.Done(nil)
				} else {
					want = queue.Queued
					<-h.Cut.Done()
					h.Done(context.Cause(h.Cut))
				}
				synctest.Wait()
				if err := <-stopped; (err == nil) != ends {
					t.Errorf("stopped with %v", err)
				}
				if now := g.wantState(m, want); now.Uncertain == ends {
					t.Errorf("uncertain %v", now.Uncertain)
				}
				g.wantState(other, queue.Queued)
				g.start()
			})
		})
	}
}

// TestPulledReplay: a replayed letter is in line to be fetched again, first as it
// was; an undo takes it back until then.
func TestPulledReplay(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.fetch().Done(nil)
		g.acknowledge(m, sorry)
		g.wantLetter(m, fault.ReasonSignature)
		g.accept("northwind", "2")
		g.replay(m)
		g.pass(time.Hour)
		g.wantState(m, queue.Queued)
		g.wantShown(m, queue.WhyPull)
		h := g.fetch()
		if h.Message.ID != m.ID || h.Message.Round != 2 {
			t.Errorf("handed out %+v", h.Message)
		}
		h.Done(nil)
		g.acknowledge(m, thanks)
		g.wantState(m, queue.Delivered)
		if letters, _ := g.store.LettersOf(t.Context(), m.ID); len(letters) != 1 || letters[0].ClosedAs == "" {
			t.Errorf("letters %+v", letters)
		}
	})
}

// TestPulledWhileWeAreIsolated: our way to partners is cut, theirs to us is not.
// Nobody who fetches is asked whether it works again, and that one comes says
// nothing of it.
func TestPulledWhileWeAreIsolated(t *testing.T) {
	t.Parallel()
	w := &wire{answer: always(refused), check: func(string) fault.Outcome { return refused }}
	partners := append(many(6, parallel), standard("northwind", fetches), standard("contoso", fetches))
	inBubble(t, w, partners, func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		for i := range 6 {
			g.accept(fmt.Sprintf("p%05d", i), "1")
		}
		g.pass(time.Minute)
		g.wantLane("p00000", queue.LaneIsolated)
		g.wantLane("northwind", queue.LaneSending)
		g.wantShown(m, queue.WhyPull)
		h := g.fetch()
		contacts := func() int { return len(w.arrivals("")) + w.checked() }
		before := contacts()
		g.pass(10 * time.Minute)
		if n := contacts() - before; n != 20 {
			t.Errorf("others were tried %d times in 10 min, want 20: none of these for nothing", n)
		}
		h.Done(nil)
		g.wantState(m, queue.AwaitingAck)
		g.wantLane("p00000", queue.LaneIsolated)
		w.change(func() {
			for _, s := range append(w.log, w.checks...) {
				if s.partner == "northwind" || s.partner == "contoso" {
					t.Errorf("%s was contacted", s.partner)
				}
			}
		})
	})
}

// TestPulledTripAndReset: an operator's trip holds what is there back, as for
// any lane; after its cool-down what is fetched next is the test.
func TestPulledTripAndReset(t *testing.T) {
	t.Parallel()
	forPickUp(t, func(t *testing.T, g *gateway) {
		m, next := g.accept("northwind", "1"), g.accept("northwind", "2")
		trip := func() {
			t.Helper()
			if err := g.s.Trip(t.Context(), "northwind", operator); err != nil {
				t.Fatal(err)
			}
			g.pass(time.Second)
			g.wantNothing()
			g.wantLane("northwind", queue.LaneOpen)
		}
		trip()
		if o := g.wantShown(m, queue.WhyBreaker); o.Next.IsZero() {
			t.Error("nobody is told until when")
		}
		if err := g.s.Reset(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		h := g.fetch()
		trip()
		h.Done(nil) // it was under way
		g.wantState(m, queue.AwaitingAck)
		g.wantLane("northwind", queue.LaneOpen)
		g.pass(10 * time.Minute)
		g.wantLane("northwind", queue.LaneHalfOpen)
		g.wantShown(next, queue.WhyPull)
		h = g.fetch()
		g.wantNothing()
		h.Done(errCut)
		g.wantLane("northwind", queue.LaneHalfOpen)
		if now := g.wantState(next, queue.Queued); !now.Uncertain {
			t.Error("not uncertain")
		}
		g.fetch().Done(nil)
		g.wantLane("northwind", queue.LaneSending)
		g.wantEvents(queue.EventDead, 0)
		if n := g.wire.checked(); n > 0 {
			t.Errorf("%d connection checks", n)
		}
	}, parallel)
}

// TestPulledAfterAnOutage: a partner that could not be reached and now fetches:
// no document of his is buried.
func TestPulledAfterAnOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(refused)}, one(), func(t *testing.T, g *gateway) {
		g.accept("northwind", "1")
		g.pass(opensAfter + time.Second)
		g.wantLane("northwind", queue.LaneOpen)
		g.book.put(standard("northwind", fetches))
		m := g.accept("northwind", "2")
		g.pass(30 * time.Minute)
		g.wantState(m, queue.Queued)
		for _, want := range []string{"1", "2"} {
			h := g.fetch()
			if h.Message.Key != want {
				t.Errorf("%s, want %s", h.Message.Key, want)
			}
			h.Done(nil)
		}
		g.wantLane("northwind", queue.LaneSending)
	})
}

// TestPulledNoLonger: settings that change while it is being built decide.
func TestPulledNoLonger(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{async: true, answer: always(later)}, one(fetches), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.wire.change(func() {
			g.wire.builds = func(queue.Message) time.Duration {
				g.book.put(standard("northwind"))
				return 0
			}
		})
		g.wantNothing()
		g.pass(time.Second)
		g.wantState(m, queue.AwaitingAck)
		if n := len(g.wire.arrivals("1")); n != 1 {
			t.Errorf("sent %d times", n)
		}
		g.wantNothing()
	})
}

// TestPulledBuiltToBePushed: wire bytes that asked for a receipt in the response
// get it by itself all the same.
func TestPulledBuiltToBePushed(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(busy)}, one(), func(t *testing.T, g *gateway) {
		m := g.accept("northwind", "1")
		g.pass(0)
		g.wantState(m, queue.Waiting)
		g.book.put(standard("northwind", fetches))
		g.pass(time.Minute)
		g.fetch().Done(nil)
		g.wantState(m, queue.AwaitingAck)
		g.acknowledge(m, thanks)
		g.wantState(m, queue.Delivered)
	})
}
