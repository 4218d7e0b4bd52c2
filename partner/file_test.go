package partner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edigw/internal/conf"
	"edigw/internal/testpage"
)

func TestGoodFilesHaveNoMistakes(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	want := `good/setup.yaml:1: warning: certificates.encrypt: missing: as2.encrypt is aes256-cbc (a file with the partner's certificate, or as2.encrypt: none)
good/setup.yaml:1: warning: certificates.verify: missing: receipts must be signed (a file with the partner's certificate, or as2.mdn.signed: false)
`
	if diff := cmp.Diff(want, lines(s.Problems())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	for _, id := range s.IDs() {
		if p, _ := s.Partner(id); p.Misconfigured || p.Stale {
			t.Errorf("%s is misconfigured: %s", id, lines(p.Problems))
		}
	}
}

func TestEveryMistakeHasItsMessage(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	files, err := filepath.Glob(filepath.Join(samples, "bad", "*.yaml"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d bad files, %v", len(files), err)
	}
	l, err := newLoader(filepath.Join(dir, "edigw.yaml"), today)
	if err != nil {
		t.Fatal(err)
	}
	if problems, ok := l.loadGateway(); !ok {
		t.Fatal(lines(problems))
	}
	l.gateway.Defaults.Node, l.below.defaults.Root = nil, nil
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := l.build(name, "bad/"+name+".yaml", text)
			if len(p.Problems) == 0 {
				t.Fatal("no problem found")
			}
			testpage.File(t, strings.TrimSuffix(file, ".yaml")+".want", lines(p.Problems), *update)
		})
	}
}

func TestEveryGatewayMistakeHasItsMessage(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	files, err := filepath.Glob(filepath.Join(samples, "bad-gateway", "*.yaml"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d bad files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			l, err := newLoader(filepath.Join(dir, "bad-gateway", name+".yaml"), today)
			if err != nil {
				t.Fatal(err)
			}
			problems, _ := l.loadGateway()
			if len(problems) == 0 {
				t.Fatal("no problem found")
			}
			testpage.File(t, strings.TrimSuffix(file, ".yaml")+".want", lines(problems), *update)
		})
	}
}

func FuzzPartnerFile(f *testing.F) {
	for _, pattern := range []string{"good", "bad", "as4/good"} {
		files, err := filepath.Glob(filepath.Join(samples, pattern, "*.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	l, err := newLoader(filepath.Join(samples, "edigw.yaml"), today)
	if err != nil {
		f.Fatal(err)
	}
	if problems, ok := l.loadGateway(); !ok {
		f.Fatal(lines(problems))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := l.build("fuzz", "fuzz.yaml", text)
		if p.Misconfigured != (&conf.Report{Problems: p.Problems}).Failed() {
			t.Fatal("a partner with mistakes is not misconfigured")
		}
		p.effective("fuzz.yaml")
		p.Lane.Calendar.Open(today)
		p.Schedule()
	})
}
