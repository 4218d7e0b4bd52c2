package queue

import (
	"reflect"
	"testing"
	"time"

	"edigw/fault"
	"edigw/retry"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fill draws a value for every field, also for those that are added one day.
func fill(t *rapid.T, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(t0.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(t, "time")) * time.Second)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.String:
		v.SetString(rapid.StringMatching("[a-z]{0,3}").Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(rapid.IntRange(0, 9).Draw(t, "number")))
	}
}

// anyDead draws a dead message and its open letter.
func anyDead(t *rapid.T) (Message, Letter) {
	var m Message
	var l Letter
	fill(t, reflect.ValueOf(&m).Elem())
	fill(t, reflect.ValueOf(&l).Elem())
	m.ID, m.Letter, m.State, m.Why, m.NextAt, m.Asked, m.Incarnation = "m1", "l1", Dead, "", time.Time{}, false, ""
	l.ID, l.Message, l.Status, l.ClosedAs, l.Replayed, l.Uncertain = "l1", "m1", LetterOpen, "", time.Time{}, m.Uncertain
	return m, l
}

// A replay that is undone, or cancelled before it was tried, leaves message
// and letter exactly as they were.
func TestUndoLeavesNoTrace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, l := anyDead(t)
		in := Input{Trigger: OnReplay, At: t0.Add(time.Hour), Letter: &l, Actor: fault.Actor{Name: "Kim"}, Note: "they are back",
			NotUntil: t0.Add(time.Hour + time.Duration(rapid.IntRange(0, 5).Draw(t, "undo"))*time.Second)}
		replayed, err := Next(m, in, Rules{})
		if err != nil {
			t.Fatal(err)
		}
		on := rapid.SampledFrom([]Trigger{OnUndo, OnCancel}).Draw(t, "trigger")
		back, err := Next(*replayed.Message, Input{Trigger: on, At: t0.Add(2 * time.Hour), Letter: replayed.Closed, Actor: fault.Actor{Name: "Lee"}}, Rules{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, *back.Message); d != "" {
			t.Errorf("message after %s: -before +after\n%s", on, d)
		}
		if d := cmp.Diff(l, *back.Closed); d != "" {
			t.Errorf("letter after %s: -before +after\n%s", on, d)
		}
	})
}

// What was tried meanwhile stays, but the deadline is the document's.
func TestCancelAfterAnAttemptKeepsWhatItTaught(t *testing.T) {
	t.Parallel()
	due := t0.Add(-time.Hour)
	m := Message{ID: "m1", State: Dead, Letter: "l1", Round: 1, Attempts: 7, Total: 7, DeliverBy: due, DeadlineGiven: true}
	l := Letter{ID: "l1", Message: "m1", Status: LetterOpen}
	step := func(m Message, l *Letter, in Input) Result {
		t.Helper()
		in.At, in.Letter, in.LetterID = t0, l, "l2"
		res, err := Next(m, in, Rules{Retry: retry.Default()})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	replayed := step(m, &l, Input{Trigger: OnReplay})
	sending := step(*replayed.Message, replayed.Closed, Input{Trigger: OnStart, By: "gw1"})
	waits := step(*sending.Message, replayed.Closed, Input{Trigger: OnResult, Attempt: &Attempt{Detail: "busy"},
		Verdict: retry.Verdict{Class: retry.Transient, Signal: fault.SignalFailure}})
	back := step(*waits.Message, replayed.Closed, Input{Trigger: OnCancel})
	got := *back.Message
	if got.State != Dead || !got.DeliverBy.Equal(due) || got.Attempts != 1 || got.Total != 8 || got.Round != 2 || got.Detail != "busy" || !got.Finished.Equal(t0) {
		t.Errorf("message %+v", got)
	}
	if back.Closed.Status != LetterOpen || back.Closed.Before != nil {
		t.Errorf("letter %+v", back.Closed)
	}
}

// A receipt that comes between replay and undo is not forgotten.
func TestUndoKeepsWhatAReceiptSaid(t *testing.T) {
	t.Parallel()
	m := Message{ID: "m1", State: Dead, Letter: "l1", Round: 1, Uncertain: true}
	l := Letter{ID: "l1", Message: "m1", Status: LetterOpen, Uncertain: true}
	replayed, err := Next(m, Input{Trigger: OnReplay, At: t0, Letter: &l}, Rules{})
	if err != nil {
		t.Fatal(err)
	}
	no := Input{Trigger: OnAck, At: t0, Letter: replayed.Closed, LetterID: "l2", Verdict: retry.Verdict{Class: retry.Limited, Definite: true}}
	told, err := Next(*replayed.Message, no, Rules{Retry: retry.Default()})
	if err != nil {
		t.Fatal(err)
	}
	back, err := Next(*told.Message, Input{Trigger: OnUndo, At: t0, Letter: replayed.Closed}, Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if got := *back.Message; !got.Refusal || got.Uncertain || back.Closed.Uncertain {
		t.Errorf("message %+v, letter %+v", got, back.Closed)
	}
}

func TestReplayCountsFollowOneRule(t *testing.T) {
	t.Parallel()
	past := t0.Add(-time.Second)
	for name, c := range map[string]struct {
		l    Letter
		m    Message
		want ReplayCounts
	}{
		"never tried":                        {Letter{}, Message{}, ReplayCounts{NeverTried: 1}},
		"tried":                              {Letter{}, Message{Total: 1}, ReplayCounts{}},
		"untried but uncertain by a restore": {Letter{}, Message{Uncertain: true}, ReplayCounts{Uncertain: 1}},
		"uncertain letter":                   {Letter{Uncertain: true}, Message{Total: 2}, ReplayCounts{Uncertain: 1}},
		"overtaken":                          {Letter{Overtaken: true}, Message{Total: 1}, ReplayCounts{Overtaken: 1}},
		"overdue when it died":               {Letter{Overdue: true}, Message{Total: 1}, ReplayCounts{Overdue: 1}},
		"overdue since":                      {Letter{}, Message{Total: 1, DeadlineGiven: true, DeliverBy: past}, ReplayCounts{Overdue: 1}},
		"past the partner's default":         {Letter{}, Message{Total: 1, DeliverBy: past}, ReplayCounts{}},
		"at the deadline":                    {Letter{}, Message{Total: 1, DeadlineGiven: true, DeliverBy: t0}, ReplayCounts{}},
	} {
		c.want.Total, c.want.Pending = 1, 1
		var got ReplayCounts
		got.Count(c.l, c.m, t0)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}
