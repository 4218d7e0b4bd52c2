package wssec

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"math/big"
	"strings"
	"testing"

	"edigw/internal/xmldsig"
)

// An ECDSA value has one form only: r and s, each as long as the order.
func TestECDSAValue(t *testing.T) {
	t.Parallel()
	text := []byte("SignedInfo")
	for _, c := range []struct {
		signer signer
		size   int
	}{{p256Signer(), 64}, {p384Signer(), 96}, {p521Signer(), 132}, {brainpoolSigner(), 64}} {
		m, _ := xmldsig.MethodByName(ECDSASHA256)
		value, err := m.Sign(c.signer.key, text)
		if err != nil || len(value) != c.size {
			t.Fatalf("%d bytes, want %d, %v", len(value), c.size, err)
		}
		pub := c.signer.cert.PublicKey
		if !m.Verify(pub, text, value) {
			t.Error("does not verify")
		}
		half := c.size / 2
		der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(value[:half]), new(big.Int).SetBytes(value[half:])})
		if err != nil {
			t.Fatal(err)
		}
		longer := bytes.Join([][]byte{{0}, value[:half], {0}, value[half:]}, nil)
		order := orderBytes(pub.(*ecdsa.PublicKey))
		for name, other := range map[string][]byte{
			"DER": der, "padded": longer, "padded s": bytes.Join([][]byte{value[:half], {0}, value[half:]}, nil), "cut off": value[:c.size-1], "empty": {}, "zero": make([]byte, c.size),
			"swapped": append(bytes.Clone(value[half:]), value[:half]...), "of the order": append(bytes.Clone(order), order...),
		} {
			if m.Verify(pub, text, other) {
				t.Errorf("%s of %d bytes verifies", name, c.size)
			}
		}
	}
}

func orderBytes(pub *ecdsa.PublicKey) []byte {
	return pub.Params().N.FillBytes(make([]byte, xmldsig.OrderSize(pub)))
}

// Keys that take seconds to verify with are not tried: anybody can send one.
func TestHugeKeyIsRefused(t *testing.T) {
	t.Parallel()
	huge := &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 9000, 1), E: 65537}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: signedAt, NotAfter: signedAt}
	der, err := x509.CreateCertificate(nil, template, template, huge, edSigner().key)
	if err != nil {
		t.Fatal(err)
	}
	text := withKeyInfo(t, sign(t, rsaSigner().signing(RSASHA256, TokenSKI)), "<ds:X509Data><ds:X509Certificate>"+encode(der)+"</ds:X509Certificate></ds:X509Data>")
	if _, err := parseMessage(t, text).verify(rsaSigner().trust()); !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), "9001 bits") {
		t.Errorf("got %v", err)
	}
}

// A token counts only in the header that the signature is in.
func TestTokenOutsideOfTheHeader(t *testing.T) {
	t.Parallel()
	s := rsaSigner()
	text := withKeyInfo(t, sign(t, s.signing(RSASHA256, TokenSKI)), refer("ours"))
	outside := swap(t, text, "</env:Header>", `<x:other xmlns:wsse="`+nsWSSE+`" xmlns:wsu="`+nsWSU+`">`+token("ours", typeX509, s.cert.Raw)+"</x:other></env:Header>")
	if _, err := parseMessage(t, outside).verify(s.trust()); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "no BinarySecurityToken of this header") {
		t.Errorf("got %v", err)
	}
}

// A header of somebody else is not ours, two of ours are no header.
func TestSecurityByRole(t *testing.T) {
	t.Parallel()
	security := func(role string) string {
		if role != "" {
			role = ` xmlns:e="` + nsSOAP + `" e:role="` + role + `"`
		}
		return `<s:Security xmlns:s="` + nsWSSE + `"` + role + `><x:` + "a" + `/></s:Security>`
	}
	for name, c := range map[string]struct {
		headers, role string
		found         bool
		err           error
	}{
		"none":                    {"", "", false, nil},
		"ours":                    {security(""), "", true, nil},
		"the ultimate receiver's": {security(roleUltimate), "", true, nil},
		"ours by its long name":   {security(""), roleUltimate, true, nil},
		"somebody's":              {security("urn:them"), "", false, nil},
		"ours beside somebody's":  {security("urn:them") + security(""), "", true, nil},
		"by role":                 {security("urn:them") + security(""), "urn:them", true, nil},
		"two":                     {security("") + security(roleUltimate), "", false, ErrMalformed},
		"another namespace":       {`<x:Security/>`, "", false, nil},
		"deeper":                  {"<x:a>" + security("") + "</x:a>", "", false, nil},
	} {
		m, err := readMessage([]byte(strings.Replace(envelopeText, "<env:Header>", "<env:Header>"+c.headers, 1)))
		if c.role != "" {
			m.security, err = Security(m.header, c.role)
		}
		if !errors.Is(err, c.err) || (m.security != nil) != c.found {
			t.Errorf("%s: %v, %v", name, m.security, err)
		}
	}
}

// Content-IDs go through a URI and back; '+' is a plus.
func TestContentIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a@b", "a+b%c@northwind.example", "ä/ö?#<>\"", "100%", "a b", "%2B", "=?&;"} {
		uri := PartURI(id)
		if got, ok := ContentID(uri); !ok || got != id || strings.ContainsAny(uri, "+ <>\"#") {
			t.Errorf("%q is written %q and read %q", id, uri, got)
		}
	}
	for uri, want := range map[string]string{"cid:a+b@c": "a+b@c", "CID:a%2Bb@c": "a+b@c", "cid:a%252Bb": "a%2Bb", "cid:%4": "", "cid:": "", "#a": "", "": "", "http://a": ""} {
		if got, ok := ContentID(uri); got != want || ok != (want != "") {
			t.Errorf("%q is read as %q", uri, got)
		}
	}
}

// Which certificate of a PKCS #7 bag is the signer's does not depend on their order.
func TestBag(t *testing.T) {
	t.Parallel()
	s := newSigner("leaf", 7, newEC(elliptic.P256()))
	for _, chain := range [][]*x509.Certificate{nil, s.chain, append([]*x509.Certificate{s.root}, s.chain...)} {
		der, err := writePKCS7(s.cert, chain)
		if err != nil {
			t.Fatal(err)
		}
		all, err := readPKCS7(der)
		if err != nil || len(all) != 1+len(chain) || !all[0].Equal(s.cert) {
			t.Errorf("%d certificates of %d, %v", len(all), 1+len(chain), err)
		}
		if der, err = writePKIPath(s.cert, chain); err != nil {
			t.Fatal(err)
		}
		if all, err = readPKIPath(der); err != nil || len(all) != 1+len(chain) || !all[0].Equal(s.cert) {
			t.Errorf("a path of %d certificates, %v", len(all), err)
		}
		if der, err = writePKCS7(s.cert, chain); err != nil {
			t.Fatal(err)
		}
		o := newTool(t, "openssl")
		if out := o.run("openssl", "pkcs7", "-inform", "DER", "-in", o.write("bag", der), "-print_certs", "-noout"); bytes.Count(out, []byte("subject=")) != 1+len(chain) {
			t.Errorf("openssl sees %s", out)
		}
	}
}
