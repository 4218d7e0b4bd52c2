package console

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/queue"
	"edigw/web"
)

// claimed are claims made by hand.
type claimed struct {
	all  []as2.Claim
	fail error
}

func (k *claimed) Claims(context.Context, queue.Message) ([]as2.Claim, error) { return k.all, k.fail }

// signedBy gives a partner's certificate for the days around start.
func signedBy(t *testing.T, n int, from, to int) *x509.Certificate {
	t.Helper()
	return testpki.SelfSigned(t, testpki.RSA(t, n), "as2.northwind.example", testpki.Span{NotBefore: start.AddDate(0, 0, from), NotAfter: start.AddDate(0, 0, to)}).Cert
}

// strangers is a desk with a receipt that nobody known signed; northwind has
// the certificate known on file.
func strangers(t *testing.T, known *x509.Certificate, claims ...as2.Claim) (*desk, *claimed, queue.Message) {
	t.Helper()
	k := &claimed{all: claims}
	d := newDesk(t, func(o *Options) { o.Claims = k })
	d.verifyWith(known)
	m := d.sent(d.accept("northwind", "a"), receipt(fault.Acknowledgement{Verdict: fault.AckWrongSigner, Positive: true, Type: "processed", Signer: "9A:1C"}))
	return d, k, m
}

// verifyWith puts a certificate into northwind's settings.
func (d *desk) verifyWith(c *x509.Certificate) {
	d.t.Helper()
	dir := d.settings.Current().Dir()
	if err := os.WriteFile(filepath.Join(dir, "northwind.cer"), c.Raw, 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "partners", "northwind.yaml"), []byte(northwind+"certificates: {verify: ../northwind.cer}\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.settings.Reload()
}

func printed(c *x509.Certificate) string { return strings.Join(inGroups(smime.Fingerprint(c)), " ") }

func TestStrangerIsShownBesideWhomWeKnow(t *testing.T) {
	t.Parallel()
	known, new := signedBy(t, 0, -400, 30), signedBy(t, 1, -1, 700)
	d, k, m := strangers(t, known, as2.Claim{Name: "serial 4F:22", Certificate: new.Raw})
	page := d.get(kim, "/messages/"+m.ID).want(200).says("signed by a certificate that is not in the settings of Northwind Retail DE", "It is signed by SHA-256 "+printed(new), "Valid 30 Nov 2026 to 31 Oct 2028",
		"In the settings SHA-256 "+printed(known), "Import this certificate and re-check …", "Import another certificate")
	d.get(viewer, "/messages/"+m.ID).want(200).says("It is signed by SHA-256 " + printed(new)).hides("Import this certificate")
	path := "/letters/" + m.Letter + "/trust"
	page.holds(`action="` + path + `"`)
	d.post(viewer, path).want(403)
	asked := d.post(operator, path, "back", "/messages/"+m.ID).want(200)
	asked.says("Use this certificate of Northwind Retail DE?", printed(new), "by phone", "Their signature, in use now serial "+smime.CertificateID(known).Serial, "Import this certificate and re-check").hides("tick the box")
	d.post(operator, path, asked.hidden()...).want(200).says("Not used: tick the box once you compared the fingerprint")
	if len(d.lanes.imports) != 0 {
		t.Fatal("used before it was compared")
	}
	other := signedBy(t, 2, -1, 700)
	k.all = []as2.Claim{{Name: "serial 4F:23", Certificate: other.Raw}}
	d.post(operator, path, append(asked.hidden(), "checked", "yes")...).want(200).says(printed(other))
	if len(d.lanes.imports) != 0 {
		t.Fatal("another certificate than was compared is used")
	}
	k.all = []as2.Claim{{Name: "serial 4F:22", Certificate: new.Raw}}
	d.lanes.outcome = fault.Outcome{}
	if a := d.post(operator, path, append(asked.hidden(), "checked", "yes")...); a.status != http.StatusSeeOther && a.status != http.StatusConflict { // the receipt of this test was not kept
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	if n := len(d.lanes.imports); n != 1 {
		t.Fatalf("%d imports", n)
	}
	if i := d.lanes.imports[0]; i.Partner != "northwind" || !slices.Equal(i.Uses, []string{"verify"}) || !slices.Equal(i.Certificate, new.Raw) || i.By.Name != operator {
		t.Errorf("import for %s, %s", i.Partner, i.Uses)
	}
}

// TestStrangerThatCannotBeImported says why, and offers nothing.
func TestStrangerThatCannotBeImported(t *testing.T) {
	t.Parallel()
	known := signedBy(t, 0, -400, 30)
	for name, c := range map[string]struct {
		known *x509.Certificate
		claim as2.Claim
		says  string
	}{
		"without its certificate": {known, as2.Claim{Name: "serial 4F:22 of CN=<script>"}, "Named serial 4F:22 of CN=<script> It carries no certificate that its signature fits."},
		"ended":                   {known, as2.Claim{Certificate: signedBy(t, 1, -400, -1).Raw}, "The certificate has ended"},
		"known, but not in force": {signedBy(t, 1, 10, 700), as2.Claim{}, "It is in the settings, but not in force: from 11 Dec"},
		"spoilt":                  {known, as2.Claim{Name: "serial 4F:22", Certificate: []byte("x")}, "It carries no certificate that its signature fits."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.claim.Name == "" && c.claim.Certificate == nil {
				c.claim.Certificate = c.known.Raw
			}
			d, _, m := strangers(t, c.known, c.claim)
			d.get(kim, "/messages/"+m.ID).want(200).says(c.says, "Import another certificate").hides("Import this certificate")
			d.post(kim, "/letters/"+m.Letter+"/trust").want(409)
			if len(d.lanes.imports) != 0 {
				t.Error("imported")
			}
		})
	}
}

// TestRefusedMessageOfAStranger is processed again after the import.
func TestRefusedMessageOfAStranger(t *testing.T) {
	t.Parallel()
	new := signedBy(t, 1, -1, 700)
	k := &claimed{all: []as2.Claim{{Name: "serial 4F:22", Certificate: new.Raw}}}
	d := newDesk(t, func(o *Options) { o.Claims = k })
	d.verifyWith(signedBy(t, 0, -400, 30))
	m := d.refusedOf("northwind")
	d.get(kim, "/messages/"+m.ID).want(200).says("This message is signed by a certificate", printed(new), "Import this certificate and process again …")
	path := "/letters/" + m.Letter + "/trust"
	asked := d.post(kim, path).want(200).says("Import this certificate and process again")
	d.post(kim, path, append(asked.hidden(), "checked", "yes")...).want(http.StatusSeeOther)
	d.get(kim, "/messages/"+m.ID).says("is in the settings. Opened again and accepted.")
	if !slices.Contains(d.lanes.done, "process "+m.ID+" by kim: ") || len(d.lanes.imports) != 1 {
		t.Errorf("done %q, %d imports", d.lanes.done, len(d.lanes.imports))
	}
	d.lanes.fail = &web.Problem{Slug: web.StillRefused, Detail: "Opened again, and still refused: the signature is not good."}
	d.lanes.imports = nil
	k.fail = errors.New("the disk")
	d.get(kim, "/messages/"+m.ID).want(500)
}
