package partner

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Cron is a time that comes again and again: minute, hour, day of month,
// month, day of week. The zero Cron never comes.
type Cron struct {
	spec     string
	schedule *cron.SpecSchedule // in wall-clock time, told as if it were UTC
}

// UnmarshalText reads five fields; it refuses what the cron package would
// panic on, zones inside the text, and times that never come.
func (c *Cron) UnmarshalText(text []byte) error {
	spec := strings.Join(strings.Fields(string(text)), " ")
	if strings.ContainsAny(spec, "=@") {
		return errors.New(`not five fields such as "0 6 * * 1-5"; the zone is a key of its own`)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(spec)
	if err != nil {
		return fmt.Errorf(`not five fields such as "0 6 * * 1-5": %w`, err)
	}
	schedule, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return errors.New(`not five fields such as "0 6 * * 1-5"`)
	}
	schedule.Location = time.UTC
	if schedule.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return errors.New("a time that never comes, such as 31 February")
	}
	*c = Cron{spec, schedule}
	return nil
}

// Notation says what may be written.
func (Cron) Notation() string { return "cron" }

// String is the text of the file, fields parted by one blank.
func (c Cron) String() string { return c.spec }

// IsZero reports whether there is no time.
func (c Cron) IsZero() bool { return c.schedule == nil }

// hourly reports whether every hour fits: such a time follows the clock on
// the wall through its repeated hour, others come once a day.
func (c Cron) hourly() bool { return c.schedule.Hour&(1<<24-1) == 1<<24-1 }

// change is more than any clock is put forward or back at once, days that the
// Pacific islands skipped excepted.
const change = 3 * time.Hour

// Next is the first time after t in zone; the zero time if there is none
// within five years. A time that the clocks skip in spring comes as much later
// as they were put forward; one that they repeat in autumn comes once, the
// first time, unless every hour fits.
func (c Cron) Next(t time.Time, zone *time.Location) time.Time {
	if c.IsZero() {
		return time.Time{}
	}
	wall := wallClock(t, zone)
	changing := offset(t.Add(-change), zone) != offset(t.Add(change), zone)
	if changing {
		// Several instants may show the same time, and a skipped one lies
		// before what it comes as.
		wall = wall.Add(-change)
	}
	var best time.Time
	for {
		wall = c.schedule.Next(wall)
		if wall.IsZero() {
			break
		}
		if at := instant(wall, zone); at.After(t) {
			best = at
			break
		}
	}
	if changing && c.hourly() {
		if at := c.repeated(t, zone); !at.IsZero() && (best.IsZero() || at.Before(best)) {
			best = at
		}
	}
	return best.In(t.Location())
}

// repeated is the next time within the change after t by the clock on the
// wall as it runs, so that an hour that comes twice counts twice.
func (c Cron) repeated(t time.Time, zone *time.Location) time.Time {
	at := t.Truncate(time.Minute)
	for range change / time.Minute {
		at = at.Add(time.Minute)
		wall := wallClock(at, zone)
		if wall.Second() == 0 && c.schedule.Next(wall.Add(-time.Second)).Equal(wall) {
			return at
		}
	}
	return time.Time{}
}

// wallClock is what the clocks in zone show at t, told as if it were UTC.
func wallClock(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant is when the clocks in zone show wall: the first time if they do so
// twice. If they skip it, they are read as if they had not been put forward.
func instant(wall time.Time, zone *time.Location) time.Time {
	before := wall.Add(-offset(wall.Add(-24*time.Hour), zone))
	after := wall.Add(-offset(wall.Add(24*time.Hour), zone))
	if wallClock(before, zone).Equal(wall) || !wallClock(after, zone).Equal(wall) {
		return before
	}
	return after
}

func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
