package conf

import (
	"strings"
	"testing"
)

func TestLinesOfAFileWithCRLF(t *testing.T) {
	t.Parallel()
	root, problems := Parse("a.yaml", []byte(strings.ReplaceAll("a: 1\nb:\n  c: 2\nd: 3\n", "\n", "\r\n")))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := root.LineOf("d"); got != 4 {
		t.Errorf("d stands on line %d, want 4", got)
	}
}
