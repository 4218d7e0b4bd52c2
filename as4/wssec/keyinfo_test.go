package wssec

import (
	"crypto/sha1"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// withKeyInfo puts other content into KeyInfo, which is not signed.
func withKeyInfo(t testing.TB, text []byte, inner string) []byte {
	t.Helper()
	return swap(t, text, between(t, text, "<ds:KeyInfo>", "</ds:KeyInfo>"), inner)
}

func str(inner string) string {
	return "<wsse:SecurityTokenReference>" + inner + "</wsse:SecurityTokenReference>"
}

func identifier(valueType string, content []byte) string {
	return str(fmt.Sprintf(`<wsse:KeyIdentifier EncodingType="%s" ValueType="%s">%s</wsse:KeyIdentifier>`, encodingBase64, valueType, encode(content)))
}

func token(id, valueType string, content []byte) string {
	return fmt.Sprintf(`<wsse:BinarySecurityToken EncodingType="%s" ValueType="%s" wsu:Id="%s">%s</wsse:BinarySecurityToken>`,
		encodingBase64, valueType, id, encode(content))
}

func inline(all ...*x509.Certificate) string {
	var out strings.Builder
	for _, c := range all {
		fmt.Fprintf(&out, "<ds:X509Certificate>\n%s\n</ds:X509Certificate>", encode(c.Raw))
	}
	return "<ds:X509Data>" + out.String() + "</ds:X509Data>"
}

func issuerSerial(issuer, serial string) string {
	return str("<ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>" + issuer + "</ds:X509IssuerName><ds:X509SerialNumber>" +
		serial + "</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data>")
}

// Forms that others write. The signer is the same in all of them.
func TestForeignKeyReferences(t *testing.T) {
	t.Parallel()
	s := rsaSigner()
	thumbprint := sha1.Sum(s.cert.Raw)
	path, err := writePKIPath(s.cert, append(slices.Clone(s.chain), s.root))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ info, tokens string }{
		"older key identifier":           {info: identifier(x509Profile+"#X509v3SubjectKeyIdentifier", s.cert.SubjectKeyId)},
		"key identifier by its hash":     {info: identifier(typeSKI, computedKeyID(s.cert))},
		"thumbprint":                     {info: identifier(typeThumbprint, thumbprint[:])},
		"certificate as identifier":      {info: identifier(typeX509, s.cert.Raw)},
		"inline certificate":             {info: str(inline(s.cert))},
		"inline without reference":       {info: inline(s.cert)},
		"inline with its authority":      {info: inline(s.chain[0], s.cert)},
		"serial, other spelling":         {info: issuerSerial(` c = de ; OID.2.5.4.10="Northwind, Test &amp;  SÖHNE", CN=Authority of rsa.northwind.example`, "\n20258 ")},
		"two tokens, ours first":         {tokens: token("other", typeX509, stranger().cert.Raw) + token("ours", typeX509, s.cert.Raw), info: refer("ours")},
		"two tokens, theirs behind":      {tokens: token("ours", typeX509, s.cert.Raw) + token("other", typeX509, stranger().cert.Raw), info: refer("ours")},
		"bare certificate as PKIPath":    {tokens: token("ours", typePKIPath, s.cert.Raw), info: refer("ours")},
		"PKIPath up to the root":         {tokens: token("ours", typePKIPath, path), info: refer("ours")},
		"key identifier beside token":    {tokens: token("other", typeX509, stranger().cert.Raw), info: identifier(typeSKI, s.cert.SubjectKeyId)},
		"token without encoding":         {tokens: strings.Replace(token("ours", typeX509, s.cert.Raw), "EncodingType", "Other", 1), info: refer("ours")},
		"token broken into lines":        {tokens: strings.Replace(token("ours", typeX509, s.cert.Raw), "MII", "\n  M\tI\r\nI", 1), info: refer("ours")},
		"reference without a value type": {tokens: token("ours", typeX509, s.cert.Raw), info: str(`<wsse:Reference URI="#ours"/>`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := withKeyInfo(t, sign(t, s.signing(RSASHA256, TokenSKI)), c.info)
			m := parseMessage(t, swap(t, text, "<ds:Signature ", c.tokens+"<ds:Signature "))
			r, err := m.verify(Trust{Pinned: []*x509.Certificate{stranger().cert, s.cert}, Now: signedAt})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Signer.Equal(s.cert) || !r.Covers(m.body) {
				t.Errorf("signed by %s", describe(r.Signer))
			}
			if _, err := m.verify(Trust{Pinned: []*x509.Certificate{stranger().cert}, Now: signedAt}); !errors.Is(err, ErrSigner) {
				t.Errorf("pinned to a stranger: %v", err)
			}
		})
	}
}

