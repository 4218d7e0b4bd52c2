package dlq

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
	"github.com/google/go-cmp/cmp"
)

var everything = Selection{Filter: queue.LetterFilter{Status: queue.LetterOpen}}

// runs has the runner work in the bubble until the test ends.
func runs(t *testing.T, b *bench) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		b.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// pass lets time go by in the bubble, and everything settle.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// liveBench is a bench in a synctest bubble.
func liveBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.live = true
	return b
}

func (b *bench) bulk(sel Selection, ask BulkAsk) queue.ReplayJob {
	b.t.Helper()
	ask.Actor = kim
	plan, err := b.Bulk(context.Background(), sel, ask)
	if err != nil {
		b.t.Fatalf("bulk: %v", err)
	}
	return plan.Job
}

func (b *bench) job(id string) queue.ReplayJob {
	b.t.Helper()
	j, err := b.store.ReplayJob(context.Background(), id)
	if err != nil {
		b.t.Fatalf("job: %v", err)
	}
	return j
}

func (b *bench) items(job string) []queue.ReplayItem {
	b.t.Helper()
	items, err := b.store.ReplayItems(context.Background(), job, "", 0, 1_000_000)
	if err != nil {
		b.t.Fatalf("items: %v", err)
	}
	return items
}

// deliverAll has the partners accept everything that stands in line.
func (b *bench) deliverAll() (n int) {
	b.t.Helper()
	for {
		all, _, err := b.store.Messages(context.Background(), queue.MessageFilter{States: []queue.State{queue.Queued, queue.Waiting}}, queue.Page{Limit: 500})
		if err != nil {
			b.t.Fatalf("messages: %v", err)
		}
		if len(all) == 0 {
			return n
		}
		for _, m := range all {
			b.deliver(m.ID)
			n++
		}
	}
}

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

func TestPauseResumeCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.partners["northwind"].Lane.ReplayRate = 1
		for range 10 {
			b.buried("northwind")
		}
		j := b.bulk(everything, BulkAsk{})
		runs(t, b)
		pass(2500 * time.Millisecond) // 0, 1 and 2 s
		if _, err := b.Pause(context.Background(), j.ID, kim); err != nil {
			t.Fatal(err)
		}
		_, err := b.Pause(context.Background(), j.ID, kim)
		conflict(t, err)
		pass(time.Minute)
		if c := b.job(j.ID).Counts; c.Replayed != 3 || c.Pending != 7 {
			t.Errorf("paused: %+v", c)
		}
		if _, err := b.Resume(context.Background(), j.ID, kim); err != nil {
			t.Fatal(err)
		}
		pass(1500 * time.Millisecond)
		if _, err := b.CancelBulk(context.Background(), j.ID, kim); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		_, err = b.Resume(context.Background(), j.ID, kim)
		conflict(t, err)
		open, _, err := b.store.Letters(context.Background(), queue.LetterFilter{Status: queue.LetterOpen}, queue.Page{Limit: 100})
		if c := b.job(j.ID).Counts; err != nil || c.Replayed+c.Pending != 10 || c.Pending != len(open) || c.Replayed < 4 || c.Replayed > 5 {
			t.Errorf("cancelled: %+v, %d letters open, %v", c, len(open), err)
		}
		b.deliverAll()
		pass(time.Second)
		if j := b.job(j.ID); j.Status != queue.ReplayCancelled || j.Counts.Delivered != j.Counts.Replayed {
			t.Errorf("what was on its way is not followed: %+v", j)
		}
		if n := len(b.events(queue.EventBulk)); n != 4 {
			t.Errorf("%d events, want start, pause, resume, cancel", n)
		}
	})
}

func TestWhatACancelledBulkSentIsFollowedAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.buried("northwind")
		b.buried("northwind")
		j := b.bulk(everything, BulkAsk{})
		ctx := context.Background()
		if _, err := b.round(ctx, map[string]*work{}, true); err != nil {
			t.Fatal(err)
		}
		if _, err := b.CancelBulk(ctx, j.ID, kim); err != nil {
			t.Fatal(err)
		}
		b.deliverAll()
		runs(t, b)
		pass(time.Second)
		if c := b.job(j.ID).Counts; c.Replayed != 1 || c.Delivered != 1 || c.Pending != 1 {
			t.Errorf("counts %+v", c)
		}
	})
}

func TestASlowPartnerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.partners["northwind"].Lane.ReplayRate = 0.01
		b.partner("contoso")
		b.partner("fabrikam")
		for range 700 { // more than a page before the first of the others
			b.buried("northwind")
		}
		for range 10 {
			b.buried("contoso")
			b.buried("fabrikam")
		}
		b.lanes.set("fabrikam", breaker.State{Phase: breaker.Open})
		b.bulk(everything, BulkAsk{Confirm: Codes})
		b.lanes.set("contoso", breaker.State{})
		runs(t, b)
		pass(2 * time.Second)
		for partner, want := range map[string]int{"northwind": 1, "contoso": 10, "fabrikam": 10} {
			n := 0
			for _, e := range b.events(queue.EventReplay) {
				if e.Partner == partner {
					n++
				}
			}
			if n != want {
				t.Errorf("%s: %d replayed, want %d", partner, n, want)
			}
		}
	})
}

func TestBulkWaitsForAPartnerThatStopsAnswering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		for range 5 {
			b.buried("northwind")
		}
		b.bulk(everything, BulkAsk{})
		b.lanes.set("northwind", breaker.State{Phase: breaker.Open}) // after the set was confirmed
		runs(t, b)
		pass(time.Hour)
		if n := len(b.events(queue.EventReplay)); n != 0 {
			t.Fatalf("%d replayed to a partner that does not answer", n)
		}
		b.lanes.set("northwind", breaker.State{Phase: breaker.HalfOpen, Answering: true})
		pass(time.Minute)
		e := b.events(queue.EventReplay)
		if len(e) != 1 {
			t.Fatalf("%d replayed while answering, want one as the test", len(e))
		}
		b.fail(e[0].Message, rejects, queue.Attempt{Status: 400}) // decides nothing
		pass(time.Minute)
		if e = b.events(queue.EventReplay); len(e) != 2 {
			t.Fatalf("%d replayed while answering, want one more as the test", len(e))
		}
		b.deliver(e[1].Message)
		b.lanes.set("northwind", breaker.State{})
		pass(time.Minute)
		if n := len(b.events(queue.EventReplay)); n != 5 {
			t.Errorf("%d replayed once the partner answers, want 5", n)
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

// bounded fails the test if more than a page is asked for at once.
type bounded struct {
	Store
	t *testing.T
}

func (s bounded) ReplayLine(ctx context.Context, job, partner string, after, limit int) ([]queue.ReplayItem, error) {
	if limit > share {
		s.t.Errorf("%d items asked for at once", limit)
	}
	return s.Store.ReplayLine(ctx, job, partner, after, limit)
}

func (s bounded) ReplayUnderWay(ctx context.Context, job string, after, limit int) ([]queue.ReplayItem, error) {
	if limit > maxLooks {
		s.t.Errorf("%d items asked for at once", limit)
	}
	return s.Store.ReplayUnderWay(ctx, job, after, limit)
}

func (s bounded) Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error) {
	if p.Limit > page {
		s.t.Errorf("%d letters asked for at once", p.Limit)
	}
	return s.Store.Letters(ctx, f, p)
}

func (s bounded) Record(ctx context.Context, results ...*queue.Result) error {
	if len(results) > 2*batch {
		s.t.Errorf("%d results in one transaction", len(results))
	}
	return s.Store.Record(ctx, results...)
}

func TestALargeBulkIsReadInPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.Store = bounded{b.store, t}
		b.partners["northwind"].Lane.ReplayRate = 0
		const n = 1300
		for range n {
			b.buried("northwind")
		}
		j := b.bulk(everything, BulkAsk{})
		runs(t, b)
		pass(time.Second)
		if c := b.job(j.ID).Counts; c.Replayed != n || c.Pending != 0 {
			t.Fatalf("counts %+v", c)
		}
		b.deliverAll()
		pass(time.Minute)
		if j := b.job(j.ID); j.Status != queue.ReplayDone || j.Counts.Delivered != n {
			t.Errorf("job %+v", j)
		}
	})
}

// dying ends the process, as far as the service can tell, after some writes.
type dying struct {
	Store
	writes int // left until it dies
	kill   context.CancelFunc
}

var errDead = fmt.Errorf("killed: %w", queue.ErrUnavailable)

func (s *dying) write(do func() error) error {
	if s.writes--; s.writes < 0 {
		s.kill()
		return errDead
	}
	return do()
}

