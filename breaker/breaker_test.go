package breaker

import (
	"strings"
	"testing"
	"time"

	"edigw/fault"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const middle = 0.5 // chance without jitter

// send lets one message through, or fails the test, and records its signal.
func send(t *testing.T, s State, now time.Time, message string, signal fault.Signal, stays bool) (State, Change) {
	t.Helper()
	s, permit := Allow(s, now, message, "p1")
	if !permit.OK {
		t.Fatalf("%s at %v: not allowed: %+v", message, now.Sub(noon), permit)
	}
	return Record(s, Default(), now, Result{Generation: permit.Generation, Signal: signal, Message: message, Stays: stays}, middle)
}

// opened is a breaker that five failures of m1 opened at noon.
func opened(t *testing.T, stays bool) State {
	t.Helper()
	var s State
	for range 5 {
		s, _ = send(t, s, noon, "m1", fault.SignalFailure, stays)
	}
	if s.Phase != Open {
		t.Fatal("five failures did not open it")
	}
	return s
}

// halfOpen is opened after its first cool-down.
func halfOpen(t *testing.T, stays bool) (State, time.Time) {
	t.Helper()
	now := noon.Add(5 * time.Minute)
	s, change := Tick(opened(t, stays), now)
	if change.To != HalfOpen {
		t.Fatalf("got %+v", change)
	}
	return s, now
}

func TestOpensByWindow(t *testing.T) {
	t.Parallel()
	var s State
	for i := range 4 {
		s, _ = send(t, s, noon.Add(time.Duration(i)*15*time.Second), "m", fault.SignalFailure, true)
		s, _ = send(t, s, noon.Add(time.Duration(i)*15*time.Second), "m", fault.SignalSuccess, true)
	}
	s, change := send(t, s, noon.Add(60*time.Second), "m", fault.SignalFailure, true)
	if !change.Opened || s.Now() != Open || !s.OpenedAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("fifth failure within 60 s: got %+v, %+v", change, s)
	}
}

func TestWindowForgetsWhatIsOlder(t *testing.T) {
	t.Parallel()
	var s State
	for i := range 50 {
		now := noon.Add(time.Duration(i) * 16 * time.Second) // four fit into 60 s
		s, _ = send(t, s, now, "m", fault.SignalFailure, true)
		s, _ = send(t, s, now, "m", fault.SignalSuccess, true)
	}
	if s.Now() != Closed || len(s.Failures) > 4 {
		t.Errorf("got %s with %d failures", s.Now(), len(s.Failures))
	}
}

func TestResultsThatOvertakeEachOtherStayInOrder(t *testing.T) {
	t.Parallel()
	var s State
	for _, at := range []time.Duration{30, 10, 20} {
		s, _ = Record(s, Default(), noon.Add(at*time.Second), Result{Signal: fault.SignalFailure}, middle)
	}
	want := []time.Time{noon.Add(10 * time.Second), noon.Add(20 * time.Second), noon.Add(30 * time.Second)}
	if diff := cmp.Diff(want, s.Failures); diff != "" {
		t.Errorf("window (-want +got):\n%s", diff)
	}
}

func TestOpensByRowHoweverSlow(t *testing.T) {
	t.Parallel()
	var s State
	var change Change
	for i := range 5 {
		if s.Now() != Closed {
			t.Fatalf("opened after %d", i)
		}
		s, change = send(t, s, noon.Add(time.Duration(i)*24*time.Hour), "m", fault.SignalFailure, true)
	}
	if !change.Opened {
		t.Errorf("five in a row over five days: %+v", s)
	}
}

func TestNeutralCountsForNothing(t *testing.T) {
	t.Parallel()
	var s State
	for range 20 {
		s, _ = send(t, s, noon, "m", fault.SignalNeutral, true)
		s, _ = send(t, s, noon, "m", fault.SignalNone, true)
	}
	for range 4 {
		s, _ = send(t, s, noon, "m", fault.SignalFailure, true)
		s, _ = send(t, s, noon, "m", fault.SignalNeutral, true)
	}
	if s.Now() != Closed || s.Row != 4 {
		t.Errorf("got %s, row %d, want closed, 4", s.Now(), s.Row)
	}
}

