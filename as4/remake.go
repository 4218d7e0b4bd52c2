package as4

import (
	"fmt"
	"io"

	"github.com/beevik/etree"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/scratch"
	"edigw/internal/xmltree"
)

// CoveredKind says what a reference of a signature is about.
type CoveredKind string

// Kinds of what a signature covers.
const (
	CoveredHeader  CoveredKind = "header"  // eb:Messaging
	CoveredBody    CoveredKind = "body"    // SOAP Body
	CoveredPayload CoveredKind = "payload" // an attachment
)

// Covered is something that the signature of a message covers, made again.
type Covered struct {
	ebms.Reference // as it was signed
	Kind           CoveredKind
	Payload        int  // its number from 1; 0: it is no payload
	Compressed     bool // it is the payload's gzip
	Plain          bool // it is the payload, byte for byte
	// Write writes its bytes as the digest covers them: the canonical form of
	// XML, text with CRLF, all else as it is. The error is fault.ErrPayload if the
	// payload cannot be read, and that of the writer.
	Write func(io.Writer) error
}

// Remake makes what the signature of a message covers again, from its rendition
// and its payloads, for somebody who holds it against the digests that the
// partner acknowledged. Whether it has them is the caller's to see: what a later
// release compresses otherwise does not. It is empty if the message was not
// signed. The error is that of a message whose header was not kept, or that has
// other payloads.
func Remake(r Rendition, payloads []Payload, space *scratch.Space) ([]Covered, error) {
	if len(r.References) == 0 {
		return nil, nil
	}
	if r.User == nil || len(r.User.Parts) != len(payloads) {
		return nil, fmt.Errorf("the header that was sent with message %s does not fit its payloads", r.MessageID)
	}
	b := &builder{d: Document{MessageID: r.MessageID, Payloads: payloads}, names: namesOf(r.MessageID), space: space}
	for _, part := range r.User.Parts {
		_, attached := wssec.ContentID(part.Href)
		b.p.Body = b.p.Body || !attached
		_, n := ebms.Lookup(part.Properties, ebms.CompressionType)
		b.p.Compress = b.p.Compress || n > 0
	}
	if err := b.takePayloads(); err != nil {
		return nil, err
	}
	env := b.envelope(r.User)
	var all []Covered
	for _, ref := range r.References {
		c, err := b.covered(env, ref)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// covered finds what a reference is about.
func (b *builder) covered(env *ebms.Envelope, ref ebms.Reference) (Covered, error) {
	canonical := func(kind CoveredKind, e *etree.Element) Covered {
		return Covered{Reference: ref, Kind: kind, Write: func(w io.Writer) error { return xmltree.Canonical(w, e, xmltree.Method{}) }}
	}
	switch ref.URI {
	case "#" + b.names.element("messaging"):
		return canonical(CoveredHeader, env.Messaging), nil
	case "#" + b.names.element("body"):
		return canonical(CoveredBody, env.Body), nil
	}
	for i := range b.parts {
		p := &b.parts[i]
		if wssec.PartURI(p.contentID) != ref.URI {
			continue
		}
		return Covered{Reference: ref, Kind: CoveredPayload, Payload: i + 1, Compressed: p.compress, Plain: !p.compress && !wssec.Transformed(p.contentType), Write: func(w io.Writer) error {
			form := wssec.PartForm(w, p.contentType)
			if err := p.write(form); err != nil {
				return err
			}
			return form.Close()
		}}, nil
	}
	return Covered{}, fmt.Errorf("the signature of message %s names %s, which this release does not make", b.d.MessageID, ref.URI)
}
