package demo

import (
	"context"
	"edigw/internal/testfixture"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// addsUp checks a line that claims a sum: "27 documents accepted = 24 delivered + …".
func addsUp(t *testing.T, line string) {
	t.Helper()
	total, terms, found := strings.Cut(line, " = ")
	if !found {
		return
	}
	left := 0
	if number, _, _ := strings.Cut(total, " "); strings.Trim(number, "0123456789") != "" {
		return
	}
	if _, err := fmt.Sscan(total, &left); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	for term := range strings.SplitSeq(terms, " + ") {
		n := 0
		if _, err := fmt.Sscan(term, &n); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		left -= n
	}
	if left != 0 {
		t.Errorf("it does not add up: %s", line)
	}
}

// TestWholeStory builds the real program and lets it play: nothing is lost or
// duplicated, and the last line says so.
func TestWholeStory(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for half a minute")
	}
	t.Parallel()
	compiler := testfixture.Program(t, "go")
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	dir := t.TempDir()
	program := filepath.Join(dir, "edigw")
	if out, err := exec.CommandContext(ctx, compiler, "build", "-o", program, "edigw/cmd/edigw").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, program, "demo", "--for", "1s", "--keep", filepath.Join(dir, "demo")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := regexp.MustCompile(`^demo: delivered=[1-9]\d* dead=[1-9]\d* retried=[1-9]\d* opened=2 alerts=[1-9]\d* replayed=5 lost=0 duplicated=0$`)
	if !last.MatchString(lines[len(lines)-1]) {
		t.Errorf("last line: %s", lines[len(lines)-1])
	}
	first := strings.Split(string(out), "\n──")[0]
	if n := strings.Count(first, "\n") + 1; n > 23 || !regexp.MustCompile(`(?m)^Console  http://127\.0\.0\.1:\d+ +sign in as demo, password \S+$`).MatchString(first) {
		t.Errorf("the first screen has %d lines:\n%s", n, first)
	}
	for _, line := range lines {
		addsUp(t, line)
	}
	for _, want := range []string{
		`documents accepted = `, `dead letters made on the way = `, `The folder stays: EDIGW_CONFIG=\S+/demo/edigw.yaml edigw serve`,
		`\d\d:\d\d:\d\d  northwind-flaky     INV-\d+ retry 2 in 1(\.\d)?s: 503, Retry-After 1s`,
		`mail                \[PAGE\] Contoso down`,
		`slack               `,
		`built anew: `,
		`proseware-as4       INV-\S+ retry 2 in \S+ \S+ closed the connection after everything was sent, without an answer`,
		`proseware-as4       Stopped: partner not answering`,
		`OUT-\d is over, it made no letter`,
		`proseware-as4       \d+ is a dead letter, rejected: EBMS:0010`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("not told: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
