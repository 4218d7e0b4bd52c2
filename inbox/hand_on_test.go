package inbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
)

// bar puts a file where the partner's folder should be.
func (h *house) bar() {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.Dir, "northwind"), nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) unbar() {
	h.t.Helper()
	if err := os.Remove(filepath.Join(h.Dir, "northwind")); err != nil {
		h.t.Fatal(err)
	}
}

func TestFolderThatFailsDelaysNoAnswer(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.bar()
	h.receive(message("<1@n.example>", order, "wire-1"))
	if m := h.messages(queue.In)[0]; m.State != queue.Received {
		t.Fatalf("state is %s", m.State)
	}
	h.sweep()
	h.unbar()
	h.sweep()
	if m := h.messages(queue.In)[0]; m.State != queue.Delivered || h.read("2026-12-01/order.x12") != order {
		t.Errorf("state is %s, files %v", m.State, h.tree())
	}
	if h.troubled() {
		t.Error("failures are still remembered")
	}
}

func TestFolderThatFailsForLongMakesALetterThatCanBeProcessed(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := context.Background()
	h.bar()
	h.receive(message("<1@n.example>", order, "wire-1"))
	for range maxTries {
		h.sweep()
	}
	open := h.letters(queue.LetterOpen)
	if len(open) != 1 || open[0].Reason != fault.ReasonLocal || h.troubled() {
		t.Fatalf("letters are %+v", open)
	}
	by := fault.Actor{Name: "kim"}
	if err := h.Process(ctx, open[0].Message, by, "folder mended"); err == nil {
		t.Error("processed although the folder still fails")
	}
	if _, dup := h.receive(message("<1@n.example>", order, "wire-2")); !dup {
		t.Error("a copy of a message that was acknowledged is no duplicate")
	}
	h.unbar()
	if err := h.Process(ctx, open[0].Message, by, "folder mended"); err != nil {
		t.Fatal(err)
	}
	l, err := h.store.Letter(ctx, open[0].ID)
	if err != nil || l.Status != queue.LetterClosed || l.ClosedAs != queue.ClosedDelivered || l.Actor != by || l.Note != "folder mended" {
		t.Errorf("letter is %+v, %v", l, err)
	}
	var no *NotPossible
	if err := h.Process(ctx, open[0].Message, by, "again"); !errors.As(err, &no) || len(h.tree()) != 2 {
		t.Errorf("second time: %v, files %v", err, h.tree())
	}
}

func TestRefusedMessageCannotBeProcessed(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.receive(refused("<1@n.example>", "wire-1", "not signed"))
	var no *NotPossible
	if err := h.Process(context.Background(), h.messages(queue.In)[0].ID, fault.Actor{}, ""); !errors.As(err, &no) {
		t.Errorf("got %v", err)
	}
	if err := h.Process(context.Background(), "nothing", fault.Actor{}, ""); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestStartHandsOnWhatWasLeft(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.bar()
	h.receive(message("<1@n.example>", order, "wire-1"))
	h.restart(h.Dir)
	synctest.Test(t, func(t *testing.T) {
		if err := h.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := h.Start(context.Background()); err == nil {
			t.Error("it starts twice")
		}
		synctest.Wait()
		h.unbar()
		<-time.After(pause + time.Second)
		synctest.Wait()
		for range 2 {
			if err := h.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	if m := h.messages(queue.In)[0]; m.State != queue.Delivered {
		t.Errorf("state is %s", m.State)
	}
}

// absent is a store of small bodies that does not answer.
type absent struct{ spool.Small }

func (absent) Get(context.Context, string, string) ([]byte, error) {
	return nil, queue.ErrUnavailable
}

// A store that does not answer says nothing of the document: however often it
// is asked, that makes no letter.
func TestADocumentThatCannotBeReadNowWaits(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.bar()
	h.receive(message("<1@n.example>", order, "wire-1"))
	h.unbar()
	there := h.Spool
	var err error
	if h.Spool, err = spool.Open(t.TempDir(), absent{}); err != nil {
		t.Fatal(err)
	}
	for range 2 * maxTries {
		h.sweep()
	}
	if l := h.letters(queue.LetterOpen); len(l) != 0 || !h.troubled() {
		t.Errorf("letters %+v, troubled %v", l, h.troubled())
	}
	h.Spool = there
	h.sweep()
	if len(h.tree()) != 2 || h.troubled() {
		t.Errorf("files %v, troubled %v", h.tree(), h.troubled())
	}
}
