package holodeck

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

const (
	pmodes = "testdata/north/pmodes"
	gln    = "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"
)

func translated(t *testing.T, o takeover.Options) *takeover.Plan {
	t.Helper()
	all, err := Read(pmodes)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Translate(pmodes, all, plantest.Store(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func acme() ebms.PartyID { return ebms.PartyID{Value: "9990098765432", Type: gln} }

func TestTranslate(t *testing.T) {
	t.Parallel()
	plan := translated(t, takeover.Options{Party: acme(), Taken: []string{"fabrikam"}})
	want := []string{"urn-example-contoso", "urn-example-contoso-invoices", "urn-example-fabrikam", "urn-example-tailspin"}
	if !slices.Equal(plan.Partners, want) {
		t.Fatalf("partners %q, want %q", plan.Partners, want)
	}
	plantest.Secretive(t, plan)
	for _, id := range plan.Partners {
		testpage.File(t, filepath.Join("testdata", "want", id+".yaml"), plantest.Content(plan, "partners/"+id+".yaml"), *update)
	}
	if got := plantest.Content(plan, "secrets/urn-example-fabrikam-pull"); got != "test secret\n" {
		t.Errorf("secret %q", got)
	}
	if key := plantest.Content(plan, "keys/holodeck-b2b-acme.pem"); strings.Count(key, "-----BEGIN") != 2 || !strings.HasPrefix(key, "-----BEGIN PRIVATE KEY") {
		t.Errorf("our key is %.60q…", key)
	}
	if got := plantest.Content(plan, "keys/urn-example-contoso.pem"); strings.Count(got, "-----BEGIN CERTIFICATE") != 1 {
		t.Errorf("their certificate is %.60q…", got)
	}
	var lost []string
	for _, r := range plan.Remarks {
		if r.Lost {
			lost = append(lost, strings.TrimSpace(r.Partner+" "+r.About+": "+r.Text))
		}
	}
	testpage.File(t, "testdata/want/lost.txt", strings.Join(lost, "\n")+"\n", *update)
}

// TestWhatIsWrittenHasNoMistakes but for certificates that no keystore holds.
func TestWhatIsWrittenHasNoMistakes(t *testing.T) {
	t.Parallel()
	plantest.Loads(t, translated(t, takeover.Options{Party: acme()}))
}

func TestWhoWeAre(t *testing.T) {
	t.Parallel()
	all, err := Read(pmodes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Translate("x", all, plantest.Store(t), takeover.Options{}); err == nil || !strings.Contains(err.Error(), "--us") || !strings.Contains(err.Error(), "urn:example:contoso") {
		t.Errorf("nobody: %v", err)
	}
	if _, err := Translate("x", all, plantest.Store(t), takeover.Options{Us: "NOBODY"}); err == nil || !strings.Contains(err.Error(), `"NOBODY"`) {
		t.Errorf("unknown: %v", err)
	}
	plan, err := Translate("x", all, plantest.Store(t), takeover.Options{Us: "urn:example:contoso"})
	if err != nil || len(plan.Partners) != 1 || !strings.Contains(plantest.Content(plan, "partners/"+plan.Partners[0]+".yaml"), `from: {party: "urn:example:contoso"`) {
		t.Errorf("as Contoso: %v", err)
	}
	known := func(*ebms.UserMessage) string { return "contoso" }
	if _, err := Translate("x", all, plantest.Store(t), takeover.Options{Party: acme(), Known: known}); err == nil || !strings.Contains(err.Error(), "here already: urn:example:contoso is contoso") {
		t.Errorf("known: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"other.xml":   {"<configuration/>", "no P-Mode of Holodeck B2B"},
		"cut-off.xml": {"<PMode><id>", "well-formed"},
		"entity.xml":  {`<!DOCTYPE p [<!ENTITY e SYSTEM "file:///etc/passwd">]><PMode>&e;</PMode>`, "document type"},
		"deep.xml":    {"<PMode>" + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + "</PMode>", "limit"},
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
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no P-Mode") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file that is not there")
	}
}

// FuzzTranslate: whatever stands in a P-Mode, a partner file is YAML that says
// what was meant, and its path is inside.
func FuzzTranslate(f *testing.F) {
	files, err := filepath.Glob(pmodes + "/*.xml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 16<<10 {
			return
		}
		p, err := parse([]byte(text))
		if err != nil {
			return
		}
		plan, err := Translate("x", []PMode{p}, &takeover.Keystore{}, takeover.Options{Us: "9990098765432"})
		if err != nil {
			return
		}
		plantest.Check(t, plan)
	})
}
