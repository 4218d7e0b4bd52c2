package as4sender

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/partner"
	"edigw/queue"
)

func TestFetchesAsOftenAsSettled(t *testing.T) {
	t.Parallel()
	inRounds(t, nothing, func(t *testing.T, r *round) {
		r.fetchFrom("5m", "north")
		r.fetchFrom("90s", "south")
		r.file("push", "protocol: as4\nas4: {url: \"https://push.example/msh\", to: {party: \"urn:example:ids:push\"}, security: {sign: none, encrypt: none}}\n")
		r.load()
		r.start()
		r.pass(10*time.Minute + time.Second)
		if d := cmp.Diff(seconds(0, 300, 600), r.times("north")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(seconds(0, 90, 180, 270, 360, 450, 540), r.times("south")); d != "" {
			t.Error(d)
		}
		if n := len(r.times("push")); n > 0 {
			t.Errorf("nothing is fetched there, and it was asked %d times", n)
		}
		r.wantEvents()
	})
}

// TestFetchesAllThatWaits: after a message the next is asked for at once; what
// came before, or was refused, is not asked for again in a circle.
func TestFetchesAllThatWaits(t *testing.T) {
	t.Parallel()
	for last, want := range map[got][]time.Duration{
		gotNothing: seconds(0, 0, 0, 0, 300), gotDuplicate: seconds(0, 0, 0, 0, 300), gotRefused: seconds(0, 0, 0, 0, 300), gotFailure: seconds(0, 0, 0, 0, 1),
	} {
		t.Run(string(last), func(t *testing.T) {
			t.Parallel()
			inRounds(t, func(_ string, n int) answer {
				switch {
				case n <= 3:
					return answer{got: gotMessage}
				case n == 4:
					return answer{got: last}
				}
				return answer{got: gotNothing}
			}, func(t *testing.T, r *round) {
				r.fetchFrom("5m", "north")
				r.start()
				r.pass(5*time.Minute + 500*time.Millisecond)
				if got := r.times("north"); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
					t.Errorf("asked at %v, want %v", got, want)
				}
			})
		})
	}
}

// TestFetchesInTurn: sixteen at once, one at a time of each, and who has more than
// a hundred messages lets the others have their turn.
func TestFetchesInTurn(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprintf("p%02d", i))
	}
	inRounds(t, func(id string, n int) answer {
		if n <= 250 && id < ids[mostAtOnce] {
			return answer{got: gotMessage}
		}
		return answer{got: gotNothing}
	}, func(t *testing.T, r *round) {
		r.took = time.Second
		r.fetchFrom("1h", ids...)
		r.start()
		r.pass(99 * time.Second)
		if n := len(r.times("p19")); n > 0 {
			t.Fatal("the test is none: somebody else was not first")
		}
		r.pass(5 * time.Second)
		for _, id := range ids[mostAtOnce:] {
			if len(r.times(id)) != 1 {
				t.Errorf("%s was asked at %v", id, r.times(id))
			}
		}
		r.pass(10 * time.Minute)
		for _, id := range ids[:mostAtOnce] {
			if n := len(r.times(id)); n != 251 {
				t.Errorf("%s was asked %d times, want 251", id, n)
			}
		}
		r.change(func() {
			if r.most != mostAtOnce || r.mostOne != 1 {
				t.Errorf("%d at once, %d of one", r.most, r.mostOne)
			}
		})
	})
}

// TestWhoIsSilentHoldsUpNobody: partners who take every connection and answer
// nothing have places of their own from their first failure on.
func TestWhoIsSilentHoldsUpNobody(t *testing.T) {
	t.Parallel()
	var silent []string
	for i := range mostAtOnce + mostFailing {
		silent = append(silent, fmt.Sprintf("silent-%02d", i))
	}
	inRounds(t, func(id string, n int) answer {
		if id != "north" {
			return down(id, n)
		}
		return answer{got: gotNothing}
	}, func(t *testing.T, r *round) {
		r.fetchFrom("1m", silent...)
		r.start()
		r.pass(10*time.Minute + time.Second) // each has failed once
		before := r.total()
		r.fetchFrom("1m", "north")
		if err := r.Reload(t.Context(), partner.Change{}); err != nil {
			t.Fatal(err)
		}
		r.pass(10*time.Minute + time.Second)
		if n := len(r.times("north")); n != 11 {
			t.Errorf("asked %d times in 10 minutes, want 11", n)
		}
		if n := r.total() - before - len(r.times("north")); n < mostFailing {
			t.Errorf("the silent ones were asked %d times", n)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute) // the silent end by themselves
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Error(err)
		}
		r.change(func() {
			if r.most > mostAtOnce+mostFailing || r.mostOne != 1 {
				t.Errorf("%d at once, %d of one", r.most, r.mostOne)
			}
		})
	})
}

// TestFetchingIsHeld: whoever is stopped is not asked, and soon after it ended he
// is.
func TestFetchingIsHeld(t *testing.T) {
	t.Parallel()
	inRounds(t, nothing, func(t *testing.T, r *round) {
		r.held["north"] = true
		r.fetchFrom("5m", "north", "south")
		r.start()
		r.pass(time.Hour)
		if n := len(r.times("north")); n > 0 {
			t.Errorf("asked %d times", n)
		}
		if n := len(r.times("south")); n != 13 {
			t.Errorf("the other was asked %d times, want 13", n)
		}
		r.change(func() { r.held["north"] = false })
		r.pass(heldFor)
		if n := len(r.times("north")); n != 1 {
			t.Errorf("asked %d times after it was started, want 1", n)
		}
	})
}

