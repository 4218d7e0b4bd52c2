package retry

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCeilings(t *testing.T) {
	t.Parallel()
	auto := Default()
	auto.Factor = 0
	short := Policy{Base: time.Second, Cap: time.Minute, Attempts: 2}
	for _, c := range []struct {
		name string
		p    Policy
		want []time.Duration
	}{
		{"default", Default(), seconds(1, 2, 4, 8, 16, 32)},
		{"auto spreads the waits up to the cap", auto, seconds(1, 4.478, 20.05, 89.777, 401.993, 1800)},
		{"auto with a single wait", short, seconds(1)},
		{"the cap holds", Policy{Base: 10 * time.Second, Cap: 25 * time.Second, Factor: 2, Attempts: 5}, seconds(10, 20, 25, 25)},
		{"one attempt has no wait", Policy{Base: time.Second, Cap: time.Minute, Factor: 2, Attempts: 1}, nil},
	} {
		if diff := cmp.Diff(c.want, c.p.Waits()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func seconds(s ...float64) []time.Duration {
	var d []time.Duration
	for _, v := range s {
		d = append(d, time.Duration(math.Round(v*1000))*time.Millisecond)
	}
	return d
}

func TestDelayStaysInItsRange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jitter      string
		least, most time.Duration // of the fifth wait, 16 s
	}{
		{"full", Floor, 16 * time.Second},
		{"equal", 8 * time.Second, 16 * time.Second},
		{"50%", 8 * time.Second, 24 * time.Second},
		{"none", 16 * time.Second, 16 * time.Second},
	} {
		p := Default()
		p.Jitter, _ = ParseJitter(c.jitter)
		if got := p.Delay(5, 0); got != c.least {
			t.Errorf("%s, chance 0: got %v, want %v", c.jitter, got, c.least)
		}
		if got := p.Delay(5, 1); got != c.most {
			t.Errorf("%s, chance 1: got %v, want %v", c.jitter, got, c.most)
		}
	}
}

func TestJitterComesAfterTheCap(t *testing.T) {
	t.Parallel()
	p := Default()
	if a, b := p.Delay(1000, 0.2), p.Delay(1000, 0.7); a == b || a != 6*time.Minute || b != 21*time.Minute {
		t.Errorf("capped waits: got %v and %v, want 6m and 21m", a, b)
	}
}

func anyPolicy(t *rapid.T) Policy {
	p := Policy{
		Base:     time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base")),
		Factor:   rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 1000)).Draw(t, "factor"),
		Attempts: rapid.IntRange(1, maxAttempts).Draw(t, "attempts"),
		Jitter:   Jitter{Mode: JitterMode(rapid.IntRange(0, 3).Draw(t, "mode"))},
	}
	p.Cap = time.Duration(rapid.Int64Range(int64(p.Base), int64(maxCap)).Draw(t, "cap"))
	if p.Jitter.Mode == JitterProportional {
		p.Jitter.Ratio = rapid.Float64Range(0.01, 1).Draw(t, "ratio")
	}
	return p
}

func TestEveryPolicyThatIsValidWaitsWithinBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy(t)
		if problems := p.Validate(); problems != nil {
			t.Fatalf("not valid: %v", problems)
		}
		n := rapid.OneOf(rapid.IntRange(-3, 200), rapid.Int()).Draw(t, "n")
		rnd := rapid.Float64Range(0, 1).Draw(t, "rnd")

		most := p.Cap
		if p.Jitter.Mode == JitterProportional {
			most += time.Duration(float64(p.Cap) * p.Jitter.Ratio)
		}
		if c := p.Ceiling(n); c < 0 || c > p.Cap {
			t.Fatalf("ceiling %v outside 0 to %v", c, p.Cap)
		}
		if n > 0 && n < math.MaxInt && p.Ceiling(n) > p.Ceiling(n+1) {
			t.Fatalf("waits shrink: %v, then %v", p.Ceiling(n), p.Ceiling(n+1))
		}
		if d := p.Delay(n, rnd); d < Floor || d > max(Floor, most) {
			t.Fatalf("delay %v outside %v to %v", d, Floor, most)
		}
		after := time.Duration(rapid.Int64().Draw(t, "after"))
		if d := p.DelayAfter(n, after, rnd); d < ClampAfter(after, p.Cap) || d < p.Delay(n, rnd) || d > most+p.Cap/10+Floor {
			t.Fatalf("delay %v after %v", d, after)
		}
		if typical, longest := p.Horizon(); typical < 0 || typical > longest {
			t.Fatalf("horizon %v, %v", typical, longest)
		}
		if p.Factor == 0 && p.Attempts > 2 {
			// Within the rounding of a power, and never above.
			if last := p.Ceiling(p.Attempts - 1); p.Cap-last > max(time.Millisecond, p.Cap/1e9) {
				t.Fatalf("auto: last wait %v, want the cap, %v", last, p.Cap)
			}
		}
	})
}

func TestChanceOutOfRangeIsHarmless(t *testing.T) {
	t.Parallel()
	for _, rnd := range []float64{-1, 2, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if d := Default().Delay(3, rnd); d < Floor || d > 4*time.Second {
			t.Errorf("chance %v: %v", rnd, d)
		}
	}
}

