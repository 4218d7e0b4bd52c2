package dlq

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
	"pgregory.net/rapid"
)

// expected reports whether an action may end so: somebody was faster, or a
// question was not answered.
func expected(err error) bool {
	var conflict *ConflictError
	var confirm *ConfirmError
	return err == nil || errors.As(err, &conflict) || errors.As(err, &confirm) || errors.Is(err, ErrNothingSelected)
}

// act does one thing that an operator may do, and says what became of it.
func (b *bench) act(what string, letter, message string, confirm []Code) error {
	ctx, ask := context.Background(), Ask{Actor: kim, Note: "because", Confirm: confirm}
	var err error
	switch what {
	case "replay":
		_, err = b.Replay(ctx, letter, ask)
	case "replay, to be undone":
		ask.UndoFor = UndoWindow
		_, err = b.Replay(ctx, letter, ask)
	case "replay under a fresh id":
		ask.FreshID = true
		_, err = b.Replay(ctx, letter, ask)
	case "undo":
		_, err = b.Undo(ctx, letter, ask)
	case "settle":
		_, err = b.Settle(ctx, letter, ask)
	case "discard":
		_, err = b.Discard(ctx, letter, ask)
	case "recheck":
		_, err = b.Recheck(ctx, letter, ask)
	case "cancel":
		_, err = b.Cancel(ctx, message, ask)
	case "again":
		_, err = b.Again(ctx, message, ask)
	case "bulk":
		_, err = b.Bulk(ctx, everything, BulkAsk{Actor: kim, Confirm: confirm})
	}
	return err
}

var actions = []string{"replay", "replay, to be undone", "replay under a fresh id", "undo", "settle", "discard", "recheck", "cancel", "again", "bulk"}

// outcomes of an exchange of the pretend lane.
var outcomes = []retry.Verdict{succeeds, rejects, distrusts,
	{Class: retry.Transient, Reason: fault.ReasonMaxAttempts, Signal: fault.SignalFailure},
	{Class: retry.Unknown, Reason: fault.ReasonMaxAttempts, Uncertain: true, Signal: fault.SignalFailure},
	{Class: retry.Accepted, Signal: fault.SignalSuccess},
}

// lane does one thing that the lane may do to a message; what does not fit its
// state, or comes too late, is nothing.
func (b *bench) lane(on queue.Trigger, id string, v retry.Verdict, made string) error {
	ctx := context.Background()
	m, err := b.store.Message(ctx, id)
	if err != nil {
		return err
	}
	in := queue.Input{Trigger: on, At: b.now(), LetterID: made, By: "gw1", Verdict: v, Outage: "OUT-1"}
	if on == queue.OnResult || on == queue.OnAck {
		in.Attempt = &queue.Attempt{Message: id, N: m.Total + 1, Class: v.Class, Status: 400, Raw: "receipts/ab"}
	}
	if m.Letter != "" {
		l, err := b.store.Letter(ctx, m.Letter)
		if err != nil {
			return err
		}
		in.Letter = &l
	}
	res, err := queue.Next(m, in, queue.Rules{Retry: retry.Default(), OnUnknown: retry.Resend, AckWait: time.Hour})
	var moved *queue.MoveError
	if errors.As(err, &moved) {
		return nil
	}
	if err == nil {
		err = b.store.Record(ctx, &res)
	}
	return err
}

// check looks at what must hold of every message and its letters, whatever was
// done to them.
func (b *bench) check(t fatal) {
	t.Helper()
	ctx := context.Background()
	for cursor := ""; ; {
		all, next, err := b.store.Messages(ctx, queue.MessageFilter{}, queue.Page{Limit: 500, Cursor: cursor})
		if err != nil {
			t.Fatalf("messages: %v", err)
		}
		for _, m := range all {
			b.checkMessage(t, m)
		}
		if cursor = next; cursor == "" {
			return
		}
	}
}

