package wssec

import (
	"crypto"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"
)

// algorithmCases are all algorithms with all keys that they fit.
var algorithmCases = []struct {
	algorithm SignatureAlgorithm
	digest    crypto.Hash
	name      string
	signer    func() signer
}{
	{RSASHA256, 0, "rsa", rsaSigner},
	{RSASHA384, crypto.SHA384, "rsa", rsaSigner},
	{RSASHA512, crypto.SHA512, "rsa", rsaSigner},
	{ECDSASHA256, crypto.SHA256, "p256", p256Signer},
	{ECDSASHA384, crypto.SHA256, "p384", p384Signer},
	{ECDSASHA512, crypto.SHA512, "p521", p521Signer},
	{ECDSASHA512, crypto.SHA256, "p256", p256Signer},
	{ECDSASHA256, crypto.SHA256, "p521", p521Signer},
	{ECDSASHA256, crypto.SHA256, "brainpoolP256r1", brainpoolSigner},
	{ECDSASHA384, crypto.SHA384, "brainpoolP256r1", brainpoolSigner},
	{Ed25519, crypto.SHA256, "ed25519", edSigner},
	{Ed25519, crypto.SHA512, "ed25519", edSigner},
}

var tokens = []Token{"", TokenBST, TokenPKIPath, TokenPKCS7, TokenSKI, TokenThumbprint, TokenIssuerSerial}

// Every token with every algorithm: what is signed goes over the wire, verifies
// with the pinned certificate, below its authority if it carries the
// certificate, and for nobody else.
func TestTokensAndAlgorithms(t *testing.T) {
	t.Parallel()
	for _, a := range algorithmCases {
		for _, token := range tokens {
			t.Run(fmt.Sprintf("%s %s %d %s", a.algorithm, a.name, a.digest, token), func(t *testing.T) {
				t.Parallel()
				s := a.signer()
				signing := s.signing(a.algorithm, token)
				signing.Digest = a.digest
				m := parseMessage(t, sign(t, signing, testParts...), testParts...)
				trust := s.trust()
				trust.Now = s.now()
				trust.Pinned = append(stranger().trust().Pinned, trust.Pinned...)
				r, err := m.verify(trust)
				if err != nil {
					t.Fatal(err)
				}
				checkReport(t, m, r, s, a.algorithm, token)

				carries := slices.Contains([]Token{"", TokenBST, TokenPKIPath, TokenPKCS7}, token)
				r, err = m.verify(Trust{Pinned: stranger().trust().Pinned, Now: s.now()})
				if !errors.Is(err, ErrSigner) || r.Signer != nil || r.Covers(m.body) {
					t.Errorf("pinned to a stranger: %v, signer %v", err, r.Signer)
				}
				if carries != slices.ContainsFunc(r.Claimed, s.cert.Equal) {
					t.Errorf("claimed certificates: %d", len(r.Claimed))
				}
				authority := s.authority()
				authority.Now, authority.Intermediates = s.now(), s.chain
				if r, err = m.verify(authority); carries != (err == nil) || carries != (r.Signer != nil) {
					t.Errorf("below its authority: %v", err)
				}
			})
		}
	}
}

func checkReport(t *testing.T, m message, r *Report, s signer, algorithm SignatureAlgorithm, token Token) {
	t.Helper()
	if !r.Signer.Equal(s.cert) || r.Algorithm != algorithm || r.Named == "" {
		t.Errorf("signed by %s with %s, named by %s", describe(r.Signer), r.Algorithm, r.Named)
	}
	if !r.Covers(m.messaging) || !r.Covers(m.body) || r.Covers(m.root) || r.Covers(m.header) || r.Covers(m.security) || r.Covers(nil) {
		t.Errorf("%s: covers other elements than Messaging and Body", token)
	}
	for _, p := range m.parts {
		if !r.CoversPart(p.ContentID) {
			t.Errorf("part %s is not covered", p.ContentID)
		}
	}
	if r.CoversPart("other@northwind.example") || r.CoversPart("") {
		t.Error("covers a part that is not there")
	}
	if len(r.References) != 2+len(m.parts) || len(r.SignedInfoReferences) != len(r.References) {
		t.Errorf("%d references, %d elements", len(r.References), len(r.SignedInfoReferences))
	}
	for i, ref := range r.References {
		commented := ref.Part == "xml@northwind.example"
		if ref.Problem != "" || (ref.Tolerated != "") != commented || !cmp.Equal(ref.Got, ref.Value) || r.SignedInfoReferences[i].SelectAttrValue("URI", "") != ref.URI {
			t.Errorf("reference %s: %+v", ref.URI, ref)
		}
	}
}

