package wssec

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// Bounds of an attachment that is digested as XML: it is held in memory.
const (
	maxXMLPart     = 4 << 20
	maxXMLElements = 200_000
	smallXMLPart   = 64 << 10
)

// trees are the large XML parts that are trees at the moment: each takes some
// fifty times its size, and a partner can send many at once.
var trees = make(chan struct{}, 4)

// Digester takes the content of a part, as it goes into a signature, and gives
// its digest after the content transform of the SwA profile 1.1 §5.4.2: the
// canonical form of XML, text with CRLF as line ends, all else as it is. XML is
// held in memory, at most 4 MiB; all else streams.
type Digester struct {
	transform
	sum hash.Hash
}

// PartDigest gives a Digester for a part of this media type, which may have
// parameters. The hash is one that DigestURI knows, or 0 for SHA256; with
// another, Write and Close fail with ErrSetting.
func PartDigest(h crypto.Hash, mediaType string) *Digester {
	if h == 0 {
		h = crypto.SHA256
	}
	if _, ok := xmldsig.DigestByHash(h); !ok {
		return &Digester{transform: transform{err: setting("digesting a part with %s", h)}}
	}
	d := &Digester{sum: h.New()}
	d.transform.into(d.sum, mediaType)
	return d
}

// Sum is the digest, once Close has given nil.
func (d *Digester) Sum() []byte {
	if d.err != nil || d.xml != nil {
		return nil
	}
	return d.sum.Sum(nil)
}

// PartForm gives a writer that writes the content of a part to w as a signature
// covers it: what PartDigest gives the digest of. It fails as a Digester does, and
// as w does.
func PartForm(w io.Writer, mediaType string) io.WriteCloser {
	t := new(transform)
	t.into(w, mediaType)
	return t
}

// transform brings the content of a part into the form that is signed.
type transform struct {
	w        io.Writer
	write    func([]byte)
	xml      *bytes.Buffer // nil for all else
	comments bool          // the XML has some, which its form has not
	cr       bool          // the last byte of text was CR
	err      error
}

// into sets the transform up.
func (d *transform) into(w io.Writer, mediaType string) {
	d.w, d.write = w, d.out
	switch formOf(mediaType) {
	case formXML:
		d.xml = new(bytes.Buffer)
		d.write = d.keep
	case formText:
		d.write = d.lines
	}
}

// out writes to what is behind, until that fails.
func (d *transform) out(p []byte) {
	if d.err == nil {
		_, d.err = d.w.Write(p)
	}
}

// form is what the content transform does to a part.
type form int

const (
	formRaw form = iota
	formXML
	formText
)

// Transformed reports whether a part of this media type is signed in another form
// than it is sent in.
func Transformed(mediaType string) bool { return formOf(mediaType) != formRaw }

func formOf(mediaType string) form {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	switch {
	case mediaType == "text/xml", mediaType == "application/xml", strings.HasSuffix(mediaType, "+xml"):
		return formXML
	case strings.HasPrefix(mediaType, "text/"):
		return formText
	}
	return formRaw
}

// Write takes the next bytes. It fails with ErrPolicy when XML is too large,
// and from then on.
func (d *transform) Write(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	d.write(p)
	if d.err != nil {
		return 0, d.err
	}
	return len(p), nil
}

func (d *transform) keep(p []byte) {
	if d.xml.Len()+len(p) > maxXMLPart {
		d.err = fmt.Errorf("%w: an XML part is larger than the %d MiB that its canonical form is made of; send it compressed", ErrPolicy, maxXMLPart>>20)
		return
	}
	d.xml.Write(p)
}

// lines makes CR, LF and CRLF to CRLF, as WSS4J does.
func (d *transform) lines(p []byte) {
	for len(p) > 0 {
		if p[0] == '\n' && d.cr { // its CRLF is written already
			d.cr, p = false, p[1:]
			continue
		}
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			d.cr = false
			d.out(p)
			return
		}
		d.out(p[:end])
		d.out([]byte("\r\n"))
		d.cr = p[end] == '\r'
		p = p[end+1:]
	}
}

// Close ends the content. It fails with ErrMalformed or ErrPolicy when XML
// cannot be read; then there is no digest.
func (d *transform) Close() error {
	if d.err != nil || d.xml == nil {
		return d.err
	}
	if d.xml.Len() > smallXMLPart {
		trees <- struct{}{}
		defer func() { <-trees }()
	}
	doc, err := xmltree.Parse(d.xml.Bytes(), xmltree.Limits{Bytes: maxXMLPart, Elements: maxXMLElements})
	d.xml = nil
	switch {
	case errors.Is(err, xmltree.ErrSyntax):
		d.err = fmt.Errorf("%w: an XML part cannot be digested: %w", ErrMalformed, err)
	case err != nil:
		d.err = fmt.Errorf("%w: an XML part cannot be digested: %w", ErrPolicy, err)
	default:
		d.comments = hasComment(&doc.Element)
		d.err = xmltree.CanonicalDocument(d.w, doc, xmltree.Method{})
	}
	return d.err
}

// hasComment tells whether there is a comment anywhere in e.
func hasComment(e *etree.Element) bool {
	return len(xmltree.Find(e, func(e *etree.Element) bool {
		return slices.ContainsFunc(e.Child, func(t etree.Token) bool { _, is := t.(*etree.Comment); return is })
	})) > 0
}
