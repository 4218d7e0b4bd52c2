package as2

import (
	"bufio"
	"crypto"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"edigw/as2/smime"
	"edigw/internal/rawmime"
	"edigw/internal/scratch"
	"edigw/internal/tame"
)

// maxLayers is how many layers a message may have: it is encrypted, compressed
// and signed at most once each (RFC 4130 §4.2, RFC 5402 §3), and holds a
// document.
const maxLayers = 4

// maxSignature is the largest detached signature that is read.
const maxSignature = 1 << 20

// part is a MIME entity whose body can be read again and again.
type part struct {
	contentType string // as received
	mediaType   string
	params      map[string]string
	encoding    string // Content-Transfer-Encoding
	fileName    string
	body        func() io.Reader
}

// content is the body without its transfer encoding.
func (p part) content() (io.Reader, error) {
	return rawmime.DecodeTransfer(p.body(), p.encoding)
}

// opened is a message out of its layers.
type opened struct {
	document   part
	raw        *scratch.Layer // the innermost entity as it arrived, with its header; nil for a plain message
	encrypted  bool
	compressed bool
	signature  *smime.Verification // nil if it was not signed
	micalg     string              // what multipart/signed says of it, as spelled there
	whole      bool                // what was encrypted is as its maker made it: a tag holds, or a signed layer was read to its end with nothing behind it
}

// opener takes the layers off one message.
type opener struct {
	a      Agreement
	space  *scratch.Space
	limits smime.Limits
	opened
}

// httpPart is the outermost entity: the HTTP header is its header.
func httpPart(h http.Header, body func() io.Reader) (part, error) {
	return newPart(h.Get("Content-Type"), h.Get("Content-Transfer-Encoding"), h.Get("Content-Disposition"), body)
}

func newPart(contentType, encoding, disposition string, body func() io.Reader) (part, error) {
	p := part{contentType: contentType, encoding: encoding, body: body}
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	var err error
	if p.mediaType, p.params, err = rawmime.ParseMediaType(contentType); err != nil {
		return p, err
	}
	if strings.HasPrefix(p.mediaType, "multipart/") {
		p.encoding = "" // RFC 2045 §6.4: a multipart is never encoded as a whole
	}
	if _, params, err := rawmime.ParseMediaType(disposition); err == nil {
		p.fileName = tame.FileName(params["filename"])
	}
	if p.fileName == "" {
		p.fileName = tame.FileName(p.params["name"])
	}
	return p, nil
}

// scratchPart reads the header of an entity that lies in s.
func scratchPart(s *scratch.Layer) (part, error) {
	br, done := readHead(s.Open())
	defer done()
	h, err := rawmime.ReadHeader(br, maxPartHead)
	if err != nil {
		return part{}, err
	}
	skip := int64(len(h.Raw))
	return newPart(h.Get("Content-Type"), h.Get("Content-Transfer-Encoding"), h.Get("Content-Disposition"), func() io.Reader {
		r := s.Open()
		_, _ = io.CopyN(io.Discard, r, skip) // a failure comes again at the next read
		return r
	})
}

// open takes off layer by layer. Errors are *refusal, or wrap scratch.ErrDisk.
func (o *opener) open(p part) error {
	for range maxLayers {
		p = trulyEncoded(p)
		kind, err := o.kind(p)
		if err != nil {
			return err
		}
		inner := o.space.New()
		other := o.other()
		switch kind {
		case smime.EnvelopedData, smime.AuthEnvelopedData:
			other = decryptionFailed
			err = o.decrypt(p, inner)
		case smime.CompressedData:
			other = decompressionFailed
			err = o.decompress(p, inner)
		case smime.SignedData:
			err = o.verifyOpaque(p, inner)
		case detachedSignature:
			err = o.verifyDetached(p, inner)
		default:
			o.document = p
			return checkMultiparts(p, o.other())
		}
		if err != nil {
			return err
		}
		if o.raw != nil {
			o.raw.Free() // the layer within is whole: a large message has two on the disk at a time
		}
		o.raw = inner
		if p, err = scratchPart(inner); err != nil {
			return refuseLayer(err, other)
		}
	}
	return refuse(unexpectedError, "the message has more than %d layers", maxLayers-1)
}