func TestTripOpensAtOnceWithTheLongestCooldown(t *testing.T) {
	t.Parallel()
	s, permit := Allow(State{}, noon, "m", "p1")
	s, change := Record(s, Default(), noon, Result{Generation: permit.Generation, Signal: fault.SignalTrip, Message: "m", Stays: true}, middle)
	if !change.Opened || !s.ReopenAt.Equal(noon.Add(30*time.Minute)) || s.Holder != "m" {
		t.Fatalf("got %+v, %+v", change, s)
	}
	// A changed trust setting makes the probe due at once.
	now := noon.Add(time.Second)
	s, permit = Allow(DueNow(s, now), now, "m", "p1")
	if !permit.OK || !permit.Probe {
		t.Fatalf("got %+v", permit)
	}
	// And it stays the longest if the probe fails.
	s, _ = Record(s, Default(), now, Result{Generation: permit.Generation, Signal: fault.SignalFailure, Message: "m"}, middle)
	if !s.ReopenAt.Equal(now.Add(30 * time.Minute)) {
		t.Errorf("next test in %v, want 30m", s.ReopenAt.Sub(now))
	}
}

func TestOpenWaitsForTheCooldown(t *testing.T) {
	t.Parallel()
	s := opened(t, true)
	if s.Holder != "m1" || !s.ReopenAt.Equal(noon.Add(5*time.Minute)) {
		t.Fatalf("got %+v", s)
	}
	_, permit := Allow(s, noon.Add(5*time.Minute-1), "m1", "p1")
	if permit.OK || permit.Why != WhyBreaker || !permit.Until.Equal(s.ReopenAt) {
		t.Errorf("got %+v", permit)
	}
	_, permit = Allow(s, noon.Add(5*time.Minute), "m1", "p1")
	if !permit.OK || !permit.Probe || permit.Change.To != HalfOpen {
		t.Errorf("got %+v", permit)
	}
}

func TestOnlyTheHolderMayProbe(t *testing.T) {
	t.Parallel()
	s, now := halfOpen(t, true)
	if _, permit := Allow(s, now, "m2", "p1"); permit.OK || permit.Why != WhyProbe {
		t.Errorf("another message: %+v", permit)
	}
	if _, permit := Allow(ForgetHolder(s, "m1"), now, "m2", "p1"); !permit.Probe {
		t.Errorf("after the holder left: %+v", permit)
	}
	if _, permit := Allow(ForgetHolder(s, "m9"), now, "m2", "p1"); permit.OK {
		t.Errorf("after some other message left: %+v", permit)
	}
	if _, permit := Allow(Hold(s, "m2"), now, "m2", "p1"); !permit.Probe {
		t.Errorf("chosen by an operator: %+v", permit)
	}
}

func TestExactlyOneProbe(t *testing.T) {
	t.Parallel()
	s, now := halfOpen(t, false)
	s, permit := Allow(s, now, "m2", "p1")
	if !permit.Probe || s.Probe != "m2" || s.ProbeBy != "p1" {
		t.Fatalf("got %+v, %+v", permit, s)
	}
	for _, m := range []string{"m2", "m3"} {
		if _, permit := Allow(s, now, m, "p1"); permit.OK || permit.Why != WhyProbe {
			t.Errorf("%s beside the probe: %+v", m, permit)
		}
	}
	if _, ok := BeginCheck(s, "p1"); ok {
		t.Error("a check beside the probe")
	}
}

func TestProbeDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal    fault.Signal
		stays     bool
		phase     Phase
		holder    string
		nextProbe time.Duration
	}{
		{fault.SignalSuccess, false, Closed, "", 0},
		{fault.SignalSuccess, true, Closed, "", 0},
		{fault.SignalFailure, true, Open, "m1", 10 * time.Minute},
		{fault.SignalFailure, false, Open, "", 10 * time.Minute},
		{fault.SignalTrip, true, Open, "m1", 30 * time.Minute},
		{fault.SignalNeutral, true, HalfOpen, "m1", 0},
		{fault.SignalNeutral, false, HalfOpen, "", 0},
		{fault.SignalNone, true, HalfOpen, "m1", 0},
	} {
		before, now := halfOpen(t, true)
		s, change := send(t, before, now, "m1", c.signal, c.stays)
		if s.Phase != c.phase || s.Holder != c.holder || s.Probe != "" || s.ProbeBy != "" {
			t.Errorf("%s, stays %v: got %+v", c.signal, c.stays, s)
		}
		if want := (Change{From: HalfOpen, To: c.phase, Closed: c.phase == Closed, Reopened: c.phase == Open}); change != want {
			t.Errorf("%s: got %+v, want %+v", c.signal, change, want)
		}
		if c.phase == Open && (s.ReopenAt.Sub(now) != c.nextProbe || !s.OpenedAt.Equal(noon)) {
			t.Errorf("%s: next test in %v, opened %v", c.signal, s.ReopenAt.Sub(now), s.OpenedAt)
		}
		if moved := s.Generation != before.Generation; moved != change.Moved() {
			t.Errorf("%s: generation %d, then %d", c.signal, before.Generation, s.Generation)
		}
	}
}

func TestUndecidedProbeThatLeftLetsTheNextProbeAtOnce(t *testing.T) {
	t.Parallel()
	s, now := halfOpen(t, true)
	s, _ = send(t, s, now, "m1", fault.SignalNeutral, false)
	if _, permit := Allow(s, now, "m2", "p1"); !permit.Probe {
		t.Errorf("got %+v", permit)
	}
}

func TestOperatorsChoiceOutlivesTheProbeThatRuns(t *testing.T) {
	t.Parallel()
	s, now := halfOpen(t, true)
	s, permit := Allow(s, now, "m1", "p1")
	s = Hold(s, "m7")
	s, _ = Record(s, Default(), now, Result{Generation: permit.Generation, Signal: fault.SignalFailure, Message: "m1", Stays: true}, middle)
	if s.Holder != "m7" {
		t.Errorf("holder %q, want the one that was chosen", s.Holder)
	}
}

func TestCooldownDoublesUpToTheLongest(t *testing.T) {
	t.Parallel()
	s := opened(t, true)
	for _, want := range []int{10, 20, 30, 30, 30} {
		now := s.ReopenAt
		s, _ = send(t, s, now, "m1", fault.SignalFailure, true)
		if got := s.ReopenAt.Sub(now); got != time.Duration(want)*time.Minute {
			t.Fatalf("got %v, want %d min", got, want)
		}
	}
	s, _ = send(t, s, s.ReopenAt, "m1", fault.SignalSuccess, false)
	if s.Trips != 0 || s.Row != 0 || s.Failures != nil || !s.OpenedAt.IsZero() {
		t.Errorf("closed, but remembers: %+v", s)
	}
}

func TestCooldownIsJitteredByATenth(t *testing.T) {
	t.Parallel()
	for rnd, want := range map[float64]time.Duration{0: 270 * time.Second, 0.5: 300 * time.Second, 0.75: 315 * time.Second} {
		s := State{Row: 4}
		s, permit := Allow(s, noon, "m", "p1")
		s, _ = Record(s, Default(), noon, Result{Generation: permit.Generation, Signal: fault.SignalFailure}, rnd)
		if got := s.ReopenAt.Sub(noon); got != want {
			t.Errorf("chance %v: got %v, want %v", rnd, got, want)
		}
	}
}

func TestLateAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	_, early := Allow(State{}, noon, "m9", "p1")
	s, now := halfOpen(t, true)
	for _, signal := range []fault.Signal{fault.SignalSuccess, fault.SignalFailure, fault.SignalTrip, fault.SignalNeutral} {
		got, change := Record(s, Default(), now, Result{Generation: early.Generation, Signal: signal, Message: "m9", Stays: true}, middle)
		if diff := cmp.Diff(s, got); diff != "" || change.Moved() {
			t.Errorf("late %s: %+v\n%s", signal, change, diff)
		}
	}
}

func TestCheckMakesAnsweringAndTheNextMessageTheProbe(t *testing.T) {
	t.Parallel()
	s, now := halfOpen(t, false)
	s, ok := BeginCheck(s, "p1")
	if !ok || s.Probe != CheckProbe {
		t.Fatalf("got %v, %+v", ok, s)
	}
	if _, permit := Allow(s, now, "m2", "p1"); permit.OK {
		t.Error("a message beside the check")
	}
	s, change := RecordCheck(s, Default(), now, s.Generation, true, middle)
	if !change.Answering || change.Moved() || !s.Answering || !s.CheckAt.Equal(now.Add(30*time.Minute)) || !NextTimer(s).Equal(s.CheckAt) {
		t.Fatalf("got %+v, %+v", change, s)
	}
	if _, permit := Allow(s, now, "m2", "p1"); !permit.Probe {
		t.Errorf("the next message: %+v", permit)
	}

	if _, change := Tick(s, s.CheckAt.Add(-1)); change.CheckDue {
		t.Error("check due too early")
	}
	now = s.CheckAt
	s, change = Tick(s, now)
	if !change.CheckDue || change.Moved() {
		t.Fatalf("got %+v", change)
	}
	s, _ = BeginCheck(s, "p1")
	again, change := RecordCheck(s, Default(), now, s.Generation, true, middle)
	if change.Answering || !again.CheckAt.Equal(now.Add(30*time.Minute)) {
		t.Errorf("answers still: %+v, %+v", change, again)
	}
	s, change = RecordCheck(s, Default(), now, s.Generation, false, middle)
	if !change.Reopened || s.Answering || !s.ReopenAt.Equal(now.Add(10*time.Minute)) || !s.OpenedAt.Equal(noon) {
		t.Errorf("failed check: %+v, %+v", change, s)
	}
}

func TestCheckKeepsTheHolder(t *testing.T) {
	t.Parallel()
	for _, ok := range []bool{true, false} {
		s, now := halfOpen(t, true)
		s, _ = BeginCheck(s, "p1")
		if s, _ = RecordCheck(s, Default(), now, s.Generation, ok, middle); s.Holder != "m1" {
			t.Errorf("check %v: holder %q", ok, s.Holder)
		}
	}
}

func TestCheckOnlyWhileHalfOpen(t *testing.T) {
	t.Parallel()
	for _, s := range []State{{}, opened(t, true)} {
		if got, ok := BeginCheck(s, "p1"); ok || !cmp.Equal(s, got) {
			t.Errorf("%s: got %v, %+v", s.Now(), ok, got)
		}
		if got, _ := RecordCheck(s, Default(), noon, s.Generation, true, middle); !cmp.Equal(s, got) {
			t.Errorf("%s: a result of no check counted: %+v", s.Now(), got)
		}
	}
}

func TestAbandonedProbeOpensAgainAndDoubles(t *testing.T) {
	t.Parallel()
	half, now := halfOpen(t, false)
	probing, _ := Allow(half, now, "m2", "p1")
	checking, _ := BeginCheck(half, "p1")
	for name, c := range map[string]struct {
		s      State
		holder string
	}{"message": {probing, "m2"}, "check": {checking, ""}} {
		if s, change := Abandon(c.s, Default(), now, "p1", middle); change.Moved() || !cmp.Equal(s, c.s) {
			t.Errorf("%s of the running process: %+v", name, change)
		}
		s, change := Abandon(c.s, Default(), now, "p2", middle)
		if !change.Reopened || s.Holder != c.holder || s.Probe != "" || !s.ReopenAt.Equal(now.Add(10*time.Minute)) {
			t.Errorf("%s of a dead process: %+v, %+v", name, change, s)
		}
	}
	if s, change := Abandon(half, Default(), now, "p2", middle); change.Moved() || !cmp.Equal(s, half) {
		t.Errorf("no probe runs: %+v", change)
	}
}

