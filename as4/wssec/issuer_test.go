package wssec

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
)

// Whatever spelling openssl has for a name, it is the same name, and what we
// write of it too.
func TestIssuerSpellings(t *testing.T) {
	t.Parallel()
	o := newTool(t, "openssl")
	for _, subject := range []string{
		"/C=DE/ST=Nord/L=Ort/O=Northwind, Test + Sons/OU=a=b/CN=authority.example",
		`/O=#1 "quoted" <a>;b\\c/CN= leading and trailing `,
		"/DC=example/DC=northwind/UID=7/emailAddress=ca@northwind.example/serialNumber=12/organizationIdentifier=VATDE-1/CN=Ä Ö ü",
		"/O=Multi+OU=Valued/CN=a,b+CN=c",
		"/postalCode=12345/street=Weg 1/title=x/SN=y/GN=z/businessCategory=Private/CN=all",
	} {
		o.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key", "-out", "crt", "-utf8", "-multivalue-rdn", "-subj", subject)
		block, _ := pem.Decode(o.read("crt"))
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		own, ok := nameText(c.RawIssuer)
		if !ok || !sameIssuer(own, c.RawIssuer) {
			t.Errorf("%s: our own spelling %q is another name", subject, own)
		}
		if want := strings.TrimSpace(strings.TrimPrefix(string(o.run("openssl", "x509", "-in", "crt", "-noout", "-issuer", "-nameopt", "RFC2253,-esc_msb,utf8")), "issuer=")); !sameIssuer(want, c.RawIssuer) {
			t.Errorf("RFC 2253 as openssl has it, %q, is another name than %q", want, own)
		}
		for _, options := range []string{
			"RFC2253", "RFC2253,sep_comma_plus_space", "oneline", "oneline,utf8,-esc_msb", "sep_comma_plus,sname,esc_2253,utf8",
			"sep_semi_plus_space,sname,esc_2253,utf8", "RFC2253,oid", "RFC2253,oid,dump_all,dump_der", "sep_comma_plus_space,esc_2253,use_quote,sname,utf8,space_eq,dn_rev",
		} {
			text := strings.TrimPrefix(string(o.run("openssl", "x509", "-in", "crt", "-noout", "-issuer", "-nameopt", options)), "issuer=")
			if !sameIssuer(strings.TrimSuffix(text, "\n"), c.RawIssuer) {
				t.Errorf("%s: %q is another name than %q", options, text, own)
			}
		}
	}
}

func TestOtherIssuers(t *testing.T) {
	t.Parallel()
	der := rsaSigner().cert.RawIssuer // CN=authority of rsa.northwind.example,O=Northwind\, Test & Söhne,C=DE
	const own = `CN=authority of rsa.northwind.example,O=Northwind\, Test & Söhne,C=DE`
	if got, ok := nameText(der); !ok || got != own {
		t.Fatalf("written as %q", got)
	}
	for _, text := range []string{
		"", "=", "CN", "CN=", ",", "CN=authority of rsa.northwind.example", own + ",C=DE", own + ",", strings.Replace(own, "CN=", "OU=", 1),
		strings.Replace(own, "CN=", "XX=", 1), strings.Replace(own, "DE", "AT", 1), strings.Replace(own, `\,`, ",", 1), own + `\`, `"` + own,
		strings.Repeat("CN=a,", 1000), strings.Repeat(`\`, 4000), "CN=#", "CN=#04", strings.Replace(own, "DE", `\#13024445`, 1), "OID.=a", "CN=\xff\xfe",
	} {
		if sameIssuer(text, der) {
			t.Errorf("%q is taken for %s", text, own)
		}
	}
	for _, text := range []string{
		own, " " + own + " ", "C=DE, O=\"Northwind, Test & Söhne\", CN=authority of rsa.northwind.example", strings.ToUpper(own),
		"C=#13024445 , O=\"Northwind, Test & Söhne\" , CN=authority of rsa.northwind.example",
		"2.5.4.6=DE;2.5.4.10=Northwind\\2C Test & S\\C3\\B6hne;2.5.4.3=#0c22617574686f72697479206f66207273612e6e6f72746877696e642e6578616d706c65",
	} {
		if !sameIssuer(text, der) {
			t.Errorf("%q is not taken for %s", text, own)
		}
	}
	if sameIssuer(own, []byte("no name")) || sameIssuer(own, nil) {
		t.Error("no name at all is a name")
	}
	if _, ok := readName(make([]byte, maxName+1)); ok {
		t.Error("a very long name is taken apart")
	}
}

func FuzzIssuer(f *testing.F) {
	f.Add(`CN=a\,b + O="c;d", OID.2.5.4.10=#0c0161`, rsaSigner().cert.RawIssuer)
	f.Fuzz(func(t *testing.T, text string, der []byte) {
		sameIssuer(text, der)
		if own, ok := nameText(der); ok && own != "" && len(own) <= maxName && !sameIssuer(own, der) {
			t.Errorf("%q is another name than %x", own, der)
		}
	})
}
