package conf

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time such as 90s, 5m, 4h, 14d or 1h30m.
type Duration time.Duration

const (
	day         = 24 * time.Hour
	maxDuration = 36500 * day
)

var durationUnits = []struct {
	name string
	size time.Duration
}{{"d", day}, {"h", time.Hour}, {"ms", time.Millisecond}, {"m", time.Minute}, {"s", time.Second}}

var errDuration = errors.New("not a duration such as 90s, 5m, 4h or 14d")

// UnmarshalText reads the notation; it refuses negative lengths and those over
// a hundred years.
func (d *Duration) UnmarshalText(text []byte) error {
	rest := string(text)
	if rest == "0" {
		*d = 0
		return nil
	}
	var total, last time.Duration = 0, math.MaxInt64
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return errDuration
		}
		unit, name := unitOf(rest[digits:])
		if unit == 0 || unit >= last {
			return errDuration
		}
		if n > int64(maxDuration/unit) || total > maxDuration-time.Duration(n)*unit {
			return errors.New("longer than a hundred years")
		}
		total, last, rest = total+time.Duration(n)*unit, unit, rest[digits+len(name):]
	}
	if last == math.MaxInt64 {
		return errDuration
	}
	*d = Duration(total)
	return nil
}

func unitOf(s string) (time.Duration, string) {
	for _, u := range durationUnits {
		if strings.HasPrefix(s, u.name) {
			return u.size, u.name
		}
	}
	return 0, ""
}

// String is the shortest notation that UnmarshalText reads back.
func (d Duration) String() string {
	rest := time.Duration(d)
	if rest == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := rest / unit.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit.name)
			rest -= n * unit.size
		}
	}
	return b.String()
}

// Notation says what may be written.
func (Duration) Notation() string { return "duration" }

// Moment is a date or a date with a time of day, in a zone of its own or in
// the zone of whoever reads it.
type Moment struct {
	wall  time.Time
	zoned bool // wall is exact
	day   bool // no time of day was given
}

// UnmarshalText reads 2006-01-02, 2006-01-02T15:04, 2006-01-02T15:04:05, and
// the latter two with Z or an offset.
func (m *Moment) UnmarshalText(text []byte) error {
	s := strings.Replace(string(text), " ", "T", 1)
	for _, layout := range []struct {
		text       string
		zoned, day bool
	}{
		{"2006-01-02", false, true}, {"2006-01-02T15:04", false, false}, {"2006-01-02T15:04:05", false, false},
		{"2006-01-02T15:04Z07:00", true, false}, {time.RFC3339, true, false},
	} {
		if t, err := time.Parse(layout.text, s); err == nil {
			*m = Moment{t, layout.zoned, layout.day}
			return nil
		}
	}
	return errors.New("not a date such as 2027-01-31 or 2027-01-31T22:00")
}

// Notation says what may be written.
func (Moment) Notation() string { return "date" }

// IsZero reports whether no moment was given.
func (m Moment) IsZero() bool { return m.wall.IsZero() }

// Begin is the first instant of the moment in zone: for a date, its midnight.
// It is the zero time if there is none.
func (m Moment) Begin(zone *time.Location) time.Time {
	if m.IsZero() || m.zoned {
		return m.wall
	}
	w := m.wall
	return time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, zone)
}

// End is the first instant after the moment in zone: for a date the following
// midnight, else the moment itself. It is the zero time if there is none.
func (m Moment) End(zone *time.Location) time.Time {
	if m.day && !m.IsZero() {
		return Moment{wall: m.wall.AddDate(0, 0, 1)}.Begin(zone)
	}
	return m.Begin(zone)
}
