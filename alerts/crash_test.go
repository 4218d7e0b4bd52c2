package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"edigw/alerts"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/storetest"
)

var errKilled = errors.New("the process was killed")

// life is one run of the process. It ends at a step: before or after what the
// step does.
type life struct {
	mu    sync.Mutex
	steps int
	ends  func(step int) (before, after bool)
	over  bool
}

// step runs one step of the process. Nothing happens once its life is over.
func (l *life) step(do func() error) error {
	l.mu.Lock()
	l.steps++
	before, after := l.ends(l.steps)
	l.over = l.over || before
	over := l.over
	l.over = l.over || after
	l.mu.Unlock()
	if over {
		return errKilled
	}
	err := do()
	if after {
		return errKilled
	}
	return err
}

func (l *life) alive() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over
}

// mortal is a store of a process that may be killed at every write.
type mortal struct {
	*storetest.MemoryAlerts
	*life
}

func (m mortal) NextNumber(ctx context.Context, series string) (n int64, err error) {
	err = m.step(func() error { n, err = m.MemoryAlerts.NextNumber(ctx, series); return err })
	return n, err
}

func (m mortal) SaveAlerts(ctx context.Context, s *alerts.Step) error {
	return m.step(func() error { return m.MemoryAlerts.SaveAlerts(ctx, s) })
}

func (m mortal) SaveNotification(ctx context.Context, n alerts.Notification, events ...queue.Event) error {
	return m.step(func() error { return m.MemoryAlerts.SaveNotification(ctx, n, events...) })
}

// killed runs one story with a process that dies as told, and is started again
// each time. It gives the number of deaths and of steps in the last life.
func killed(t *testing.T, ends func(life, step int) (before, after bool)) (deaths, steps int) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, store: storetest.NewMemoryAlerts(), set: newSettings("a", "b"), mail: &box{name: "mail"}, slack: &box{name: "slack"}}
		var now *life
		begin := func() {
			n := deaths
			now = &life{ends: func(step int) (bool, bool) { return ends(n, step) }}
			l := now
			b.through = mortal{b.store, l}
			for _, c := range []*box{b.mail, b.slack} {
				c.taking(func(keep func()) error { return l.step(func() error { keep(); return nil }) })
			}
			b.start()
		}
		begin()
		live := func(d time.Duration) {
			for range int(d / (2 * time.Second)) {
				b.pass(2 * time.Second)
				if !now.alive() {
					b.stop()
					deaths++
					begin()
				}
			}
		}
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now(), Cause: fault.CauseRefused}
		b.outage(o, queue.EventBreakerOpened)
		var letters []queue.Letter
		for range 3 {
			letters = append(letters, b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1"))
		}
		b.bury(b.accept("b"), fault.ReasonRejected, "", "")
		live(2 * time.Minute)
		o.Recovered = time.Now()
		b.outage(o, queue.EventBreakerClosed)
		live(2 * time.Minute)
		for _, l := range letters {
			b.settle(l)
		}
		o.Ended = time.Now()
		b.outage(o, queue.EventOutageEnded)
		live(10 * time.Minute)
		b.stop()
		steps = now.steps
		b.checkDelivered(deaths)
	})
	return deaths, steps
}

var ids = regexp.MustCompile(` \[[A-Z]+-\d+\]$`)

// checkDelivered holds what both channels got against what had to be told:
// everything, and nothing more often than the process died.
func (b *bench) checkDelivered(deaths int) {
	b.Helper()
	for _, c := range []*box{b.mail, b.slack} {
		extra := map[string]int{}
		var subjects []string
		for _, n := range c.got {
			if extra[n.Name]++; extra[n.Name] == 1 {
				subjects = append(subjects, ids.ReplaceAllString(n.Text.Subject, ""))
			}
		}
		slices.Sort(subjects)
		for _, want := range []string{"[OK] A: all 3 settled, 0 lost", "[TICKET] B: 1 rejected"} {
			if n := count(subjects, want); n != 1 {
				b.Errorf("%s got %q %d times as a notification of its own, want once: %q", c.name, want, n, subjects)
			}
		}
		if n := count(subjects, "[PAGE] A"); n < 2 || n > 3 {
			b.Errorf("%s got %d pages of the outage, want its beginning and that it answers: %q", c.name, n, subjects)
		}
		repeats := 0
		for _, n := range extra {
			repeats += n - 1
		}
		if repeats > deaths {
			b.Errorf("%s got %d repeats in %d deaths", c.name, repeats, deaths)
		}
	}
	if unsent, err := b.store.UnsentNotifications(context.Background()); err != nil || len(unsent) != 0 {
		b.Errorf("unsent: %v (%v)", unsent, err)
	}
}

func count(all []string, begin string) (n int) {
	for _, s := range all {
		if strings.HasPrefix(s, begin) {
			n++
		}
	}
	return n
}

func TestKillAtEveryStepLosesNoAlert(t *testing.T) {
	t.Parallel()
	_, steps := killed(t, func(int, int) (bool, bool) { return false, false })
	if steps < 15 {
		t.Fatalf("the story has %d steps only", steps)
	}
	for k := 1; k <= steps; k++ {
		for _, after := range []bool{false, true} {
			name := fmt.Sprintf("step %d, after %v", k, after)
			deaths, _ := killed(t, func(life, step int) (bool, bool) {
				hit := life == 0 && step == k
				return hit && !after, hit && after
			})
			if deaths > 1 {
				t.Errorf("%s: died %d times", name, deaths)
			}
			if t.Failed() {
				t.Fatalf("failed with a kill at %s", name)
			}
		}
	}
}

func TestKillsAtRandomStepsLoseNoAlert(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var mu sync.Mutex
		deaths, _ := killed(t, func(life, _ int) (bool, bool) {
			mu.Lock()
			defer mu.Unlock()
			if life > 20 {
				return false, false
			}
			return rnd.IntN(12) == 0, rnd.IntN(12) == 0
		})
		if t.Failed() {
			t.Fatalf("failed with seed %d, %d deaths", seed, deaths)
		}
	}
}

// full is a store whose disk can be full.
type full struct {
	*storetest.MemoryAlerts
	broken *atomic.Bool
}

func (f full) SaveAlerts(ctx context.Context, s *alerts.Step) error {
	if f.broken.Load() {
		return fmt.Errorf("test: %w", queue.ErrNoSpace)
	}
	return f.MemoryAlerts.SaveAlerts(ctx, s)
}

func TestTroubleOfTheStoreIsToldPastTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, store: storetest.NewMemoryAlerts(), set: newSettings("a"), mail: &box{name: "mail"}, slack: &box{name: "slack"}}
		var broken atomic.Bool
		b.through = full{b.store, &broken}
		b.start()
		b.pass(time.Minute)
		broken.Store(true)
		b.pass(2 * time.Minute)
		page := func(s string) bool { return strings.HasPrefix(s, "[PAGE] The store cannot commit since 00:0") }
		for _, c := range []*box{b.mail, b.slack} {
			if got := c.subjects(); len(got) != 1 || !page(got[0]) {
				b.Errorf("%s got %q, want one page", c.name, got)
			}
		}
		b.pass(5 * time.Hour)
		if got := b.mail.subjects(); len(got) != 2 || !page(got[1]) {
			b.Errorf("mail got %q, want a second page after a repeat", got)
		}
		broken.Store(false)
		b.pass(2 * time.Minute)
		if got := b.mail.subjects(); len(got) != 3 || !strings.HasPrefix(got[2], "[OK] The store works again, after 5 h") {
			b.Errorf("mail got %q, want the end", got)
		}
		b.stop()
	})
}
