package retry

import (
	"fmt"
	"math"
	"time"
)

// Floor is the shortest wait before a retry, whatever chance says: full jitter
// comes near zero.
const Floor = 100 * time.Millisecond

// Bounds of a policy: its horizon stays a number that people can read, and no
// sum of waits overflows.
const (
	maxAttempts = 100
	maxCap      = 30 * 24 * time.Hour
)

// Policy steers the waits between the attempts of one round. The zero Policy
// is not usable; take Default.
type Policy struct {
	Base     time.Duration // ceiling of the first wait, > 0
	Cap      time.Duration // ceiling of every wait, ≥ Base
	Factor   float64       // growth from wait to wait, ≥ 1; 0 = auto: the last wait is the cap
	Attempts int           // attempts in a round, the first included, ≥ 1
	Jitter   Jitter
}

// Default is the policy of a partner whose file says nothing.
func Default() Policy {
	return Policy{Base: time.Second, Cap: 30 * time.Minute, Factor: 2, Attempts: 7}
}

// Ceiling is the wait after failed attempt n before jitter:
// min(cap, base · factor^(n−1)), to the millisecond (delivery.md §5). An n
// below 1 counts as 1; no n overflows.
func (p Policy) Ceiling(n int) time.Duration {
	wait := float64(p.Base) * math.Pow(p.factor(), float64(max(n, 1)-1))
	if !(wait < float64(p.Cap)) { // also where it is not a number
		return p.Cap
	}
	return min(p.Cap, time.Duration(wait).Round(time.Millisecond))
}

// factor is Factor, or the solution of base · f^(attempts−2) = cap: the growth
// at which the last of attempts−1 waits is the cap.
func (p Policy) factor() float64 {
	if p.Factor != 0 {
		return p.Factor
	}
	if p.Attempts <= 2 || p.Base <= 0 {
		return 1
	}
	return math.Pow(float64(p.Cap)/float64(p.Base), 1/float64(p.Attempts-2))
}

// Delay is the wait after failed attempt n for chance rnd in [0, 1). The
// jitter comes after the cap, so that partners' retries part even when all
// have reached it; only proportional jitter can exceed the cap, by its ratio.
// It is never below Floor.
func (p Policy) Delay(n int, rnd float64) time.Duration {
	return max(Floor, p.Jitter.apply(p.Ceiling(n), rnd))
}

// DelayAfter is Delay for a partner that asked, by Retry-After, to be left
// alone for a while: after, clamped to the cap, is then a lower bound, and up
// to a tenth of it is added so that not everybody comes back at once.
func (p Policy) DelayAfter(n int, after time.Duration, rnd float64) time.Duration {
	after = ClampAfter(after, p.Cap)
	spread := float64(max(Floor, after/10))
	return max(p.Delay(n, rnd), after+time.Duration(spread*unit(rnd)))
}

// Waits are the ceilings of all waits of a round, attempts−1 of them.
func (p Policy) Waits() []time.Duration {
	var waits []time.Duration
	for n := 1; n < min(p.Attempts, maxAttempts); n++ {
		waits = append(waits, p.Ceiling(n))
	}
	return waits
}

// Horizon is how long the waits of a round take together: typically, with
// every wait at the middle of its range, and at the longest. Cool-downs and
// the exchanges themselves come on top.
func (p Policy) Horizon() (typical, longest time.Duration) {
	for n := range p.Waits() {
		typical += p.Delay(n+1, 0.5)
		longest += p.Delay(n+1, 1)
	}
	return typical, longest
}

// Problem is one setting of a Policy that cannot work. Key is the key below
// `retry` in a partner file.
type Problem struct {
	Key    string
	Reason string
	Hint   string
}

// Error is "retry.key: reason (hint)".
func (p Problem) Error() string {
	return fmt.Sprintf("retry.%s: %s (%s)", p.Key, p.Reason, p.Hint)
}

// Validate returns every problem of the policy, none if it is usable.
func (p Policy) Validate() []Problem {
	var found []Problem
	add := func(bad bool, key, reason, hint string) {
		if bad {
			found = append(found, Problem{key, reason, hint})
		}
	}
	add(p.Base <= 0, "base", fmt.Sprintf("a first wait of %v", p.Base), "more than 0; 1s is usual")
	add(p.Cap < p.Base, "cap", fmt.Sprintf("%v is less than base, %v", p.Cap, p.Base), "no wait is longer than the cap; 30m is usual")
	add(p.Cap > maxCap, "cap", fmt.Sprintf("a wait of %v", p.Cap), "up to 30d; 30m is usual")
	add(p.Factor != 0 && !(p.Factor >= 1 && p.Factor <= 1000), "factor", fmt.Sprintf("a growth of %v", p.Factor), "1 to 1000, or auto; 2 is usual")
	add(p.Attempts < 1 || p.Attempts > maxAttempts, "attempts", fmt.Sprintf("%d attempts", p.Attempts), "1 to 100; 7 is usual")
	add(!p.Jitter.valid(), "jitter", fmt.Sprintf("%v is not a jitter", p.Jitter), "full, equal, none, or a share such as 50%")
	return found
}
