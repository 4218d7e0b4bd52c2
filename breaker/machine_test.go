package breaker

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"edigw/fault"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// flight is one exchange or check under way.
type flight struct {
	message    string
	generation int64
	probe      bool
}

// machine drives a breaker as a lane does, in any order, and keeps beside it
// the plainest model of when a closed breaker has to open.
type machine struct {
	p           Policy
	s           State
	now         time.Time
	incarnation int
	flights     []flight
	failures    []time.Time // since it closed, all of them
	row         int
}

func (m *machine) process() string { return fmt.Sprintf("p%d", m.incarnation) }

// apply takes a new state over and checks what holds for every step.
func (m *machine) apply(t *rapid.T, s State, change Change) {
	if change.From != m.s.Now() || change.To != s.Now() {
		t.Fatalf("change %+v, but %s became %s", change, m.s.Now(), s.Now())
	}
	want := m.s.Generation
	if change.Moved() {
		want++
	}
	if s.Generation != want {
		t.Fatalf("%s to %s: generation %d, then %d", change.From, change.To, m.s.Generation, s.Generation)
	}
	if change.Moved() && change.Opened != (change.From == Closed) || change.Closed != (change.Moved() && change.To == Closed) ||
		change.Reopened != (change.From == HalfOpen && change.To == Open) {
		t.Fatalf("flags of %+v", change)
	}
	if m.s.Now() != Closed && s.Now() != Closed && !s.OpenedAt.Equal(m.s.OpenedAt) {
		t.Fatalf("opened-at stamped anew: %v, then %v", m.s.OpenedAt, s.OpenedAt)
	}
	if change.Closed {
		m.failures, m.row = nil, 0
	}
	m.s = s
}

func (m *machine) start(t *rapid.T) {
	message := rapid.SampledFrom([]string{"m1", "m2", "m3"}).Draw(t, "message")
	if slices.ContainsFunc(m.flights, func(f flight) bool { return f.message == message }) {
		t.Skip("under way")
	}
	s, permit := Allow(m.s, m.now, message, m.process())
	m.apply(t, s, permit.Change)
	if permit.OK {
		m.flights = append(m.flights, flight{message, permit.Generation, permit.Probe})
	} else if permit.Why == WhyBreaker && !permit.Until.After(m.now) {
		t.Fatalf("refused until %v, which is not later", permit.Until)
	}
}

func (m *machine) finish(t *rapid.T) {
	if len(m.flights) == 0 {
		t.Skip("nothing under way")
	}
	i := rapid.IntRange(0, len(m.flights)-1).Draw(t, "flight")
	f := m.flights[i]
	m.flights = slices.Delete(m.flights, i, i+1)
	rnd := rapid.Float64Range(0, 0.999).Draw(t, "rnd")
	if f.message == CheckProbe {
		m.apply2(t)(RecordCheck(m.s, m.p, m.now, f.generation, rapid.Bool().Draw(t, "ok"), rnd))
		return
	}
	r := Result{
		Generation: f.generation, Message: f.message, Stays: rapid.Bool().Draw(t, "stays"),
		Signal: rapid.SampledFrom([]fault.Signal{fault.SignalNone, fault.SignalNeutral, fault.SignalSuccess,
			fault.SignalFailure, fault.SignalFailure, fault.SignalFailure, fault.SignalTrip}).Draw(t, "signal"),
	}
	opens := false
	if m.s.Now() == Closed && r.Generation == m.s.Generation {
		opens = m.learn(r.Signal)
	}
	was := m.s
	m.apply2(t)(Record(m.s, m.p, m.now, r, rnd))
	if was.Now() == Closed && opens != (m.s.Now() == Open) {
		t.Fatalf("%s with %d failures, row %d: now %s, want open %v", r.Signal, len(m.failures), m.row, m.s.Now(), opens)
	}
	if r.Generation != was.Generation && !cmp.Equal(was, m.s) {
		t.Fatalf("a late answer changed it: %s", cmp.Diff(was, m.s))
	}
}

// learn is the model: does a closed breaker open by this signal?
func (m *machine) learn(signal fault.Signal) bool {
	switch signal {
	case fault.SignalTrip:
		return true
	case fault.SignalSuccess:
		m.row = 0
	case fault.SignalFailure:
		m.row++
		m.failures = append(m.failures, m.now)
		within := 0
		for _, f := range m.failures {
			if m.now.Sub(f) <= m.p.Within {
				within++
			}
		}
		return within >= m.p.Failures || m.row >= m.p.Consecutive
	}
	return false
}

func (m *machine) apply2(t *rapid.T) func(State, Change) {
	return func(s State, c Change) { m.apply(t, s, c) }
}

func (m *machine) check(t *rapid.T) {
	s, ok := BeginCheck(m.s, m.process())
	m.apply(t, s, same(s))
	if ok {
		m.flights = append(m.flights, flight{CheckProbe, s.Generation, true})
	}
}

func (m *machine) restore(t *rapid.T) {
	s := Restore(m.s, m.p, m.now)
	if s.OpenedAt.After(m.s.OpenedAt) || s.ReopenAt.After(m.s.ReopenAt) {
		t.Fatalf("restoring made it longer: %s", cmp.Diff(m.s, s))
	}
	m.s = s
	m.failures = slices.DeleteFunc(m.failures, func(f time.Time) bool { return f.After(m.now) })
}

