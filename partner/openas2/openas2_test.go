package openas2

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edigw/internal/p12"
	"edigw/partner/takeover"
)

// storePassword opens the keystore of testdata/north: test material.
const storePassword = "test material"

// installation is a copy of testdata/north, whose keystore Java's keytool made:
// a key of ours and certificates of partners.
func installation(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/north")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func content(p *takeover.Plan, path string) string {
	for _, f := range p.Files {
		if f.Path == path {
			return string(f.Content)
		}
	}
	return ""
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	in, err := Read(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Translate(in, Options{OurID: "ACME-AS2", Taken: []string{"contoso"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"northwind-de", "contoso-2", "fabrikam"}; !slices.Equal(plan.Partners, want) {
		t.Fatalf("partners %q, want %q", plan.Partners, want)
	}
	for _, id := range plan.Partners {
		want, err := os.ReadFile(filepath.Join("testdata", "want", id+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if got := content(plan, "partners/"+id+".yaml"); got != string(want) {
			t.Errorf("%s.yaml is\n%s\nwant\n%s", id, got, want)
		}
	}
	if got := content(plan, "secrets/northwind-de"); got != "test material\n" {
		t.Errorf("secret %q", got)
	}
	if key := content(plan, "keys/openas2-acme.pem"); strings.Count(key, "-----BEGIN") != 2 || !strings.HasPrefix(key, "-----BEGIN PRIVATE KEY") {
		t.Errorf("our key is %.60q…", key)
	}
	for _, path := range []string{"keys/northwind-de.pem", "keys/northwind-de-fallback.pem", "keys/contoso-2.pem"} {
		if got := content(plan, path); strings.Count(got, "-----BEGIN CERTIFICATE") != 1 {
			t.Errorf("%s is %.60q…", path, got)
		}
	}
	checkRemarks(t, plan)
}

// TestPartnerFilesLieElsewhere: edigw.yaml says where, keys and secrets lie
// beside that.
func TestPartnerFilesLieElsewhere(t *testing.T) {
	t.Parallel()
	in, err := Read(installation(t), "")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Translate(in, Options{OurID: "ACME-AS2", Home: "../../my gateway"})
	if err != nil {
		t.Fatal(err)
	}
	text := content(plan, "partners/northwind-de.yaml")
	for _, want := range []string{`password_file: "../../my gateway/secrets/northwind-de"`, `encrypt: [{file: "../../my gateway/keys/northwind-de.pem"}]`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// checkRemarks wants everything that was lost, and nothing else, to be told.
func checkRemarks(t *testing.T, plan *takeover.Plan) {
	t.Helper()
	var lost []string
	for _, r := range plan.Remarks {
		if r.Lost {
			lost = append(lost, r.Partner+" "+r.About)
		}
		if strings.Contains(r.Text, storePassword) {
			t.Errorf("a password is in the report: %s", r.Text)
		}
	}
	slices.Sort(lost)
	want := []string{
		" outboxdir ", " partnership Contoso-to-Northwind", "contoso-2 encrypt", "contoso-2 sign", "contoso-2 subject", "fabrikam x509_alias",
		"northwind-de custom_mime_headers", "northwind-de store_received_file_to",
	}
	for i := range lost {
		lost[i], _, _ = strings.Cut(lost[i], "/")
	}
	if !slices.Equal(lost, want) {
		t.Errorf("lost\n%q\nwant\n%q", lost, want)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	if _, err := Read(dir, "wrong"); !errors.Is(err, p12.ErrPassword) || !strings.Contains(err.Error(), "--password-file") {
		t.Errorf("wrong password: %v", err)
	}
	if _, err := Read(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "no config.xml") {
		t.Errorf("empty folder: %v", err)
	}
	for name, tc := range map[string]struct{ file, content, want string }{
		"not XML":           {"partnerships.xml", "<partnerships>", "not well-formed"},
		"entity":            {"partnerships.xml", `<!DOCTYPE p [<!ENTITY e SYSTEM "file:///etc/passwd">]><partnerships><partner name="&e;"/></partnerships>`, "not well-formed"},
		"twice":             {"partnerships.xml", `<partnerships><partner name="a"/><partner name="a"/></partnerships>`, "defined twice"},
		"nobody":            {"partnerships.xml", `<partnerships><partnership name="x"><sender name="a"/></partnership></partnerships>`, "not defined"},
		"no side":           {"partnerships.xml", `<partnerships><partner name="a" as2_id="A"/><partnership name="x"><sender name="a"/></partnership></partnerships>`, "lacks a sender or a receiver"},
		"store is no store": {"as2_certs.p12", "nothing", "not a PKCS #12"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := t.TempDir()
			if err := os.CopyFS(broken, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(broken, "config", tc.file), []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(broken, ""); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.file) {
				t.Errorf("%v, want %q and the file", err, tc.want)
			}
		})
	}
}

func TestWhoWeAre(t *testing.T) {
	t.Parallel()
	in, err := Read(installation(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Translate(in, Options{Us: "NOBODY"}); err == nil || !strings.Contains(err.Error(), `"NOBODY"`) {
		t.Errorf("unknown --us: %v", err)
	}
	plan, err := Translate(in, Options{Us: "Contoso"})
	if err != nil || len(plan.Partners) != 2 { // Acme, and Northwind who is sent to
		t.Errorf("as Contoso: %v, %v", plan, err)
	}
	in.Store = takeover.Keystore{}
	if _, err := Translate(in, Options{}); err == nil || !strings.Contains(err.Error(), "--us") {
		t.Errorf("without any key: %v", err)
	}
}