func (b *bench) checkMessage(t fatal, m queue.Message) {
	t.Helper()
	letters, err := b.store.LettersOf(context.Background(), m.ID)
	if err != nil {
		t.Fatalf("letters: %v", err)
	}
	var live []queue.Letter
	for _, l := range letters {
		if l.Status != queue.LetterClosed {
			live = append(live, l)
		}
	}
	want := queue.LetterStatus("")
	switch {
	case m.State == queue.Dead:
		want = queue.LetterOpen
	case m.Letter != "":
		want = queue.LetterReplaying
	}
	if m.State.Terminal() && m.Letter != "" {
		t.Fatalf("message %s is %s and has a letter", m.ID, m.State)
	}
	if want == "" && len(live) > 0 || want != "" && (len(live) != 1 || live[0].Status != want || live[0].ID != m.Letter) {
		t.Fatalf("message %s is %s under letter %q; its letters: %+v", m.ID, m.State, m.Letter, live)
	}
	rounds, untried := 1, false
	events, err := b.store.Timeline(context.Background(), m.ID)
	if err != nil {
		t.Fatalf("timeline: %v", err)
	}
	for _, e := range events {
		switch {
		case e.Type == queue.EventReplay:
			rounds, untried = rounds+1, true
		case e.Type == queue.EventSending:
			untried = false
		case (e.Type == queue.EventUndo || e.Type == queue.EventCancelled) && e.Letter != "" && untried:
			rounds-- // taken back before it was tried
		}
	}
	if m.Round != rounds {
		t.Fatalf("message %s: round %d, want %d", m.ID, m.Round, rounds)
	}
}

func TestAnyInterleavingKeepsOneLetterForEachDeadDocument(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		b.partners["northwind"].Lane.ReplayRate = 0
		b.partners["northwind"].FreshID = rapid.Bool().Draw(t, "fresh")
		works := map[string]*work{}
		var ids []string
		for range rapid.IntRange(1, 3).Draw(t, "documents") {
			ids = append(ids, b.accept("northwind").ID)
		}
		triggers := []queue.Trigger{queue.OnBury, queue.OnStart, queue.OnResult, queue.OnResult, queue.OnAck, queue.OnCrash, queue.OnAckOverdue, queue.OnFail}
		for i := range rapid.IntRange(1, 50).Draw(t, "steps") {
			b.pass(time.Duration(rapid.IntRange(0, 100).Draw(t, "pass")) * time.Second)
			id := rapid.SampledFrom(ids).Draw(t, "message")
			switch rapid.IntRange(0, 4).Draw(t, "who") {
			case 0, 1:
				v := rapid.SampledFrom(outcomes).Draw(t, "outcome")
				if err := b.lane(rapid.SampledFrom(triggers).Draw(t, "trigger"), id, v, "made"+string(rune('A'+i))); err != nil {
					t.Fatalf("lane: %v", err)
				}
			case 2:
				if _, err := b.round(context.Background(), works, true); err != nil {
					t.Fatalf("runner: %v", err)
				}
			default:
				b.judge = fault.Outcome{Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: rapid.Bool().Draw(t, "positive"), Signer: "ab"}}
				letters, err := b.store.LettersOf(context.Background(), id)
				if err != nil {
					t.Fatalf("letters: %v", err)
				}
				letter := ""
				if n := len(letters); n > 0 {
					letter = letters[rapid.IntRange(0, n-1).Draw(t, "letter")].ID
				}
				what := rapid.SampledFrom(actions).Draw(t, "action")
				confirm := rapid.SampledFrom([][]Code{nil, Codes}).Draw(t, "confirm")
				if err := b.act(what, letter, id, confirm); !expected(err) && !(letter == "" && errors.Is(err, queue.ErrNotFound)) {
					t.Fatalf("%s: %v", what, err)
				}
			}
			b.check(t)
			if all, _, _ := b.store.Messages(context.Background(), queue.MessageFilter{}, queue.Page{Limit: 500}); len(all) > len(ids) {
				for _, m := range all {
					if !slices.Contains(ids, m.ID) {
						ids = append(ids, m.ID)
					}
				}
			}
		}
	})
}

// Operators, the lane and the runner at work at the same time: what they do to
// each other is told as conflicts, and nothing else.
func TestManyHandsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.partners["northwind"].Lane.ReplayRate = 0
	var letters, messages []string
	for range 12 {
		l := b.buried("northwind")
		letters, messages = append(letters, l.ID), append(messages, l.Message)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ran := make(chan struct{})
	go func() {
		b.Run(ctx)
		close(ran)
	}()
	var hands sync.WaitGroup
	for hand := range 6 {
		hands.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(hand), 7))
			for i := range 150 {
				n := rnd.IntN(len(letters))
				if hand < 2 {
					on := []queue.Trigger{queue.OnStart, queue.OnResult, queue.OnBury}[rnd.IntN(3)]
					made := "made" + string(rune('a'+hand)) + string(rune('A'+i))
					// Versions refuse what comes too late; that is the lane's to try again.
					_ = b.lane(on, messages[n], outcomes[rnd.IntN(len(outcomes))], made)
					continue
				}
				what := actions[rnd.IntN(len(actions))]
				if err := b.act(what, letters[n], messages[n], Codes); !expected(err) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	hands.Wait()
	stop()
	<-ran
	b.check(t)
}
