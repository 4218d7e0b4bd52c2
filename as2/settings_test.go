package as2

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"edigw/as2/smime"
	"edigw/fault"
)

// TestSettingsOfSignatureAndEncryption: what a partner may want besides digest
// and cipher leads to a message that we open, and that says so.
func TestSettingsOfSignatureAndEncryption(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(ours, theirs *Agreement)
		says   string // in the header of the message
		holds  []byte // in its CMS
	}{
		"PSS":                  {func(a, _ *Agreement) { a.PSS = true }, "", oid(1, 2, 840, 113549, 1, 1, 10)},
		"algorithm protection": {func(a, _ *Agreement) { a.AlgorithmProtection = true }, "", oid(1, 2, 840, 113549, 1, 9, 52)},
		"no attributes":        {func(a, _ *Agreement) { a.NoAttributes = true }, "", nil},
		"no certificate":       {func(a, _ *Agreement) { a.OmitCertificate = true }, "", nil},
		"key identifiers":      {func(a, _ *Agreement) { a.KeyID = true }, "", keyID("northwind.example")},
		"OAEP": {func(a, _ *Agreement) {
			a.Transport = smime.KeyTransport{OAEP: true, Hash: crypto.SHA256, MGF: crypto.SHA1}
		}, "", oid(1, 2, 840, 113549, 1, 1, 7)},
		"GCM":               {func(a, _ *Agreement) { a.Encrypt = smime.AES256GCM }, `application/pkcs7-mime; smime-type=authEnveloped-data; name="smime.p7m"`, oid(1, 2, 840, 113549, 1, 9, 16, 1, 23)},
		"dashless names":    {func(a, _ *Agreement) { a.DashlessNames = true }, "signed-receipt-micalg=optional, sha256", nil},
		"dashless micalg":   {func(a, _ *Agreement) { a.DashlessNames, a.Encrypt = true, "" }, "micalg=sha256;", nil},
		"usual names":       {func(a, _ *Agreement) { a.Encrypt = "" }, "micalg=sha-256;", nil},
		"to ourselves, too": {func(a, _ *Agreement) { a.Recipients = append(a.Recipients[:1:1], acme().cert) }, "", nil},
		"to an elliptic curve": {func(a, b *Agreement) {
			a.Recipients = []*x509.Certificate{elliptic1().cert}
			agree, err := elliptic1().key.(*ecdsa.PrivateKey).ECDH()
			if err != nil {
				t.Fatal(err)
			}
			b.Decrypt = []smime.Recipient{{Certificate: elliptic1().cert, Agree: agree}}
		}, "", oid(1, 3, 132, 1, 11, 1)},
		"to both kinds": {func(a, _ *Agreement) { a.Recipients = append(a.Recipients[:1:1], elliptic1().cert) }, "", oid(1, 3, 132, 1, 11, 1)},
	} {
		a, b := toNorthwind(), fromAcme()
		tc.change(&a, &b)
		b.Receive = Receive{Signed: true, Encrypted: encrypts(a)}
		m := &memory{agreement: b}
		r, wire := mustBuild(t, a, []byte("ISA*00~"))
		checkRendition(t, r, wire)
		res := serve(testHandler(t, m), wireRequest(t, r, wire))
		if ack, mdn := VerifyMDN(res.Header, readBody(t, res), []Rendition{r}, a); ack.Verdict != fault.AckTrusted || !ack.Positive {
			t.Errorf("%s: %s, %s", name, ack.Verdict, mdn.Problem)
			continue
		}
		if !bytes.Contains(append(wire, signatureOf(t, a)...), tc.holds) {
			t.Errorf("%s: the message lacks %x", name, tc.holds)
		}
		if head := (entity{header: r.Headers}).headerBlock(); !strings.Contains(head, tc.says) {
			t.Errorf("%s: no %q in\n%s", name, tc.says, head)
		}
	}
}

// oid is an object identifier as DER has it.
func oid(arcs ...int) []byte {
	der, err := asn1.Marshal(asn1.ObjectIdentifier(arcs))
	if err != nil {
		panic(err)
	}
	return der
}

// keyID is a certificate named by its subject key identifier (RFC 5652 §5.3).
func keyID(id string) []byte { return append([]byte{0x80, byte(len(id))}, id...) }

