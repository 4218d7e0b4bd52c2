package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rival is a pair of foreign products that did the work of B1 or B7.
type rival struct {
	name string
	pace
}

// TestFigureForeign and TestFigureForeignAS4 of interop say a pair, its rate and what each end used.
var rivalLine = regexp.MustCompile(`: (\S.* → .*): ([\d.]+) messages/s, CPU ([\d.]+) \+ ([\d.]+) ms a message`)

// rivals has foreign products do the same work on the same machine now, if they
// are asked for: none where EDIGW_INTEROP is not 1. test names it in interop, and
// document is what they may send.
func rivals(t *testing.T, test string, document []byte) (all []rival) {
	t.Helper()
	if !full() || os.Getenv("EDIGW_INTEROP") != "1" {
		return nil
	}
	file := filepath.Join(t.TempDir(), "document.x12")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-timeout", "60m", "-run", test, "./interop")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "EDIGW_FIGURES_DOCUMENT="+file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("foreign products did not do the work: %v\n%s", err, out)
	}
	if all = readRivals(string(out)); len(all) == 0 {
		t.Logf("no foreign product was measured:\n%s", out)
	}
	return all
}

// readRivals finds what was measured.
func readRivals(text string) (all []rival) {
	for _, m := range rivalLine.FindAllStringSubmatch(text, -1) {
		var v [3]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(m[i+2], 64) // digits and points
		}
		all = append(all, rival{m[1], pace{v[0], time.Duration((v[1] + v[2]) * float64(time.Millisecond))}})
	}
	return all
}

// rivalRows shows ours beside each pair and the fastest.
func rivalRows(ours pace, all []rival) string {
	if len(all) == 0 {
		return ""
	}
	fastest := all[0].pace
	rows := []string{"\n\nforeign products, the same work                 messages/s   CPU a message   × slower than edigw   × by CPU"}
	for _, r := range all {
		fastest = fastest.better(r.pace)
		rows = append(rows, fmt.Sprintf("%-48s %9.1f %12.2f ms %21.1f %10.1f", r.name, r.rate, 1000*r.cpu.Seconds(), ours.rate/r.rate, r.cpu.Seconds()/ours.cpu.Seconds()))
	}
	return strings.Join(append(rows, fmt.Sprintf("× fastest foreign pair: %.1f (bar 5)", ours.rate/fastest.rate)), "\n")
}

func TestRivalsAreRead(t *testing.T) {
	got := readRivals("=== RUN x\n    load_test.go:166: as2-lib 6.4.1 → OpenAS2 4.7.0, 8 sender(s): 92.5 messages/s, CPU 6.1 + 4.4 ms a message\n--- PASS: x\n")
	want := rival{"as2-lib 6.4.1 → OpenAS2 4.7.0, 8 sender(s)", pace{92.5, 10500 * time.Microsecond}}
	if len(got) != 1 || got[0] != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
}