func TestOperatorTrip(t *testing.T) {
	t.Parallel()
	s, change := Trip(State{}, Default(), noon, middle)
	if !change.Opened || !s.Manual || !s.ReopenAt.Equal(noon.Add(5*time.Minute)) || s.Holder != "" {
		t.Errorf("closed: %+v, %+v", change, s)
	}
	open := opened(t, true)
	if s, change = Trip(open, Default(), noon.Add(time.Minute), middle); change.Moved() || !cmp.Equal(s, open) {
		t.Errorf("open: %+v", change)
	}
	half, now := halfOpen(t, true)
	if s, change = Trip(half, Default(), now, middle); !change.Reopened || s.Manual || !s.ReopenAt.Equal(now.Add(5*time.Minute)) || s.Holder != "m1" {
		t.Errorf("half-open: %+v, %+v", change, s)
	}
}

func TestOperatorReset(t *testing.T) {
	t.Parallel()
	s, change := Reset(opened(t, true), noon)
	if !change.Closed || s.Now() != Closed || s.Row != 0 || s.Holder != "" || !s.OpenedAt.IsZero() {
		t.Errorf("open: %+v, %+v", change, s)
	}
	s, _ = send(t, State{}, noon, "m", fault.SignalFailure, true)
	s, change = Reset(s, noon)
	if change.Moved() || s.Generation != 0 || s.Row != 0 || s.Failures != nil {
		t.Errorf("closed: %+v, %+v", change, s)
	}
}

func TestHoldNeedsAnOpenBreaker(t *testing.T) {
	t.Parallel()
	if s := Hold(State{}, "m"); s.Holder != "" {
		t.Errorf("a closed breaker holds %q", s.Holder)
	}
}

func TestRestoreClampsWhatAClockJumpLeft(t *testing.T) {
	t.Parallel()
	p := Default()
	yesterday := noon.Add(-24 * time.Hour)
	got := Restore(opened(t, true), p, yesterday)
	if most := yesterday.Add(33 * time.Minute); got.ReopenAt.After(most) || got.OpenedAt.After(yesterday) || got.Since.After(yesterday) || len(got.Failures) != 0 {
		t.Errorf("clock set back: %+v", got)
	}
	tomorrow := noon.Add(24 * time.Hour)
	s := opened(t, true)
	if got = Restore(s, p, tomorrow); !cmp.Equal(s, got) {
		t.Errorf("clock set forward: %s", cmp.Diff(s, got))
	}
	// As often as it is restarted: the test stays due at the same moment.
	for i := range 10 {
		s = Restore(s, p, noon.Add(time.Duration(i)*20*time.Second))
	}
	if !s.ReopenAt.Equal(noon.Add(5*time.Minute)) || !s.OpenedAt.Equal(noon) {
		t.Errorf("restarts moved it: %+v", s)
	}
	p.MaxCooldown, p.Cooldown, p.Failures = time.Minute, time.Minute, 2
	if got = Restore(opened(t, true), p, noon); !got.ReopenAt.Equal(noon.Add(66*time.Second)) || len(got.Failures) != 2 {
		t.Errorf("stricter policy: %+v", got)
	}
}

