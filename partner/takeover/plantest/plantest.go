// Package plantest holds plans to what must be true whatever was read, and gives
// the material that they are made of. Nothing of it may leave a test.
package plantest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/internal/conf"
	"edigw/partner"
	"edigw/partner/takeover"
)

// Store is a keystore of test material, with a key acme and a certificate contoso.
// The test's folder is one of partner's.
func Store(t *testing.T) *takeover.Keystore {
	t.Helper()
	k := &takeover.Keystore{}
	if err := k.Read("../openas2/testdata/north/config/as2_certs.p12", "test material", ""); err != nil {
		t.Fatal(err)
	}
	return k
}

// Content is that of a file of a plan; "" if there is none.
func Content(p *takeover.Plan, path string) string {
	for _, f := range p.Files {
		if f.Path == path {
			return string(f.Content)
		}
	}
	return ""
}

// Secretive wants no password of the keystore, nor one that was read, in the report.
func Secretive(t *testing.T, p *takeover.Plan) {
	t.Helper()
	for _, r := range p.Remarks {
		if strings.Contains(r.Text, "test secret") || strings.Contains(r.Text, "test material") {
			t.Errorf("a password is in the report: %s", r.Text)
		}
	}
}

// Loads puts the files of a plan into an installation, where they must have no
// mistakes but for certificates that no keystore holds.
func Loads(t *testing.T, plan *takeover.Plan) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/partners")); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(dir, "as4")
	for _, f := range plan.Files {
		name := filepath.Join(site, f.Path)
		if rest, ok := strings.CutPrefix(f.Path, "partners/"); ok {
			name = filepath.Join(site, "good", rest)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, f.Content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := partner.Load(filepath.Join(site, "edigw.yaml"), time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range plan.Partners {
		p, ok := s.Partner(id)
		if !ok {
			t.Fatalf("no partner %s", id)
		}
		for _, problem := range p.Problems {
			if !strings.HasPrefix(problem.Key, "certificates.") {
				t.Errorf("%s", problem.String())
			}
		}
	}
}

// reporter is what Check tells mistakes to: a *testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check wants paths that lie inside, partner files that are YAML at stage test,
// and a report that is printable.
func Check(t reporter, plan *takeover.Plan) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range plan.Files {
		if seen[f.Path] || strings.Contains(f.Path, "..") || strings.Count(f.Path, "/") != 1 || strings.ContainsAny(f.Path, "\x00\\\n") {
			t.Errorf("a file at %q", f.Path)
		}
		seen[f.Path] = true
		if !strings.HasPrefix(f.Path, "partners/") {
			continue
		}
		tree, problems := conf.Parse(f.Path, f.Content)
		if tree == nil || len(problems) > 0 {
			t.Errorf("%v\n%s", problems, f.Content)
			continue
		}
		if stage, _ := tree.Child("stage"); stage == nil || stage.Text != "test" {
			t.Errorf("stage is not test:\n%s", f.Content)
		}
	}
	for _, r := range plan.Remarks {
		if takeover.Plain(r.About+r.Text) != r.About+r.Text {
			t.Errorf("not printable: %q", r.About+r.Text)
		}
	}
}
