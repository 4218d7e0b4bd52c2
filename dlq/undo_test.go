package dlq

import (
	"testing"
	"time"

	"edigw/queue"
	"edigw/retry"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestUndoWithinItsSeconds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.buried("northwind")
	out, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, UndoFor: UndoWindow})
	if err != nil || !out.Undo.Equal(t0.Add(UndoWindow)) {
		t.Fatalf("undo until %v, %v", out.Undo, err)
	}
	got, err := b.Undo(ctx(t), l.ID, Ask{Actor: kim})
	if err != nil || got.Status != queue.LetterOpen || b.message(l.Message).State != queue.Dead {
		t.Fatalf("undone: %+v, %v", got, err)
	}
	if _, err = b.Undo(ctx(t), l.ID, Ask{Actor: kim}); err == nil {
		t.Error("undone twice")
	}
	if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim}); err != nil {
		t.Fatal(err)
	}
	_, err = b.Undo(ctx(t), l.ID, Ask{Actor: kim})
	conflict(t, err) // one that started at once cannot be undone
}

// The deadline that a replay cleared is there again, and is asked for again.
func TestUndoLeavesTheLetterAsItWas(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(*bench, queue.Letter) error{
		"undone": func(b *bench, l queue.Letter) error { _, err := b.Undo(ctx(t), l.ID, Ask{Actor: kim}); return err },
		"cancelled": func(b *bench, l queue.Letter) error {
			_, err := b.Cancel(ctx(t), l.Message, Ask{Actor: kim})
			return err
		},
	} {
		b := newBench(t)
		m := b.accept("northwind")
		m.DeliverBy, m.DeadlineGiven = t0.Add(time.Minute), true
		if err := b.store.Record(ctx(t), &queue.Result{Message: &m}); err != nil {
			t.Fatal(err)
		}
		l := *b.fail(m.ID, rejects, queue.Attempt{Status: 400, Detail: "no"}).Opened
		before, letter := b.message(m.ID), b.letter(l.ID)
		b.pass(time.Hour)
		if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, Note: "they still want it", Confirm: []Code{Overdue}, UndoFor: UndoWindow}); err != nil {
			t.Fatal(err)
		}
		if err := back(b, l); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, b.message(m.ID), cmpopts.IgnoreFields(queue.Message{}, "Version")); d != "" {
			t.Errorf("%s: message: -before +after\n%s", name, d)
		}
		if d := cmp.Diff(letter, b.letter(l.ID), cmpopts.IgnoreFields(queue.Letter{}, "Version")); d != "" {
			t.Errorf("%s: letter: -before +after\n%s", name, d)
		}
		_, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim})
		needs(t, err, Overdue)
	}
}

// What a bulk replay freezes counts as its dry run did.
func TestADryRunCountsWhatIsFrozen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buried("northwind")
	b.failed("northwind", rejects, queue.Attempt{})
	b.failed("northwind", distrusts, queue.Attempt{})
	for _, given := range []bool{true, false} {
		m := b.message(b.failed("northwind", retry.Verdict{Class: retry.Permanent, Reason: rejects.Reason}, queue.Attempt{}).Message)
		m.DeliverBy, m.DeadlineGiven = t0.Add(time.Minute), given
		if err := b.store.Record(ctx(t), &queue.Result{Message: &m}); err != nil {
			t.Fatal(err)
		}
	}
	restored := b.message(b.buried("northwind").Message) // unsure, never tried
	restored.Uncertain = true
	if err := b.store.Record(ctx(t), &queue.Result{Message: &restored}); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Hour)
	dry, err := b.Bulk(ctx(t), everything, BulkAsk{Actor: kim, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := b.Bulk(ctx(t), everything, BulkAsk{Actor: kim, Confirm: Codes})
	if err != nil {
		t.Fatal(err)
	}
	want := queue.ReplayCounts{Total: 6, Pending: 6, NeverTried: 1, Uncertain: 2, Overdue: 1}
	if d := cmp.Diff(want, dry.Job.Counts); d != "" {
		t.Errorf("dry run: -want +got\n%s", d)
	}
	if d := cmp.Diff(dry.Job.Counts, plan.Job.Counts); d != "" {
		t.Errorf("-dry run +frozen\n%s", d)
	}
}