// restart loses everything but the stored state, and moves the clock at will.
func (m *machine) restart(t *rapid.T) {
	raw, err := json.Marshal(m.s)
	var stored State
	if err == nil {
		err = json.Unmarshal(raw, &stored)
	}
	if err != nil || !cmp.Equal(m.s, stored, cmpopts.EquateEmpty()) {
		t.Fatalf("%v, lost in the store: %s", err, cmp.Diff(m.s, stored, cmpopts.EquateEmpty()))
	}
	m.s, m.flights = stored, nil
	m.incarnation++
	m.now = m.now.Add(time.Duration(rapid.Int64Range(-24*3600, 24*3600).Draw(t, "jump")) * time.Second)
	m.restore(t)
	m.apply2(t)(Abandon(m.s, m.p, m.now, m.process(), 0.5))
	if m.s.Probe != "" {
		t.Fatalf("a probe survived its process: %+v", m.s)
	}
}

func (m *machine) withdraw(t *rapid.T) {
	since := m.now.Add(-time.Duration(rapid.IntRange(0, 90).Draw(t, "since")) * time.Second)
	kept, row := m.failures, m.row
	s, change := Withdraw(m.s, since, m.now)
	m.apply(t, s, change)
	if m.s.Now() == Closed {
		// What is left counts on; the model takes it over where it closed.
		m.failures, m.row = slices.Clone(m.s.Failures), m.s.Row
		if row < m.row && !change.Closed {
			t.Fatalf("row grew from %d to %d", row, m.row)
		}
		for _, f := range m.failures {
			if !f.Before(since) {
				t.Fatalf("a failure of the span stayed: %v", f)
			}
		}
		for _, f := range kept {
			inWindow := m.now.Sub(f) <= m.p.Within
			if f.Before(since) && inWindow && !change.Closed && !slices.ContainsFunc(m.failures, f.Equal) {
				t.Fatalf("a failure before the span is lost: %v", f)
			}
		}
	}
}

// invariants hold after every step.
func (m *machine) invariants(t *rapid.T) {
	probes := 0
	for _, f := range m.flights {
		if f.probe && f.generation == m.s.Generation {
			probes++
		}
	}
	s := m.s
	switch s.Now() {
	case Closed:
		if s.Probe != "" || s.Holder != "" || s.Answering || !s.OpenedAt.IsZero() || !NextTimer(s).IsZero() {
			t.Fatalf("closed, but %+v", s)
		}
	case Open:
		if s.Probe != "" || probes != 0 || s.OpenedAt.IsZero() {
			t.Fatalf("open with %d probes: %+v", probes, s)
		}
		if NextTimer(s).After(m.now.Add(jittered(m.p.MaxCooldown, 1))) {
			t.Fatalf("open for %v", NextTimer(s).Sub(m.now))
		}
	case HalfOpen:
		running := 0
		if s.Probe != "" {
			running = 1
		}
		if probes != running || s.Probe != "" && s.ProbeBy != m.process() {
			t.Fatalf("%d probes under way: %+v", probes, s)
		}
		next := s.Holder
		if next == "" {
			next = "arriving"
		}
		if _, permit := Allow(s, m.now, next, m.process()); permit.Probe == (s.Probe != "") {
			t.Fatalf("stuck, or two probes: %+v, %+v", permit, s)
		}
	default:
		t.Fatalf("phase %q", s.Phase)
	}
	if len(s.Failures) > m.p.Failures || !slices.IsSortedFunc(s.Failures, time.Time.Compare) {
		t.Fatalf("window %v", s.Failures)
	}
}

func TestBreakerUnderAnyCourseOfEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{now: noon, p: Policy{
			Failures:    rapid.IntRange(1, 6).Draw(t, "failures"),
			Within:      time.Duration(rapid.IntRange(1, 120).Draw(t, "within")) * time.Second,
			Consecutive: rapid.IntRange(1, 6).Draw(t, "consecutive"),
			Cooldown:    time.Minute,
			MaxCooldown: time.Duration(rapid.IntRange(1, 30).Draw(t, "max")) * time.Minute,
		}}
		t.Repeat(map[string]func(*rapid.T){
			"start": m.start, "start again": m.start,
			"finish": m.finish, "finish again": m.finish,
			"check":    m.check,
			"withdraw": m.withdraw,
			"restart":  m.restart,
			"tick": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "later")))
				m.apply2(t)(Tick(m.s, m.now))
				if at := NextTimer(m.s); m.s.Phase == Open && !at.After(m.now) {
					t.Fatalf("tick left a transition undone: %+v", m.s)
				}
			},
			"a moment": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
			},
			"clock set back": func(t *rapid.T) {
				m.now = m.now.Add(-time.Duration(rapid.IntRange(1, 86400).Draw(t, "seconds")) * time.Second)
				m.restore(t)
			},
			"due now": func(t *rapid.T) { m.s = DueNow(m.s, m.now) },
			"trip":    func(t *rapid.T) { m.apply2(t)(Trip(m.s, m.p, m.now, 0.5)) },
			"reset": func(t *rapid.T) {
				m.apply2(t)(Reset(m.s, m.now))
				m.failures, m.row = nil, 0
			},
			"hold":   func(t *rapid.T) { m.s = Hold(m.s, rapid.SampledFrom([]string{"m1", "m4"}).Draw(t, "held")) },
			"forget": func(t *rapid.T) { m.s = ForgetHolder(m.s, m.s.Holder) },
			"":       m.invariants,
		})
	})
}
