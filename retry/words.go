package retry

import (
	"fmt"
	"strings"
	"time"
)

// Words tells the schedule as check, partner show and the partner page print
// it: each wait's ceiling, the typical and the longest horizon, and at which
// attempt a refused connection stops the lane. opensAt is that attempt, which
// the breaker's policy knows; 0 if the attempts are used up before.
func (p Policy) Words(opensAt int) string {
	if p.Attempts <= 1 {
		return "1 attempt, no retry. " + stopWords(opensAt)
	}
	var waits []string
	for _, w := range p.Waits() {
		waits = append(waits, spell(w))
	}
	typical, longest := p.Horizon()
	return fmt.Sprintf("%d attempts, waits of %s %s (jitter %v). All retries take %s, at most %s, without the stops of the lane. %s",
		p.Attempts, p.bound(), strings.Join(waits, ", "), p.Jitter, spell(typical), spell(longest), stopWords(opensAt))
}

// bound says how the waits of the schedule are meant.
func (p Policy) bound() string {
	switch p.Jitter.Mode {
	case JitterProportional:
		return "about"
	case JitterNone:
		return "exactly"
	}
	return "at most"
}

func stopWords(opensAt int) string {
	if opensAt == 0 {
		return "If connections are refused, the attempts are used up before the lane stops."
	}
	return fmt.Sprintf("If connections are refused, the lane stops at attempt %d.", opensAt)
}

// spell writes a duration for people: "4.5 s", "6 min 42 s", "1 h 3 min".
func spell(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < time.Minute-time.Second/2:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour-time.Second/2:
		return units(d.Round(time.Second), time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return units(d.Round(time.Minute), time.Hour, "h", time.Minute, "min")
	}
	return units(d.Round(time.Hour), 24*time.Hour, "d", time.Hour, "h")
}

// units writes d in two units, the lesser one only if it is not zero.
func units(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}
