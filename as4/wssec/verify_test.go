package wssec

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// What is refused for what it says, whatever the signature value.
func TestRefusedSignatures(t *testing.T) {
	t.Parallel()
	const (
		sha256    = "http://www.w3.org/2001/04/xmlenc#sha256"
		transform = `<ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>`
		c14n      = `<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>`
		partial   = `<ds:Transform Algorithm="` + transformPart + `"/>`
	)
	for name, c := range map[string]struct {
		old, new string
		want     error
		text     string
	}{
		"RSA with SHA-1":           {"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "http://www.w3.org/2000/09/xmldsig#rsa-sha1", ErrPolicy, "http://www.w3.org/2000/09/xmldsig#rsa-sha1"},
		"HMAC":                     {"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "http://www.w3.org/2000/09/xmldsig#hmac-sha1", ErrPolicy, "hmac-sha1"},
		"PSS":                      {"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1", ErrPolicy, "sha256-rsa-MGF1"},
		"no algorithm":             {`<ds:SignatureMethod Algorithm=`, `<ds:SignatureMethod Name=`, ErrPolicy, "is not taken"},
		"method with parameters":   {`rsa-sha256"/>`, `rsa-sha256"><ds:HMACOutputLength>1</ds:HMACOutputLength></ds:SignatureMethod>`, ErrPolicy, "has parameters"},
		"digest SHA-1":             {sha256, "http://www.w3.org/2000/09/xmldsig#sha1", ErrPolicy, "http://www.w3.org/2000/09/xmldsig#sha1"},
		"digest MD5":               {sha256, "http://www.w3.org/2001/04/xmldsig-more#md5", ErrPolicy, "#md5"},
		"digest too short":         {"<ds:DigestValue>", "<ds:DigestValue>AAAA</ds:DigestValue><!-- ", ErrMalformed, "3 bytes"},
		"inclusive C14N of info":   {c14n, `<ds:CanonicalizationMethod Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/>`, ErrPolicy, "REC-xml-c14n-20010315"},
		"C14N with comments":       {c14n, `<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#WithComments"/>`, ErrPolicy, "#WithComments"},
		"no C14N":                  {c14n, "", ErrMalformed, "0 children CanonicalizationMethod"},
		"C14N twice":               {c14n, c14n + c14n, ErrMalformed, "2 children CanonicalizationMethod"},
		"more in SignedInfo":       {c14n, c14n + "<ds:Other/>", ErrMalformed, "3 elements beside its references"},
		"more in a reference":      {"<ds:DigestValue>", "<ds:Other/><ds:Other/><ds:DigestValue>", ErrMalformed, "holds more than"},
		"attributes of others":     {"<ds:DigestValue>", `<ds:DigestValue xmlns:o="urn:o" o:a="">`, ErrMalformed, "holds more than"},
		"C14N with a parameter":    {c14n, `<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"><ds:Other/></ds:CanonicalizationMethod>`, ErrMalformed, "another parameter"},
		"inclusive C14N":           {transform, `<ds:Transforms><ds:Transform Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/></ds:Transforms>`, ErrPolicy, "REC-xml-c14n-20010315"},
		"enveloped signature":      {transform, `<ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/></ds:Transforms>`, ErrPolicy, "enveloped-signature"},
		"XPath":                    {transform, `<ds:Transforms><ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>true()</ds:XPath></ds:Transform></ds:Transforms>`, ErrPolicy, "REC-xpath-19991116"},
		"XSLT":                     {transform, `<ds:Transforms><ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/></ds:Transforms>`, ErrPolicy, "REC-xslt-19991116"},
		"STR-Transform":            {transform, `<ds:Transforms><ds:Transform Algorithm="` + transformSTR + `"/></ds:Transforms>`, ErrPolicy, "STR-Transform"},
		"element as attachment":    {transform, `<ds:Transforms>` + partial + `</ds:Transforms>`, ErrPolicy, "is used on an element"},
		"no transforms":            {transform, "", ErrPolicy, "has no transforms"},
		"two transforms":           {transform, strings.Replace(transform, "</ds:Transforms>", partial+"</ds:Transforms>", 1), ErrPolicy, "2 transforms"},
		"attachment with headers":  {partial, `<ds:Transform Algorithm="` + transformWhole + `"/>`, ErrPolicy, "covers MIME headers"},
		"attachment as XML":        {partial, `<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>`, ErrPolicy, "of an attachment is not taken"},
		"attachment with more":     {partial, `<ds:Transform Algorithm="` + transformPart + `"><ds:Other/></ds:Transform>`, ErrPolicy, "has parameters"},
		"whole document":           {`URI="#id-`, `URI="" Old="#id-`, ErrPolicy, "neither to an element"},
		"somewhere else":           {`URI="#id-`, `URI="file:///etc/hostname" Old="#id-`, ErrPolicy, "neither to an element"},
		"XPointer":                 {`URI="#id-`, `URI="#xpointer(/)" Old="#id-`, ErrSignature, "no element has this id"},
		"cid not encoded":          {`URI="cid:order`, `URI="cid:%4order`, ErrPolicy, "neither to an element"},
		"no references":            {"", "", ErrMalformed, "without references"},
		"two SignedInfo":           {"<ds:SignatureValue>", "<ds:SignedInfo/><ds:SignatureValue>", ErrMalformed, "2 children SignedInfo"},
		"two values":               {"<ds:SignatureValue>", "<ds:SignatureValue>AAAA</ds:SignatureValue><ds:SignatureValue>", ErrMalformed, "2 children SignatureValue"},
		"value not base64":         {"<ds:SignatureValue>", "<ds:SignatureValue>!", ErrMalformed, "not base64"},
		"no KeyInfo":               {"<ds:KeyInfo>", "<ds:Other/><ds:KeyInfo xmlns:ds='urn:other'>", ErrMalformed, "0 children KeyInfo"},
		"two signatures":           {"<ds:Signature ", `<ds:Signature xmlns:ds="` + nsDS + `"/><ds:Signature `, ErrMalformed, "2 signatures"},
		"no signature":             {`xmlns:ds="` + nsDS + `"><ds:SignedInfo`, `xmlns:ds="urn:other"><ds:SignedInfo`, ErrUnsigned, "no signature"},
		"an id twice":              {"<eb:MessageInfo>", `<eb:MessageInfo Id="twice" /><eb:MessageInfo ID="twice">`, ErrSignature, "twice occurs twice"},
		"a reference twice":        {"<ds:Reference URI=\"cid:order", `<ds:Reference URI="cid:%6frder@northwind.example"><ds:Transforms>` + partial + `</ds:Transforms><ds:DigestMethod Algorithm="` + sha256 + `"/><ds:DigestValue>` + encode(make([]byte, 32)) + `</ds:DigestValue></ds:Reference><ds:Reference URI="cid:order`, ErrMalformed, "occurs twice"},
		"SignedInfo of somebody":   {"<ds:DigestValue>", "<ds:DigestValue> ", ErrSignature, "was not made with the key of"},
		"another algorithm of RSA": {"#rsa-sha256", "#rsa-sha512", ErrSignature, "was not made with the key of"},
		"an algorithm of others":   {"#rsa-sha256", "#ecdsa-sha256", ErrSignature, "has a key of kind RSA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := sign(t, rsaSigner().signing(RSASHA256, TokenBST), testParts...)
			if c.old == "" {
				text = swap(t, text, between(t, text, `#rsa-sha256"/>`, "</ds:SignedInfo>"), "")
			} else {
				text = swap(t, text, c.old, c.new)
			}
			if name == "digest too short" {
				text = swap(t, text, "</ds:DigestValue></ds:Reference>", " --></ds:Reference>")
			}
			m := parseMessage(t, text, testParts...)
			r, err := m.verify(rsaSigner().trust())
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.text)
			}
			if r.Covers(m.messaging) || r.Covers(m.body) || r.CoversPart(testParts[0].ContentID) {
				t.Error("covers something")
			}
		})
	}
}

