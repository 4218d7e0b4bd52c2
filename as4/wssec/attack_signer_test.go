package wssec

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"math/big"
	"slices"
	"strings"
	"testing"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// resigned signs a message again whose SignedInfo was bent, so that it is refused
// for what it says and not for its value: its signer is hostile himself. Digests
// of elements are made anew by the PrefixList of their reference.
func resigned(t testing.TB, text string, s signer, a SignatureAlgorithm) string {
	t.Helper()
	m := parseMessage(t, []byte(text))
	info := m.security.FindElement("//ds:SignedInfo")
	ids, _ := xmltree.IDs(m.root)
	for _, r := range info.SelectElements("Reference") {
		e := ids[strings.TrimPrefix(r.SelectAttrValue("URI", ""), "#")]
		if value := r.SelectElement("DigestValue"); e != nil && value != nil {
			value.SetText(encode(elementSum(t, e, listIn(r))))
		}
	}
	var form bytes.Buffer
	if err := xmltree.Canonical(&form, info, listIn(info.SelectElement("CanonicalizationMethod"))); err != nil {
		t.Fatal(err)
	}
	method, _ := xmldsig.MethodByName(a)
	value, err := method.Sign(s.key, form.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m.security.FindElement("//ds:SignatureValue").SetText(encode(value))
	return string(m.text(t))
}

func elementSum(t testing.TB, e *etree.Element, m xmltree.Method) []byte {
	t.Helper()
	sum := sha256.New()
	if err := xmltree.Canonical(sum, e, m); err != nil {
		t.Fatal(err)
	}
	return sum.Sum(nil)
}

// listIn is the PrefixList that stands in an element, if any.
func listIn(e *etree.Element) xmltree.Method {
	if e == nil {
		return xmltree.Method{}
	}
	for _, i := range xmltree.Find(e, func(e *etree.Element) bool { return e.Tag == "InclusiveNamespaces" }) {
		return xmltree.Method{Prefixes: strings.FieldsFunc(i.SelectAttrValue("PrefixList", ""), func(r rune) bool { return r == ' ' })}
	}
	return xmltree.Method{}
}

// TestAttackHostileSigner: the partner himself says odd things in SignedInfo, and
// his signature over them holds.
func TestAttackHostileSigner(t *testing.T) {
	t.Parallel()
	const (
		c14n      = ` Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>`
		transform = `<ds:Transform` + c14n
		list      = `<c:InclusiveNamespaces xmlns:c="` + exclusiveC14N + `" PrefixList="x"/>`
	)
	text := string(sign(t, rsaSigner().signing(RSASHA256, TokenBST)))
	first := func(old, new string) func(string) string { // of the reference to Messaging
		return func(text string) string { return string(swap(t, []byte(text), old, new)) }
	}
	with := func(inside string) string { return strings.Replace(transform, "/>", ">"+inside+"</ds:Transform>", 1) }
	id := between(t, []byte(text), `<ds:Reference URI="#`, `"`)
	whole := `<ds:Reference URI="` + between(t, []byte(text), `<ds:Reference URI="`, "</ds:Reference>") + "</ds:Reference>"
	refer := func(uri string) string { return strings.Replace(whole, `"#`+id+`"`, uri, 1) }
	for _, a := range []attack{
		{"signed again", func(text string) string { return text }, nil, ""},
		{"a PrefixList", first(transform, with(list)), nil, ""},
		{"a PrefixList of prefixes of nowhere", first(transform, with(strings.Replace(list, `"x"`, `"nowhere xmlns xml #default"`, 1))), nil, ""},
		{"a PrefixList of one prefix, with a blank that is none in XML", first(transform, with(strings.Replace(list, `"x"`, "\"nowhere\u00a0x\"", 1))), nil, ""},
		{"two PrefixLists", first(transform, with(list+list)), ErrMalformed, "holds more than"},
		{"a PrefixList of another namespace", first(transform, with(strings.Replace(list, exclusiveC14N, "urn:x", 1))), ErrMalformed, "another parameter"},
		{"XPath in place of a PrefixList", first(transform, with(`<ds:XPath>1</ds:XPath>`)), ErrMalformed, "another parameter"},
		{"an XPath filter", first(transform, `<ds:Transform Algorithm="http://www.w3.org/2002/06/xmldsig-filter2"/>`), ErrPolicy, "xmldsig-filter2"},
		{"Base64", first(transform, `<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#base64"/>`), ErrPolicy, "#base64"},
		{"Canonical XML 1.1", first(transform, `<ds:Transform Algorithm="http://www.w3.org/2006/12/xml-c14n11"/>`), ErrPolicy, "xml-c14n11"},
		{"comments", first(transform, `<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#WithComments"/>`), ErrPolicy, "#WithComments"},
		{"an algorithm with a blank", first(transform, `<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n# "/>`), ErrPolicy, "is not taken"},
		{"a transform of another namespace beside", first(transform, transform+`<x:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/>`), ErrPolicy, "2 transforms"},
		{"a transform of another namespace alone", first(transform, `<x:Transform`+c14n), ErrPolicy, "1 transforms"},
		{"transforms twice", first("</ds:Transforms>", "</ds:Transforms><ds:Transforms>"+transform+"</ds:Transforms>"), ErrMalformed, "more than"},
		{"a reference that leads nowhere", first(whole, refer(`"#nowhere"`)+whole), ErrSignature, "no element has this id"},
		{"a reference without URI", first(whole, strings.Replace(refer(`""`), `URI=""`, "", 1)+whole), ErrPolicy, "neither to an element"},
		{"a reference with a blank", first(whole, refer(`" #`+id+`"`)+whole), ErrPolicy, "neither to an element"},
		{"a reference in percent", first(whole, refer(`"#`+strings.Replace(id, "-", "%2D", 1)+`"`)+whole), ErrSignature, "no element has this id"},
		{"a reference by XPointer", first(whole, refer(`"#xpointer(id('`+id+`'))"`)), ErrSignature, "no element has this id"},
		{"a reference to the web", first(whole, refer(`"https://northwind.example/a#`+id+`"`)+whole), ErrPolicy, "neither to an element"},
		{"one element twice", first(whole, whole+whole), ErrMalformed, "occurs twice"},
		{"one element by two ids", func(text string) string {
			return strings.Replace(strings.Replace(text, "<eb:Messaging ", `<eb:Messaging Id="second" `, 1), whole, refer(`"#second"`)+whole, 1)
		}, nil, ""},
		{"the security header itself", func(text string) string {
			return strings.Replace(strings.Replace(text, "<wsse:Security ", `<wsse:Security wsu:Id="self" `, 1), whole, refer(`"#self"`)+whole, 1)
		}, ErrSignature, "was changed after it was signed"},
		{"its own SignedInfo", func(text string) string {
			return strings.Replace(strings.Replace(text, "<ds:SignedInfo>", `<ds:SignedInfo Id="self">`, 1), whole, refer(`"#self"`)+whole, 1)
		}, ErrSignature, "was changed after it was signed"},
		{"a Timestamp in place of the header", func(text string) string {
			stamp := `<wsu:Timestamp wsu:Id="stamp"><wsu:Created>2026-03-01T12:00:00Z</wsu:Created></wsu:Timestamp>`
			return strings.Replace(once(t, text, "<ds:Signature ", stamp+"<ds:Signature "), whole, refer(`"#stamp"`), 1)
		}, errUncovered, ""},
		{"what is in the header, not the header", func(text string) string {
			return strings.Replace(once(t, text, "<eb:UserMessage>", `<eb:UserMessage Id="inner">`), whole, refer(`"#inner"`), 1)
		}, errUncovered, ""},
		{"the Body only", first(whole, ""), errUncovered, ""},
		{"SHA-224", first(`xmlenc#sha256"`, `xmldsig-more#sha224"`), ErrPolicy, "is not taken"},
		{"SHA3-256", first(`http://www.w3.org/2001/04/xmlenc#sha256"`, `http://www.w3.org/2007/05/xmldsig-more#sha3-256"`), ErrPolicy, "sha3-256 is not taken"},
		{"RIPEMD-160", first(`xmlenc#sha256"`, `xmlenc#ripemd160"`), ErrPolicy, "ripemd160 is not taken"},
		{"SHA-512 by name, SHA-256 by length", first(`xmlenc#sha256"`, `xmlenc#sha512"`), ErrMalformed, "a digest of 32 bytes"},
		{"a digest method of another namespace too", first("<ds:DigestMethod ", `<x:DigestMethod Algorithm="urn:x"/><ds:DigestMethod `), ErrMalformed, "holds more than"},
		{"an element in a digest", func(text string) string {
			return once(t, text, whole, strings.Replace(whole, "</ds:DigestValue>", "<x:a/></ds:DigestValue>", 1))
		}, ErrMalformed, "holds elements"},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			bend := a.bend
			a.bend = func(text string) string { return resigned(t, bend(text), rsaSigner(), RSASHA256) }
			a.run(t, rsaSigner().trust(), text)
		})
	}
}

