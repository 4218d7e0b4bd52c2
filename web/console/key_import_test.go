package console

import (
	"net/http"
	"slices"
	"testing"

	"edigw/internal/testpki"
	"edigw/partner"
	"edigw/web"
)

// TestOwnKeyIsTakenIntoUseByAnAdmin in one step: neither the key nor its
// password comes back in a page.
func TestOwnKeyIsTakenIntoUseByAnAdmin(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := testpki.SelfSigned(t, testpki.RSA(t, 0), "edigw.acme.example", testpki.Span{NotBefore: start.AddDate(0, -1, 0), NotAfter: start.AddDate(2, 0, 0)})
	file := append(id.KeyPEM(t), id.CertPEM()...)
	all := []string{"use", "sign", "use", "decrypt", "from", "2027-01-01", "checked", "yes", "password", "correct horse"}
	d.get(admin, "/certificates").want(200).says("Take a key of ours into use", "Password of the P12").holds(`enctype="multipart/form-data"`, `type="password"`)
	for _, user := range []string{operator, viewer} {
		d.get(user, "/certificates").want(200).hides("Take a key of ours into use")
		d.upload(user, "/certificates", file, all...).want(403)
	}
	for name, c := range map[string]struct {
		file   []byte
		fields []string
		says   string
	}{
		"no tick":     {file, []string{"use", "sign"}, "Not used: say that its certificate is known where it must be."},
		"no use":      {file, []string{"checked", "yes"}, "Tick what it is for"},
		"strange use": {file, []string{"checked", "yes", "use", "verify"}, "no such use"},
		"strange day": {file, []string{"checked", "yes", "use", "sign", "from", "soon"}, "This is no day"},
		"no file":     {nil, []string{"checked", "yes", "use", "sign"}, "Choose the key's file"},
		"no key":      {id.CertPEM(), []string{"checked", "yes", "use", "sign", "password", "correct horse"}, "no private key in it"},
		"not one":     {[]byte("hello"), []string{"checked", "yes", "use", "sign", "password", "correct horse"}, "neither PEM nor a P12"},
	} {
		a := d.upload(admin, "/certificates", c.file, c.fields...).want(400)
		a.says(c.says, "Nothing was changed.").lacks("horse", "PRIVATE KEY")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	if len(d.lanes.imports) != 0 {
		t.Fatal("a refused key was used")
	}
	d.upload(admin, "/certificates", file, all...).want(http.StatusSeeOther)
	d.get(admin, "/certificates").says("Our key, serial", "is in the settings and counts from 2027-01-01 (UTC).")
	if n := len(d.lanes.imports); n != 1 {
		t.Fatalf("%d imports", n)
	}
	if i := d.lanes.imports[0]; i.Partner != partner.OwnerGateway || !slices.Equal(i.Uses, []string{"sign", "decrypt"}) || i.From != "2027-01-01" || i.Password != "correct horse" || !slices.Equal(i.Certificate, file) || i.By.Name != admin {
		t.Errorf("import for %s: %s from %s by %s", i.Partner, i.Uses, i.From, i.By.Name)
	}
	d.lanes.fail = &web.Problem{Slug: web.BadRequest, Field: "key", Detail: "edigw.yaml: it has mistakes already"}
	d.upload(admin, "/certificates", file, all...).want(400).says("it has mistakes already", "Nothing was changed.")
}

// TestLoginOfOursAtAPartner: only an admin hands in a key.
func TestLoginOfOursAtAPartner(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := testpki.SelfSigned(t, testpki.P256(t), "edigw.acme.example", testpki.Span{NotBefore: start.AddDate(0, -1, 0), NotAfter: start.AddDate(2, 0, 0)})
	file := append(id.KeyPEM(t), id.CertPEM()...)
	path := "/partners/northwind/certificates"
	d.get(admin, "/partners/northwind/settings").want(200).says("Take a login of ours (TLS) into use", "Their server (TLS)")
	d.get(kim, "/partners/northwind/settings").want(200).says("Take a new certificate into use").hides("Take a login of ours (TLS) into use")
	d.upload(kim, path, file, "use", "tls-client", "checked", "yes").want(403)
	d.upload(admin, path, id.CertPEM(), "use", "tls-client", "checked", "yes", "from", "2027-01-01").want(400).says("no private key in it").holds(`name="from" value="2027-01-01"`)
	d.upload(admin, path, file, "use", "tls-client", "checked", "yes").want(http.StatusSeeOther)
	if n := len(d.lanes.imports); n != 1 || d.lanes.imports[0].Partner != "northwind" || !slices.Equal(d.lanes.imports[0].Uses, []string{"tls-client"}) {
		t.Errorf("%d imports", n)
	}
}

// TestPinningAServerSaysWhatCountsNoMore: the first entry of tls.trust replaces
// the system's authorities.
func TestPinningAServerSaysWhatCountsNoMore(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := testpki.SelfSigned(t, testpki.RSA(t, 0), "as2.northwind.example", testpki.Span{NotBefore: start.AddDate(0, -1, 0), NotAfter: start.AddDate(2, 0, 0)})
	d.upload(kim, "/partners/northwind/certificates", c.CertPEM(), "use", "tls-trust").want(200).
		says("Their server (TLS), in use now the authorities of this system; they count no more once one is listed")
}
