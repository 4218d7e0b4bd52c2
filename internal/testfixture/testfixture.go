// Package testfixture reads the foreign captures that tests hold us to. They are
// not kept in the repository: EDIGW_FIXTURES names their folder.
package testfixture

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Missing ends a test for which something is not there: skipped, or failed where
// EDIGW_REQUIRE=all.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("EDIGW_REQUIRE") == "all" {
		tb.Fatalf("%s is missing and EDIGW_REQUIRE=all", what)
	}
	tb.Skipf("%s is missing", what)
}

// Program is where one lies; it ends a test that needs one that is not there.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(tb, name)
	}
	return path
}

// Path is where a capture lies.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	dir := os.Getenv("EDIGW_FIXTURES")
	if dir == "" {
		Missing(tb, "EDIGW_FIXTURES")
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// Foreign reads a capture.
func Foreign(tb testing.TB, elem ...string) []byte {
	tb.Helper()
	return Read(tb, Path(tb, elem...))
}

// Read reads any file.
func Read(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Table reads values between tabs below a line of their names.
func Table(tb testing.TB, name string) (rows []map[string]string) {
	tb.Helper()
	lines := strings.Split(strings.TrimSpace(string(Read(tb, name))), "\n")
	columns := strings.Split(strings.TrimRight(lines[0], "\r"), "\t")
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, v := range strings.Split(strings.TrimRight(line, "\r"), "\t") {
			row[columns[i]] = v
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		tb.Fatalf("%s has no rows", name)
	}
	return rows
}

// PEM is the first block of a file.
func PEM(tb testing.TB, name string) *pem.Block {
	tb.Helper()
	block, _ := pem.Decode(Read(tb, name))
	if block == nil {
		tb.Fatalf("%s: no PEM", name)
	}
	return block
}

// Certificate is the one of a PEM file.
func Certificate(tb testing.TB, name string) *x509.Certificate {
	tb.Helper()
	c, err := x509.ParseCertificate(PEM(tb, name).Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Request reads one as it was on the wire.
func Request(tb testing.TB, raw []byte) *http.Request {
	tb.Helper()
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		tb.Fatal(err)
	}
	return req
}

// Response reads one as it was on the wire.
func Response(tb testing.TB, raw []byte) *http.Response {
	tb.Helper()
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return res
}
