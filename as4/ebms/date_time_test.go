package ebms

import (
	"testing"
	"time"
)

func TestParseDateTime(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"2026-03-02T10:30:00Z":                  "2026-03-02T10:30:00Z",
		"2026-03-02T10:30:00":                   "2026-03-02T10:30:00Z", // HB: no zone
		"2026-03-02T10:30:00.5Z":                "2026-03-02T10:30:00.5Z",
		"2026-03-02T10:30:00.123456789987Z":     "2026-03-02T10:30:00.123456789Z",
		"2026-03-02T10:30:00.250+05:30":         "2026-03-02T05:00:00.25Z",
		"2026-03-02T10:30:00-14:00":             "2026-03-03T00:30:00Z",
		"2026-03-02T24:00:00Z":                  "2026-03-03T00:00:00Z",
		"2026-03-02T24:00:00.000":               "2026-03-03T00:00:00Z",
		"2024-02-29T00:00:00Z":                  "2024-02-29T00:00:00Z",
		"":                                      "",
		"2026-03-02":                            "",
		"2026-03-02 10:30:00Z":                  "",
		"2026-03-02t10:30:00z":                  "",
		"2026-03-02T10:30Z":                     "",
		"2026-03-02T10:30:00,5Z":                "",
		"2026-03-02T10:30:00.Z":                 "",
		"2026-02-30T10:30:00Z":                  "",
		"2026-13-02T10:30:00Z":                  "",
		"2026-03-02T24:00:01Z":                  "",
		"2026-03-02T24:00:00.1Z":                "",
		"2026-03-02T10:30:60Z":                  "",
		"2026-03-02T10:30:00+15:00":             "",
		"2026-03-02T10:30:00+0530":              "",
		"-2026-03-02T10:30:00Z":                 "",
		"12026-03-02T10:30:00Z":                 "",
		"2026-03-02T10:30:00Z2026-03-02T10:30Z": "",
	} {
		got, err := parseDateTime(s)
		if want == "" {
			if err == nil {
				t.Errorf("%q: got %v", s, got)
			}
			continue
		}
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: got %v, %v; want %s", s, got.Format(time.RFC3339Nano), err, want)
		}
	}
}

// TestTimestampIsUTC, whatever the clock's zone is.
func TestTimestampIsUTC(t *testing.T) {
	t.Parallel()
	u := minimal()
	u.Timestamp = testNow.In(time.FixedZone("CET", 3600))
	e, err := parse(t, []byte(wire(u.Element())))
	if err != nil || !e.User.Timestamp.Equal(testNow) || e.User.Timestamp.Location() != time.UTC {
		t.Errorf("%v: %v", err, e.User.Timestamp)
	}
}

func TestMessageID(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"a@b": true, "<a@b>": true, "uuid:1": true, "<": true, "a<b": true,
		"": false, "<>": false, "a b": false, "a\nb": false, "a\x7f": false, "é@b": false,
	} {
		if err := CheckMessageID(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
	if !SameMessageID("<a@b>", "a@b") || SameMessageID("a@b", "A@b") || SameMessageID("", "") || SameMessageID("<>", "") {
		t.Error("SameMessageID")
	}
}