func TestEvenAPolicyThatIsNotValidDoesNotOverflow(t *testing.T) {
	t.Parallel()
	for _, p := range []Policy{{}, {Cap: time.Hour, Factor: 2}, {Base: math.MaxInt64, Cap: math.MaxInt64, Factor: 1e300}} {
		if d := p.Ceiling(math.MaxInt); d < 0 || d > p.Cap {
			t.Errorf("%+v: ceiling %v", p, d)
		}
	}
}

func TestDelayAfterIsALowerBoundWithJitterAbove(t *testing.T) {
	t.Parallel()
	p := Default()
	for _, c := range []struct {
		after time.Duration
		rnd   float64
		want  time.Duration
	}{
		{30 * time.Second, 0, 30 * time.Second},
		{30 * time.Second, 1, 33 * time.Second},
		{time.Second, 0.5, time.Second + Floor/2},
		{time.Second / 10, 1, time.Second},               // the backoff is longer
		{7 * 24 * time.Hour, 0, 30 * time.Minute},        // clamped to the cap
		{-time.Minute, 0.5, 500 * time.Millisecond},      // no wait at all
		{math.MaxInt64, 1, 33 * time.Minute},             // clamped, then jittered
		{10 * time.Minute, 0.5, 10*time.Minute + 30*1e9}, // a tenth at most
	} {
		if got := p.DelayAfter(1, c.after, c.rnd); got != c.want {
			t.Errorf("after %v, chance %v: got %v, want %v", c.after, c.rnd, got, c.want)
		}
	}
}

func TestHorizon(t *testing.T) {
	t.Parallel()
	typical, longest := Default().Horizon()
	if typical != 31500*time.Millisecond || longest != 63*time.Second {
		t.Errorf("got %v, %v, want 31.5s, 1m3s", typical, longest)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	auto := Default()
	auto.Factor = 0
	fixed := Default()
	fixed.Jitter = Jitter{Mode: JitterNone}
	for _, c := range []struct {
		p       Policy
		opensAt int
		want    string
	}{
		{Default(), 5, "7 attempts, waits of at most 1 s, 2 s, 4 s, 8 s, 16 s, 32 s (jitter full). All retries take 32 s, at most 1 min 3 s, without the stops of the lane. If connections are refused, the lane stops at attempt 5."},
		{auto, 5, "7 attempts, waits of at most 1 s, 4.5 s, 20 s, 1 min 30 s, 6 min 42 s, 30 min (jitter full). All retries take 19 min 19 s, at most 38 min 37 s, without the stops of the lane. If connections are refused, the lane stops at attempt 5."},
		{fixed, 0, "7 attempts, waits of exactly 1 s, 2 s, 4 s, 8 s, 16 s, 32 s (jitter none). All retries take 1 min 3 s, at most 1 min 3 s, without the stops of the lane. If connections are refused, the attempts are used up before the lane stops."},
		{Policy{Base: time.Second, Cap: time.Minute, Attempts: 1}, 0, "1 attempt, no retry. If connections are refused, the attempts are used up before the lane stops."},
	} {
		if diff := cmp.Diff(c.want, c.p.Words(c.opensAt)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestSpelledDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		100 * time.Millisecond:     "0.1 s",
		9960 * time.Millisecond:    "10 s",
		59700 * time.Millisecond:   "1 min",
		time.Hour:                  "1 h",
		3599700 * time.Millisecond: "1 h",
		63*time.Minute + 29*1e9:    "1 h 3 min",
		50 * time.Hour:             "2 d 2 h",
	} {
		if got := spell(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestValidateNamesEveryKey(t *testing.T) {
	t.Parallel()
	bad := Policy{Base: 0, Cap: -time.Second, Factor: 0.5, Attempts: 0, Jitter: Jitter{Mode: JitterProportional, Ratio: 2}}
	var keys []string
	for _, p := range bad.Validate() {
		keys = append(keys, p.Key)
		if p.Reason == "" || p.Hint == "" || !strings.HasPrefix(p.Error(), "retry."+p.Key+": ") {
			t.Errorf("says too little: %v", p)
		}
	}
	if diff := cmp.Diff([]string{"base", "cap", "factor", "attempts", "jitter"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if got := (Policy{Base: time.Second, Cap: time.Minute, Factor: math.NaN(), Attempts: 7}).Validate(); len(got) != 1 || got[0].Key != "factor" {
		t.Errorf("factor that is no number: %v", got)
	}
	if got := Default().Validate(); got != nil {
		t.Errorf("default: %v", got)
	}
}

func TestJitterText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Jitter{
		"full":  {},
		"equal": {Mode: JitterEqual},
		"none":  {Mode: JitterNone},
		"50%":   {Mode: JitterProportional, Ratio: 0.5},
		"12.5%": {Mode: JitterProportional, Ratio: 0.125},
		"100%":  {Mode: JitterProportional, Ratio: 1},
	} {
		got, err := ParseJitter(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v, %v, written %s", text, got, err, got)
		}
		back := struct{ J Jitter }{}
		raw, err := json.Marshal(struct{ J Jitter }{want})
		if err == nil {
			err = json.Unmarshal(raw, &back)
		}
		if err != nil || back.J != want {
			t.Errorf("%s as JSON %s: got %+v, %v", text, raw, back.J, err)
		}
	}
	for _, text := range []string{"", "Full", "50", "0%", "-5%", "101%", "%", "NaN%", "Inf%", "5 %"} {
		if got, err := ParseJitter(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
