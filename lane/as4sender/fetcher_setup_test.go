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

// nothing and down are scripts.
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

func (r *round) text(id string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "partners", id+".yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
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
