package domibus

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/internal/testpage"
	"edigw/partner/takeover"
	"edigw/partner/takeover/plantest"
)

var update = flag.Bool("update", false, "write the partner files of testdata/want anew")

const pmode = "testdata/pmode.xml"

func translated(t *testing.T, o takeover.Options) *takeover.Plan {
	t.Helper()
	c, err := Read(pmode)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Translate(c, plantest.Store(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func acme() ebms.PartyID {
	return ebms.PartyID{Value: "9990098765432", Type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	plan := translated(t, takeover.Options{Party: acme(), Taken: []string{"contoso"}})
	want := []string{"contoso-2", "contoso-invoices", "tailspin", "northwind"}
	if !slices.Equal(plan.Partners, want) {
		t.Fatalf("partners %q, want %q", plan.Partners, want)
	}
	plantest.Secretive(t, plan)
	for _, id := range plan.Partners {
		testpage.File(t, filepath.Join("testdata", "want", id+".yaml"), plantest.Content(plan, "partners/"+id+".yaml"), *update)
	}
	if got := plantest.Content(plan, "keys/contoso-2.pem"); strings.Count(got, "-----BEGIN CERTIFICATE") != 1 {
		t.Errorf("their certificate is %.60q…", got)
	}
	var report []string
	for _, r := range plan.Remarks {
		report = append(report, strings.TrimSpace(map[bool]string{true: "lost ", false: "note "}[r.Lost]+r.Partner+" "+r.About+": "+r.Text))
	}
	testpage.File(t, "testdata/want/report.txt", strings.Join(report, "\n")+"\n", *update)
}

// TestWhatIsWrittenHasNoMistakes but for certificates that no keystore holds.
func TestWhatIsWrittenHasNoMistakes(t *testing.T) {
	t.Parallel()
	plantest.Loads(t, translated(t, takeover.Options{Party: acme()}))
}

func TestWhoWeAre(t *testing.T) {
	t.Parallel()
	c, err := Read(pmode)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]takeover.Options{"as it says": {}, "by its name": {Us: "ACME_GW"}, "by our id": {Party: acme()}, "by an id": {Us: "9990098765432"}} {
		plan, err := Translate(c, plantest.Store(t), o)
		if err != nil || len(plan.Partners) != 4 {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan, err := Translate(c, plantest.Store(t), takeover.Options{Us: "tailspin", Party: acme()})
	if err != nil || len(plan.Partners) != 2 || !strings.Contains(plantest.Content(plan, "partners/"+plan.Partners[0]+".yaml"), `from: {party: "urn:example:tailspin"`) {
		t.Errorf("as Tailspin: %v", err)
	}
	if _, err := Translate(c, plantest.Store(t), takeover.Options{Us: "NOBODY"}); err == nil || !strings.Contains(err.Error(), `"NOBODY"`) || !strings.Contains(err.Error(), "acme_gw, contoso") {
		t.Errorf("unknown: %v", err)
	}
	c.Party = "somebody"
	if _, err := Translate(c, plantest.Store(t), takeover.Options{}); err == nil || !strings.Contains(err.Error(), "--us") {
		t.Errorf("nobody: %v", err)
	}
	known := func(*ebms.UserMessage) string { return "here" }
	if _, err := Translate(c, plantest.Store(t), takeover.Options{Party: acme(), Known: known}); err == nil || !strings.Contains(err.Error(), "here already: urn:example:contoso is here") {
		t.Errorf("known: %v", err)
	}
}

// TestManyPartiesAndLegsAreBounded: what a small file can blow up to.
func TestManyPartiesAndLegsAreBounded(t *testing.T) {
	t.Parallel()
	c, err := Read(pmode)
	if err != nil {
		t.Fatal(err)
	}
	p := c.Processes[0]
	for len(p.Legs) < 200 {
		p.Legs = append(p.Legs, p.Legs[0])
	}
	for len(p.Responders) < 200 {
		p.Responders = append(p.Responders, "contoso")
	}
	c.Processes = []Process{p}
	if _, err := Translate(c, plantest.Store(t), takeover.Options{}); err == nil || !strings.Contains(err.Error(), "more than 20000 kinds") {
		t.Errorf("%v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"other.xml":   {"<PMode/>", "no P-Mode configuration of Domibus"},
		"empty.xml":   {"<configuration><businessProcesses/></configuration>", "no process"},
		"none.xml":    {"<configuration/>", "0 businessProcesses"},
		"cut-off.xml": {"<configuration><mpcs>", "well-formed"},
		"entity.xml":  {`<!DOCTYPE p [<!ENTITY e SYSTEM "file:///etc/passwd">]><configuration>&e;</configuration>`, "document type"},
		"deep.xml":    {"<configuration>" + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + "</configuration>", "limit"},
		"large.xml":   {strings.Repeat(" ", maxDocument+1), "larger than"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file that is not there")
	}
}

// FuzzTranslate: whatever stands in a configuration, a partner file is YAML that
// says what was meant, and its path is inside.
func FuzzTranslate(f *testing.F) {
	text, err := os.ReadFile(pmode)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 32<<10 {
			return
		}
		c, err := parse([]byte(text))
		if err != nil {
			return
		}
		plan, err := Translate(c, &takeover.Keystore{}, takeover.Options{})
		if err != nil {
			return
		}
		plantest.Check(t, plan)
	})
}
