package lane_test

import (
	"errors"
	"testing"
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
