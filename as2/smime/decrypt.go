package smime

import (
	"crypto/cipher"
	"crypto/subtle"
	"io"
)

// Decrypter reads the content of EnvelopedData (RFC 5652 §6).
type Decrypter struct {
	ber       *berReader
	in        *octetReader
	mode      cipher.BlockMode
	cipher    Cipher
	recipient Recipient
	buf       []byte // decrypted from next to ready, then still encrypted up to used
	next      int
	ready     int
	used      int
	err       error
}

// NewDecrypter reads the head of an EnvelopedData message in BER or DER, finds
// which of our recipients it is for, by issuer and serial or key identifier, and
// unwraps its key. The content is then read from the Decrypter.
//
// Errors: ErrNotRecipient (a *NotRecipientError), ErrUnsupported, ErrMalformed,
// ErrNesting, ErrLimit, or those of r. A wrong key does not show here.
func NewDecrypter(r io.Reader, recipients []Recipient, l Limits) (*Decrypter, error) {
	b := newBERReader(r, l)
	infos, err := b.envelopeRecipients()
	if err != nil {
		return nil, err
	}
	info, ours, err := choose(infos, recipients)
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
	params := newCursor(alg.params)
	iv := params.bytes(tagOctets)
	if *params.bad || len(iv) != a.blockSize() {
		return nil, malformed("initialisation vector of %s", a.name)
	}
	mode, err := a.decrypter(ours.contentKey(info.key, a.keySize), iv)
	if err != nil {
		return nil, ErrDecrypt
	}
	size := int64(chunk)
	if in.left > 0 { // in one piece, whose length is known; the buffer must not fill up before its end
		size = min(chunk, in.left+1)
	}
	return &Decrypter{ber: b, in: in, mode: mode, cipher: a.name, recipient: ours, buf: make([]byte, size)}, nil
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

// Recipient is the one of ours that the message is read as.
func (d *Decrypter) Recipient() Recipient { return d.recipient }

// Read gives content as it is decrypted, not authenticated by anything: keep it
// aside until io.EOF. ErrDecrypt is the one answer to a wrong key, content that
// was changed and bad padding; it comes only at the end. Errors of structure
// are ErrMalformed, ErrNesting and ErrLimit.
func (d *Decrypter) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for d.next == d.ready {
		if d.err != nil {
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.buf[d.next:d.ready])
	d.next += n
	return n, nil
}

// fill decrypts the next chunk but for its last block, which may be padding.
func (d *Decrypter) fill() {
	size := d.mode.BlockSize()
	held := copy(d.buf, d.buf[d.ready:d.used])
	d.next, d.ready = 0, 0
	n, err := io.ReadFull(d.in, d.buf[held:])
	d.used = held + n
	switch {
	case err == nil:
		d.ready = d.used - size
		d.mode.CryptBlocks(d.buf[:d.ready], d.buf[:d.ready])
	case err == io.EOF || err == io.ErrUnexpectedEOF: // the plain value: end of the content
		d.last(size)
	default:
		d.err = err
	}
}

// last decrypts what is left and takes the padding off (RFC 5652 §6.3).
func (d *Decrypter) last(size int) {
	// The structure is judged first, and alike for every key.
	if d.err = d.ber.finish(); d.err != nil {
		return
	}
	d.err = ErrDecrypt
	if d.used == 0 || d.used%size != 0 {
		return
	}
	plain := d.buf[:d.used]
	d.mode.CryptBlocks(plain, plain)
	pad, good := padding(plain[len(plain)-size:])
	if !good {
		return
	}
	d.ready = len(plain) - pad
	d.err = io.EOF
}

// padding looks at the last block without branching on what is in it.
func padding(block []byte) (int, bool) {
	pad := int(block[len(block)-1])
	good := subtle.ConstantTimeLessOrEq(1, pad) & subtle.ConstantTimeLessOrEq(pad, len(block))
	for i, b := range block {
		outside := subtle.ConstantTimeLessOrEq(i+1+pad, len(block))
		good &= outside | subtle.ConstantTimeByteEq(b, byte(pad))
	}
	return pad, good == 1
}
