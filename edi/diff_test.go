package edi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// signs writes a difference as people know it.
func signs(d []DiffLine) []string {
	var all []string
	for _, l := range d {
		switch l.Change {
		case Skipped:
			all = append(all, fmt.Sprintf("@ %d", l.Skipped))
		case Deleted:
			all = append(all, "-"+l.Line.Text)
		case Inserted:
			all = append(all, "+"+l.Line.Text)
		default:
			all = append(all, " "+l.Line.Text)
		}
	}
	return all
}

func TestDiffShowsChangesWithContext(t *testing.T) {
	t.Parallel()
	old := sample(t, "x12-810-invoice.edi")
	edited := strings.Replace(old, "IT1*2*24*EA*7.25", "IT1*2*24*EA*7.50", 1)
	edited = strings.Replace(edited, "ISS*84*CA*612*LB~\n", "", 1)
	edited = strings.Replace(edited, "SE*24*", "SE*23*", 1)
	want := []string{
		"@ 13",
		" DTM*011*20261128~␊",
		" IT1*1*48*EA*12.5**UP*012345678905*VN*AC-1001~␊",
		" PID*F****STAINLESS MIXING BOWL 3 QT~␊",
		"-IT1*2*24*EA*7.25**UP*012345678912*VN*AC-1002~␊",
		"+IT1*2*24*EA*7.50**UP*012345678912*VN*AC-1002~␊",
		" PID*F****SILICONE SPATULA, RED~␊",
		" IT1*3*12*CA*31**UP*012345678929*VN*AC-1003~␊",
		" PID*F****PARCHMENT PAPER 30 FT~␊",
		" TDS*117100~␊",
		" CAD*M****UPSN*UPS GROUND~␊",
		" SAC*C*D240***2500*******06***FREIGHT~␊",
		"-ISS*84*CA*612*LB~␊",
		" CTT*3~␊",
		"-SE*24*0001~␊",
		"+SE*23*0001~␊",
		" GE*1*20931~␊",
		" IEA*1*000020931~␊",
	}
	if diff := cmp.Diff(want, signs(Diff(viewed(t, old), viewed(t, edited)))); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
}

func TestDiffOfTheSameIsEmpty(t *testing.T) {
	t.Parallel()
	v := viewed(t, sample(t, "ubl-invoice.xml"))
	if d := Diff(v, v); len(d) != 0 {
		t.Errorf("%d lines", len(d))
	}
	if d := Diff(View{}, View{}); len(d) != 0 {
		t.Errorf("%d lines of nothing", len(d))
	}
}

// TestDiffSkipsNoSingleLine: a row that says so would take the same room.
func TestDiffSkipsNoSingleLine(t *testing.T) {
	t.Parallel()
	for between, want := range map[int]int{2*context + 1: 0, 2*context + 2: 2} {
		same := strings.Repeat("same\n", between)
		skipped := 0
		for _, l := range Diff(viewed(t, "a\n"+same+"b"), viewed(t, "c\n"+same+"d")) {
			skipped += l.Skipped
		}
		if skipped != want {
			t.Errorf("%d of %d lines are skipped, want %d", skipped, between, want)
		}
	}
}

// TestDiffSeesEveryByteOfSegments: an editor that changes line ends changes
// the document.
func TestDiffSeesEveryByteOfSegments(t *testing.T) {
	t.Parallel()
	old := sample(t, "x12-850-order.edi")
	for name, edited := range map[string]string{
		"line ends": strings.Replace(old, "~\n", "~\r\n", 1), "invisible": strings.Replace(old, "PO", "P\u200bO", 1), "an escape that was typed": strings.Replace(old, "PO", `P\u200bO`, 1),
		"a byte order mark": "\ufeff" + old, "the last line end": strings.TrimRight(old, "\n"), "behind it": old + "\x00",
	} {
		if d := Diff(viewed(t, old), viewed(t, edited)); len(d) == 0 {
			t.Errorf("%s: no difference", name)
		}
	}
	one, other := viewed(t, "a\u200b"), viewed(t, `a\u200b`)
	if d := Diff(one, other); len(d) != 2 {
		t.Errorf("the invisible and its escape differ in %d lines", len(d))
	}
}

// TestDiffRebuildsBothDocuments is the promise that no change is hidden.
func TestDiffRebuildsBothDocuments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 60)
		view := func(name string) (v View) {
			for _, text := range lines.Draw(t, name) {
				v.Lines = append(v.Lines, ViewLine{Text: text})
			}
			return v
		}
		old, edited := view("old"), view("new")
		d := Diff(old, edited)
		if (len(d) == 0) != slices.EqualFunc(old.Lines, edited.Lines, func(a, b ViewLine) bool { return a.Text == b.Text }) {
			t.Fatalf("%d lines of difference", len(d))
		}
		if len(d) == 0 {
			return
		}
		at, to, shown := 0, 0, 0
		for _, l := range d {
			if l.Change != Inserted && l.Old != at || l.Change != Deleted && l.New != to {
				t.Fatalf("%+v stands at %d, %d", l, at, to)
			}
			switch l.Change {
			case Skipped:
				for range l.Skipped {
					if old.Lines[at].Text != edited.Lines[to].Text {
						t.Fatalf("a change at %d, %d is skipped", at, to)
					}
					at, to = at+1, to+1
				}
				continue
			case Same:
				if old.Lines[at].Text != edited.Lines[to].Text || l.Line.Text != edited.Lines[to].Text {
					t.Fatalf("%+v is not the same", l)
				}
				shown++
			case Deleted:
				if l.Line.Text != old.Lines[at].Text {
					t.Fatalf("%+v is not the old line", l)
				}
			case Inserted:
				if l.Line.Text != edited.Lines[to].Text {
					t.Fatalf("%+v is not the new line", l)
				}
			}
			if l.Change != Inserted {
				at++
			}
			if l.Change != Deleted {
				to++
			}
		}
		if at != len(old.Lines) || to != len(edited.Lines) {
			t.Fatalf("ended at %d, %d", at, to)
		}
		if changed := len(d) - shown; shown > (2*context+1)*changed {
			t.Fatalf("%d lines of context for %d", shown, changed)
		}
	})
}

// TestDiffOfStrangersIsBounded would not end with a plain algorithm.
func TestDiffOfStrangersIsBounded(t *testing.T) {
	t.Parallel()
	var old, edited View
	for i := range 200_000 {
		old.Lines = append(old.Lines, ViewLine{Text: fmt.Sprint(i % 7)})
		edited.Lines = append(edited.Lines, ViewLine{Text: fmt.Sprint(i % 11)})
	}
	if d := Diff(old, edited); len(d) == 0 || len(d) > 400_000 {
		t.Errorf("%d lines", len(d))
	}
}
