package as4

import (
	"errors"
	"io"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/scratch"
	"edigw/internal/tame"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// checkSecurity decrypts and verifies, and holds what came out against what was
// settled. Afterwards the parts are in the clear, and whatever is used of the
// message is signed if anything of it is.
func (d *delivery) checkSecurity() error {
	security, err := wssec.Security(d.env.Header, "")
	if err != nil {
		return refuseSecurity(err, codeSender)
	}
	if d.p.Receive.Signed && !isSigned(security) {
		return refuse(codePolicy, "the message is not signed, as was settled")
	}
	if err := d.decrypt(security); err != nil {
		return err
	}
	if !isSigned(security) {
		return nil
	}
	return d.verify()
}

// isSigned reports whether there is a signature, of whatever worth.
func isSigned(security *etree.Element) bool {
	return security != nil && len(xmltree.Children(security, ebms.DS, "Signature")) > 0
}

// decrypt puts the content of encrypted parts, and of an encrypted Body, in the
// place of their ciphertext.
func (d *delivery) decrypt(security *etree.Element) error {
	sealed, err := wssec.ReadEncrypted(security)
	if err != nil {
		return refuseSecurity(err, codeDecryption)
	}
	d.sealed, d.sealedBody = map[string]bool{}, isEncryptedData(d.env.Payload())
	if sealed != nil {
		for _, part := range sealed.Parts() {
			d.sealed[part.ContentID] = true
		}
	}
	if err := d.checkSealed(); err != nil {
		return err
	}
	if sealed == nil {
		if d.sealedBody {
			return refuse(codeDecryption, "the SOAP Body is encrypted, and the security header holds no key for it")
		}
		return nil
	}
	opening, err := sealed.Unlock(d.p.Decrypt)
	if err != nil {
		return refuseSecurity(err, codeDecryption)
	}
	if err := d.decryptParts(opening, sealed.Parts()); err != nil {
		return err
	}
	if !d.sealedBody {
		return nil
	}
	if err := opening.Body(d.env.Body); err != nil {
		return refuseSecurity(err, codeDecryption)
	}
	return nil
}

// decryptParts decrypts all parts. A large message has its wire and two layers on
// the disk at a time.
func (d *delivery) decryptParts(opening *wssec.Opening, parts []wssec.EncryptedPart) error {
	var size int64
	for _, part := range parts {
		if a := d.parts[part.ContentID]; a != nil {
			size += a.layer.Size()
		}
	}
	d.plain.Expect(size)
	for _, part := range parts {
		if err := d.decryptPart(opening, part); err != nil {
			return err
		}
	}
	for _, a := range d.parts {
		if a.copied {
			return nil
		}
	}
	d.aside.Free()
	return nil
}

func (d *delivery) decryptPart(opening *wssec.Opening, part wssec.EncryptedPart) error {
	a := d.parts[part.ContentID]
	if a == nil {
		return refuse(codeMIME, "an EncryptedData names the part %q, which is not there", tame.Clip(part.ContentID, maxShown))
	}
	plain, err := d.plain.Append(func(w io.Writer) error {
		return opening.Decrypt(w, part.ContentID, a.layer.Open())
	})
	if err != nil {
		return refuseSecurity(err, codeDecryption)
	}
	a.layer, a.contentType, a.copied = plain, part.MediaType, false
	return nil
}

// isEncryptedData tells a Body that is encrypted.
func isEncryptedData(payload *etree.Element) bool {
	return payload != nil && xmltree.Is(payload, spaceXENC, "EncryptedData")
}

// spaceXENC is the namespace of XML Encryption.
const spaceXENC = "http://www.w3.org/2001/04/xmlenc#"

// checkSealed refuses payloads in the clear where encryption was settled.
func (d *delivery) checkSealed() error {
	if !d.p.Receive.Encrypted {
		return nil
	}
	for _, info := range d.env.User.Parts {
		id, ok := wssec.ContentID(info.Href)
		switch {
		case !ok && d.sealedBody:
		case !ok:
			return refuse(codePolicy, "the payload in the SOAP Body is not encrypted, as was settled")
		case ok && !d.sealed[id]:
			return refuse(codePolicy, "the part %q is not encrypted, as was settled", tame.Clip(id, maxShown))
		}
	}
	return nil
}

// verify checks the signature, who made it, and that it covers all that is used
// of the message.
func (d *delivery) verify() error {
	var parts []wssec.Part
	for _, a := range d.parts {
		parts = append(parts, wssec.Part{ContentID: a.id, MediaType: a.contentType, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(a.layer.Open()), nil
		}})
	}
	report, err := d.p.verify(d.env, parts, d.h.o.Now())
	d.report = report
	if err != nil {
		return d.refuseSigner(err)
	}
	return d.checkCoverage()
}

// refuseSigner tells a fault of the signature.
func (d *delivery) refuseSigner(err error) error {
	d.stranger = errors.Is(err, wssec.ErrSigner)
	return refuseSecurity(err, codeSender)
}

// checkCoverage refuses what could have been put into a message that somebody
// else signed: the header and the Body must be the very elements that the
// signature leads to, and every part that is used must be named in it.
func (d *delivery) checkCoverage() error {
	for _, e := range []struct {
		element *etree.Element
		name    string
	}{{d.env.Messaging, "the eb:Messaging header"}, {d.env.Body, "the SOAP Body"}} {
		if !d.report.Covers(e.element) {
			return refuse(codeSender, "no reference of the signature leads to %s of this message", e.name)
		}
	}
	for _, info := range d.env.User.Parts {
		if id, ok := wssec.ContentID(info.Href); ok && !d.report.CoversPart(id) {
			return refuse(codePolicy, "the part %q is not covered by the signature", tame.Clip(id, maxShown))
		}
	}
	for _, r := range d.report.References {
		if r.Tolerated != "" {
			d.warnings = append(d.warnings, r.URI+": "+r.Tolerated)
		}
	}
	return nil
}

// claims are who signed a message whose signer is not on file.
func (d *delivery) claims() []Claim {
	if !d.stranger {
		return nil
	}
	return claims(d.report)
}

// reread reads a layer, again from its beginning after Seek.
type reread struct {
	io.Reader
	layer *scratch.Layer
}

func newReread(layer *scratch.Layer) *reread { return &reread{layer.Open(), layer} }

// Seek goes to the beginning and nowhere else.
func (r *reread) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.New("a payload can be read from its beginning only")
	}
	r.Reader = r.layer.Open()
	return 0, nil
}

// WriteTo implements io.WriterTo: whoever copies needs no buffer of his own.
func (r *reread) WriteTo(w io.Writer) (int64, error) { return copyAll(w, r.Reader) }