// other is the answer to what the table of faults does not know. What was
// encrypted and not signed is garbled if anything is wrong with it: that is
// told like every other failure to decrypt.
func (o *opener) other() string {
	if o.encrypted && o.signature == nil {
		return decryptionFailed
	}
	return unexpectedError
}

// detachedSignature is the kind of multipart/signed.
const detachedSignature smime.Kind = "multipart/signed"

// kind recognises a layer by what it is, not by what smime-type says.
func (o *opener) kind(p part) (smime.Kind, error) {
	switch p.mediaType {
	case "multipart/signed":
		return detachedSignature, nil
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
	default:
		return "", nil
	}
	content, err := p.content()
	if err != nil {
		return "", refuseLayer(err, o.other())
	}
	head := make([]byte, 32)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", refuseLayer(err, o.other())
	}
	if kind, ok := smime.Sniff(head[:n]); ok {
		return kind, nil
	}
	for _, kind := range []smime.Kind{smime.EnvelopedData, smime.AuthEnvelopedData, smime.CompressedData} {
		if strings.EqualFold(p.params["smime-type"], string(kind)) {
			return kind, nil
		}
	}
	return smime.SignedData, nil // it says at once what is wrong
}

// trulyEncoded takes a transfer encoding back that a CMS body does not have:
// base64 never begins as CMS does, so the bytes tell.
// QUIRK(as2-lib): told to use base64, it says so above a binary body.
func trulyEncoded(p part) part {
	if p.encoding == "" || !strings.HasSuffix(p.mediaType, "pkcs7-mime") {
		return p
	}
	head := make([]byte, 32)
	n, _ := io.ReadFull(p.body(), head) // a failure comes again at the next read
	if _, ok := smime.Sniff(head[:n]); ok {
		p.encoding = ""
	}
	return p
}

func (o *opener) decrypt(p part, inner *scratch.Layer) error {
	if o.encrypted || o.compressed || o.signature != nil {
		return refuse(unexpectedError, "an encrypted layer lies within another layer")
	}
	o.encrypted = true
	content, err := p.content()
	if err != nil {
		return refuseLayer(err, decryptionFailed)
	}
	plain, err := smime.NewDecrypter(content, o.a.Decrypt, o.limits)
	if err != nil {
		return refuseLayer(err, decryptionFailed)
	}
	if _, err := copyAll(inner, plain); err != nil {
		return refuseLayer(err, decryptionFailed)
	}
	o.whole = plain.Kind() == smime.AuthEnvelopedData // its tag holds: nobody changed it
	return nil
}

func (o *opener) decompress(p part, inner *scratch.Layer) error {
	if o.compressed {
		return refuse(decompressionFailed, "the message is compressed more than once") // RFC 5402 §3
	}
	o.compressed = true
	content, err := p.content()
	if err != nil {
		return refuseLayer(err, decompressionFailed)
	}
	all, ends := o.layer(content)
	inflated, err := smime.NewDecompressor(all, o.limits)
	if err != nil {
		return refuseLayer(err, decompressionFailed)
	}
	if _, err := copyAll(inner, inflated); err != nil {
		return refuseLayer(err, decompressionFailed)
	}
	return ends()
}

func (o *opener) verifyOpaque(p part, inner *scratch.Layer) error {
	if o.signature != nil {
		return refuse(unexpectedError, "the message is signed more than once")
	}
	other := o.other()
	content, err := p.content()
	if err != nil {
		return refuseLayer(err, other)
	}
	all, ends := o.layer(content)
	signed, err := smime.NewSignedReader(all, o.limits)
	if err != nil {
		return refuseLayer(err, other)
	}
	if _, err := copyAll(inner, signed); err != nil {
		return refuseLayer(err, other)
	}
	if err := ends(); err != nil {
		return err
	}
	o.whole = true
	if o.signature, err = signed.Verify(o.a.Verify); err != nil {
		return refuseSigner(err, o.signature, o.a, other)
	}
	return nil
}

