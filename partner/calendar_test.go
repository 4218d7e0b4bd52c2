package partner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func mustCron(t testing.TB, spec string) Cron {
	t.Helper()
	var c Cron
	if err := c.UnmarshalText([]byte(spec)); err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t testing.TB, z *time.Location, s string) time.Time {
	t.Helper()
	parsed, err := time.ParseInLocation("2006-01-02 15:04", s, z)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// The clocks go forward on 29 March 2026 at 02:00 and back on 25 October at
// 03:00 in Berlin; on 8 March and 1 November at 02:00 in New York.
func TestCronOnDaysWhenTheClocksChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, zone, spec, after string
		want                    []string // RFC 3339
	}{
		{"Berlin spring: the skipped daily time comes later", "Europe/Berlin", "30 2 * * *", "2026-03-28 12:00",
			[]string{"2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"Berlin autumn: the repeated daily time comes once", "Europe/Berlin", "30 2 * * *", "2026-10-24 12:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"New York spring: the skipped daily time comes later", "America/New_York", "30 2 * * *", "2026-03-07 12:00",
			[]string{"2026-03-08T03:30:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"New York autumn: the repeated daily time comes once", "America/New_York", "30 1 * * *", "2026-10-31 12:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		{"every hour goes on through the repeated one", "Europe/Berlin", "0 * * * *", "2026-10-25 01:30",
			[]string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"}},
		{"every hour goes on through the skipped one", "Europe/Berlin", "0 * * * *", "2026-03-29 00:30",
			[]string{"2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"}},
		{"a time after the change is on the new clock", "Europe/Berlin", "0 6 * * *", "2026-03-28 12:00",
			[]string{"2026-03-29T06:00:00+02:00"}},
		{"a weekly time on the day of the change", "America/New_York", "15 2 * * 0", "2026-03-02 00:00",
			[]string{"2026-03-08T03:15:00-04:00", "2026-03-15T02:15:00-04:00"}},
		{"midnight that does not exist", "America/Sao_Paulo", "0 0 * * *", "2018-11-03 12:00",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			z := zone(t, test.zone)
			c := mustCron(t, test.spec)
			var got []string
			for next := at(t, z, test.after); len(got) < len(test.want); {
				next = c.Next(next, z)
				got = append(got, next.In(z).Format(time.RFC3339))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCronRefusesWhatItsLibraryPanicsOn(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"", "CRON_TZ=UTC", "TZ=0", "TZ=UTC 0 6 * * *", "@daily", "@every 1s", "0 0 31 2 *", "0 6 * * 8", "* * * * * *", "99 * * * *"} {
		var c Cron
		if err := c.UnmarshalText([]byte(spec)); err == nil {
			t.Errorf("%q was accepted", spec)
		}
	}
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	weekdays := span{cron: mustCron(t, "0 6 * * 1-6"), length: 14 * time.Hour, zone: berlin}
	maintenance := span{cron: mustCron(t, "0 2 * * 0"), length: 3 * time.Hour, zone: berlin, note: "their maintenance"}
	noon := span{cron: mustCron(t, "0 12 * * *"), length: time.Hour, zone: berlin, note: "noon"}
	once := span{from: at(t, berlin, "2026-12-05 12:30"), to: at(t, berlin, "2026-12-05 15:00"), zone: berlin, note: "move"}
	night := span{cron: mustCron(t, "0 20 * * *"), length: 10 * time.Hour, zone: berlin}
	type answer struct {
		Open             bool
		Why, Until, Note string
	}
	for _, test := range []struct {
		name     string
		calendar Calendar
		now      string
		want     answer
	}{
		{"empty is always open", Calendar{}, "2026-12-01 12:00", answer{Open: true}},
		{"inside the window", Calendar{windows: []span{weekdays}}, "2026-12-01 12:00", answer{Open: true, Until: "2026-12-01 20:00"}},
		{"the first instant belongs to the window", Calendar{windows: []span{weekdays}}, "2026-12-01 06:00", answer{Open: true, Until: "2026-12-01 20:00"}},
		{"the end does not", Calendar{windows: []span{weekdays}}, "2026-12-01 20:00", answer{Why: ClosedWindow, Until: "2026-12-02 06:00"}},
		{"over Sunday", Calendar{windows: []span{weekdays}}, "2026-12-05 21:00", answer{Why: ClosedWindow, Until: "2026-12-07 06:00"}},
		{"windows that follow each other are one", Calendar{windows: []span{weekdays, night}}, "2026-12-05 12:00", answer{Open: true, Until: "2026-12-06 06:00"}},
		{"until the next blackout", Calendar{blackouts: []span{maintenance}}, "2026-12-01 12:00", answer{Open: true, Until: "2026-12-06 02:00"}},
		{"inside a blackout", Calendar{blackouts: []span{maintenance}}, "2026-12-06 03:00", answer{Why: ClosedBlackout, Until: "2026-12-06 05:00", Note: "their maintenance"}},
		{"a blackout counts more than a window", Calendar{windows: []span{weekdays}, blackouts: []span{noon}}, "2026-12-01 12:10", answer{Why: ClosedBlackout, Until: "2026-12-01 13:00", Note: "noon"}},
		{"a blackout ends an open time", Calendar{windows: []span{weekdays}, blackouts: []span{noon}}, "2026-12-01 11:00", answer{Open: true, Until: "2026-12-01 12:00"}},
		{"blackouts that overlap are one", Calendar{blackouts: []span{noon, once}}, "2026-12-05 12:40", answer{Why: ClosedBlackout, Until: "2026-12-05 15:00", Note: "noon"}},
		{"once is once", Calendar{blackouts: []span{once}}, "2026-12-06 12:40", answer{Open: true}},
		{"a blackout on the day the clocks go forward lasts its length", Calendar{blackouts: []span{maintenance}}, "2026-03-29 05:30", answer{Why: ClosedBlackout, Until: "2026-03-29 06:00", Note: "their maintenance"}},
		{"and begins as much later", Calendar{blackouts: []span{maintenance}}, "2026-03-29 01:59", answer{Open: true, Until: "2026-03-29 03:00"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got answer
			var until time.Time
			got.Open, got.Why, until, got.Note = test.calendar.Open(at(t, berlin, test.now))
			if !until.IsZero() {
				got.Until = until.In(berlin).Format("2006-01-02 15:04")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStartsAreSpreadByPartner(t *testing.T) {
	t.Parallel()
	window := span{cron: mustCron(t, "0 6 * * *"), length: 8 * time.Hour, zone: time.UTC}
	six := time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)
	seconds := make(map[time.Duration]int)
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		c := newCalendar(id, []span{window}, nil)
		open, _, start, _ := c.Open(six.Add(-time.Hour))
		late := start.Sub(six)
		if open || late < 0 || late >= time.Minute {
			t.Errorf("%s starts %v after its window", id, late)
		}
		if again, _, _, _ := c.Open(start); !again {
			t.Errorf("%s is not open when it said it would be", id)
		}
		if late > 0 {
			if open, _, until, _ := c.Open(start.Add(-time.Second)); open || !until.Equal(start) {
				t.Errorf("%s says %v one second earlier, not %v", id, until, start)
			}
		}
		if _, _, end, _ := c.Open(start); !end.Equal(six.Add(8 * time.Hour)) {
			t.Errorf("%s closes at %v", id, end)
		}
		seconds[late]++
	}
	if len(seconds) < 5 {
		t.Errorf("10 partners start in %d different seconds", len(seconds))
	}
}

// Following Open from change to change meets every state that asking at each
// minute finds.
func TestOpenHoldsUntilWhatItSays(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	c := newCalendar("northwind",
		[]span{{cron: mustCron(t, "0 6 * * 1-6"), length: 14 * time.Hour, zone: berlin}, {cron: mustCron(t, "30 2 * * *"), length: time.Hour, zone: berlin}},
		[]span{{cron: mustCron(t, "0 2 * * 0"), length: 3 * time.Hour, zone: berlin}, {cron: mustCron(t, "*/20 13 * * *"), length: 5 * time.Minute, zone: zone(t, "America/New_York")}})
	for _, day := range []string{"2026-03-28 00:00", "2026-10-24 00:00", "2026-12-04 00:00"} {
		now := at(t, berlin, day)
		open, why, until, _ := c.Open(now)
		for range 3 * 24 * 60 {
			now = now.Add(time.Minute)
			o, w, u, _ := c.Open(now)
			if now.Before(until) && o != open {
				t.Fatalf("at %v: open %t (%s), but %t (%s) was said to hold until %v", now, o, w, open, why, until)
			}
			if !now.Before(until) && why == ClosedWindow && !o {
				t.Fatalf("at %v: closed (%s), but it was said to open at %v", now, w, until)
			}
			if !u.After(now) {
				t.Fatalf("at %v: holds until %v", now, u)
			}
			if !now.Before(until) {
				open, why, until = o, w, u
			}
		}
	}
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, clock string
		want        bool
	}{
		{"22:00-06:00", "21:59", false}, {"22:00-06:00", "22:00", true}, {"22:00-06:00", "00:00", true},
		{"22:00-06:00", "05:59", true}, {"22:00-06:00", "06:00", false},
		{"12:00-13:30", "13:29", true}, {"12:00-13:30", "13:30", false},
	} {
		var q quiet
		if err := q.UnmarshalText([]byte(test.text)); err != nil {
			t.Fatal(err)
		}
		if got := q.span.Covers(at(t, time.UTC, "2026-12-01 "+test.clock)); got != test.want {
			t.Errorf("%s covers %s: got %t", test.text, test.clock, got)
		}
		if q.span.String() != test.text {
			t.Errorf("%s is written as %v", test.text, q.span)
		}
	}
	for _, text := range []string{"", "22-6", "22:00", "24:00-06:00", "06:00-06:00", "6:00-25:00"} {
		if err := new(quiet).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
