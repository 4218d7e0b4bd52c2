package dlq

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
)

// meddling lets somebody else act right before a write or between two reads.
type meddling struct {
	Store
	beforeRecord  func()
	beforeMessage func()
}

func (s *meddling) Record(ctx context.Context, results ...*queue.Result) error {
	if f := s.beforeRecord; f != nil {
		f()
	}
	return s.Store.Record(ctx, results...)
}

func (s *meddling) Message(ctx context.Context, id string) (queue.Message, error) {
	if f := s.beforeMessage; f != nil {
		s.beforeMessage = nil
		f()
	}
	return s.Store.Message(ctx, id)
}

// touch changes a letter's version and nothing else.
func (b *bench) touch(id string) {
	b.t.Helper()
	l := b.letter(id)
	if err := b.store.Record(context.Background(), &queue.Result{Closed: &l}); err != nil {
		b.t.Fatalf("touch: %v", err)
	}
}

func TestAChangeInBetweenIsReadOnceMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.buried("northwind")
	m := &meddling{Store: b.store}
	b.Store = m
	m.beforeRecord = func() {
		m.beforeRecord = nil
		b.touch(l.ID)
	}
	if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim}); err != nil {
		t.Errorf("one change in between: %v", err)
	}
	other := b.buried("northwind")
	m.beforeRecord = func() { b.touch(other.ID) }
	_, err := b.Replay(ctx(t), other.ID, Ask{Actor: kim})
	conflict(t, err)
	if got := b.letter(other.ID); got.Status != queue.LetterOpen {
		t.Errorf("letter %s", got.Status)
	}
}

func TestALetterThatChangesBetweenTwoReadsIsReadAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := b.buried("northwind")
	m := &meddling{Store: b.store}
	b.Store = m
	m.beforeMessage = func() { // the letter that was just read is settled
		if err := b.lane(queue.OnSettle, l.Message, succeeds, "x"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Discard(ctx(t), l.ID, Ask{Actor: kim, Note: "test"})
	if c := conflict(t, err); c.Letter != l.ID {
		t.Errorf("told %+v", c)
	}
}

func TestOneOfABatchThatChangedIsDecidedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := liveBench(t)
		b.partners["northwind"].Lane.ReplayRate = 0
		m := &meddling{Store: b.store}
		b.Store = m
		var letters []queue.Letter
		for range 5 {
			letters = append(letters, b.buried("northwind"))
		}
		j := b.bulk(everything, BulkAsk{})
		m.beforeRecord = func() {
			m.beforeRecord = nil
			if err := b.lane(queue.OnDiscard, letters[2].Message, succeeds, "x"); err != nil {
				t.Fatal(err)
			}
			b.touch(letters[3].ID)
		}
		runs(t, b)
		pass(3 * time.Second)
		if c := b.job(j.ID).Counts; c.Replayed != 4 || c.Skipped != 1 || c.Pending != 0 {
			t.Errorf("counts %+v", c)
		}
	})
}

func TestAgainCountsOnFromTheNewestEdition(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.accept("northwind")
	b.deliver(first.ID)
	ask := Ask{Actor: kim, Note: "lost", Confirm: []Code{PossibleDuplicate}}
	second, err := b.Again(ctx(t), first.ID, ask)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(ctx(t), second.ID, Ask{Actor: kim, Note: "found"}); err != nil {
		t.Fatal(err)
	}
	if third, err := b.Again(ctx(t), first.ID, ask); err != nil || third.Edition != 2 {
		t.Errorf("edition %d, %v", third.Edition, err)
	}
}

// stubborn is a scheduler that makes no document its test.
type stubborn struct{ *lanes }

func (stubborn) UseAsTest(context.Context, string, fault.Actor) error {
	return errors.New("closed by now")
}

func TestAReplayStandsEvenIfItCannotBeTheTest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Lanes = stubborn{b.lanes}
	b.lanes.set("northwind", breaker.State{Phase: breaker.Open})
	l := b.buried("northwind")
	if _, err := b.Replay(ctx(t), l.ID, Ask{Actor: kim, Confirm: []Code{BreakerProbe}}); err != nil {
		t.Error(err)
	}
	if b.message(l.Message).State != queue.Queued {
		t.Error("not in line")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{}); err == nil {
		t.Error("a service of nothing")
	}
}

func TestBadAsksNameTheirField(t *testing.T) {
	t.Parallel()
	for field, ask := range map[string]Ask{
		"reason":  {Note: string(make([]byte, MaxNote+1))},
		"undo":    {UndoFor: time.Hour},
		"confirm": {Confirm: []Code{"nonsense"}},
	} {
		var in *InputError
		if err := ask.check(false); !errors.As(err, &in) || in.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// TestTheNoteOfABulkReplayIsItsOwn: by it the job knows what it replayed.
func TestTheNoteOfABulkReplayIsItsOwn(t *testing.T) {
	t.Parallel()
	var in *InputError
	if err := (&Ask{Note: " bulk replay 06h2t11h"}).check(true); !errors.As(err, &in) || in.Field != "reason" {
		t.Errorf("an operator may write it: %v", err)
	}
	if !byJob(queue.Letter{Note: note("06h2t11h")}, "06h2t11h") || byJob(queue.Letter{Note: note("06h2t11h2")}, "06h2t11h") {
		t.Error("the job is not told by its whole note")
	}
}
