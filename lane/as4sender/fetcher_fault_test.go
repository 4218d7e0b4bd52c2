package as4sender

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/partner"
	"edigw/queue"
)

// TestFetchingFails: the waits grow as the partner's retries do, Retry-After is
// obeyed, and people hear of it after the third failure, then once an hour.
func TestFetchingFails(t *testing.T) {
	t.Parallel()
	inRounds(t, down, func(t *testing.T, r *round) {
		r.fetchFrom("5m", "north")
		r.start()
		r.pass(time.Second)
		r.wantEvents()
		r.pass(6 * time.Minute)
		if d := cmp.Diff(seconds(0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303), r.times("north")); d != "" {
			t.Error(d)
		}
		r.wantEvents("fetch-failed north")
		e := r.ledger()[0]
		if e.Facts["why"] != "connection refused" || e.Facts["do"] != "call them" || e.Facts["side"] != "theirs" || e.Facts["since"] != "2000-01-01T00:00:00Z" ||
			!strings.Contains(e.Text, "3 failures in a row since") || !e.At.Equal(time.Date(2000, 1, 1, 0, 0, 3, 0, time.UTC)) {
			t.Errorf("%+v", e)
		}
		r.pass(2 * time.Hour)
		r.wantEvents("fetch-failed north", "fetch-failed north", "fetch-failed north")
		r.change(func() { r.script = nothing })
		r.pass(time.Minute)
		r.wantEvents("fetch-failed north", "fetch-failed north", "fetch-failed north", "fetch-works north")
		n := len(r.times("north"))
		r.pass(10 * time.Minute)
		if more := len(r.times("north")) - n; more != 2 {
			t.Errorf("asked %d times in 10 min, want 2", more)
		}
		r.wantEvents("fetch-failed north", "fetch-failed north", "fetch-failed north", "fetch-works north")
	})
	inRounds(t, func(_ string, n int) answer {
		if n == 2 {
			return answer{got: gotFailure, after: 45 * time.Second, hasAfter: true}
		}
		if n == 3 {
			return answer{got: gotFailure, after: time.Hour, hasAfter: true} // at most the cap
		}
		return answer{got: gotFailure}
	}, func(t *testing.T, r *round) {
		r.fetchFrom("5m", "north")
		r.start()
		r.pass(3 * time.Minute)
		got := r.times("north")
		if len(got) < 4 || got[2]-got[1] < 45*time.Second || got[2]-got[1] > 50*time.Second || got[3]-got[2] < time.Minute || got[3]-got[2] > 67*time.Second {
			t.Errorf("asked at %v", got)
		}
	})
}

// TestFailingIsShown: from the first failure on, until a request succeeds or nothing
// is fetched any more.
func TestFailingIsShown(t *testing.T) {
	t.Parallel()
	inRounds(t, down, func(t *testing.T, r *round) {
		r.fetchFrom("5m", "north")
		began := time.Now()
		if got := r.Failing("north"); got != nil {
			t.Errorf("before the start: %+v", got)
		}
		r.start()
		want := &queue.FetchTrouble{Since: began, Failures: 1, Why: "connection refused", Do: "call them", Next: began.Add(time.Second)}
		if d := cmp.Diff(want, r.Failing("north")); d != "" {
			t.Errorf("after one -want +got\n%s", d)
		}
		r.pass(3 * time.Second) // at 1 and 3 s
		want.Failures, want.Lasting, want.Next = 3, true, began.Add(7*time.Second)
		if d := cmp.Diff(want, r.Failing("north")); d != "" {
			t.Errorf("after three -want +got\n%s", d)
		}
		r.change(func() {
			r.script = func(string, int) answer { return answer{got: gotFailure, ours: true, why: "no key"} }
		})
		r.pass(4 * time.Second)
		if got := r.Failing("north"); got == nil || !got.Ours || got.Why != "no key" || !got.Since.Equal(began) {
			t.Errorf("now for another reason: %+v", got)
		}
		r.change(func() { r.script = nothing })
		r.pass(10 * time.Second)
		if got := r.Failing("north"); got != nil {
			t.Errorf("after a good answer: %+v", got)
		}
		if got := r.Failing("unknown"); got != nil {
			t.Errorf("of nobody: %+v", got)
		}
		r.change(func() { r.script = down })
		r.pass(6 * time.Minute)
		if r.Failing("north") == nil {
			t.Error("it fails again, and is not shown")
		}
		r.settings.Store(without(t, r, "north"))
		if err := r.Reload(t.Context(), partner.Change{Removed: []string{"north"}}); err != nil {
			t.Fatal(err)
		}
		if got := r.Failing("north"); got != nil {
			t.Errorf("nothing is fetched any more: %+v", got)
		}
	})
}

// TestFailuresInARowAreToldOf: two are none, whatever came before.
func TestFailuresInARowAreToldOf(t *testing.T) {
	t.Parallel()
	inRounds(t, func(id string, n int) answer {
		if n%3 == 0 {
			return nothing(id, n)
		}
		return down(id, n)
	}, func(t *testing.T, r *round) {
		r.fetchFrom("1s", "north")
		r.start()
		r.pass(time.Hour)
		r.wantEvents()
	})
}

// TestFetchingIsToldWhenTheLedgerIsBack: what it did not take is told again.
func TestFetchingIsToldWhenTheLedgerIsBack(t *testing.T) {
	t.Parallel()
	inRounds(t, down, func(t *testing.T, r *round) {
		r.broken = errors.New("disk full")
		r.fetchFrom("5m", "north")
		r.start()
		r.pass(5 * time.Minute)
		r.change(func() { r.broken = nil })
		r.pass(2 * time.Minute)
		r.wantEvents("fetch-failed north")
		r.change(func() { r.broken, r.script = errors.New("disk full"), nothing })
		r.pass(10 * time.Minute)
		r.change(func() { r.broken = nil })
		r.pass(10 * time.Minute)
		r.wantEvents("fetch-failed north", "fetch-works north")
	})
}

// TestFetchingOverARestart: what an earlier process told is ended by the next, also
// of a partner from whom nothing is fetched any more.
func TestFetchingOverARestart(t *testing.T) {
	t.Parallel()
	inRounds(t, nothing, func(t *testing.T, r *round) {
		r.told = []string{"gone", "north", "fails"}
		r.fetchFrom("5m", "north", "fails")
		r.script = func(id string, n int) answer {
			if id == "fails" {
				return down(id, n)
			}
			return nothing(id, n)
		}
		r.start()
		r.pass(30 * time.Minute)
		r.wantEvents("fetch-works gone", "fetch-works north")
		r.pass(31 * time.Minute)
		r.wantEvents("fetch-works gone", "fetch-works north", "fetch-failed fails")
	})
}

// TestFetchingPanics: it delays that partner only, and is told as our defect.
func TestFetchingPanics(t *testing.T) {
	t.Parallel()
	inRounds(t, func(id string, n int) answer {
		if id == "north" {
			panic("scripted")
		}
		return nothing(id, n)
	}, func(t *testing.T, r *round) {
		r.fetchFrom("5m", "north", "south")
		r.start()
		r.pass(10 * time.Minute)
		r.wantEvents("fetch-failed north")
		if e := r.ledger()[0]; e.Facts["side"] != "ours" || !strings.Contains(e.Text, "defect") {
			t.Errorf("%+v", e)
		}
		if n := len(r.times("south")); n != 3 {
			t.Errorf("the other was asked %d times", n)
		}
	})
}