func refer(id string) string {
	return str(fmt.Sprintf(`<wsse:Reference URI="#%s" ValueType="%s"/>`, id, typeX509))
}

func TestBadKeyReferences(t *testing.T) {
	t.Parallel()
	s := rsaSigner()
	many, err := writePKIPath(s.cert, slices.Repeat(s.chain, maxCertificates))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		info, tokens string
		want         error
		text         string
	}{
		"nothing":             {want: ErrMalformed, text: "names 0 keys"},
		"two forms":           {info: inline(s.cert) + str(inline(s.cert)), want: ErrMalformed, text: "names 2 keys"},
		"two in a reference":  {info: str(inline(s.cert) + inline(s.cert)), want: ErrMalformed, text: "names 2 keys"},
		"a bare key":          {info: "<ds:KeyValue/>", want: ErrPolicy, text: "KeyValue"},
		"a name":              {info: "<ds:KeyName>northwind</ds:KeyName>", want: ErrPolicy, text: "KeyName"},
		"embedded":            {info: str("<wsse:Embedded>" + token("a", typeX509, s.cert.Raw) + "</wsse:Embedded>"), want: ErrPolicy, text: "Embedded"},
		"nowhere":             {info: refer("none"), want: ErrMalformed, text: "#none leads to no BinarySecurityToken"},
		"to the body":         {info: str(`<wsse:Reference URI="#bodyid"/>`), want: ErrMalformed, text: "leads to no BinarySecurityToken"},
		"outside":             {info: str(`<wsse:Reference URI="http://keys.example/a"/>`), want: ErrMalformed, text: "keys.example"},
		"unknown identifier":  {info: identifier("urn:x#Kerberos", []byte("a")), want: ErrPolicy, text: "urn:x#Kerberos"},
		"unknown token":       {tokens: token("a", "urn:x#Kerberos", []byte("a")), info: refer("a"), want: ErrPolicy, text: "urn:x#Kerberos"},
		"another encoding":    {tokens: strings.Replace(token("a", typeX509, s.cert.Raw), "#Base64Binary", "#HexBinary", 1), info: refer("a"), want: ErrPolicy, text: "HexBinary"},
		"no certificate":      {tokens: token("a", typeX509, []byte("hello")), info: refer("a"), want: ErrMalformed, text: "cannot be read"},
		"no path":             {tokens: token("a", typePKIPath, []byte("hello")), info: refer("a"), want: ErrMalformed, text: "PKIPath"},
		"empty path":          {tokens: token("a", typePKIPath, []byte{0x30, 0}), info: refer("a"), want: ErrMalformed, text: "without a certificate"},
		"long path":           {tokens: token("a", typePKIPath, many), info: refer("a"), want: ErrMalformed, text: "more than 16"},
		"no bag":              {tokens: token("a", typePKCS7, []byte("hello")), info: refer("a"), want: ErrMalformed, text: "PKCS #7"},
		"not base64":          {tokens: strings.Replace(token("a", typeX509, s.cert.Raw), "MII", "M!I", 1), info: refer("a"), want: ErrMalformed, text: "not base64"},
		"large token":         {tokens: token("a", typePKCS7, make([]byte, maxTokenSize+1)), info: refer("a"), want: ErrMalformed, text: "BinarySecurityToken has 262145 bytes"},
		"two serials":         {info: strings.Replace(issuerSerial("CN=a", "1"), "</ds:X509IssuerSerial>", "<ds:X509SerialNumber>2</ds:X509SerialNumber></ds:X509IssuerSerial>", 1), want: ErrMalformed, text: "2 children"},
		"serial in hex":       {info: issuerSerial("CN=a", "4F22"), want: ErrMalformed, text: "4F22"},
		"long serial":         {info: issuerSerial("CN=a", strings.Repeat("9", 1_000_000)), want: ErrMalformed, text: "decimal"},
		"another issuer":      {info: issuerSerial("CN=authority of others", "20258"), want: ErrSigner, text: "serial 4F:22 issued by CN=authority of others"},
		"another serial":      {info: issuerSerial(`CN=authority of rsa.northwind.example,O=Northwind\, Test &amp; Söhne,C=DE`, "20259"), want: ErrSigner, text: "serial 4F:23"},
		"unreadable issuer":   {info: issuerSerial("northwind", "20258"), want: ErrSigner, text: "northwind"},
		"another key":         {info: identifier(typeSKI, []byte{1, 2}), want: ErrSigner, text: "01:02"},
		"certificate of none": {info: inline(stranger().cert), want: ErrSignature, text: "stranger.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			envelope := strings.Replace(envelopeText, "<env:Body/>", `<env:Body xmlns:wsu="`+nsWSU+`" wsu:Id="bodyid"/>`, 1)
			text, err := signText(t, envelope, s.signing(RSASHA256, TokenSKI))
			if err != nil {
				t.Fatal(err)
			}
			text = swap(t, withKeyInfo(t, text, c.info), "<ds:Signature ", c.tokens+"<ds:Signature ")
			r, err := parseMessage(t, text).verify(s.trust())
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.text)
			}
			if len(err.Error()) > 2000 || r == nil || r.Signer != nil {
				t.Errorf("an error of %d bytes, report %v", len(err.Error()), r)
			}
		})
	}
}

