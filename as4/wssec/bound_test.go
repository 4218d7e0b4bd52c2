package wssec

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"

	"edigw/internal/xmltree"
)

// TestSignedInfoHasABound: a SignedInfo whose canonical form is hundreds of times
// as large as itself is not made, whoever sends it.
func TestSignedInfoHasABound(t *testing.T) {
	t.Parallel()
	var declared, used strings.Builder
	for i := range 190 {
		fmt.Fprintf(&declared, ` xmlns:p%d="urn:%d:%s"`, i, i, strings.Repeat("x", 900))
		fmt.Fprintf(&used, ` p%d:a=""`, i)
	}
	bomb := strings.Repeat("<ds:Reference"+used.String()+"/>", 50)
	text := sign(t, rsaSigner().signing(RSASHA256, TokenBST), testParts...)
	text = swap(t, text, "<ds:SignedInfo>", "<ds:SignedInfo>"+bomb)
	text = swap(t, text, "<ds:Signature ", "<ds:Signature"+declared.String()+" ")
	m := parseMessage(t, text, testParts...)
	if _, err := m.verify(rsaSigner().trust()); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "SignedInfo: it has more than") {
		t.Errorf("got %v", err)
	}
}

// TestPrefixListsHaveABound: what a receipt must declare for the references that
// it copies stays small.
func TestPrefixListsHaveABound(t *testing.T) {
	t.Parallel()
	list := strings.TrimSpace(strings.Repeat("p ", maxPrefixes))
	reference := `<ds:Reference URI="#e%d"><ds:Transforms><ds:Transform Algorithm="` + exclusiveC14N + `"><c:InclusiveNamespaces xmlns:c="` + exclusiveC14N + `" PrefixList="` + list + `"/></ds:Transform></ds:Transforms>` +
		`<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>` + encode(make([]byte, 32)) + `</ds:DigestValue></ds:Reference>`
	for n, want := range map[int]error{maxAllPrefixes / maxPrefixes: nil, maxAllPrefixes/maxPrefixes + 1: ErrMalformed} {
		var text strings.Builder
		text.WriteString(`<ds:SignedInfo xmlns:ds="` + nsDS + `">`)
		for i := range n {
			fmt.Fprintf(&text, `<e Id="e%d"/>`+reference, i, i)
		}
		info := parseXML(t, text.String()+"</ds:SignedInfo>").Root()
		v := &verifier{report: &Report{SignedInfoReferences: xmltree.Children(info, nsDS, "Reference")}}
		v.trust, _ = Trust{Now: signedAt}.withDefaults()
		v.ids, _ = xmltree.IDs(info)
		if err := v.readReferences(); !errors.Is(err, want) {
			t.Errorf("%d references: %v, want %v", n, err, want)
		}
	}
}

// TestStrangersKeysAreTriedSparingly: on some curves each costs milliseconds, and
// anybody can send many.
func TestStrangersKeysAreTriedSparingly(t *testing.T) {
	t.Parallel()
	others := []*x509.Certificate{p256Signer().cert, p384Signer().cert, p521Signer().cert, brainpoolSigner().cert}
	for n, want := range map[int]error{maxTried - 1: ErrSigner, maxTried: ErrSignature} {
		s := rsaSigner()
		text := sign(t, s.signing(RSASHA256, TokenBST), testParts...)
		info := between(t, text, "<ds:KeyInfo>", "</ds:KeyInfo>")
		data := `<ds:X509Data>`
		for _, c := range append(append([]*x509.Certificate{}, others[:n]...), s.cert) {
			data += "<ds:X509Certificate>" + encode(c.Raw) + "</ds:X509Certificate>"
		}
		m := parseMessage(t, swap(t, text, info, data+"</ds:X509Data>"), testParts...)
		trust := s.trust()
		trust.Pinned = []*x509.Certificate{edSigner().cert}
		r, err := m.verify(trust)
		if !errors.Is(err, want) || (r.Stranger != nil) != (n < maxTried) {
			t.Errorf("behind %d others: %v, want %v; stranger %v", n, err, want, r.Stranger != nil)
		}
	}
}
