package breaker

import (
	"fmt"
	"time"
)

// jitter is the share by which a cool-down is shortened or lengthened at
// random, so that breakers which opened together do not probe together
// (delivery.md §6).
const jitter = 0.1

// Bounds of a policy: a State stays small, and no sum of durations overflows.
const (
	maxFailures = 1000
	maxSpan     = 30 * 24 * time.Hour
)

// Problem is one setting of a Policy that cannot work. Key is the key below
// `breaker` in a partner file.
type Problem struct {
	Key    string
	Reason string
	Hint   string
}

// Error is "breaker.key: reason (hint)".
func (p Problem) Error() string {
	return fmt.Sprintf("breaker.%s: %s (%s)", p.Key, p.Reason, p.Hint)
}

// Validate returns every problem of the policy, none if it is usable.
func (p Policy) Validate() []Problem {
	var found []Problem
	add := func(bad bool, key, reason, hint string) {
		if bad {
			found = append(found, Problem{key, reason, hint})
		}
	}
	add(p.Failures < 1 || p.Failures > maxFailures, "failures", fmt.Sprintf("%d failures", p.Failures), "1 to 1000; 5 is usual")
	add(p.Consecutive < 1 || p.Consecutive > maxFailures, "consecutive", fmt.Sprintf("%d failures in a row", p.Consecutive), "1 to 1000; 5 is usual")
	add(p.Within <= 0 || p.Within > maxSpan, "within", fmt.Sprintf("a window of %v", p.Within), "up to 30d; 60s is usual")
	add(p.Cooldown <= 0 || p.Cooldown > maxSpan, "cooldown", fmt.Sprintf("a cool-down of %v", p.Cooldown), "up to 30d; 5m is usual")
	add(p.MaxCooldown < p.Cooldown, "max_cooldown", fmt.Sprintf("%v is less than cooldown, %v", p.MaxCooldown, p.Cooldown), "the longest cool-down is at least the first")
	add(p.MaxCooldown > maxSpan, "max_cooldown", fmt.Sprintf("a cool-down of %v", p.MaxCooldown), "up to 30d; 30m is usual")
	return found
}

// cooldown is the cool-down after that many failed probes, before jitter: the
// first one doubled each time, and never more than the longest.
func (p Policy) cooldown(trips int) time.Duration {
	d := min(p.Cooldown, p.MaxCooldown)
	for range trips {
		if d > p.MaxCooldown/2 {
			return p.MaxCooldown
		}
		d *= 2
	}
	return d
}

// longest is the smallest number of failed probes that gives the longest
// cool-down.
func (p Policy) longest() int {
	const enough = 63 // doublings of one nanosecond that reach any duration
	trips := 0
	for trips < enough && p.cooldown(trips) < p.MaxCooldown {
		trips++
	}
	return trips
}

// jittered is d ± 10 %, for rnd in [0, 1).
func jittered(d time.Duration, rnd float64) time.Duration {
	return d + time.Duration(float64(d)*jitter*(2*rnd-1))
}

// OpensAtAttempt returns the attempt, counted from 1, at which a partner that
// refuses every connection opens the breaker, if one message alone is tried
// after the waits that schedule gives for each failed attempt. It is 0 if the
// attempts are used up before.
func OpensAtAttempt(p Policy, schedule func(n int) time.Duration, attempts int) int {
	var s State
	var now time.Time
	for n := 1; n <= attempts; n++ {
		var opened bool
		if s, opened = s.fail(p, now); opened {
			return n
		}
		now = now.Add(schedule(n))
	}
	return 0
}
