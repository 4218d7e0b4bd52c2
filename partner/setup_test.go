package partner

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write .want files and reference pages anew")

const samples = "../testdata/partners"

// today is the day on which these tests run, whatever the clock says.
var today = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// installation is a copy of the samples that a test may change; secrets have
// the mode that a checkout does not keep.
func installation(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	secrets, err := filepath.Glob(filepath.Join(dir, "secrets", "*"))
	if err != nil || len(secrets) == 0 {
		t.Fatal("no secrets among the samples", err)
	}
	for _, s := range secrets {
		if err := os.Chmod(s, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mustLoad loads an installation that has no mistakes.
func mustLoad(t testing.TB, dir string) *Snapshot {
	t.Helper()
	s, problems, err := Load(filepath.Join(dir, "edigw.yaml"), today)
	if err != nil {
		t.Fatalf("load: %v\n%s", err, lines(problems))
	}
	return s
}

func lines(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// edit replaces text in a file of an installation.
func edit(t testing.TB, path, from, to string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), from) {
		t.Fatalf("%s does not hold %q", path, from)
	}
	write(t, path, strings.Replace(string(data), from, to, 1))
}