// What the lane agreed on bounds what is taken.
func TestTrust(t *testing.T) {
	t.Parallel()
	m := parseMessage(t, sign(t, rsaSigner().signing(RSASHA256, ""), testParts...), testParts...)
	for name, c := range map[string]struct {
		edit func(*Trust)
		want error
		text string
	}{
		"as it is":          {func(*Trust) {}, nil, ""},
		"its algorithm":     {func(t *Trust) { t.Algorithms = []SignatureAlgorithm{Ed25519, RSASHA256} }, nil, ""},
		"another algorithm": {func(t *Trust) { t.Algorithms = []SignatureAlgorithm{Ed25519} }, ErrPolicy, "rsa-sha256 is not agreed"},
		"no algorithm":      {func(t *Trust) { t.Algorithms = []SignatureAlgorithm{} }, ErrPolicy, "is not agreed"},
		"a stronger digest": {func(t *Trust) { t.Digest = crypto.SHA384 }, ErrPolicy, "weaker than SHA-384"},
		"a weak digest":     {func(t *Trust) { t.Digest = crypto.SHA1 }, ErrSetting, "SHA-1"},
		"no time":           {func(t *Trust) { *t = Trust{Pinned: t.Pinned} }, ErrSetting, "without a time"},
		"five references":   {func(t *Trust) { t.MaxReferences = 5 }, nil, ""},
		"four references":   {func(t *Trust) { t.MaxReferences = 4 }, ErrPolicy, "5 references, more than 4"},
		"nobody":            {func(t *Trust) { t.Pinned = nil }, ErrSigner, "no certificate of the partner is on file"},
		"somebody":          {func(t *Trust) { *t = stranger().trust() }, ErrSigner, "on file: the certificate of CN=stranger.example"},
		"more than are shown": {func(t *Trust) {
			t.Pinned = append(stranger().chain, p256Signer().cert, p384Signer().cert, edSigner().cert)
		}, ErrSigner, "2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trust := rsaSigner().trust()
			c.edit(&trust)
			_, err := m.verify(trust)
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.text)
			}
		})
	}
	if _, err := m.verify(stranger().trust()); strings.Contains(err.Error(), "authority that is trusted") {
		t.Errorf("no authority is trusted, and it says: %v", err)
	}
	for _, c := range []struct {
		algorithm SignatureAlgorithm
		digest    crypto.Hash
		text      string
	}{
		{RSASHA256, crypto.SHA512, "signature algorithm rsa-sha256 is weaker than SHA-384"}, {RSASHA512, crypto.SHA256, "digest algorithm SHA-256 is weaker than SHA-384"},
	} {
		s, trust := rsaSigner().signing(c.algorithm, ""), rsaSigner().trust()
		s.Digest, trust.Digest = c.digest, crypto.SHA384
		if _, err := parseMessage(t, sign(t, s)).verify(trust); !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("got %v, want %q", err, c.text)
		}
	}
	if r, err := Verify(m.root, nil, nil, rsaSigner().trust()); !errors.Is(err, ErrUnsigned) || r == nil {
		t.Errorf("without a header: %v", err)
	}
}

