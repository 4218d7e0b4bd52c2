package wssec

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
)

func digestOf(t testing.TB, mediaType string, pieces ...string) []byte {
	t.Helper()
	d := PartDigest(crypto.SHA256, mediaType)
	for _, p := range pieces {
		if n, err := io.WriteString(d, p); err != nil || n != len(p) {
			t.Fatalf("%d of %d bytes, %v", n, len(p), err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return d.Sum()
}

func sumOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func TestContentTransform(t *testing.T) {
	t.Parallel()
	const xml = "\ufeff<?xml version=\"1.0\"?>\r\n<a  z='1'\tb='2'><!-- no --><c/></a>\n<!-- no -->"
	for _, c := range []struct{ mediaType, content, want string }{
		{"application/gzip", "a\nb\r\n", "a\nb\r\n"},
		{"application/octet-stream", xml, xml},
		{"", "a\nb", "a\nb"},
		{"text/plain", "a\nb\r\nc\rd\n\re\r\r\n\n", "a\r\nb\r\nc\r\nd\r\n\r\ne\r\n\r\n\r\n"},
		{"TEXT/CSV; charset=utf-8", "\n", "\r\n"},
		{"text/plain", "", ""},
		{"text/xml", xml, `<a b="2" z="1"><c></c></a>`},
		{" Application/XML ; charset=utf-8", xml, `<a b="2" z="1"><c></c></a>`},
		{"application/vnd.northwind+xml", xml, `<a b="2" z="1"><c></c></a>`},
		{"image/svg+xml", `<a xmlns="urn:a" xmlns:b="urn:b"/>`, `<a xmlns="urn:a"></a>`},
		{"application/xml-dtd", "a\nb", "a\nb"},
	} {
		for at := range len(c.content) + 1 { // wherever it is cut
			if got := digestOf(t, c.mediaType, c.content[:at], c.content[at:]); !bytes.Equal(got, sumOf(c.want)) {
				t.Errorf("%s %q cut at %d: not the digest of %q", c.mediaType, c.content, at, c.want)
				break
			}
		}
	}
}

// xmllint and openssl come to the same digest of XML.
func TestContentTransformAgainstXMLLint(t *testing.T) {
	t.Parallel()
	o := newTool(t, "xmllint", "openssl")
	for _, text := range []string{
		`<a xmlns="urn:a" xmlns:b="urn:b"><b:c b:d="&#13;&lt;&quot;" e="ä"/>&#13;<![CDATA[<&]]></a>`,
		"<!-- a --><a>\r\n<b xmlns=''/>\r\n</a>",
	} {
		o.write("canonical", o.run("xmllint", "--exc-c14n", o.write("a.xml", []byte(text))))
		want := o.run("openssl", "dgst", "-sha256", "-binary", "canonical")
		// xmllint keeps comments, which are around the root only here.
		if strings.HasPrefix(text, "<!--") {
			canonical := o.read("canonical")
			want = sumOf(string(canonical[bytes.IndexByte(canonical, '\n')+1:]))
		}
		if got := digestOf(t, "application/xml", text); !bytes.Equal(got, want) {
			t.Errorf("%s: %s, openssl says %s", text, hex.EncodeToString(got), hex.EncodeToString(want))
		}
	}
}

func TestXMLThatCannotBeDigested(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		want    error
	}{
		"not XML":        {"UNA:+.? '", ErrMalformed},
		"cut off":        {"<a>", ErrMalformed},
		"nothing":        {"", ErrMalformed},
		"a DTD":          {`<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, ErrPolicy},
		"an instruction": {`<?xml-stylesheet href="a"?><a/>`, ErrPolicy},
		"deep":           {strings.Repeat("<a>", 5000), ErrPolicy},
	} {
		d := PartDigest(crypto.SHA256, "text/xml")
		_, _ = io.WriteString(d, c.content)
		if err := d.Close(); !errors.Is(err, c.want) || d.Sum() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := PartDigest(crypto.SHA256, "text/xml")
	piece := bytes.Repeat([]byte(" "), 1<<20)
	var err error
	for i := 0; i < 10 && err == nil; i++ {
		_, err = d.Write(piece)
	}
	if !errors.Is(err, ErrPolicy) || !errors.Is(d.Close(), ErrPolicy) || d.Sum() != nil {
		t.Errorf("more than 4 MiB: %v", err)
	}
	d = PartDigest(crypto.MD5, "text/xml")
	if _, err = d.Write(piece); !errors.Is(err, ErrSetting) || !errors.Is(d.Close(), ErrSetting) || d.Sum() != nil {
		t.Errorf("MD5: %v", err)
	}
	if PartDigest(0, "").sum.Size() != crypto.SHA256.Size() {
		t.Error("no hash is not SHA-256")
	}
}

// Peers that digest XML and text as they are get through, and it is shown.
func TestRawDigestIsTolerated(t *testing.T) {
	t.Parallel()
	large := "<a>" + strings.Repeat(" ", maxXMLPart) + "</a>"
	parts := []Part{
		part("xml@x", "text/xml", "<a  />"), part("text@x", "text/plain", "a\nb"), part("broken@x", "application/xml", "<a>"),
		part("large@x", "application/xml", large), part("same@x", "text/xml", "<a></a>"), part("raw@x", "application/gzip", "a\nb"),
	}
	raw := make([]Part, len(parts))
	for i, p := range parts {
		raw[i] = p
		raw[i].MediaType = "application/octet-stream"
	}
	text := sign(t, rsaSigner().signing(RSASHA256, ""), raw...)
	r, err := parseMessage(t, text, parts...).verify(rsaSigner().trust())
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range r.References[2:] {
		want := result.Part != "same@x" && result.Part != "raw@x"
		if (result.Tolerated != "") != want || !r.CoversPart(result.Part) || !bytes.Equal(result.Got, result.Value) {
			t.Errorf("%s: tolerated %q", result.Part, result.Tolerated)
		}
	}
	for i := range parts {
		changed := append([]Part{}, parts...)
		changed[i] = part(parts[i].ContentID, parts[i].MediaType, string(content(t, parts[i]))+"b")
		if _, err := parseMessage(t, text, changed...).verify(rsaSigner().trust()); !errors.Is(err, ErrSignature) {
			t.Errorf("%s changed: %v", parts[i].ContentID, err)
		}
	}
}

// Where the transform does not matter, canonical equals are not the same bytes.
func TestTransformedDigestHoldsForEquals(t *testing.T) {
	t.Parallel()
	text := sign(t, rsaSigner().signing(RSASHA256, ""), part("xml@x", "text/xml", "<a b='1'/>"), part("gz@x", "application/gzip", "<a/>"))
	m := parseMessage(t, text, part("xml@x", "text/xml", `<a  b="1"></a>`), part("gz@x", "application/gzip", "<a/>"))
	if r, err := m.verify(rsaSigner().trust()); err != nil || r.References[2].Tolerated != "" {
		t.Errorf("the same XML in other words: %v", err)
	}
	m.parts[1] = part("gz@x", "application/gzip", "<a></a>")
	if _, err := m.verify(rsaSigner().trust()); !errors.Is(err, ErrSignature) {
		t.Errorf("other bytes: %v", err)
	}
}
