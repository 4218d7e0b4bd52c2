package dlq

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"edigw/breaker"
	"edigw/queue"
	"github.com/google/go-cmp/cmp"
)

func TestBulkReplaysAFrozenSetOldestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		var want []string
		for range 10 {
			want = append(want, b.buried("northwind").Message)
		}
		j := b.bulk(Selection{Filter: queue.LetterFilter{Outage: "OUT-1"}}, BulkAsk{Note: "they are back"})
		late := b.buried("northwind")
		if j.Counts.Total != 10 || j.Counts.NeverTried != 10 {
			t.Fatalf("counts %+v", j.Counts)
		}
		began := time.Now()
		runs(t, b)
		synctest.Wait()
		if n := b.job(j.ID).Counts.Replayed; n != 1 {
			t.Errorf("%d started at once, want 1: replay_rate is 5/s", n)
		}
		pass(1700 * time.Millisecond)
		if n := b.job(j.ID).Counts.Replayed; n != 9 {
			t.Errorf("%d started after 1.7 s, want 9", n)
		}
		pass(time.Second)
		b.deliverAll()
		pass(time.Second)
		var got []string
		for _, e := range b.events(queue.EventReplay) {
			got = append(got, e.Message)
			if e.Actor != kim {
				t.Errorf("event %+v", e)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("order (-want +got)\n%s", d)
		}
		j = b.job(j.ID)
		if j.Status != queue.ReplayDone || j.Counts.Delivered != 10 || j.Counts.Pending != 0 || j.Finished.Before(began) {
			t.Errorf("job %+v", j)
		}
		if b.letter(late.ID).Status != queue.LetterOpen {
			t.Error("a letter that came later joined")
		}
	})
}

func TestBulkAsksForWhatItFinds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 3 {
		b.buried("northwind")
	}
	b.failed("northwind", distrusts, queue.Attempt{})
	b.lanes.set("northwind", breaker.State{Phase: breaker.Open})

	plan, err := b.Bulk(ctx(t), everything, BulkAsk{Actor: kim, DryRun: true})
	if err != nil || plan.Job.ID != "" || plan.Job.Counts.Total != 4 || plan.Job.Counts.NeverTried != 3 || plan.Job.Counts.Uncertain != 1 {
		t.Fatalf("dry run %+v, %v", plan, err)
	}
	if d := cmp.Diff(map[Code]int{PossibleDuplicate: 1, BreakerWait: 4, BreakerProbe: 4}, plan.Codes); d != "" {
		t.Errorf("codes (-want +got)\n%s", d)
	}
	if jobs, err := b.store.ReplayJobs(ctx(t), ""); err != nil || len(jobs) != 0 {
		t.Errorf("a dry run left %d jobs, %v", len(jobs), err)
	}
	_, err = b.Bulk(ctx(t), everything, BulkAsk{Actor: kim, Confirm: []Code{BreakerWait}})
	needs(t, err, PossibleDuplicate)
	_, err = b.Bulk(ctx(t), everything, BulkAsk{Actor: kim, Skip: []Code{PossibleDuplicate}})
	needs(t, err, BreakerWait, BreakerProbe)
	if _, err = b.Bulk(ctx(t), everything, BulkAsk{Actor: kim, Skip: []Code{PossibleDuplicate}, Confirm: []Code{BreakerWait}}); err != nil {
		t.Error(err)
	}
}

func TestBulkOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	closed := b.buried("northwind")
	if _, err := b.Settle(ctx(t), closed.ID, Ask{Actor: kim}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Selection{
		"no ids and an empty filter": {},
		"a filter that fits nothing": {Filter: queue.LetterFilter{Partner: "contoso"}},
		"only closed letters":        {IDs: []string{closed.ID}},
	} {
		if _, err := b.Bulk(ctx(t), c, BulkAsk{Actor: kim}); !errors.Is(err, ErrNothingSelected) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := b.Bulk(ctx(t), Selection{Filter: queue.LetterFilter{Partner: "contoso"}}, BulkAsk{Actor: kim, Confirm: Codes}); !errors.Is(err, ErrNothingSelected) {
		t.Errorf("everything confirmed: got %v", err)
	}
	if _, err := b.Bulk(ctx(t), Selection{IDs: []string{"nothing"}}, BulkAsk{Actor: kim}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("unknown id: got %v", err)
	}
	var in *InputError
	for name, c := range map[string]Selection{
		"too many ids":   {IDs: make([]string, maxIDs+1)},
		"ids and filter": {IDs: []string{"a"}, Filter: queue.LetterFilter{Partner: "northwind"}},
		"closed letters": {Filter: queue.LetterFilter{Status: queue.LetterClosed}},
	} {
		if _, err := b.Bulk(ctx(t), c, BulkAsk{Actor: kim}); !errors.As(err, &in) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestBulkLeavesOutAndSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.partners["northwind"].Lane.ReplayRate = 0
		good, unsure, gone := b.buried("northwind"), b.failed("northwind", distrusts, queue.Attempt{}), b.buried("northwind")
		overtaken := b.buried("northwind")
		j := b.bulk(Selection{IDs: []string{good.ID, unsure.ID, gone.ID, overtaken.ID}}, BulkAsk{Skip: []Code{PossibleDuplicate}})
		if _, err := b.Discard(context.Background(), gone.ID, Ask{Actor: kim, Note: "test"}); err != nil {
			t.Fatal(err)
		}
		b.deliver(b.accept("northwind").ID)
		runs(t, b)
		synctest.Wait()
		// The later document overtook all of them; nobody confirmed that.
		want := []queue.ReplayItem{
			{N: 1, Letter: good.ID, Status: itemSkipped, Detail: "not confirmed: overtaken came up after the set was frozen"},
			{N: 2, Letter: unsure.ID, Status: itemSkipped, Detail: "left out: possible-duplicate"},
			{N: 3, Letter: gone.ID, Status: itemSkipped, Detail: "Discarded by Kim now."},
			{N: 4, Letter: overtaken.ID, Status: itemSkipped, Detail: "not confirmed: overtaken came up after the set was frozen"},
		}
		got := b.items(j.ID)
		for i := range got {
			got[i] = queue.ReplayItem{N: got[i].N, Letter: got[i].Letter, Status: got[i].Status, Detail: got[i].Detail}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("items (-want +got)\n%s", d)
		}
		if j := b.job(j.ID); j.Status != queue.ReplayDone || j.Counts.Skipped != 4 {
			t.Errorf("job %+v", j)
		}
	})
}

func TestBulkThatFailsAgainEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.partners["northwind"].Lane.ReplayRate = 0
		for range 3 {
			b.buried("northwind")
		}
		j := b.bulk(everything, BulkAsk{})
		runs(t, b)
		synctest.Wait()
		for i, it := range b.items(j.ID) {
			if i == 0 {
				b.deliver(it.Message)
				continue
			}
			b.fail(it.Message, rejects, queue.Attempt{Status: 400})
		}
		pass(time.Second)
		if j := b.job(j.ID); j.Status != queue.ReplayDone || j.Counts.Delivered != 1 || j.Counts.DiedAgain != 2 {
			t.Errorf("job %+v", j)
		}
		pass(time.Hour)
		if n := len(b.events(queue.EventReplay)); n != 3 {
			t.Errorf("%d replays of 3 letters", n)
		}
	})
}

func TestBulkAsTheTestSendsTheOldestAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		oldest := b.buried("northwind")
		b.buried("northwind")
		b.lanes.set("northwind", breaker.State{Phase: breaker.Open})
		b.bulk(everything, BulkAsk{Confirm: []Code{BreakerProbe}})
		runs(t, b)
		pass(time.Second)
		if d := cmp.Diff([]string{oldest.Message}, b.lanes.tests); d != "" {
			t.Errorf("tests (-want +got)\n%s", d)
		}
		if n := len(b.events(queue.EventReplay)); n != 2 {
			t.Errorf("%d replayed, want both in line", n)
		}
	})
}

func TestBulkFollowsFreshEditions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.partners["northwind"].FreshID = true
		for range 2 {
			b.failed("northwind", rejects, queue.Attempt{Status: 400})
		}
		j := b.bulk(everything, BulkAsk{})
		runs(t, b)
		pass(time.Second)
		if c := b.job(j.ID).Counts; c.Replayed != 2 || c.Delivered != 0 {
			t.Fatalf("counts %+v", c)
		}
		if n := b.deliverAll(); n != 2 {
			t.Fatalf("%d in line", n)
		}
		pass(time.Second)
		if j := b.job(j.ID); j.Status != queue.ReplayDone || j.Counts.Delivered != 2 {
			t.Errorf("job %+v", j)
		}
	})
}

func TestTakenBackIsNotCountedAsReplayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		l := b.buried("northwind")
		j := b.bulk(everything, BulkAsk{})
		runs(t, b)
		synctest.Wait()
		if _, err := b.Cancel(context.Background(), l.Message, Ask{Actor: kim}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if j := b.job(j.ID); j.Status != queue.ReplayDone || j.Counts.Skipped != 1 || j.Counts.Replayed != 0 {
			t.Errorf("job %+v", j)
		}
	})
}

// The audit entry of a bulk replay is of the transaction that does it: the
// ledger never says what was not done.
func TestWhatWasNotDoneIsNotInTheLedger(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buried("northwind")
	j := b.bulk(everything, BulkAsk{Actor: kim})
	before := len(b.events(queue.EventBulk))
	if before == 0 {
		t.Fatal("who asked for the bulk replay is not known")
	}
	s, err := New(Options{Store: unsaved{b.store}, Partners: b, Lanes: b.lanes, Judge: b, Now: b.now, Log: b.Log})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pause(ctx(t), j.ID, kim); !errors.Is(err, errDead) {
		t.Errorf("pause: %v", err)
	}
	if _, err := s.Bulk(ctx(t), everything, BulkAsk{Actor: kim, Confirm: Codes}); !errors.Is(err, errDead) {
		t.Errorf("bulk: %v", err)
	}
	if n := len(b.events(queue.EventBulk)); n != before {
		t.Errorf("%d entries, want %d", n, before)
	}
	if _, err := b.Pause(ctx(t), j.ID, kim); err != nil {
		t.Fatal(err)
	}
	if e := b.events(queue.EventBulk); len(e) != before+1 || e[before].Actor != kim {
		t.Errorf("entries %+v", e)
	}
}

// unsaved is a store that takes no bulk replay.
type unsaved struct{ Store }

func (unsaved) FreezeReplay(context.Context, queue.ReplayJob, []string, ...queue.Event) (queue.ReplayJob, error) {
	return queue.ReplayJob{}, errDead
}

func (unsaved) SaveReplay(context.Context, queue.ReplayJob, []queue.Event, ...queue.ReplayItem) error {
	return errDead
}
