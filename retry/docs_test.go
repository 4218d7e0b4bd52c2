package retry

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"edigw/fault"

	"github.com/google/go-cmp/cmp"
)

// row is what docs/errors.md and the table both say.
type row struct {
	ID, Outcome, Class, Signal, Reason string
	Uncertain, Once, Defect            bool
	Lane, Proof                        string
}

var (
	docRow   = regexp.MustCompile(`(?m)^\| <a id="([^"]+)"></a>(\S+) \| (.+) \| (\S+) \| (\S+) \| (\S+) \| (.+) \|$`)
	docLane  = regexp.MustCompile("`hold_after` as `([^`]+)`")
	docProof = regexp.MustCompile("proof `([^`]+)`")
)

func errorsPage(t *testing.T) string {
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func first(groups []string) string {
	if len(groups) < 2 {
		return ""
	}
	return groups[1]
}

func TestDocsEqualTheTable(t *testing.T) {
	t.Parallel()
	var docs, data []row
	for _, m := range docRow.FindAllStringSubmatch(errorsPage(t), -1) {
		if m[1] != m[2] {
			t.Errorf("anchor %s on row %s", m[1], m[2])
		}
		then := m[7]
		docs = append(docs, row{
			ID: m[2], Outcome: m[3], Class: m[4], Signal: m[5], Reason: strings.Trim(m[6], "–"),
			Uncertain: strings.Contains(then, "*uncertain*"),
			Once:      strings.Contains(then, "once in a round; the second one makes the letter"),
			Defect:    strings.Contains(then, "defect of edigw"),
			Lane:      first(docLane.FindStringSubmatch(then)),
			Proof:     first(docProof.FindStringSubmatch(then)),
		})
	}
	for _, r := range table {
		data = append(data, row{
			ID: r.id, Outcome: r.outcome, Class: string(r.class), Signal: string(r.signal), Reason: string(r.reason),
			Uncertain: r.uncertain, Once: r.once, Defect: r.defect, Lane: r.lane, Proof: r.proof,
		})
	}
	if diff := cmp.Diff(data, docs); diff != "" {
		t.Errorf("docs/errors.md differs from the table (-table +docs):\n%s", diff)
	}
}

func TestDocsHaveEveryReason(t *testing.T) {
	t.Parallel()
	_, letters, _ := strings.Cut(errorsPage(t), `<a id="letters"></a>`)
	letters, _, _ = strings.Cut(letters, `<a id="problems"></a>`)
	sections := strings.Split(letters, "\n### ")[1:]
	var documented []fault.Reason
	for _, s := range sections {
		reason, text, _ := strings.Cut(s, "\n")
		documented = append(documented, fault.Reason(reason))
		at := 0
		for _, label := range []string{"Shown as: *", "**What happened.** ", "**What it usually is.** ", "**Do this.** ", "**Who to call.** "} {
			i := strings.Index(text[at:], label)
			if i < 0 {
				t.Errorf("%s: %q is missing or out of place", reason, label)
				break
			}
			at += i
		}
		if !strings.Contains(text[at:], "`owner`") {
			t.Errorf("%s: does not say whom to call at the partner's", reason)
		}
	}
	if diff := cmp.Diff(fault.Reasons, documented); diff != "" {
		t.Errorf("reasons (-known +documented):\n%s", diff)
	}
}

func TestEveryClassHasARow(t *testing.T) {
	t.Parallel()
	used := map[Class]bool{}
	for _, r := range table {
		used[r.class] = true
	}
	for _, c := range Classes {
		if !used[c] {
			t.Errorf("class %s: no row", c)
		}
	}
}
