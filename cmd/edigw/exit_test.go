package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// leastArgs is what each command needs at least, besides its name. Commands
// that need an installation are those that are not in needNone.
var leastArgs = map[string]string{
	"init": "DIR", "send": "myself FILE", "backup": "b.tar", "restore": "FILE",
	"dlq show": "x", "dlq replay": "x", "dlq recheck": "x -y", "dlq process": "x -y", "dlq settle": "x --note n -y", "dlq discard": "x --why w -y",
	"message show": "x", "message trace": "x", "message evidence": "x -o DIR/e.zip", "message cancel": "x --why w", "message again": "x --why w --confirm k",
	"partner show": "x", "partner new": "x", "partner import openas2": "DIR", "partner import holodeck": "FILE", "partner import domibus": "FILE", "partner test": "x", "partner stop": "x --reason r", "partner start": "x",
	"breaker trip": "x -y", "breaker reset": "x -y",
	"cert new": "X --out DIR/x.pem", "cert import": "x CERT",
	"user add": "kim --role viewer --password-file FILE", "user passwd": "kim --password-file FILE", "user remove": "kim",
	"token new": "x --scope read", "token revoke": "x",
}

var needNone = map[string]bool{"init": true, "demo": true, "version": true, "cert new": true}

// TestExitCodesOfEveryCommand: 2 for what it does not know and for what it
// lacks, 1 without an installation. That each ends with 0 and prints one JSON
// value is in testdata/script/json.txtar, which TestEveryCommandIsAskedForJSON
// holds complete; 3 is in the scripts of the commands that have it.
func TestExitCodesOfEveryCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, cert := filepath.Join(dir, "file"), filepath.Join(dir, "cert.crt")
	if err := os.WriteFile(file, []byte("correct horse battery"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := exitOf("cert new X --out " + filepath.Join(dir, "cert.pem")); code != exitFine {
		t.Fatal(errs)
	}
	fill := strings.NewReplacer("FILE", file, "CERT", cert, "DIR", dir)
	for _, leaf := range leaves(t) {
		if code, out, errs := exitOf(leaf + " --colour"); code != exitUse || out != "" || !strings.Contains(errs, "--help") {
			t.Errorf("%s --colour: exit code %d\n%s%s", leaf, code, out, errs)
		}
		least, needs := leastArgs[leaf]
		if needs {
			if code, _, errs := exitOf(leaf); code != exitUse || !strings.HasPrefix(errs, "edigw: ") {
				t.Errorf("%s without arguments: exit code %d, %s", leaf, code, errs)
			}
		}
		if needNone[leaf] {
			continue
		}
		line := leaf + " " + fill.Replace(least) + " --config " + filepath.Join(dir, "none.yaml")
		for _, machine := range []string{"", " --json"} {
			code, out, errs := exitOf(line + machine)
			if code != exitFailed || out != "" || !strings.Contains(errs, "no settings at ") {
				t.Errorf("%s%s without an installation: exit code %d\n%s%s", leaf, machine, code, out, errs)
			}
		}
	}
}

// TestEveryCommandIsAskedForJSON: a command that is added must be in the script.
func TestEveryCommandIsAskedForJSON(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("testdata/script/json.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range leaves(t) {
		if leaf == "serve" || leaf == "demo" {
			continue // they tell as long as they run
		}
		if !strings.Contains(string(script), "isjson edigw "+leaf+"\n") && !strings.Contains(string(script), "isjson edigw "+leaf+" ") {
			t.Errorf("json.txtar does not ask edigw %s", leaf)
		}
	}
}

// leaves are the commands by their names.
func leaves(t *testing.T) (names []string) {
	t.Helper()
	parser, err := kong.New(new(commands))
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		var words []string
		for _, w := range strings.Fields(leaf.FullPath())[1:] {
			if !strings.HasPrefix(w, "<") && !strings.HasPrefix(w, "[") && !strings.HasPrefix(w, "-") {
				words = append(words, w)
			}
		}
		names = append(names, strings.Join(words, " "))
	}
	return names
}

func exitOf(line string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(context.Background(), strings.Fields(line), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}
