package conf

import (
	"encoding"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "5m": 5 * time.Minute, "4h": 4 * time.Hour, "14d": 14 * day, "1h30m": 90 * time.Minute,
		"500ms": 500 * time.Millisecond, "0s": 0, "0": 0, "36500d": maxDuration,
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s: got %v, %v", text, time.Duration(d), err)
		}
	}
	for _, text := range []string{"", "5", "-5m", "5 m", "1.5h", "m", "5m5m", "5s1h", "5M", "5 minutes", "99999999999999999999s", "36501d", "36500d1s", "+5m"} {
		if err := new(Duration).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestDurationsReadBackWhatTheyWrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(maxDuration/time.Millisecond)).Draw(t, "ms") * int64(time.Millisecond))
		var back Duration
		if err := back.UnmarshalText([]byte(d.String())); err != nil || back != d {
			t.Fatalf("%v: got %v, %v", d, back, err)
		}
	})
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"64KB": 64000, "2GB": 2e9, "64KiB": 65536, "1B": 1, "5 MB": 5e6, "0B": 0} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || int64(s) != want {
			t.Errorf("%s: got %d, %v", text, s, err)
		}
	}
	for text, want := range map[string]float64{"10/s": 10, "600/m": 10, "36/h": 0.01, "0.5/s": 0.5} {
		var r Rate
		if err := r.UnmarshalText([]byte(text)); err != nil || float64(r) != want {
			t.Errorf("%s: got %v, %v", text, r, err)
		}
	}
	for text, want := range map[string]float64{"20%": 0.2, "0%": 0, "100%": 1, "12.5%": 0.125} {
		var s Share
		if err := s.UnmarshalText([]byte(text)); err != nil || float64(s) != want {
			t.Errorf("%s: got %v, %v", text, s, err)
		}
	}
}

func TestValuesRefuseWhatTheyDoNotMean(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		into  encoding.TextUnmarshaler
		texts []string
	}{
		{new(Size), []string{"", "64", "KB", "-1KB", "1.5GB", "64kb", "99999999999TB", "1e3B"}},
		{new(Rate), []string{"", "10", "10/d", "0/s", "-1/s", "/s", "NaN/s", "Inf/s", "1e9/s"}},
		{new(Share), []string{"", "20", "101%", "-1%", "%", "NaN%"}},
		{new(URL), []string{"", "as2.example", "ftp://x.example/", "https://", "https://:443/", "https://u:p@x.example/", "https://x.example/#a", "http://[::1", "mailto:a@b"}},
		{new(Address), []string{"", "4080", "x:", "x:99999", "x:http", "x:-1", ":080"}},
		{new(Mail), []string{"", "a", "a@", "A <a@b.example>", "a@b.example, c@d.example", "a@b.example\r\nTo: x"}},
		{new(Moment), []string{"", "2027", "2027-13-01", "31.1.2027", "2027-01-31T25:00", "2027-02-30"}},
	} {
		for _, text := range test.texts {
			if err := test.into.UnmarshalText([]byte(text)); err == nil {
				t.Errorf("%T accepts %q", test.into, text)
			} else if len(text) > 4 && strings.Contains(err.Error(), "u:p@") {
				t.Errorf("%T repeats the value: %v", test.into, err)
			}
		}
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, begin, end string }{
		{"2027-01-31", "2027-01-31T00:00:00+01:00", "2027-02-01T00:00:00+01:00"},
		{"2027-03-28", "2027-03-28T00:00:00+01:00", "2027-03-29T00:00:00+02:00"},
		{"2027-01-31T22:00", "2027-01-31T22:00:00+01:00", "2027-01-31T22:00:00+01:00"},
		{"2027-01-31 22:00", "2027-01-31T22:00:00+01:00", "2027-01-31T22:00:00+01:00"},
		{"2027-07-31T22:00:30", "2027-07-31T22:00:30+02:00", "2027-07-31T22:00:30+02:00"},
		{"2027-01-31T22:00:00Z", "2027-01-31T23:00:00+01:00", "2027-01-31T23:00:00+01:00"},
		{"2027-01-31T22:00-05:00", "2027-02-01T04:00:00+01:00", "2027-02-01T04:00:00+01:00"},
	} {
		var m Moment
		if err := m.UnmarshalText([]byte(test.text)); err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if b, e := m.Begin(berlin).In(berlin).Format(time.RFC3339), m.End(berlin).In(berlin).Format(time.RFC3339); b != test.begin || e != test.end {
			t.Errorf("%s: got %s to %s", test.text, b, e)
		}
	}
	if (Moment{}).Begin(berlin) != (time.Time{}) || (Moment{}).End(berlin) != (time.Time{}) {
		t.Error("no moment has a time")
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	choices := []string{"concurrency", "rate", "after_dead", "on_unknown"}
	for got, want := range map[string]string{
		"concurency": "concurrency", "concurrncy": "concurrency", "rtae": "rate", "afterdead": "after_dead", "after-dead": "after_dead",
		"On_Unknown": "on_unknown", "colour": "", "": "", strings.Repeat("x", 1000): "",
	} {
		if near := Nearest(got, choices); near != want {
			t.Errorf("%.20s: got %q, want %q", got, near, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a: 1\n", "a: [1, {b: c}]\n", "- a\n", "a: &x 1\nb: *x\n", "? a\n: b\n", "a: |\n  x\n", "<<: {a: 1}\n", "---\n...\n---\n", "%YAML 1.2\n---\na: !!str x\n"} {
		f.Add([]byte(text))
	}
	schema, err := Describe(sample{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, problems := Parse("x.yaml", data)
		if root == nil && len(problems) == 0 {
			t.Fatal("nothing read and no reason given")
		}
		var out sample
		schema.Decode(&out, []Layer{{Origin: "x", Root: root}}, new(Report), Options{})
	})
}

func TestHint(t *testing.T) {
	t.Parallel()
	choices := []string{"plain", "edelivery-1.15", "edelivery-2.0", "peppol", "bdew"}
	for got, want := range map[string]string{
		"edelivery":     "did you mean edelivery-1.15 or edelivery-2.0?",
		"eDelivery-":    "did you mean edelivery-1.15 or edelivery-2.0?",
		"edelivery-2":   "did you mean edelivery-2.0?",
		"edelivery-2.1": "did you mean edelivery-2.0?",
		"pepol":         "did you mean peppol?",
		"acme":          "one of: plain, edelivery-1.15, edelivery-2.0, peppol, bdew",
	} {
		if is := hint(got, choices); is != want {
			t.Errorf("%q: %q, want %q", got, is, want)
		}
	}
}