// TestFetchingReloads: new, changed, gone, and what is not asked at all.
func TestFetchingReloads(t *testing.T) {
	t.Parallel()
	inRounds(t, func(id string, n int) answer {
		if id == "stays" {
			return nothing(id, n)
		}
		return down(id, n)
	}, func(t *testing.T, r *round) {
		r.fetchFrom("1d", "fails", "stays")
		r.start()
		r.pass(3 * time.Minute)
		reload := func(c partner.Change) {
			t.Helper()
			r.load()
			if err := r.Reload(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			r.pass(0)
		}
		// Somebody new is asked at once, who changed as well, the others as planned.
		r.change(func() { r.script = nothing })
		stays := len(r.times("stays"))
		r.fetchFrom("1h", "new", "fails")
		reload(partner.Change{Added: []string{"new"}, Partners: []partner.PartnerChange{{ID: "fails"}}})
		fails := len(r.times("fails"))
		if n := len(r.times("new")); n != 1 {
			t.Errorf("who is new was asked %d times", n)
		}
		if n := len(r.times("stays")); n != stays {
			t.Error("who did not change was asked")
		}
		r.wantEvents("fetch-failed fails", "fetch-works fails")
		r.pass(time.Hour + time.Second)
		if n := len(r.times("fails")) - fails; n != 1 {
			t.Errorf("asked %d times in the hour that the new file says", n)
		}
		// Our own keys: who fails is asked at once.
		r.change(func() { r.script = down })
		r.fetchFrom("1h", "new")
		reload(partner.Change{Partners: []partner.PartnerChange{{ID: "new"}}})
		r.pass(time.Minute - 500*time.Millisecond)
		n := len(r.times("new"))
		reload(partner.Change{Keys: true})
		if more := len(r.times("new")) - n; more != 1 {
			t.Errorf("asked %d times when our keys changed", more)
		}
		// Those that are not asked: their trouble is over.
		r.file("new", strings.Replace(r.text("new"), "protocol:", "stage: retired\nprotocol:", 1))
		r.file("fails", strings.Replace(r.text("fails"), "protocol:", "stage: setup\nprotocol:", 1))
		if err := os.Remove(filepath.Join(r.dir, "partners", "stays.yaml")); err != nil {
			t.Fatal(err)
		}
		r.load()
		r.change(func() { r.broken = errors.New("disk full") })
		if err := r.Reload(t.Context(), partner.Change{}); err == nil {
			t.Error("the ledger was not told, and nobody hears of that")
		}
		r.change(func() { r.broken, r.events = nil, nil })
		reload(partner.Change{})
		all := r.total()
		r.pass(48 * time.Hour)
		if more := r.total() - all; more > 0 {
			t.Errorf("asked %d times", more)
		}
		for _, e := range r.ledger() {
			if e.Type != queue.EventFetchWorks || !strings.Contains(e.Text, "any more") {
				t.Errorf("%+v", e)
			}
		}
		r.file("new", "protocol: as4\nas4: {}\n") // and misconfigured
		reload(partner.Change{})
		r.pass(time.Hour)
		if more := r.total() - all; more > 0 {
			t.Errorf("a misconfigured partner was asked %d times", more)
		}
	})
}

// TestReloadWhileAsked: what changes meanwhile counts when the answer is there.
func TestReloadWhileAsked(t *testing.T) {
	t.Parallel()
	inRounds(t, nothing, func(t *testing.T, r *round) {
		r.took = time.Minute
		r.fetchFrom("1d", "north", "south")
		r.start()
		r.pass(30 * time.Second)
		if err := os.Remove(filepath.Join(r.dir, "partners", "south.yaml")); err != nil {
			t.Fatal(err)
		}
		r.load()
		if err := r.Reload(t.Context(), partner.Change{Partners: []partner.PartnerChange{{ID: "north"}}, Removed: []string{"south"}}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Hour)
		if d := cmp.Diff(seconds(0, 60), r.times("north")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(seconds(0), r.times("south")); d != "" {
			t.Error(d)
		}
		r.fetchFrom("1d", "south")
		for range 2 { // gone and back while it is asked
			if err := r.Reload(t.Context(), partner.Change{}); err != nil {
				t.Fatal(err)
			}
			r.pass(time.Second)
			r.settings.Store(without(t, r, "south"))
			if err := r.Reload(t.Context(), partner.Change{}); err != nil {
				t.Fatal(err)
			}
			r.load()
		}
		if err := r.Reload(t.Context(), partner.Change{}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Hour)
		r.change(func() {
			if r.mostOne != 1 {
				t.Errorf("%d requests to one partner at once", r.mostOne)
			}
		})
	})
}

// TestFetcherStops: nobody is asked any more, who is asked may end, and who does
// not is cut; that is no failure.
func TestFetcherStops(t *testing.T) {
	t.Parallel()
	for name, took := range map[string]time.Duration{"ends": 30 * time.Second, "is cut": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inRounds(t, func(string, int) answer { return answer{got: gotMessage} }, func(t *testing.T, r *round) {
				r.took = took
				r.fetchFrom("1s", "north")
				r.start()
				r.pass(time.Second)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if err := r.Stop(ctx); (err != nil) != (name == "is cut") {
					t.Errorf("stopped with %v", err)
				}
				r.pass(time.Hour)
				if n := len(r.times("north")); n != 1 {
					t.Errorf("asked %d times", n)
				}
				r.wantEvents()
				if err := r.Start(t.Context()); err == nil {
					t.Error("started again")
				}
			})
		})
	}
}