// TestAttackValues: values that other implementations took for signatures.
func TestAttackValues(t *testing.T) {
	t.Parallel()
	rsaText := string(sign(t, rsaSigner().signing(RSASHA256, TokenBST)))
	edText := string(sign(t, edSigner().signing(Ed25519, TokenBST)))
	form := func(text string) []byte {
		var b bytes.Buffer
		if err := xmltree.Canonical(&b, parseMessage(t, []byte(text)).security.FindElement("//ds:SignedInfo"), xmltree.Method{}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	bytesOf := func(text string) []byte {
		b, err := decode(parseMessage(t, []byte(text)).security.FindElement("//ds:SignatureValue"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	value := func(text string, b []byte) string {
		return once(t, text, between(t, []byte(text), "<ds:SignatureValue>", "</ds:SignatureValue>"), encode(b))
	}
	method := func(uri string) string {
		return once(t, rsaText, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", uri)
	}
	// The value of an HMAC by what everybody has: the certificate, or its key.
	byPublic := func(key []byte) string {
		text := method("http://www.w3.org/2001/04/xmldsig-more#hmac-sha256")
		sum := hmac.New(sha256.New, key)
		sum.Write(form(text))
		return value(text, sum.Sum(nil))
	}
	// S and S + L are the same scalar (RFC 8032 §8.4).
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	malleable := bytesOf(edText)
	slices.Reverse(malleable[32:])
	new(big.Int).Add(new(big.Int).SetBytes(malleable[32:]), order).FillBytes(malleable[32:])
	slices.Reverse(malleable[32:])
	for _, c := range []struct {
		name, text string
		signer     signer
		want       error
		says       string
	}{
		{"RSA", rsaText, rsaSigner(), nil, ""},
		{"Ed25519", edText, edSigner(), nil, ""},
		{"HMAC by the certificate", byPublic(rsaSigner().cert.Raw), rsaSigner(), ErrPolicy, "hmac-sha256 is not taken"},
		{"HMAC by the public key", byPublic(rsaSigner().cert.RawSubjectPublicKeyInfo), rsaSigner(), ErrPolicy, "hmac-sha256 is not taken"},
		{"RSA with MD5", method("http://www.w3.org/2001/04/xmldsig-more#rsa-md5"), rsaSigner(), ErrPolicy, "rsa-md5 is not taken"},
		{"ECDSA with SHA-1", method("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha1"), rsaSigner(), ErrPolicy, "ecdsa-sha1 is not taken"},
		{"DSA", method("http://www.w3.org/2009/xmldsig11#dsa-sha256"), rsaSigner(), ErrPolicy, "dsa-sha256 is not taken"},
		{"RSA, a zero in front", value(rsaText, append([]byte{0}, bytesOf(rsaText)...)), rsaSigner(), ErrSignature, "over this SignedInfo"},
		{"RSA, all zeros", value(rsaText, make([]byte, 256)), rsaSigner(), ErrSignature, "over this SignedInfo"},
		{"RSA, one", value(rsaText, append(make([]byte, 255), 1)), rsaSigner(), ErrSignature, "over this SignedInfo"},
		{"RSA, the modulus", value(rsaText, modulus(rsaSigner().cert)), rsaSigner(), ErrSignature, "over this SignedInfo"},
		{"Ed25519, S + L", value(edText, malleable), edSigner(), ErrSignature, "over this SignedInfo"},
		{"Ed25519, all zeros", value(edText, make([]byte, ed25519.SignatureSize)), edSigner(), ErrSignature, "over this SignedInfo"},
		{"Ed25519, the neutral point", value(edText, append([]byte{1}, make([]byte, 63)...)), edSigner(), ErrSignature, "over this SignedInfo"},
		{"Ed25519, too short", value(edText, bytesOf(edText)[:63]), edSigner(), ErrSignature, "over this SignedInfo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			attack{c.name, func(text string) string { return text }, c.want, c.says}.run(t, c.signer.trust(), c.text)
		})
	}
}

// modulus is that of an RSA key, which is zero to it.
func modulus(c *x509.Certificate) []byte {
	return c.PublicKey.(*rsa.PublicKey).N.Bytes()
}
