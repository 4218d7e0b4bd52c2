package openas2

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOddFiles: what lies in an installation in place of a file neither hangs
// nor fills the memory.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"config.xml", "partnerships.xml", "as2_certs.p12", "config.properties"} {
		for kind, put := range map[string]func(path string) error{
			"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"folder": func(path string) error { return os.Mkdir(path, 0o700) },
			"large": func(path string) error {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					return err
				}
				return os.Truncate(path, maxXML+1)
			},
		} {
			dir := installation(t)
			path := filepath.Join(dir, "config", name)
			_ = os.Remove(path) // config.properties is not there
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			_, err := Read(dir, "")
			if name == "config.properties" { // there need not be one
				if err != nil {
					t.Errorf("%s as %s: %v", name, kind, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s as %s: %v", name, kind, err)
			}
		}
	}
}

// TestHostileNames: names that become the same file are told apart, and what is
// reported is one line of printable text.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	path := filepath.Join(dir, "config", "partnerships.xml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hostile := strings.NewReplacer(
		`name="Fabrikam"`, `name="Northwind DE fallback"`, // keys/northwind-de-fallback.pem is another's
		`name="Contoso"`, `name="openas2/acme"`, // as is keys/openas2-acme.pem
		`x509_alias="missing"`, `x509_alias="contoso"`,
		`name="resend_max_retries" value="3"`, `name="resend_max_retries" value="3$properties.escape$&#10;forged: line&#x9b;31m"`,
	).Replace(string(text))
	if err := os.WriteFile(path, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "config.properties"), []byte("escape=\x1b]0;title\x07\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := Read(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Translate(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, f := range plan.Files {
		if files[f.Path] {
			t.Errorf("%s is written twice", f.Path)
		}
		files[f.Path] = true
	}
	for _, want := range []string{"partners/northwind-de-fallback-2.yaml", "keys/northwind-de-fallback.pem", "keys/openas2-acme.pem"} {
		if !files[want] {
			t.Errorf("no %s in %v", want, files)
		}
	}
	seen := false
	for _, r := range plan.Remarks {
		if strings.ContainsAny(r.About+r.Text, "\x1b\x07\n\u009b") {
			t.Errorf("unprintable: %q", r.About+r.Text)
		}
		seen = seen || strings.Contains(r.Text, "forged: line")
	}
	if !seen {
		t.Error("the hostile value is not told at all")
	}
}
