package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"edigw/internal/testfixture"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readPEM gives the content of the first block of a file.
func readPEM(t testing.TB, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return decodePEM(t, text)
}

func decodePEM(t testing.TB, text []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("not PEM: %q", text)
	}
	return block.Bytes
}

func certificate(t testing.TB, der []byte) *x509.Certificate {
	t.Helper()
	c, err := ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func key(t testing.TB, der []byte) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ParsePrivateKey(der)
	if err != nil {
		t.Fatal(err)
	}
	return k.(*ecdsa.PrivateKey)
}

// openssl runs the program in a folder of its own.
type openssl struct {
	t   testing.TB
	dir string
}

func newOpenSSL(t testing.TB) openssl {
	t.Helper()
	testfixture.Program(t, "openssl")
	return openssl{t: t, dir: t.TempDir()}
}

func (o openssl) path(name string) string { return filepath.Join(o.dir, name) }

func (o openssl) write(name string, content []byte) {
	o.t.Helper()
	if err := os.WriteFile(o.path(name), content, 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// run gives what the command prints.
func (o openssl) run(line string) []byte {
	o.t.Helper()
	out, err := o.try(line)
	if err != nil {
		o.t.Fatal(err)
	}
	return out
}

// try is run for a command that may fail.
func (o openssl) try(line string) ([]byte, error) {
	cmd := exec.Command("openssl", strings.Fields(line)...)
	cmd.Dir = o.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("openssl %s: %w\n%s", line, err, &stderr)
	}
	return out, nil
}
