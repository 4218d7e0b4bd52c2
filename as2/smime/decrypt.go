package smime

import (
	"bytes"
	"io"
	"slices"

	"edigw/internal/gcm"
)

// Decrypter reads the content of EnvelopedData (RFC 5652 §6) and of
// AuthEnvelopedData (RFC 5083).
type Decrypter struct {
	ber       *berReader
	in        *octetReader
	opener    contentOpener
	kind      Kind
	cipher    Cipher
	recipient Recipient
	buf       []byte // decrypted from next to ready, then still encrypted up to used
	next      int
	ready     int
	used      int
	err       error
}

// NewDecrypter reads the head of an EnvelopedData or AuthEnvelopedData message
// in BER or DER, finds which of our recipients it is for, by issuer and serial
// or key identifier, and unwraps its key. The content is then read from the
// Decrypter.
//
// Errors: ErrNotRecipient (a *NotRecipientError), ErrUnsupported, ErrMalformed,
// ErrNesting, ErrLimit, or those of r. A wrong key does not show here.
func NewDecrypter(r io.Reader, recipients []Recipient, l Limits) (*Decrypter, error) {
	b := newBERReader(r, l)
	kind, infos, err := b.envelopeRecipients()
	if err != nil {
		return nil, err
	}
	unwrap, ours, err := choose(infos, recipients)
	if err != nil {
		return nil, err
	}
	alg, in, err := b.enterEncrypted()
	if err != nil {
		return nil, err
	}
	a, err := cipherByOID(alg.oid)
	if err != nil {
		return nil, err
	}
	opener, err := a.opener(kind, alg.params, unwrap.contentKey)
	if err != nil {
		return nil, err
	}
	size := int64(chunk)
	if in.left > 0 { // in one piece, whose length is known; the buffer must not fill up before its end
		size = min(chunk, in.left+1)
	}
	return &Decrypter{
		ber: b, in: in, opener: opener, kind: kind, cipher: a.name, recipient: ours, buf: borrow(size),
	}, nil
}

// enterEncrypted opens EncryptedContentInfo up to its content.
func (b *berReader) enterEncrypted() (algorithm, *octetReader, error) {
	if err := b.enterNext(tagSequence, "encrypted content"); err != nil {
		return algorithm{}, nil, err
	}
	if _, err := b.oid(); err != nil {
		return algorithm{}, nil, err
	}
	c, err := b.expectDER(tagSequence, "content encryption algorithm")
	if err != nil {
		return algorithm{}, nil, err
	}
	alg := c.algorithm()
	if *c.bad {
		return alg, nil, malformed("content encryption algorithm cannot be read")
	}
	e, ok, err := b.next()
	switch {
	case err != nil:
		return alg, nil, err
	case !ok || e.tag&^constructed != tagContext0:
		return alg, nil, malformed("encrypted content is missing")
	}
	in, err := b.octets(e)
	return alg, in, err
}

// Cipher is how the content is encrypted.
func (d *Decrypter) Cipher() Cipher { return d.cipher }

// Kind is what the message is: EnvelopedData or AuthEnvelopedData.
func (d *Decrypter) Kind() Kind { return d.kind }

// Recipient is the one of ours that the message is read as.
func (d *Decrypter) Recipient() Recipient { return d.recipient }

// Read gives content as it is decrypted, not authenticated by anything before
// the end: keep it aside until io.EOF. ErrDecrypt is the one answer to a wrong
// key, content that was changed, bad padding and a wrong tag; it comes only at
// the end. Errors of structure are ErrMalformed, ErrNesting and ErrLimit.
func (d *Decrypter) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for d.next == d.ready {
		if d.err != nil {
			d.end()
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.buf[d.next:d.ready])
	d.next += n
	return n, nil
}

// end lets go of the buffer, all of which was read.
func (d *Decrypter) end() {
	if d.buf != nil {
		giveBack(d.buf)
		d.buf, d.next, d.ready, d.used = nil, 0, 0, 0
	}
}

// fill decrypts the next chunk but for its end, which may be padding or a tag.
func (d *Decrypter) fill() {
	held := copy(d.buf, d.buf[d.ready:d.used])
	d.next, d.ready = 0, 0
	n, err := io.ReadFull(d.in, d.buf[held:])
	d.used = held + n
	switch {
	case err == nil:
		whole := d.used - d.opener.tail()
		whole -= whole % gcm.TagSize
		if d.err = d.opener.open(d.buf[:whole]); d.err == nil {
			d.ready = whole
		}
	case err == io.EOF || err == io.ErrUnexpectedEOF: // the plain value: end of the content
		d.last()
	default:
		d.err = err
	}
}

// last reads the message to its end and decrypts what is left.
func (d *Decrypter) last() {
	// The structure is judged first, and alike for every key.
	t, err := d.ber.trailer(d.kind)
	if err != nil {
		d.err = err
		return
	}
	plain, err := d.opener.end(d.buf[:d.used], t)
	if err != nil {
		d.err = err
		return
	}
	d.ready = len(plain)
	d.err = io.EOF
}

// trailer is what stands behind the content of AuthEnvelopedData.
type trailer struct {
	attributes []byte // authAttrs as they are authenticated; nil when there are none
	mac        []byte
}

// trailer reads everything behind the content. Of EnvelopedData nothing there
// matters to us.
func (b *berReader) trailer(kind Kind) (trailer, error) {
	var t trailer
	if kind != AuthEnvelopedData {
		return t, b.finish()
	}
	e, ok, err := b.next() // the end of EncryptedContentInfo
	switch {
	case err != nil:
		return t, err
	case ok:
		return t, malformed("0x%02x behind the content", e.tag)
	}
	e, ok, err = b.next()
	if err == nil && ok && e.tag == tagExplicit1 {
		if t.attributes, err = b.authenticated(e); err != nil {
			return t, err
		}
		e, ok, err = b.next()
	}
	switch {
	case err != nil:
		return t, err
	case !ok || e.tag&^constructed != tagOctets:
		return t, malformed("message authentication code is missing")
	}
	der, err := b.der(e)
	if err != nil {
		return t, err
	}
	c := newCursor(der)
	t.mac = c.bytes(tagOctets)
	return t, b.finish()
}

// authenticated reads authAttrs, whose tag is [1] in the message and SET OF
// where they are authenticated, in the order of DER (RFC 5083 §2.2).
func (b *berReader) authenticated(e element) ([]byte, error) {
	der, err := b.der(e)
	if err != nil {
		return nil, err
	}
	c := newCursor(der)
	in := c.in(tagExplicit1)
	var attributes [][]byte
	for len(in.rest) > 0 {
		attributes = append(attributes, in.raw(tagSequence))
	}
	if *c.bad {
		return nil, malformed("authenticated attributes cannot be read")
	}
	slices.SortFunc(attributes, bytes.Compare)
	return tlv(tagSet, attributes...), nil
}
