// Package testpage holds tables of docs/, and files of testdata, to what a test
// found out, so that none says what is no longer so. Nothing of it may leave a
// test.
package testpage

import (
	"errors"
	"github.com/google/go-cmp/cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Table fails the test unless the page holds the table between its two marks,
// which name says, and command is how it is written anew. With update it is
// written.
func Table(tb testing.TB, page, name, command, table string, update bool) {
	tb.Helper()
	begin := "<!-- " + name + ": begin; written by " + command + " -->\n"
	end := "<!-- " + name + ": end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), begin)
	old, after, ended := strings.Cut(rest, end)
	switch {
	case !begun || !ended:
		tb.Fatalf("%s lacks the lines around the table:\n%s%s", page, begin, end)
	case old == table:
	case !update:
		tb.Fatalf("%s does not hold this table; write it with %s:\n%s", page, command, table)
	default:
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// Row is a line of a Markdown table.
func Row(cells ...string) string {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", "\\|")
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// File fails the test unless a file holds got. With update it is written.
func File(tb testing.TB, name, got string, update bool) {
	tb.Helper()
	if update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(got), 0o644)); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
