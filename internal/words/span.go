// Package words holds what operators read: states, reasons and questions in
// plain sentences, for console, command line and alerts alike. It says whose
// side something is on, what happens next by itself and what to do; never
// "open" or "closed" alone, which at 3 a.m. read as "open for business".
//
// It is made of pure functions over strings: facts come in, names as the API
// spells them, sentences go out. It decides nothing, and it escapes nothing:
// that is the business of whoever puts a sentence into a page.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Span is a length of time for people: "8 s", "47 min", "3 h 52 min", "2 d 3 h".
// Up to 90 minutes it stays in minutes. Negative ones count as their length.
func Span(d time.Duration) string {
	d = d.Abs()
	switch {
	case d == 0:
		return "0 s"
	case d < time.Second:
		return "under 1 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "min")
	}
	return two(d, 24*time.Hour, "d", time.Hour, "h")
}

func two(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d %s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		s += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return s
}

// When prints a time both ways, absolute in zone and relative to now:
// "02:10 CET · 47 min ago", "30 Nov 02:10 CET · in 2 d".
func When(t, now time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "never"
	}
	return clock(t, now, zone, "15:04") + " " + local(t, zone).Format("MST") + " · " + Ago(t, now)
}

// Ago is the distance of t from now: "47 min ago", "in 5 min", "now".
func Ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return "in " + Span(d)
	}
	return Span(d) + " ago"
}

// Clock is a time of day in zone, with the date where it is not today's:
// "02:25", "1 Dec 02:25", "1 Dec 2027 02:25".
func Clock(t, now time.Time, zone *time.Location) string { return clock(t, now, zone, "15:04") }

// ClockSeconds is Clock to the second: "02:25:07".
func ClockSeconds(t, now time.Time, zone *time.Location) string {
	return clock(t, now, zone, "15:04:05")
}

func clock(t, now time.Time, zone *time.Location, layout string) string {
	t, now = local(t, zone), local(now, zone)
	switch {
	case t.Year() != now.Year():
		layout = "2 Jan 2006 " + layout
	case t.YearDay() != now.YearDay():
		layout = "2 Jan " + layout
	}
	return t.Format(layout)
}

// Day is a date in zone: "1 Dec", with the year where it is not this one.
func Day(t, now time.Time, zone *time.Location) string {
	t, now = local(t, zone), local(now, zone)
	if t.Year() != now.Year() {
		return t.Format("2 Jan 2006")
	}
	return t.Format("2 Jan")
}

func local(t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone)
}

// Number groups digits: 1,240.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Count is a number with its noun: "1 document", "1,240 documents".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(int64(n)) + " " + many
}

// Ordinal is a place in line: 1st, 2nd, 3rd, 11th.
func Ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return Number(int64(n)) + suffix
}
