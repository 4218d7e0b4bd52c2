package as4

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
)

// TestKnownFaultsOfPayloads: each payload is what its own PartInfo says.
func TestKnownFaultsOfPayloads(t *testing.T) {
	t.Parallel()
	zip := string(gzipped("is a document itself"))
	named := func(p craftedPart, name string) craftedPart {
		p.properties = append(p.properties, ebms.Property{Name: "FileName", Value: name}, ebms.Property{Name: "BDEWDocumentNo", Value: "1"})
		return p
	}
	seal := wssec.Encrypting{Recipient: northwind().cert, Cipher: wssec.AES128GCM}
	for name, tc := range map[string]struct {
		parts []craftedPart
		seal  bool
		want  []string // content, type and file name of each
	}{
		"row 29: three different parts": {parts: []craftedPart{
			named(zippedPart("a@x", "application/xml", "<a/>"), "../a.xml"), named(zippedPart("b@x", "text/plain", "b"), "b.txt"), zippedPart("c@x", "image/png", "c"),
		}, want: []string{"<a/> application/xml a.xml", "b text/plain b.txt", "c image/png "}},
		"row 10: one is compressed, one is not": {parts: []craftedPart{
			zippedPart("a@x", "text/plain", "a"), {id: "b@x", kind: "image/jpeg", content: []byte("\xff\xd8"), properties: []ebms.Property{{Name: ebms.MimeType, Value: "image/jpeg"}}},
		}, want: []string{"a text/plain ", "\xff\xd8 image/jpeg "}},
		"row 30: a document that is gzip":             {parts: []craftedPart{plainPart("a@x", "application/gzip", zip)}, want: []string{zip + " application/gzip "}},
		"row 30: a document that is gzip, compressed": {parts: []craftedPart{zippedPart("a@x", "application/gzip", zip)}, want: []string{zip + " application/gzip "}},
		"row 45: encrypted, called octet-stream": {seal: true, parts: []craftedPart{
			func() craftedPart {
				p := zippedPart("a@x", "text/xml", "<a/>")
				p.sealedAs = "application/octet-stream"
				return p
			}(),
		}, want: []string{"<a/> text/xml "}},
		"row 45: encrypted, called gzip": {seal: true, parts: []craftedPart{
			func() craftedPart {
				p := zippedPart("a@x", "text/xml", "<a/>")
				p.sealedAs = "application/gzip"
				return p
			}(),
		}, want: []string{"<a/> text/xml "}},
		"encrypted XML, not compressed":          {seal: true, parts: []craftedPart{plainPart("a@x", "text/xml", "<a  b='c'/>")}, want: []string{"<a  b='c'/> text/xml "}},
		"text that is signed with its line ends": {parts: []craftedPart{plainPart("a@x", "text/plain", "a\nb\r\nc")}, want: []string{"a\nb\r\nc text/plain "}},
		"charset as a property": {parts: []craftedPart{
			{id: "a@x", content: gzipped("ü"), properties: []ebms.Property{{Name: ebms.MimeType, Value: "text/xml"}, {Name: ebms.CharacterSet, Value: "utf-8"}, {Name: ebms.CompressionType, Value: gzipType}}},
		}, want: []string{"ü text/xml; charset=utf-8 "}},
		"no MimeType": {parts: []craftedPart{
			{id: "a@x", content: gzipped("x"), properties: []ebms.Property{{Name: ebms.CompressionType, Value: gzipType}}},
		}, want: []string{"x application/octet-stream "}},
		"no payload": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := craft(tc.parts...)
			if tc.seal {
				c.seal = seal
			}
			m := &receiver{p: fromAcmePlain()}
			m.p.FileNameProperty = "FileName"
			if answer, e := answered(t, serve(receiverHandler(t, m), c.request(t))); answer != "receipt" {
				t.Fatalf("answered %s: %s", answer, e.Detail)
			}
			rec, payloads := m.last(t)
			var got []string
			for i, p := range rec.Payloads {
				got = append(got, payloads[i]+" "+p.ContentType+" "+p.FileName)
				for _, property := range p.Properties {
					if ofMSH(property) {
						t.Errorf("property %s is handed on", property.Name)
					}
				}
			}
			if !slices.Equal(got, tc.want) || rec.Encrypted != tc.seal {
				t.Errorf("received %q, encrypted %t: %s", got, rec.Encrypted, rec.Problem)
			}
			if strings.HasPrefix(name, "no MimeType") != (rec.Warning != "") {
				t.Errorf("warning %q", rec.Warning)
			}
		})
	}
}

