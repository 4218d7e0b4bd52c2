package retry

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// starts asks n times within one second and returns how many were allowed.
func starts(b *Budget, now time.Time, retry bool, n int) int {
	allowed := 0
	for range n {
		if ok, _ := b.Allow(now, retry); ok {
			allowed++
		}
	}
	return allowed
}

func TestBudgetNeverUnderTenASecond(t *testing.T) {
	t.Parallel()
	b := NewBudget(0.2)
	for s := range 5 {
		if got := starts(&b, noon.Add(time.Duration(s)*time.Second), true, 30); got != 10 {
			t.Errorf("second %d: %d retries, want 10", s, got)
		}
	}
}

func TestBudgetIsAShareOfTheLastMinute(t *testing.T) {
	t.Parallel()
	b := NewBudget(0.2)
	if got := starts(&b, noon, false, 800); got != 800 {
		t.Fatalf("%d first attempts, want all 800", got)
	}
	// 200 of 1000 are a fifth.
	if got := starts(&b, noon.Add(30*time.Second), true, 500); got != 200 {
		t.Errorf("%d retries beside 800 first attempts, want 200", got)
	}
	if got := starts(&b, noon.Add(59*time.Second), true, 500); got != 10 {
		t.Errorf("share used up: %d retries, want the floor of 10", got)
	}
	if got := starts(&b, noon.Add(2*time.Minute), true, 500); got != 10 {
		t.Errorf("a minute later: %d retries, want the floor of 10", got)
	}
}

func TestBudgetRefusalWaitsForTheNextSecond(t *testing.T) {
	t.Parallel()
	b := NewBudget(0)
	now := noon.Add(300 * time.Millisecond)
	starts(&b, now, true, 10)
	ok, wait := b.Allow(now, true)
	if ok || wait != 700*time.Millisecond {
		t.Fatalf("got %v %v, want refused for 700ms", ok, wait)
	}
	if ok, _ := b.Allow(now.Add(wait), true); !ok {
		t.Error("refused again after the wait")
	}
}

func TestBudgetForgetsWhatAClockJumpLeftBehind(t *testing.T) {
	t.Parallel()
	b := NewBudget(0.2)
	starts(&b, noon, false, 1000)
	for _, jump := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		if retries, all := b.Last(noon.Add(jump)); retries != 0 || all != 0 {
			t.Errorf("%v: %d of %d counted", jump, retries, all)
		}
	}
	if got := starts(&b, time.Unix(-5, 0), true, 30); got != 10 {
		t.Errorf("before 1970: %d retries, want 10", got)
	}
}

func TestBudgetHoldsForAnySequence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, now := NewBudget(0.2), noon
		inSecond, second := 0, now.Unix()
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 700).Draw(t, "ms")) * time.Millisecond)
			if now.Unix() != second {
				inSecond, second = 0, now.Unix()
			}
			retry := rapid.Bool().Draw(t, "retry")
			before, all := b.Last(now)
			ok, wait := b.Allow(now, retry)
			after, _ := b.Last(now)
			switch {
			case !retry && (!ok || after != before):
				t.Fatal("a first attempt was refused or counted as a retry")
			case retry && ok && inSecond >= 10 && float64(before+1) > 0.2*float64(all+1):
				t.Fatalf("retry %d of %d starts allowed over budget", before+1, all+1)
			case retry && !ok && (inSecond < 10 || wait <= 0 || wait > time.Second || after != before):
				t.Fatalf("refused with %d this second, wait %v", inSecond, wait)
			}
			if retry && ok {
				inSecond++
			}
		}
	})
}
