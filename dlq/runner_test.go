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
)

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