func (s *dying) Record(ctx context.Context, results ...*queue.Result) error {
	return s.write(func() error { return s.Store.Record(ctx, results...) })
}

func (s *dying) SaveReplay(ctx context.Context, j queue.ReplayJob, events []queue.Event, items ...queue.ReplayItem) error {
	return s.write(func() error { return s.Store.SaveReplay(ctx, j, events, items...) })
}

func (s *dying) AddEvents(ctx context.Context, events ...queue.Event) error {
	return s.write(func() error { return s.Store.AddEvents(ctx, events...) })
}

func TestACrashOfTheRunnerLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		const n = 60
		b.partner("contoso")
		for range n / 2 {
			b.buried("northwind")
			b.buried("contoso")
		}
		j := b.bulk(everything, BulkAsk{})
		for writes := 0; b.job(j.ID).Status != queue.ReplayDone; writes = (writes + 1) % 7 {
			ctx, kill := context.WithTimeout(context.Background(), time.Minute)
			next, err := New(Options{Store: &dying{b.store, writes, kill}, Partners: b, Lanes: b.lanes, Judge: b, Now: time.Now, Log: b.Log})
			if err != nil {
				t.Fatal(err)
			}
			next.Run(ctx)
			kill()
			b.deliverAll()
		}
		if c := b.job(j.ID).Counts; c.Delivered != n || c.Replayed != n || c.Skipped+c.Failed+c.Pending+c.DiedAgain != 0 {
			t.Errorf("counts %+v", c)
		}
		seen := map[string]int{}
		for _, e := range b.events(queue.EventReplay) {
			seen[e.Message]++
		}
		for _, it := range b.items(j.ID) {
			if seen[it.Message] != 1 || b.message(it.Message).Round != 2 {
				t.Errorf("item %d was replayed %d times, round %d", it.N, seen[it.Message], b.message(it.Message).Round)
			}
		}
	})
}

func TestSingleReplayDuringABulkIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.buried("northwind")
		l := b.buried("northwind")
		j := b.bulk(everything, BulkAsk{})
		if _, err := b.Replay(context.Background(), l.ID, Ask{Actor: fault.Actor{Name: "Lee"}}); err != nil {
			t.Fatal(err)
		}
		runs(t, b)
		pass(time.Second)
		if it := b.items(j.ID)[1]; it.Status != itemSkipped || it.Detail != "Lee replayed this now. Nothing was sent twice." {
			t.Errorf("item %+v", it)
		}
		if m := b.message(l.Message); m.Round != 2 {
			t.Errorf("round %d", m.Round)
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

// spoilt is a store in which the row of one bulk replay cannot be read.
type spoilt struct {
	Store
	id string
}

func (s spoilt) ReplayJob(ctx context.Context, id string) (queue.ReplayJob, error) {
	j, err := s.Store.ReplayJob(ctx, id)
	if id == s.id {
		j.Counts, j.Damaged = queue.ReplayCounts{}, "counts: unexpected end"
	}
	return j, err
}

// A bulk replay that cannot be read stands still as it is, whatever is asked of
// it; the others go on.
func TestADamagedBulkReplayHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.buried("northwind")
		bad := b.bulk(everything, BulkAsk{})
		b.partner("contoso")
		b.buried("contoso")
		good := b.bulk(Selection{Filter: queue.LetterFilter{Partner: "contoso"}}, BulkAsk{})
		s, err := New(Options{Store: spoilt{b.store, bad.ID}, Partners: b, Lanes: b.lanes, Judge: b, Now: time.Now, Log: b.Log})
		if err != nil {
			t.Fatal(err)
		}
		runCtx, end := context.WithCancel(t.Context())
		go s.Run(runCtx)
		pass(time.Minute)
		if c := b.job(good.ID).Counts; c.Replayed != 1 {
			t.Errorf("the other one: %+v", c)
		}
		if j := b.job(bad.ID); j.Status != queue.ReplayRunning || j.Counts.Pending != 1 {
			t.Errorf("what was stored of it was written over: %+v", j)
		}
		var no *ConflictError
		if _, err := s.CancelBulk(t.Context(), bad.ID, kim); !errors.As(err, &no) {
			t.Errorf("cancel: %v", err)
		}
		end()
		synctest.Wait()
	})
}