// signatureOf is the CMS signature of a message that is built as a says, in the
// clear.
func signatureOf(t *testing.T, a Agreement) []byte {
	t.Helper()
	a.Encrypt = ""
	_, wire := mustBuild(t, a, []byte("ISA*00~"))
	_, text, _ := strings.Cut(string(wire), "filename=\"smime.p7s\"\r\n\r\n")
	text, _, _ = strings.Cut(text, "\r\n--")
	der, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\r\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestRow46SignatureHoldsWhatIsSettled: certificates and attributes.
func TestRow46SignatureHoldsWhatIsSettled(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.SigningChain = []*x509.Certificate{stranger().cert}
	signingTime := oid(1, 2, 840, 113549, 1, 9, 5)
	for name, tc := range map[string]struct {
		change                  func(*Agreement)
		leaf, chain, attributes bool
	}{
		"as built in":   {func(*Agreement) {}, true, true, true},
		"leaf":          {func(a *Agreement) { a.SigningChain = nil }, true, false, true},
		"none":          {func(a *Agreement) { a.OmitCertificate = true }, false, false, true},
		"no attributes": {func(a *Agreement) { a.NoAttributes = true }, true, true, false},
	} {
		a := a
		tc.change(&a)
		der := signatureOf(t, a)
		for what, found := range map[string][2]bool{
			"our certificate":   {bytes.Contains(der, acme().cert.Raw), tc.leaf},
			"its chain":         {bytes.Contains(der, stranger().cert.Raw), tc.chain},
			"signed attributes": {bytes.Contains(der, signingTime), tc.attributes},
		} {
			if found[0] != found[1] {
				t.Errorf("%s: %s there: %t, want %t", name, what, found[0], found[1])
			}
		}
	}
}

// TestSenderOpensWhatItSent: as2.md §0, with our certificate among the
// recipients.
func TestSenderOpensWhatItSent(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	own := []smime.Recipient{{Certificate: acme().cert, Key: acme().key.(crypto.Decrypter)}}
	for _, to := range [][]*x509.Certificate{{northwind().cert}, {northwind().cert, acme().cert}} {
		a.Recipients = to
		_, wire := mustBuild(t, a, []byte("ISA*00~"))
		plain, err := smime.NewDecrypter(bytes.NewReader(wire), own, smime.Limits{})
		if err == nil {
			_, err = io.Copy(io.Discard, plain)
		}
		if opened := err == nil; opened != (len(to) == 2) {
			t.Errorf("%d recipients: %v", len(to), err)
		}
	}
}

// TestNamesWithBlanksQuotesAndBackslashes: as2.md §2.1 rule 1, there and back:
// the names are quoted in every header, change places in the MDN, and compare
// by what they mean.
func TestNamesWithBlanksQuotesAndBackslashes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"North Wind", `say "hi"`, `a\b`, `\"`, `"whole"`, "tail\\", "a;b,c=d", "UNB+UNOA:1", strings.Repeat("n", 128)} {
		a, b := toNorthwind(), fromAcme()
		a.From, a.To = name, "to "+name[:min(len(name), 100)]
		b.From, b.To = a.To, a.From
		r, wire := mustBuild(t, a, []byte("ISA~"))
		for header, want := range map[string]string{"AS2-From": a.From, "AS2-To": a.To, "Disposition-Notification-To": a.From} {
			if got, err := ParseName(headerOf(r, header)); err != nil || got != want || headerOf(r, header) != QuoteName(want) {
				t.Errorf("%s: %q is read as %q, %v; want %q", header, headerOf(r, header), got, err, want)
			}
		}
		m := &memory{agreement: b}
		res := serve(testHandler(t, m), wireRequest(t, r, wire))
		for header, want := range map[string]string{"AS2-From": a.To, "AS2-To": a.From} {
			if got := res.Header.Get(header); got != QuoteName(want) {
				t.Errorf("MDN, %s: %q, want %q", header, got, QuoteName(want))
			}
		}
		ack, mdn := VerifyMDN(res.Header, readBody(t, res), []Rendition{r}, a)
		if ack.Verdict != fault.AckTrusted || !ack.Positive {
			t.Errorf("%q: %s, %s", name, ack.Verdict, mdn.Problem)
		}
		if got, _ := m.last(t); got.From != a.From || got.To != a.To {
			t.Errorf("received from %q to %q", got.From, got.To)
		}
	}
}
