// Package evidencetest lets tests treat an evidence as a stranger does: unpack it,
// and run the commands of its VERIFY.txt.
package evidencetest

import (
	"archive/zip"
	"bytes"
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
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("EDIGW_REQUIRE") == "all" {
				t.Fatalf("%s is missing and EDIGW_REQUIRE=all", program)
			}
			t.Skipf("%s is missing", program)
		}
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