// Far more references than common stacks take pass; what is beyond the bound says so.
func TestManyReferences(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{198: nil, 199: ErrPolicy} { // and Messaging and Body
		var parts []Part
		for i := range n {
			parts = append(parts, part(fmt.Sprintf("%d@northwind.example", i), "application/gzip", fmt.Sprint(i)))
		}
		m := parseMessage(t, sign(t, p256Signer().signing(ECDSASHA256, ""), parts...), parts...)
		r, err := m.verify(p256Signer().trust())
		if !errors.Is(err, want) || err == nil && !r.CoversPart("197@northwind.example") {
			t.Errorf("%d parts: %v", n, err)
		}
	}
}

// What was signed and moved away still verifies, but covers nothing that stands
// in its place.
func TestWrapping(t *testing.T) {
	t.Parallel()
	text := sign(t, rsaSigner().signing(RSASHA256, ""))
	body := "<env:Body" + between(t, text, "<env:Body", "/>") + "/>"
	moved := swap(t, swap(t, text, body, "<env:Body>EVIL-1</env:Body>"), "</env:Header>", "<x:hidden>"+body+"</x:hidden></env:Header>")
	m := parseMessage(t, moved)
	r, err := m.verify(rsaSigner().trust())
	if err != nil {
		t.Fatal(err)
	}
	if r.Covers(m.body) || !r.Covers(m.messaging) {
		t.Error("covers another Body than the signed one")
	}
	copied := swap(t, text, "</env:Header>", "<x:hidden>"+body+"</x:hidden></env:Header>")
	if _, err := parseMessage(t, copied).verify(rsaSigner().trust()); !errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), "occurs twice") {
		t.Errorf("copied: %v", err)
	}
	twin := parseMessage(t, text)
	if _, err := twin.verify(rsaSigner().trust()); err != nil {
		t.Fatal(err)
	}
	if r.Covers(twin.messaging) {
		t.Error("covers an element of another tree")
	}
}