// TestRow38ManyParts: some stacks stop at 30 references. Here as many parts as a
// message may have are received, and one more is refused with the bound.
func TestRow38ManyParts(t *testing.T) {
	t.Parallel()
	var parts []craftedPart
	for i := range maxParts {
		parts = append(parts, plainPart(fmt.Sprintf("part%d@acme.example", i), "application/octet-stream", fmt.Sprint("content ", i)))
	}
	m := &receiver{p: fromAcmePlain()}
	h := receiverHandler(t, m)
	if answer, e := answered(t, serve(h, craft(parts...).request(t))); answer != "receipt" {
		t.Fatalf("answered %s: %s", answer, e.Detail)
	}
	if _, payloads := m.last(t); len(payloads) != maxParts || payloads[maxParts-1] != fmt.Sprint("content ", maxParts-1) {
		t.Errorf("%d payloads", len(payloads))
	}
	parts = append(parts, craftedPart{id: "more@x", unlisted: true, unsigned: true})
	if answer, e := answered(t, serve(h, craft(parts...).request(t))); answer != codeMIME || !strings.Contains(e.Detail, "more than 501 parts") {
		t.Errorf("answered %s: %s", answer, e.Detail)
	}
}

// TestPayloadInTheBody: it is handed on as a document of its own.
func TestPayloadInTheBody(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body, href string
		seal       bool
		want       string
	}{
		"named as the Body":           {body: `<o:Order xmlns:o="urn:o"><o:Id>1</o:Id></o:Order>`, want: `<o:Order xmlns:o="urn:o"><o:Id>1</o:Id></o:Order>`},
		"named by the id of the Body": {body: `<Order xmlns="urn:o">1 &lt; 2</Order>`, href: "#", want: `<Order xmlns="urn:o">1 &lt; 2</Order>`},
		"a prefix that only a value uses": {body: `<o:Order xmlns:o="urn:o" kind="env:x">1</o:Order>`,
			want: `<o:Order xmlns:env="http://www.w3.org/2003/05/soap-envelope" xmlns:o="urn:o" kind="env:x">1</o:Order>`},
		"in the middle of a value": {body: `<o:Order xmlns:o="urn:o" path="a/(env:x)"/>`,
			want: `<o:Order xmlns:env="http://www.w3.org/2003/05/soap-envelope" xmlns:o="urn:o" path="a/(env:x)"></o:Order>`},
		"what ends like a prefix": {body: `<o:Order xmlns:o="urn:o" kind="x-env:x">env : http://env/</o:Order>`,
			want: `<o:Order xmlns:o="urn:o" kind="x-env:x">env : http://env/</o:Order>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := craft()
			c.body = tc.body
			c.user.Parts = []ebms.PartInfo{{Href: tc.href, Properties: []ebms.Property{{Name: ebms.MimeType, Value: "text/xml"}}}}
			c.before = func(e *ebms.Envelope) {
				if tc.href == "" {
					return
				}
				id := e.Body.SelectAttrValue("wsu:Id", "")
				e.Messaging.FindElement(".//PartInfo").CreateAttr("href", "#"+id)
			}
			m := &receiver{p: fromAcmePlain()}
			if answer, e := answered(t, serve(receiverHandler(t, m), c.request(t))); answer != "receipt" {
				t.Fatalf("answered %s: %s", answer, e.Detail)
			}
			rec, payloads := m.last(t)
			if len(payloads) != 1 || payloads[0] != tc.want || rec.Payloads[0].ContentType != "text/xml" || rec.Payloads[0].ContentID != "" {
				t.Errorf("received %q", payloads)
			}
		})
	}
	t.Run("encryption was settled", func(t *testing.T) {
		t.Parallel()
		c := craft()
		c.body, c.user.Parts = "<Order/>", []ebms.PartInfo{{}}
		m := &receiver{p: fromAcme()}
		if answer, e := answered(t, serve(receiverHandler(t, m), c.request(t))); answer != codePolicy || !strings.Contains(e.Detail, "SOAP Body is not encrypted") {
			t.Errorf("answered %s: %s", answer, e.Detail)
		}
	})
	t.Run("named twice", func(t *testing.T) {
		t.Parallel()
		c := craft()
		c.body, c.user.Parts = "<Order/>", []ebms.PartInfo{{}, {}}
		c.before = func(e *ebms.Envelope) {
			e.Messaging.FindElements(".//PartInfo")[1].CreateAttr("href", "#"+e.Body.SelectAttrValue("wsu:Id", ""))
		}
		m := &receiver{p: fromAcmePlain()}
		if answer, e := answered(t, serve(receiverHandler(t, m), c.request(t))); answer != codeHeader || !strings.Contains(e.Detail, "two PartInfo name the same payload") {
			t.Errorf("answered %s: %s", answer, e.Detail)
		}
	})
}