// verifyDetached reads multipart/signed: exactly two parts (RFC 1847 §2.1), of
// which the first is digested as it arrived, byte for byte.
func (o *opener) verifyDetached(p part, inner *scratch.Layer) error {
	if o.signature != nil {
		return refuse(unexpectedError, "the message is signed more than once")
	}
	likely, _ := smime.HashByName(p.params["micalg"]) // a hint: SignerInfo decides
	sums := newDigester(likely)
	all, ends := o.layer(p.body())
	parts := rawmime.NewMultipart(all, p.params["boundary"], 2)
	first, err := parts.Next()
	if err != nil {
		return refuseParts(err)
	}
	if _, err := copyAll(io.MultiWriter(inner, sums), first); err != nil {
		return refuseParts(err)
	}
	signature, err := readSignature(parts)
	if err != nil {
		return err
	}
	if _, err := parts.Next(); !errors.Is(err, io.EOF) {
		return refuseParts(err)
	}
	if err := ends(); err != nil {
		return err
	}
	o.whole = true
	o.micalg = p.params["micalg"]
	o.signature, err = smime.VerifyDetached(signature, func(h crypto.Hash) ([]byte, error) {
		if sum := sums.sum(h); sum != nil {
			return sum, nil
		}
		again := h.New()
		_, err := copyAll(again, inner.Open())
		return again.Sum(nil), err
	}, o.a.Verify)
	if err != nil {
		return refuseSigner(err, o.signature, o.a, authenticationFailed)
	}
	return nil
}

// readSignature takes the second part of multipart/signed apart.
func readSignature(parts *rawmime.Multipart) ([]byte, error) {
	second, err := parts.Next()
	if err != nil {
		return nil, refuseParts(err)
	}
	br, done := readHead(second)
	defer done()
	h, err := rawmime.ReadHeader(br, maxPartHead)
	if err != nil {
		return nil, refuseParts(err)
	}
	decoded, err := rawmime.DecodeTransfer(br, h.Get("Content-Transfer-Encoding"))
	if err != nil {
		return nil, refuseParts(err)
	}
	signature, err := io.ReadAll(io.LimitReader(decoded, maxSignature+1))
	if err != nil {
		return nil, refuseParts(err)
	}
	return signature, nil
}

// refuseParts tells what is wrong with the two parts of multipart/signed: what
// cannot be taken apart cannot be what was signed.
func refuseParts(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(integrityFailed, "multipart/signed has fewer than two parts")
	}
	return refuseLayer(fmt.Errorf("multipart/signed of two parts: %w", err), integrityFailed)
}

// checkMultiparts bounds multiparts within a document, which is handed on as a
// whole: whoever reads it must not be led down without end. other is the answer
// to what is not well-formed.
func checkMultiparts(p part, other string) error {
	err := walkMultiparts(p.body(), p.mediaType, p.params["boundary"], 1)
	var known *refusal
	if err == nil || errors.As(err, &known) {
		return err
	}
	return refuseLayer(err, other)
}

func walkMultiparts(body io.Reader, mediaType, boundary string, depth int) error {
	if !strings.HasPrefix(mediaType, "multipart/") {
		return nil
	}
	if depth > maxNesting {
		return refuse(unexpectedError, "more than %d multiparts in one another", maxNesting)
	}
	parts := rawmime.NewMultipart(body, boundary, maxParts)
	for {
		next, err := parts.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		br := bufio.NewReader(next)
		h, err := rawmime.ReadHeader(br, maxPartHead)
		if err != nil {
			return err
		}
		inner, params, err := rawmime.ParseMediaType(h.Get("Content-Type"))
		if err != nil {
			continue // no Content-Type is text
		}
		if err := walkMultiparts(br, inner, params["boundary"], depth+1); err != nil {
			return err
		}
	}
}

// maxParts bounds the parts of one multipart in a document.
const maxParts = 500
