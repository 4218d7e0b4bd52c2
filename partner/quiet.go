package partner

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// quiet is Quiet as a file writes it.
type quiet struct{ span *Quiet }

// UnmarshalText reads "22:00-06:00".
func (q *quiet) UnmarshalText(text []byte) error {
	bad := errors.New("not a span such as 22:00-06:00")
	from, to, ok := strings.Cut(string(text), "-")
	a, err1 := clock(strings.TrimSpace(from))
	b, err2 := clock(strings.TrimSpace(to))
	if !ok || err1 != nil || err2 != nil || a == b {
		return bad
	}
	q.span = &Quiet{a, b}
	return nil
}

// Notation says what may be written.
func (quiet) Notation() string { return "span such as `22:00-06:00`" }

// clock is a time of day in minutes since midnight.
func clock(s string) (int, error) {
	t, err := time.Parse("15:04", s)
	return t.Hour()*60 + t.Minute(), err
}

// Covers reports whether t, in the zone of its location, lies in the span. A
// nil span covers nothing.
func (q *Quiet) Covers(t time.Time) bool {
	if q == nil {
		return false
	}
	m := t.Hour()*60 + t.Minute()
	if q.From < q.To {
		return q.From <= m && m < q.To
	}
	return m >= q.From || m < q.To
}

// String is the span as a file writes it.
func (q *Quiet) String() string {
	if q == nil {
		return "never"
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d", q.From/60, q.From%60, q.To/60, q.To%60)
}
