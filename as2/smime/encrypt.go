package smime

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
)

// chunk is how much is encrypted or decrypted at a time; a multiple of every
// block size.
const chunk = 64 << 10

// EncryptedSize is exactly how many bytes NewEncrypter will write for these
// arguments, so that a Content-Length can be sent before the first of them.
func EncryptedSize(contentLen int64, c Cipher, recipients []*x509.Certificate) (int64, error) {
	a, err := cipherByName(c)
	if err != nil {
		return 0, err
	}
	keys := make([][]byte, len(recipients))
	for i, r := range recipients {
		pub, err := transportKey(r)
		if err != nil {
			return 0, err
		}
		keys[i] = make([]byte, pub.Size())
	}
	head, err := envelopeHead(contentLen, a, make([]byte, a.blockSize()), recipients, keys)
	return int64(len(head)) + a.paddedLen(contentLen), err
}

// NewEncrypter writes EnvelopedData (RFC 5652 §6) of a fresh key in DER with
// definite lengths: contentLen bytes must be written, then Close, which fails
// if there were fewer. Recipients need RSA certificates; the key is wrapped by
// PKCS #1 v1.5, the one transport that every AS2 product reads. The head is
// written before NewEncrypter returns; w gets chunks of 64 KiB and is not closed.
// An unknown cipher or another kind of key is ErrUnsupported.
func NewEncrypter(w io.Writer, contentLen int64, c Cipher, recipients []*x509.Certificate) (io.WriteCloser, error) {
	a, err := cipherByName(c)
	if err != nil {
		return nil, err
	}
	secret := make([]byte, a.keySize+a.blockSize())
	rand.Read(secret) // never fails
	key, iv := secret[:a.keySize], secret[a.keySize:]
	if a.name == TripleDES {
		setParity(key)
	}
	keys := make([][]byte, len(recipients))
	for i, r := range recipients {
		pub, err := transportKey(r)
		if err != nil {
			return nil, err
		}
		// AS2 partners know no other key transport (RFC 3370 §4.2.1); there is no oracle on this side.
		if keys[i], err = rsa.EncryptPKCS1v15(rand.Reader, pub, key); err != nil { //nolint:staticcheck // SA1019: see above
			return nil, fmt.Errorf("encrypt content key for %s: %w", CertificateID(r), err)
		}
	}
	head, err := envelopeHead(contentLen, a, iv, recipients, keys)
	if err != nil {
		return nil, err
	}
	mode, err := a.encrypter(key, iv)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(head); err != nil {
		return nil, fmt.Errorf("write encrypted message: %w", err)
	}
	buf := make([]byte, min(chunk, a.paddedLen(contentLen)))
	return &encrypter{w: w, mode: mode, left: contentLen, buf: buf}, nil
}

func transportKey(c *x509.Certificate) (*rsa.PublicKey, error) {
	pub, ok := c.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, unsupported("encrypting to the %s key of %s", c.PublicKeyAlgorithm, CertificateID(c))
	}
	return pub, nil
}

// paddedLen is the content's length with the padding of RFC 5652 §6.3.
func (a cipherAlgorithm) paddedLen(n int64) int64 {
	size := int64(a.blockSize())
	return n + size - n%size
}

// envelopeHead is everything in front of the encrypted content, which comes last.
func envelopeHead(contentLen int64, a cipherAlgorithm, iv []byte, recipients []*x509.Certificate, keys [][]byte) ([]byte, error) {
	if contentLen < 0 || contentLen > 1<<62 {
		return nil, fmt.Errorf("encrypt %d bytes: not a length", contentLen)
	}
	if len(recipients) == 0 {
		return nil, errors.New("encrypt: no recipient given")
	}
	var infos []byte
	for i, r := range recipients {
		id, err := encodeIdentity(r)
		if err != nil {
			return nil, err
		}
		infos = append(infos, tlv(tagSequence, // KeyTransRecipientInfo
			[]byte{tagInteger, 1, 0},
			id,
			algorithmID(oidRSA, derNull), // RFC 3370 §4.2.1: parameters must be NULL
			tlv(tagOctets, keys[i]))...)
	}
	size := a.paddedLen(contentLen)
	content := append(tlv(tagOID, []byte(oidData)), algorithmID(a.oid, tlv(tagOctets, iv))...)
	content = appendHeader(content, tagContext0, size)
	inner := append([]byte{tagInteger, 1, 0}, tlv(tagSet, infos)...)
	inner = append(appendHeader(inner, tagSequence, int64(len(content))+size), content...)
	outer := appendHeader(nil, tagSequence, int64(len(inner))+size)
	outer = append(outer, inner...)
	head := tlv(tagOID, []byte(oidEnvelopedData))
	head = append(appendHeader(head, tagExplicit0, int64(len(outer))+size), outer...)
	return append(appendHeader(nil, tagSequence, int64(len(head))+size), head...), nil
}

type encrypter struct {
	w    io.Writer
	mode cipher.BlockMode
	left int64  // bytes of content still to come
	buf  []byte // a chunk, or less if the whole message is smaller
	used int
	err  error
}

var errClosed = errors.New("encrypter is closed")

func (e *encrypter) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	if int64(len(p)) > e.left {
		e.err = fmt.Errorf("encrypt: content is longer than announced, by %d bytes or more", int64(len(p))-e.left)
		return 0, e.err
	}
	done := 0
	for done < len(p) {
		if size := len(e.buf); e.used == 0 && len(p)-done >= size { // whole chunks need no copy
			e.mode.CryptBlocks(e.buf, p[done:done+size])
			e.used = size
			done += size
		} else {
			n := copy(e.buf[e.used:], p[done:])
			e.used += n
			done += n
			if e.used < len(e.buf) {
				break
			}
			e.mode.CryptBlocks(e.buf, e.buf)
		}
		if err := e.flush(); err != nil {
			return done, err
		}
	}
	e.left -= int64(len(p))
	return len(p), nil
}

// flush writes out the buffer, which is encrypted.
func (e *encrypter) flush() error {
	_, err := e.w.Write(e.buf[:e.used])
	e.used = 0
	if err != nil {
		e.err = fmt.Errorf("write encrypted message: %w", err)
	}
	return e.err
}

// Close pads and writes the rest.
func (e *encrypter) Close() error {
	if e.err != nil {
		if errors.Is(e.err, errClosed) {
			return nil
		}
		return e.err
	}
	if e.left > 0 {
		e.err = fmt.Errorf("encrypt: content is shorter than announced, by %d bytes", e.left)
		return e.err
	}
	size := e.mode.BlockSize()
	pad := size - e.used%size
	for range pad { // RFC 5652 §6.3; a chunk that is not full has room for it
		e.buf[e.used] = byte(pad)
		e.used++
	}
	e.mode.CryptBlocks(e.buf[:e.used], e.buf[:e.used])
	if err := e.flush(); err != nil {
		return err
	}
	e.err = errClosed
	return nil
}