// Faults of reading a part are ours, not the partner's.
func TestPartThatCannotBeRead(t *testing.T) {
	t.Parallel()
	text := sign(t, rsaSigner().signing(RSASHA256, ""), testParts...)
	broken := errors.New("disk on fire")
	parts := append([]Part{}, testParts...)
	parts[1].Open = func() (io.ReadCloser, error) { return nil, broken }
	if _, err := parseMessage(t, text, parts...).verify(rsaSigner().trust()); !errors.Is(err, broken) || errors.Is(err, ErrSignature) {
		t.Errorf("open: %v", err)
	}
	parts[1].Open = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("li"), failing{broken})), nil
	}
	if _, err := parseMessage(t, text, parts...).verify(rsaSigner().trust()); !errors.Is(err, broken) || errors.Is(err, ErrSignature) {
		t.Errorf("read: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// All references that fail are told, and no more than a person reads.
func TestSeveralReferencesFail(t *testing.T) {
	t.Parallel()
	var parts []Part
	for i := range 9 {
		parts = append(parts, part(fmt.Sprintf("%d@northwind.example", i), "", "content"))
	}
	text := sign(t, rsaSigner().signing(RSASHA256, ""), parts...)
	for i := range parts {
		parts[i] = part(parts[i].ContentID, "", "other")
	}
	r, err := parseMessage(t, text, parts...).verify(rsaSigner().trust())
	if !errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), "cid:2@northwind.example") || !strings.Contains(err.Error(), "and 6 more") {
		t.Errorf("got %v", err)
	}
	for i, result := range r.References {
		if (result.Problem != "") != (i >= 2) {
			t.Errorf("%s: problem %q", result.URI, result.Problem)
		}
	}
}

// The PrefixList of SignedInfo and of each reference counts.
func TestPrefixList(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"", "env", "x", "#default env x eb", "nowhere"} {
		m := parseMessage(t, []byte(envelopeText))
		m.security = NewSecurity()
		m.header.AddChild(m.security)
		text := resign(t, m, list)
		got := parseMessage(t, text)
		if r, err := got.verify(p256Signer().trust()); err != nil || !r.Covers(got.body) {
			t.Errorf("%q: %v", list, err)
		}
		if list == "x" {
			other := bytes.ReplaceAll(text, []byte(`PrefixList="x"`), []byte(`PrefixList=""`))
			if _, err := parseMessage(t, other).verify(p256Signer().trust()); !errors.Is(err, ErrSignature) {
				t.Errorf("without its PrefixList: %v", err)
			}
		}
	}
}

// resign signs the Body with a PrefixList everywhere, which Sign does not write.
func resign(t *testing.T, m message, list string) []byte {
	t.Helper()
	s := p256Signer()
	if _, err := Sign(m.security, Covered{Elements: []*etree.Element{m.body}}, s.signing(ECDSASHA256, "")); err != nil {
		t.Fatal(err)
	}
	method := xmltree.Method{Prefixes: strings.Fields(list)}
	for _, e := range m.security.FindElements("//ds:Transform") {
		addPrefixList(e, list)
	}
	addPrefixList(m.security.FindElement("//ds:CanonicalizationMethod"), list)
	var text bytes.Buffer
	if err := xmltree.Canonical(&text, m.body, method); err != nil {
		t.Fatal(err)
	}
	sum := crypto.SHA256.New()
	sum.Write(text.Bytes())
	m.security.FindElement("//ds:DigestValue").SetText(encode(sum.Sum(nil)))
	text.Reset()
	if err := xmltree.Canonical(&text, m.security.FindElement("//ds:SignedInfo"), method); err != nil {
		t.Fatal(err)
	}
	a, _ := xmldsig.MethodByName(ECDSASHA256)
	value, err := a.Sign(s.key, text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m.security.FindElement("//ds:SignatureValue").SetText(encode(value))
	return m.text(t)
}

func addPrefixList(e *etree.Element, list string) {
	inclusive := e.CreateElement("ec:InclusiveNamespaces")
	inclusive.CreateAttr("xmlns:ec", exclusiveC14N)
	inclusive.CreateAttr("PrefixList", list)
}
