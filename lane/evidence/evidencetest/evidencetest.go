// Package evidencetest lets tests treat an evidence as a stranger does: unpack it,
// and run the commands of its VERIFY.txt.
package evidencetest

import (
	"archive/zip"
	"bytes"
	"edigw/internal/testfixture"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Unzip unpacks what write writes into a new folder.
func Unzip(t *testing.T, write func(io.Writer) error) (dir string, names []string) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return dir, names
}

// Read reads a file.
func Read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Tells holds an evidence that lacks something to what it says of that: README.txt
// names it, these files are not there, and what every evidence has is.
func Tells(t *testing.T, dir string, names []string, says string, absent []string) {
	t.Helper()
	if readme := Read(t, dir, "README.txt"); !strings.Contains(readme, says) {
		t.Errorf("README.txt does not say %q:\n%s", says, readme)
	}
	for _, name := range absent {
		if slices.Contains(names, name) {
			t.Errorf("%s is there", name)
		}
	}
	for _, name := range []string{"README.txt", "VERIFY.txt", "settings.txt"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not there", name)
		}
	}
}

// Commands are those of VERIFY.txt, as a stranger would copy them.
func Commands(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(Read(t, dir, "VERIFY.txt")) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			out = append(out, strings.TrimSpace(command))
		}
	}
	return out
}

// Failing runs the commands in a shell and gives those that fail. It needs these
// programs besides sh; without one the test is skipped, or fails where
// EDIGW_REQUIRE=all.
func Failing(t *testing.T, dir string, programs ...string) (failed []string) {
	t.Helper()
	for _, program := range append(programs, "sh") {
		testfixture.Program(t, program)
	}
	for _, command := range Commands(t, dir) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		if err := cmd.Run(); err != nil {
			failed = append(failed, command)
		}
	}
	return failed
}

// Flip changes one bit of a file; at counts from its end if it is negative.
func Flip(t *testing.T, name string, at int) {
	t.Helper()
	b := []byte(Read(t, name))
	b[(at+len(b))%len(b)] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
