package dlq

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edigw/edi"
	"edigw/queue"
)

// heldBack accepts a good document and then, under the same derived key, one
// that is dead on arrival: its letter is "held".
func heldBack(t *testing.T, b *bench, before func(first queue.Message)) (first queue.Message) {
	t.Helper()
	first = b.accept("northwind")
	if before != nil {
		before(first)
	}
	identity, _ := b.Identity("northwind")
	m := first
	m.ID, m.Payload, m.Version, m.Seq = "bad", queue.Payload{SHA256: digest("bad"), Size: 3}, 0, 0
	ad, err := b.store.Accept(ctx(t), queue.Arrival{Message: m, Identity: identity, Problem: &edi.Problem{Text: "SE01 says 24, counted 23"}, Now: t0, LetterID: "held"})
	if err != nil || ad.Outcome != queue.AdmitParked || ad.Message.State != queue.Dead {
		t.Fatalf("%+v, %v", ad, err)
	}
	return first
}

// A document that was dead on arrival takes the place of an earlier one when
// somebody confirms that it is to go out after all, not before. What the partner
// has, or may have, stays as it is.
func TestReplayOfWhatWasDeadOnArrivalEndsWhatStillWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  func(*bench, queue.Message)
		state   queue.State // of the first, afterwards
		refused bool
	}{
		"queued":            {func(*bench, queue.Message) {}, queue.Superseded, false},
		"an open letter":    {func(b *bench, m queue.Message) { b.move(m.ID, queue.Input{Trigger: queue.OnBury}) }, queue.Superseded, false},
		"delivered":         {func(b *bench, m queue.Message) { b.deliver(m.ID) }, queue.Delivered, false},
		"an unknown end":    {func(b *bench, m queue.Message) { b.fail(m.ID, distrusts, queue.Attempt{}) }, queue.Dead, false},
		"being sent":        {func(b *bench, m queue.Message) { b.move(m.ID, queue.Input{Trigger: queue.OnStart}) }, queue.Sending, true},
		"about to be sent":  {func(b *bench, m queue.Message) { b.lanes.running[m.ID] = true }, queue.Queued, true},
		"cancelled already": {func(b *bench, m queue.Message) { b.move(m.ID, queue.Input{Trigger: queue.OnCancel, Note: "x"}) }, queue.Discarded, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			first := heldBack(t, b, nil)
			c.before(b, first)
			is := b.message(first.ID)
			_, err := b.Replay(ctx(t), "held", Ask{Actor: kim})
			needs(t, err, ChangedContent)
			if now := b.message(first.ID); now.State != is.State || now.Version != is.Version {
				t.Fatalf("without a word the first became %s", now.State)
			}
			out, err := b.Replay(ctx(t), "held", Ask{Actor: kim, Confirm: []Code{ChangedContent}, UndoFor: 10 * time.Second})
			if got := b.message(first.ID); got.State != c.state {
				t.Errorf("the first is %s, want %s", got.State, c.state)
			}
			if c.refused {
				if text := conflict(t, err).Text; !strings.Contains(text, "edition "+first.ID+" is being sent right now") {
					t.Errorf("refused with %q", text)
				}
				if b.message("bad").State != queue.Dead {
					t.Error("the refused replay changed the document")
				}
				return
			}
			if err != nil || out.Message.ID != "bad" || !out.Message.State.Lined() || out.Letter.ID != "held" || out.Letter.Status != queue.LetterReplaying {
				t.Fatalf("%+v, %v", out, err)
			}
			gone := b.events(queue.EventSuperseded)
			if ended := c.state == queue.Superseded; ended != (len(gone) == 1) || ended != out.Undo.IsZero() {
				t.Errorf("events %+v, undo until %v", gone, out.Undo)
			}
			for _, e := range gone {
				if e.Message != first.ID || e.Actor != kim || e.Facts["next"] != "bad" {
					t.Errorf("event %+v", e)
				}
			}
		})
	}
}

// Its correction by hand replaces both: of one key one edition is in line.
func TestEditOfWhatWasDeadOnArrivalEndsWhatStillWaits(t *testing.T) {
	t.Parallel()
	b, _ := editBench(t)
	b.partners["northwind"].CheckEnvelope = false
	first := heldBack(t, b, nil)
	_, err := b.edit(t, "held", "good again")
	needs(t, err, ChangedContent)
	out, err := b.edit(t, "held", "good again", ChangedContent)
	if err != nil || out.Message.Edition != 2 || out.Message.Previous != "bad" || out.Letter.ID != "held" {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, id := range []string{first.ID, "bad"} {
		if m := b.message(id); m.State != queue.Superseded {
			t.Errorf("%s is %s", id, m.State)
		}
	}
	if gone := b.events(queue.EventSuperseded); len(gone) != 2 || gone[0].Facts["next"] != out.Message.ID || gone[1].Facts["next"] != out.Message.ID {
		t.Errorf("events %+v", gone)
	}
}

// A bulk replay of both editions sends one: the letter of the first is replayed,
// then replaced.
func TestBulkReplayOfBothEditionsSendsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		first := heldBack(t, b, func(m queue.Message) { b.move(m.ID, queue.Input{Trigger: queue.OnBury}) })
		j := b.bulk(Selection{IDs: []string{b.message(first.ID).Letter, "held"}}, BulkAsk{Confirm: []Code{ChangedContent}})
		runs(t, b)
		pass(time.Minute)
		if old, next := b.message(first.ID), b.message("bad"); old.State != queue.Superseded || !next.State.Lined() {
			t.Fatalf("the first is %s, the second %s", old.State, next.State)
		}
		if n := b.deliverAll(); n != 1 {
			t.Errorf("%d editions went out", n)
		}
		pass(time.Minute)
		if c := b.job(j.ID).Counts; b.job(j.ID).Status != queue.ReplayDone || c.Pending != 0 || c.Delivered != 1 || c.Failed != 0 {
			t.Errorf("counts %+v", c)
		}
	})
}
