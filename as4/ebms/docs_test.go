package ebms

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var docRow = regexp.MustCompile(`(?m)^\| <a id="([^"]+)"></a>(\S+) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+) \|$`)

// TestDocsEqualTheTable: the page for operators and the table that the program
// goes by say the same of each code, in the same order.
func TestDocsEqualTheTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/as4-errors.md")
	if err != nil {
		t.Fatal(err)
	}
	var docs []Code
	for _, m := range docRow.FindAllStringSubmatch(string(page), -1) {
		if m[1] != strings.ToLower(strings.ReplaceAll(m[2], ":", "-")) {
			t.Errorf("anchor %s on %s", m[1], m[2])
		}
		docs = append(docs, Code{Code: m[2], Name: m[3], Severity: Severity(m[4]), Category: m[5], Origin: m[6], Meaning: m[7], Remedy: m[8]})
	}
	if diff := cmp.Diff(Codes, docs); diff != "" {
		t.Errorf("docs/as4-errors.md differs from the table (-table +docs):\n%s", diff)
	}
	if n := strings.Count(string(page), `<a id="ebms-`); n != len(docs) {
		t.Errorf("%d rows of the page, %d were read", n, len(docs))
	}
}

// TestCodesAreWhole: each code once, in order, and told in whole sentences.
func TestCodesAreWhole(t *testing.T) {
	t.Parallel()
	last := ""
	for _, c := range Codes {
		if c.Code <= last || !strings.HasPrefix(c.Code, "EBMS:") || len(c.Code) != 9 {
			t.Errorf("%s follows %s", c.Code, last)
		}
		last = c.Code
		if got, ok := LookupCode(strings.ToLower(c.Code)); !ok || got != c {
			t.Errorf("%s is not found", c.Code)
		}
		for _, text := range []string{c.Meaning, c.Remedy} {
			if !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %q", c.Code, text)
			}
		}
		if c.Severity != Failure && c.Severity != Warning || c.Name == "" || c.Category == "" || c.Origin == "" {
			t.Errorf("%+v", c)
		}
		if NewError(c.Code, "", "").Severity != c.Severity {
			t.Errorf("%s: NewError says otherwise", c.Code)
		}
	}
}
