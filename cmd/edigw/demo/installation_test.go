package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/partner"
	"edigw/testdata/partners"
)

// TestSampleFilesHaveNoMistakes: the settings are those that a user could
// write; only the short wait for a receipt is worth a warning.
func TestSampleFilesHaveNoMistakes(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	if len(w.settings.IDs()) != 8 {
		t.Errorf("partners: %v, want eight", w.settings.IDs())
	}
	for _, p := range w.problems {
		if !p.Warning || p.Key != "as2.mdn.wait" {
			t.Errorf("%s", p.String())
		}
	}
}

// TestSampleFilesNameOnlyPortsOfTheBlock, so that a shift moves them all.
func TestSampleFilesNameOnlyPortsOfTheBlock(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	files, err := filepath.Glob(filepath.Join(w.place.dir, "partners", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files: %v, %v", files, err)
	}
	for _, id := range w.settings.IDs() {
		p, _ := w.settings.Partner(id)
		sample, err := partners.Demo.ReadFile("demo/partners/" + id + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if ports := samplePort.FindAll(sample, -1); len(ports) != 1 {
			t.Errorf("%s names the ports %s, want one", id, ports)
		}
		if w.place.shift != 0 && strings.Contains(p.URL(), string(samplePort.Find(sample))) {
			t.Errorf("%s was not moved: %s", id, p.URL())
		}
	}
}

func TestTwoDemosTakeDifferentPorts(t *testing.T) {
	t.Parallel()
	a, heldA, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	defer heldA.Close()
	b, heldB, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	defer heldB.Close()
	if a == b {
		t.Errorf("both took the ports from %d", firstPort+a)
	}
}

func TestInstallLeavesOtherFoldersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := install(dir, 0); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("error: %v, want: not empty", err)
	}
}

// TestNextKeySignsOnceItIsNamed: the edit that the story makes.
func TestNextKeySignsOnceItIsNamed(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	place := installation{dir: t.TempDir()}
	if err := os.CopyFS(place.dir, os.DirFS(w.place.dir)); err != nil {
		t.Fatal(err)
	}
	signer := func() string {
		t.Helper()
		s, problems, err := partner.Load(place.config(), time.Now())
		if err != nil {
			t.Fatalf("%v: %v", err, problems)
		}
		a, err := s.Agreement(signaturePartner, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return a.SigningCertificate.Subject.CommonName
	}
	before := signer()
	if err := place.useNextKey(); err != nil {
		t.Fatal(err)
	}
	if after := signer(); before != "ACME-AS2" || after != "ACME-AS2 next" {
		t.Errorf("signed by %q, then by %q", before, after)
	}
	if err := place.useNextKey(); err == nil {
		t.Error("a second time: no error")
	}
}