func TestWithdrawTakesBackAnIsolatedSpan(t *testing.T) {
	t.Parallel()
	var s State
	for i := range 5 {
		s, _ = send(t, s, noon.Add(time.Duration(i*10)*time.Second), "m", fault.SignalFailure, true)
	}
	if s.Phase != Open {
		t.Fatal("not open")
	}
	now := noon.Add(50 * time.Second)
	got, change := Withdraw(s, noon.Add(15*time.Second), now)
	if !change.Closed || got.Now() != Closed || got.Row != 2 || len(got.Failures) != 2 || got.Generation != s.Generation+1 || got.Holder != "" {
		t.Errorf("opened in the span: %+v, %+v", change, got)
	}
	if got, change = Withdraw(s, noon.Add(45*time.Second), now); change.Moved() || got.Phase != Open {
		t.Errorf("opened before the span: %+v, %+v", change, got)
	}
	tripped, _ := Trip(State{}, Default(), noon, middle)
	if got, change = Withdraw(tripped, noon.Add(-time.Second), now); change.Moved() || got.Phase != Open {
		t.Errorf("tripped by an operator: %+v, %+v", change, got)
	}
	var closed State
	closed, _ = send(t, closed, noon, "m", fault.SignalFailure, true)
	closed, _ = send(t, closed, now, "m", fault.SignalFailure, true)
	if got, change = Withdraw(closed, now, now); change.Moved() || got.Row != 1 || len(got.Failures) != 1 {
		t.Errorf("closed: %+v, %+v", change, got)
	}
}

func TestCallsDoNotShareTheirSlices(t *testing.T) {
	t.Parallel()
	var s State
	for i := range 4 {
		s, _ = send(t, s, noon.Add(time.Duration(i)*time.Second), "m", fault.SignalFailure, true)
	}
	before := cmp.Diff(State{}, s)
	Withdraw(s, noon, noon)
	Restore(s, Default(), noon.Add(-time.Hour))
	Record(s, Default(), noon.Add(50*time.Second), Result{Signal: fault.SignalFailure}, middle)
	if after := cmp.Diff(State{}, s); after != before {
		t.Errorf("changed in place: %s", after)
	}
}

func TestOpensAtAttempt(t *testing.T) {
	t.Parallel()
	doubling := func(n int) time.Duration { return time.Second << (n - 1) }
	hourly := func(int) time.Duration { return time.Hour }
	rare := Default()
	rare.Failures, rare.Consecutive = 3, 50
	for _, c := range []struct {
		name     string
		p        Policy
		schedule func(int) time.Duration
		attempts int
		want     int
	}{
		{"default", Default(), doubling, 7, 5},
		{"too few attempts", Default(), doubling, 4, 0},
		{"by the row alone", Default(), hourly, 7, 5},
		{"never within the window", rare, hourly, 7, 0},
		{"by the window", rare, doubling, 7, 3},
	} {
		if got := OpensAtAttempt(c.p, c.schedule, c.attempts); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestValidateNamesEveryKey(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, p := range (Policy{MaxCooldown: -1}).Validate() {
		keys = append(keys, p.Key)
		if !strings.HasPrefix(p.Error(), "breaker."+p.Key+": ") || p.Hint == "" {
			t.Errorf("says too little: %v", p)
		}
	}
	want := []string{"failures", "consecutive", "within", "cooldown", "max_cooldown"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if got := Default().Validate(); got != nil {
		t.Errorf("default: %v", got)
	}
}

func TestCooldownNeverOverflows(t *testing.T) {
	t.Parallel()
	for _, p := range []Policy{Default(), {}, {Cooldown: 1, MaxCooldown: maxSpan}, {Cooldown: 1, MaxCooldown: 1<<63 - 1}} {
		for _, trips := range []int{0, 1, 62, 63, 64, 1 << 20} {
			if d := p.cooldown(trips); d < 0 || d > p.MaxCooldown {
				t.Errorf("%+v, %d trips: %v", p, trips, d)
			}
		}
		if p.cooldown(p.longest()) != p.MaxCooldown && p.Cooldown > 0 {
			t.Errorf("%+v: %d trips do not give the longest", p, p.longest())
		}
	}
}
