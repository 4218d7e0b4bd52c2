package partner

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"
)

// period is a term from one day after today to the end of another.
func period(serial string, from, to int, until bool) term {
	t := term{leaf: &leaf{sum: sha256.Sum256([]byte(serial)), serial: serial, begin: today.AddDate(-1, 0, 0), end: today.AddDate(0, 0, to)},
		file: "keys/" + serial + ".pem", from: today.AddDate(0, 0, from)}
	if until {
		t.end, t.until = today.AddDate(9, 0, 0), today.AddDate(0, 0, to)
	}
	return t
}

func TestFlawsOfHowCertificatesFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		use   string
		terms []term
		want  []string // what each flaw says
	}{
		{"one", UseEncrypt, []term{period("A", -30, 30, false)}, nil},
		{"an overlap", UseEncrypt, []term{period("A", -30, 30, false), period("B", 20, 90, false)}, nil},
		{"without a second between them", UseEncrypt, []term{period("A", -30, 30, true), period("B", 30, 90, false)}, nil},
		{"twice", UseVerify, []term{period("A", -30, 30, false), period("A", 0, 30, false)}, []string{"serial A is listed twice: in keys/A.pem, 2026-11-01 to"}},
		{"twice, one after the other", UseVerify, []term{period("A", -30, 10, true), period("A", 10, 30, false)}, nil},
		{"twice, long ago", UseVerify, []term{period("A", -300, -30, false), period("A", -200, -30, false)}, nil},
		{"a gap", UseVerify, []term{period("A", -30, 30, false), period("B", 40, 90, false)},
			[]string{"none is in force from 2026-12-31 12:00 UTC to 2027-01-10 12:00 UTC: serial A in keys/A.pem ends, serial B in keys/B.pem begins later"}},
		{"two gaps, in any order", UseSign, []term{period("C", 90, 120, false), period("A", -30, 30, false), period("B", 40, 80, false)}, []string{"serial A", "serial C in keys/C.pem begins later"}},
		{"a gap that a third one fills", UseVerify, []term{period("A", -30, 30, false), period("B", 40, 90, false), period("C", -30, 90, false)}, nil},
		{"a gap that is over", UseVerify, []term{period("A", -90, -60, false), period("B", -30, 90, false)}, nil},
		{"we are in the gap", UseVerify, []term{period("A", -90, -60, false), period("B", 30, 90, false)}, []string{"serial B in keys/B.pem begins later"}},
		{"the next ends first", UseEncrypt, []term{period("A", -30, 90, false), period("B", 10, 50, false)},
			[]string{"serial B in keys/B.pem, 2026-12-11 to 2027-01-20, ends before serial A in keys/A.pem, 2026-11-01 to 2027-03-01, which it follows"}},
		{"the next ends first, on purpose", UseEncrypt, []term{period("A", -30, 90, false), period("B", 10, 50, true)}, nil},
		{"the next ended", UseEncrypt, []term{period("A", -30, 90, false), period("B", -20, -10, false)}, nil},
		{"authorities beside each other", UseTLSTrust, []term{period("A", -30, 90, false), period("B", 10, 50, false)}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := flaws(test.use, test.terms, today)
			if len(got) != len(test.want) {
				t.Fatalf("%d flaws, want %d: %q", len(got), len(test.want), got)
			}
			for i, f := range got {
				if !strings.Contains(f.reason, test.want[i]) || f.hint == "" {
					t.Errorf("%q (%s), want %q", f.reason, f.hint, test.want[i])
				}
			}
		})
	}
}

// TestWhatFollowsACertificate: a successor takes over before the end; one that
// was there before is none, and one that comes late is named with its day.
func TestWhatFollowsACertificate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		others          []term
		successor, late string
		covered         bool
	}{
		{"nothing", nil, "", "", false},
		{"in time", []term{period("B", 20, 90, false), period("C", 10, 90, false)}, "C", "", true},
		{"in the same instant", []term{period("B", 30, 90, false)}, "B", "", true},
		{"late", []term{period("B", 40, 90, false)}, "", "B", false},
		{"ends before", []term{period("B", 10, 25, false)}, "", "", false},
		{"there before", []term{period("B", -90, 90, false)}, "", "", true},
		{"the same again", []term{period("A", 10, 90, false)}, "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := period("A", -30, 30, true)
			got := infos("x", UseEncrypt, append([]term{a}, test.others...), today)[0]
			if got.Successor != test.successor || got.Late != test.late || got.Covered != test.covered {
				t.Errorf("successor %q, late %q, covered %t", got.Successor, got.Late, got.Covered)
			}
			if test.late != "" && !got.LateBegin.Equal(today.AddDate(0, 0, 40)) {
				t.Errorf("begins %s", got.LateBegin.Format(time.RFC3339))
			}
		})
	}
}