// What Sign says is what Verify finds.
func TestReferencesOfSignAndVerify(t *testing.T) {
	t.Parallel()
	m := parseMessage(t, []byte(envelopeText))
	m.security = NewSecurity()
	m.header.AddChild(m.security)
	var c Covered
	for _, p := range testParts {
		c.Parts = append(c.Parts, digestPart(t, crypto.SHA512, p))
	}
	c.Elements = []*etree.Element{m.body, m.messaging}
	s := rsaSigner().signing(RSASHA512, TokenSKI)
	s.Digest = crypto.SHA512
	signed, err := Sign(m.security, c, s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseMessage(t, m.text(t), testParts...).verify(rsaSigner().trust())
	if err != nil {
		t.Fatal(err)
	}
	var found []Reference
	for _, result := range r.References {
		found = append(found, result.Reference)
	}
	if diff := cmp.Diff(signed, found); diff != "" {
		t.Error(diff)
	}
}

// An element that has a wsu:Id keeps it; else it gets one, with whatever prefix
// stands for the namespace.
func TestIDs(t *testing.T) {
	t.Parallel()
	const wsu = ` xmlns:wsu="` + nsWSU + `"`
	for name, c := range map[string]struct{ old, new, want string }{
		"none":              {"<env:Body/>", "<env:Body/>", `<env:Body xmlns:wsu="` + nsWSU + `" wsu:Id="id-`},
		"its own":           {"<env:Body/>", `<env:Body` + wsu + ` wsu:Id="body"/>`, `wsu:Id="body"/>`},
		"another prefix":    {"<env:Body/>", `<env:Body xmlns:u="` + nsWSU + `"/>`, ` u:Id="id-`},
		"prefix taken":      {"<env:Body/>", `<env:Body xmlns:wsu="urn:other"/>`, `xmlns:wsu1="` + nsWSU + `" wsu1:Id="id-`},
		"id without prefix": {"<env:Body/>", `<env:Body id="body"/>`, `wsu:Id="id-`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := signText(t, strings.Replace(envelopeText, c.old, c.new, 1), rsaSigner().signing(RSASHA256, TokenSKI))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.want) {
				t.Errorf("%q is not in %s", c.want, text)
			}
			m := parseMessage(t, text)
			if r, err := m.verify(rsaSigner().trust()); err != nil || !r.Covers(m.body) {
				t.Errorf("does not verify: %v", err)
			}
		})
	}
	hidden := parseMessage(t, []byte(strings.NewReplacer("<env:Envelope", "<env:Envelope"+wsu, "<env:Body/>", `<env:Body xmlns:wsu="urn:other"/>`).Replace(envelopeText)))
	if got := prefixFor(hidden.messaging, nsWSU, "wsu"); got != "wsu" {
		t.Errorf("prefix %s, wsu is in scope", got)
	}
	if got := prefixFor(hidden.body, nsWSU, "wsu"); got != "wsu1" {
		t.Errorf("prefix %s, wsu is hidden", got)
	}
	seen := map[string]bool{}
	for range 100 {
		id := newID()
		if seen[id] || !isNCName(id) {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
	for id, want := range map[string]bool{"a": true, "_1": true, "a.b-c": true, "": false, "1a": false, "-a": false, ".a": false, "a:b": false, "ä": false, "a b": false} {
		if isNCName(id) != want {
			t.Errorf("%q", id)
		}
	}
}

// What does not fit is our own fault, and said so.
func TestSigningThatDoesNotFit(t *testing.T) {
	t.Parallel()
	good := rsaSigner().signing(RSASHA256, TokenBST)
	for name, c := range map[string]struct {
		edit func(*Signing)
		want string
	}{
		"no key":            {func(s *Signing) { s.Key = nil }, "key or certificate"},
		"no certificate":    {func(s *Signing) { s.Certificate = nil }, "key or certificate"},
		"another key":       {func(s *Signing) { s.Key = stranger().key }, "does not belong to"},
		"unknown algorithm": {func(s *Signing) { s.Algorithm = "rsa-sha1" }, "rsa-sha1"},
		"no algorithm":      {func(s *Signing) { s.Algorithm = "" }, "not known"},
		"kind of key":       {func(s *Signing) { s.Algorithm = ECDSASHA256 }, "elliptic curve"},
		"SHA-1":             {func(s *Signing) { s.Digest = crypto.SHA1 }, "SHA-1"},
		"unknown token":     {func(s *Signing) { s.Token = "badge" }, "badge"},
		"no key identifier": {func(s *Signing) {
			c := *s.Certificate
			c.SubjectKeyId = nil
			s.Certificate, s.Token = &c, TokenSKI
		}, "no subject key identifier"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := good
			c.edit(&s)
			if _, err := signText(t, envelopeText, s); !errors.Is(err, ErrSetting) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCoverageThatDoesNotFit(t *testing.T) {
	t.Parallel()
	sum := make([]byte, 32)
	for name, c := range map[string]struct {
		covered func(m message) Covered
		want    string
	}{
		"nothing":           {func(message) Covered { return Covered{} }, "nothing to sign"},
		"the envelope":      {func(m message) Covered { return Covered{Elements: []*etree.Element{m.root}} }, "env:Envelope holds the signature"},
		"the header itself": {func(m message) Covered { return Covered{Elements: []*etree.Element{m.security}} }, "holds the signature"},
		"short digest":      {func(message) Covered { return Covered{Parts: []Digested{{"a@b", sum[:31]}}} }, "31 bytes"},
		"no Content-ID":     {func(message) Covered { return Covered{Parts: []Digested{{"", sum}}} }, "Content-ID"},
		"Content-ID twice":  {func(message) Covered { return Covered{Parts: []Digested{{"a@b", sum}, {"a@b", sum}}} }, "Content-ID"},
		"no NCName": {func(m message) Covered {
			m.body.CreateAttr("xmlns:wsu", nsWSU)
			m.body.CreateAttr("wsu:Id", "1-body")
			return Covered{Elements: []*etree.Element{m.body}}
		}, "NCName"},
		"signed already": {func(m message) Covered {
			m.security.CreateElement("ds:Signature").CreateAttr("xmlns:ds", nsDS)
			return Covered{Elements: []*etree.Element{m.body}}
		}, "signed already"},
		"no envelope": {func(m message) Covered {
			m.header.RemoveChild(m.security)
			return Covered{Elements: []*etree.Element{m.body}}
		}, "stands in an envelope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := parseMessage(t, []byte(envelopeText))
			m.security = NewSecurity()
			m.header.AddChild(m.security)
			if _, err := Sign(m.security, c.covered(m), rsaSigner().signing(RSASHA256, "")); !errors.Is(err, ErrSetting) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
