package wssec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// randomEnvelope writes an envelope whose namespaces are hard to canonicalise:
// declared where they are not used, used under other prefixes, taken away and
// declared again, and text with everything that is written in two ways.
func randomEnvelope(r *rand.Rand) string {
	soap := pick(r, "env", "S12", "soapenv", "")
	open := func(local string) string {
		if soap == "" {
			return local
		}
		return soap + ":" + local
	}
	declare := `xmlns:` + soap
	if soap == "" {
		declare = "xmlns"
	}
	must := `xmlns:e2="` + nsSOAP + `" e2:mustUnderstand="true"`
	return fmt.Sprintf(`<%s %s="%s" xmlns:wsu="%s"%s><%s><eb:Messaging xmlns:eb="http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/" wsu:Id="msg-%d" %s%s>%s</eb:Messaging></%s><%s wsu:Id="body-%d"%s>%s</%s></%s>`,
		open("Envelope"), declare, nsSOAP, nsWSU, randomAttributes(r, 3), open("Header"), r.IntN(1e9), must, randomAttributes(r, 3), randomContent(r, 4),
		open("Header"), open("Body"), r.IntN(1e9), randomAttributes(r, 2), randomContent(r, 2), open("Body"), open("Envelope"))
}

func pick(r *rand.Rand, all ...string) string { return all[r.IntN(len(all))] }

// randomAttributes are declarations of p0 to p4 and attributes with and without them.
func randomAttributes(r *rand.Rand, most int) string {
	var out strings.Builder
	seen := map[string]bool{}
	add := func(name, value string) {
		if !seen[name] {
			seen[name] = true
			fmt.Fprintf(&out, ` %s="%s"`, name, value)
		}
	}
	for range r.IntN(most + 1) {
		switch p := r.IntN(5); r.IntN(4) {
		case 0:
			add(fmt.Sprintf("xmlns:p%d", p), fmt.Sprintf("urn:n%d", r.IntN(4)))
		case 1: // declared here, so that it is known
			add(fmt.Sprintf("xmlns:q%d", p), fmt.Sprintf("urn:q%d", p))
			add(fmt.Sprintf("q%d:a%d", p, r.IntN(3)), randomText(r, true))
		default:
			add(fmt.Sprintf("b%d", r.IntN(9)), randomText(r, true))
		}
	}
	return out.String()
}

func randomContent(r *rand.Rand, depth int) string {
	var out strings.Builder
	for range r.IntN(4) {
		switch r.IntN(5) {
		case 0:
			out.WriteString(randomText(r, false))
		case 1:
			out.WriteString("<!-- comment -->")
		case 2:
			out.WriteString("<![CDATA[<&>]]>")
		default:
			if depth == 0 {
				continue
			}
			switch name := fmt.Sprintf("e%d", r.IntN(4)); r.IntN(3) {
			case 0:
				fmt.Fprintf(&out, `<%s xmlns="%s"%s>%s</%s>`, name, pick(r, "", "urn:n1", "urn:d"), randomAttributes(r, 3), randomContent(r, depth-1), name)
			case 1:
				p := fmt.Sprintf("p%d", r.IntN(5))
				fmt.Fprintf(&out, `<%s:%s xmlns:%s="urn:n%d"><%s:x%s/>%s</%s:%s>`, p, name, p, r.IntN(4), p, "", randomContent(r, depth-1), p, name)
			default:
				fmt.Fprintf(&out, `<%s%s>%s</%s>`, name, randomAttributes(r, 4), randomContent(r, depth-1), name)
			}
		}
	}
	return out.String()
}

func randomText(r *rand.Rand, attribute bool) string {
	text := pick(r, "a", " b  c ", "&lt;&amp;&gt;", "&#13;", "&#9;&#10;", "ä€𝄞", "&quot;'", "\n\t", "]]&gt;", "&#x41;")
	if attribute {
		return strings.ReplaceAll(text, "\n\t", "&#9;")
	}
	return text
}

// wire writes a tree so that every parser reads the same again: by its
// canonical form, which escapes what must be.
func (m message) wire(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := xmltree.Canonical(&out, m.root, xmltree.Method{Inclusive: true, Comments: true}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// signRandom signs Messaging and Body of a random envelope.
func signRandom(t testing.TB, r *rand.Rand, s Signing) []byte {
	t.Helper()
	m := parseMessage(t, []byte(randomEnvelope(r)))
	m.security = NewSecurity()
	m.header.InsertChildAt(r.IntN(2), m.security)
	if _, err := Sign(m.security, Covered{Elements: []*etree.Element{m.messaging, m.body}}, s); err != nil {
		t.Fatal(err)
	}
	return m.wire(t)
}

// signatureTemplate is a random envelope with a ds:Signature that is to be
// filled in, PrefixLists everywhere.
func signatureTemplate(t testing.TB, r *rand.Rand, m xmldsig.Method, d xmldsig.Digest, s signer) []byte {
	t.Helper()
	text := randomEnvelope(r)
	prefixes := func() string {
		if r.IntN(3) == 0 {
			return ""
		}
		var list []string
		for range r.IntN(4) {
			list = append(list, pick(r, "p0", "p1", "p2", "q0", "q3", "eb", "env", "S12", "wsu", "nowhere", "#default"))
		}
		return fmt.Sprintf(`<ec:InclusiveNamespaces xmlns:ec="%s" PrefixList="%s"/>`, exclusiveC14N, strings.Join(list, " "))
	}
	var references strings.Builder
	for _, mark := range []string{`wsu:Id="msg-`, `wsu:Id="body-`} {
		id := strings.TrimPrefix(mark, `wsu:Id="`) + between(t, []byte(text), mark, `"`)
		fmt.Fprintf(&references, `<ds:Reference URI="#%s"><ds:Transforms><ds:Transform Algorithm="%s">%s</ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="%s"/><ds:DigestValue/></ds:Reference>`,
			id, exclusiveC14N, prefixes(), d.URI)
	}
	signature := fmt.Sprintf(`<ds:Signature xmlns:ds="%s"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="%s">%s</ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="%s"/>%s</ds:SignedInfo><ds:SignatureValue/><ds:KeyInfo><wsse:SecurityTokenReference><wsse:Reference URI="#bst"/></wsse:SecurityTokenReference></ds:KeyInfo></ds:Signature>`,
		nsDS, exclusiveC14N, prefixes(), m.URI, references.String())
	security := fmt.Sprintf(`<wsse:Security xmlns:wsse="%s">%s%s</wsse:Security>`, nsWSSE, token("bst", typeX509, s.cert.Raw), signature)
	return swap(t, []byte(text), "<eb:Messaging", security+"<eb:Messaging")
}
