package lane_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
)

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