// A certificate with our partner's names and another key is not the partner,
// nor is a pinned certificate found by what any certificate can say of itself.
func TestLookalike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		token Token
		want  error
		text  string
	}{
		{TokenBST, ErrSigner, "signed by the certificate of CN=rsa.northwind.example"},
		{TokenPKIPath, ErrSigner, "on file: the certificate of CN=rsa.northwind.example"},
		{TokenSKI, ErrSignature, "was not made with the key of"},
		{TokenIssuerSerial, ErrSignature, "was not made with the key of"},
		{TokenThumbprint, ErrSigner, "names its signer by the SHA-1 thumbprint"},
	} {
		m := parseMessage(t, sign(t, lookalike().signing(RSASHA256, c.token)))
		r, err := m.verify(rsaSigner().trust())
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || r.Signer != nil || r.Covers(m.body) {
			t.Errorf("%s: got %v", c.token, err)
		}
	}
}

// A renewed certificate over the same key is the same signer, and the one that
// is in force wins.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	old := rsaSigner()
	renewed := newSigner("rsa.northwind.example", 0x5000, old.key)
	m := parseMessage(t, sign(t, renewed.signing(RSASHA256, TokenBST)))
	if r, err := m.verify(old.trust()); err != nil || !r.Signer.Equal(old.cert) {
		t.Errorf("pinned to the old one: %v", err)
	}
	lapsed := *old.cert
	lapsed.NotAfter = signedAt.AddDate(0, 0, -1)
	if r, err := m.verify(Trust{Pinned: []*x509.Certificate{&lapsed, renewed.cert}, Now: signedAt}); err != nil || r.Signer != renewed.cert {
		t.Errorf("pinned to both: %v", err)
	}
	if _, err := m.verify(Trust{Pinned: []*x509.Certificate{&lapsed}, Now: signedAt}); !errors.Is(err, ErrSigner) || !strings.Contains(err.Error(), "expired at 2026-02-28") {
		t.Errorf("pinned to the lapsed one: %v", err)
	}
}

// Below an authority, intermediates may come from the settings or the message.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	s := rsaSigner()
	bst := parseMessage(t, sign(t, s.signing(RSASHA256, TokenBST)))
	path := parseMessage(t, sign(t, s.signing(RSASHA256, TokenPKIPath)))
	trust := s.authority()
	if _, err := bst.verify(trust); !errors.Is(err, ErrSigner) || !strings.Contains(err.Error(), "not below an authority") {
		t.Errorf("without the intermediate: %v", err)
	}
	if r, err := path.verify(trust); err != nil || !r.Signer.Equal(s.cert) || !r.Covers(path.body) {
		t.Errorf("with the intermediate in the message: %v", err)
	}
	trust.Intermediates = s.chain
	if r, err := bst.verify(trust); err != nil || !r.Signer.Equal(s.cert) {
		t.Errorf("with the intermediate in the settings: %v", err)
	}
	text := withKeyInfo(t, sign(t, s.signing(RSASHA256, TokenSKI)), identifier(typeSKI, s.cert.SubjectKeyId))
	beside := parseMessage(t, swap(t, text, "<ds:Signature ", token("other", typeX509, stranger().cert.Raw)+token("ours", typeX509, s.cert.Raw)+"<ds:Signature "))
	if r, err := beside.verify(trust); err != nil || !r.Signer.Equal(s.cert) {
		t.Errorf("named by key identifier, beside its token: %v", err)
	}
	trust.Now = signedAt.AddDate(20, 0, 0)
	if _, err := bst.verify(trust); !errors.Is(err, ErrSigner) {
		t.Errorf("after it expired: %v", err)
	}
	other := stranger().authority()
	other.Intermediates = s.chain
	if _, err := path.verify(other); !errors.Is(err, ErrSigner) {
		t.Errorf("below another authority: %v", err)
	}
}
