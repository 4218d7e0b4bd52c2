package as4sender

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/partner"
	"edigw/queue"
)

// round is a fetcher in fake time whose partners are scripts.
type round struct {
	*Fetcher
	t        *testing.T
	dir      string
	settings atomic.Pointer[partner.Snapshot]

	mu      sync.Mutex
	asked   []asked
	script  func(id string, n int) answer // n: how often he was asked, from 1
	took    time.Duration                 // by an answer
	held    map[string]bool
	events  []queue.Event
	broken  error // of the ledger
	told    []string
	at      map[string]int // running requests
	most    int
	mostOne int
}

type asked struct {
	id string
	at time.Duration // since the start
}

// fetchFrom writes a partner from whom something is fetched.
func (r *round) fetchFrom(every string, ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		r.file(id, fmt.Sprintf("protocol: as4\nretry: {base: 1s, factor: 2, cap: 1m, jitter: none}\nas4: {url: \"https://%s.example/msh\", to: {party: \"urn:example:ids:%s\"}, security: {sign: none, encrypt: none}, fetch: {every: %s, mpc: \"urn:example:mpc:%s\", user: acme, password_file: ../secret}}\n", id, id, every, id))
	}
	r.load()
}

func (r *round) file(id, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "partners", id+".yaml"), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *round) load() {
	r.t.Helper()
	s, problems, err := partner.Load(filepath.Join(r.dir, "edigw.yaml"), time.Now())
	if err != nil {
		r.t.Fatal(err, problems)
	}
	r.settings.Store(s)
}

// AddEvents implements Ledger.
func (r *round) AddEvents(_ context.Context, events ...queue.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	r.events = append(r.events, events...)
	return nil
}

// inRounds runs a test in fake time with a fetcher that is started by the test.
func inRounds(t *testing.T, script func(id string, n int) answer, test func(*testing.T, *round)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &round{t: t, dir: dir, script: script, held: map[string]bool{}, at: map[string]int{}}
		for name, text := range map[string]string{"edigw.yaml": "identity: {domain: edi.acme.example, as4: {party: \"urn:example:ids:acme\"}}\nlisten: {console: {address: \"127.0.0.1:0\"}}\n", "secret": "generated for a test"} {
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "partners"), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		r.load()
		r.open()
		defer r.stop()
		test(t, r)
	})
}

// open makes a fetcher, as a new process does.
func (r *round) open() {
	r.t.Helper()
	began := time.Now()
	f, err := NewFetcher(FetcherOptions{
		Settings: r.settings.Load, Sender: &Sender{}, Taker: noTaker{}, Ledger: r, Now: time.Now, Log: slog.New(slog.DiscardHandler), Chance: func() float64 { return 0.5 },
		Held: func(id string) bool { r.mu.Lock(); defer r.mu.Unlock(); return r.held[id] },
		Told: func(context.Context) ([]string, error) { return r.told, nil },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	f.ask = func(ctx context.Context, id string) answer {
		r.mu.Lock()
		r.asked = append(r.asked, asked{id, time.Since(began)})
		n := len(slices.DeleteFunc(slices.Clone(r.asked), func(a asked) bool { return a.id != id }))
		r.at[id]++
		all := 0
		for _, k := range r.at {
			all += k
		}
		r.most, r.mostOne = max(r.most, all), max(r.mostOne, r.at[id])
		script, took := r.script, r.took
		if strings.HasPrefix(id, "silent") {
			took = 5 * time.Minute
		}
		r.mu.Unlock()
		defer func() { r.mu.Lock(); r.at[id]--; r.mu.Unlock() }()
		select {
		case <-time.After(took):
		case <-ctx.Done():
			return answer{got: gotFailure, why: "stopped"}
		}
		return script(id, n)
	}
	r.Fetcher = f
}

type noTaker struct{ Taker }

func (r *round) start() {
	r.t.Helper()
	if err := r.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

func (r *round) stop() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.Stop(ctx); err != nil {
		r.t.Error(err)
	}
}

// pass lets time go by.
func (r *round) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake time of the bubble
	synctest.Wait()
}

// times is when a partner was asked.
func (r *round) times(id string) (at []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.asked {
		if a.id == id {
			at = append(at, a.at)
		}
	}
	return at
}

func (r *round) wantEvents(want ...string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var got []string
	for _, e := range r.events {
		got = append(got, string(e.Type)+" "+e.Partner)
	}
	if d := cmp.Diff(want, got); d != "" {
		r.t.Errorf("events -want +got\n%s", d)
	}
}

// ledger is what was told so far.
func (r *round) ledger() []queue.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// total is how often anybody was asked.
func (r *round) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

func (r *round) change(f func()) { r.mu.Lock(); defer r.mu.Unlock(); f() }

// Scripts.
func nothing(string, int) answer { return answer{got: gotNothing} }
func down(string, int) answer {
	return answer{got: gotFailure, why: "connection refused", do: "call them"}
}

func seconds(list ...int) (out []time.Duration) {
	for _, n := range list {
		out = append(out, time.Duration(n)*time.Second)
	}
	return out
}

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

func (r *round) text(id string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "partners", id+".yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
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

// without is the settings without a partner, whose file stays.
func without(t *testing.T, r *round, id string) *partner.Snapshot {
	t.Helper()
	text := r.text(id)
	if err := os.Remove(filepath.Join(r.dir, "partners", id+".yaml")); err != nil {
		t.Fatal(err)
	}
	defer r.file(id, text)
	r.load()
	return r.settings.Load()
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
