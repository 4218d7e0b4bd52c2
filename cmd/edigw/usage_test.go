package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestEveryCommandShowsAnExample walks the whole command line.
func TestEveryCommandShowsAnExample(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(new(commands))
	if err != nil {
		t.Fatal(err)
	}
	leaves := 0
	for _, leaf := range parser.Model.Leaves(false) {
		leaves++
		args := append(strings.Fields(leaf.FullPath())[1:], "--help")
		var out, errs bytes.Buffer
		if code := run(context.Background(), args, nil, &out, &errs); code != exitFine || !strings.Contains(out.String(), "\nExample") {
			t.Errorf("edigw %s: exit code %d and no example:\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
		}
	}
	if leaves < 30 {
		t.Errorf("only %d commands were found", leaves)
	}
}

// TestWrongUseNamesTheCommand: the hint leads to the help of the command that
// was meant.
func TestWrongUseNamesTheCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, hint string }{
		{"dlq settle x", "see edigw dlq settle --help"},
		{"dlq", "see edigw dlq --help"},
		{"send myself", "see edigw send --help"},
		{"nonsense", "see edigw --help"},
		{"version --colour", "see edigw version --help"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), strings.Fields(test.args), nil, &out, &errs)
		if code != exitUse || !strings.Contains(errs.String(), test.hint) {
			t.Errorf("edigw %s: exit code %d, %s; want %d and %q", test.args, code, errs.String(), exitUse, test.hint)
		}
	}
}
