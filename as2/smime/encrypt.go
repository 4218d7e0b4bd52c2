package smime

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
)

// EncryptOptions says how content is encrypted and for whom. Cipher and
// Recipients are required.
type EncryptOptions struct {
	Cipher     Cipher
	Recipients []*x509.Certificate
	// Transport wraps the content key for RSA certificates; the zero value is
	// PKCS #1 v1.5. Certificates of elliptic curves always take key agreement.
	Transport KeyTransport
	// KeyID names recipients by subject key identifier instead of issuer and
	// serial number.
	KeyID bool
}

// EncryptedSize is exactly how many bytes NewEncrypter will write for these
// arguments, so that a Content-Length can be sent before the first of them.
func EncryptedSize(contentLen int64, o EncryptOptions) (int64, error) {
	e, err := newEnvelope(contentLen, o)
	if err != nil {
		return 0, err
	}
	var infos [][]byte
	for _, a := range e.addressees {
		infos = append(infos, a.blank(e.cipher.keySize))
	}
	head := e.head(make([]byte, e.cipher.ivSize()), infos)
	return int64(len(head)) + e.size + e.trailing(), nil
}

// NewEncrypter encrypts with a fresh key to EnvelopedData (RFC 5652 §6), or to
// AuthEnvelopedData (RFC 5083) when the cipher is AES-GCM, in DER with definite
// lengths: contentLen bytes must be written, then Close, which fails if there
// were fewer. Recipients with RSA certificates get the key by o.Transport, those
// with certificates of P-256, P-384 and P-521 by key agreement (RFC 5753). The
// head is written before NewEncrypter returns; w gets chunks of 64 KiB and is
// not closed. An unknown cipher or another kind of key is ErrUnsupported.
func NewEncrypter(w io.Writer, contentLen int64, o EncryptOptions) (io.WriteCloser, error) {
	e, err := newEnvelope(contentLen, o)
	if err != nil {
		return nil, err
	}
	key, iv := e.cipher.newKey()
	var infos [][]byte
	for _, a := range e.addressees {
		info, err := a.info(key)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	sealer, err := e.cipher.sealer(key, iv)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(e.head(iv, infos)); err != nil {
		return nil, fmt.Errorf("write encrypted message: %w", err)
	}
	return &encrypter{w: w, sealer: sealer, left: contentLen, buf: borrow(min(chunk, e.size))}, nil
}

type encrypter struct {
	w      io.Writer
	sealer contentSealer
	left   int64  // bytes of content still to come
	buf    []byte // a chunk, or less if the whole message is smaller
	used   int
	err    error
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
			e.sealer.seal(e.buf, p[done:done+size])
			e.used = size
			done += size
		} else {
			n := copy(e.buf[e.used:], p[done:])
			e.used += n
			done += n
			if e.used < len(e.buf) {
				break
			}
			e.sealer.seal(e.buf, e.buf)
		}
		if err := e.write(e.buf); err != nil {
			return done, err
		}
	}
	e.left -= int64(len(p))
	return len(p), nil
}

// write hands on what is encrypted; the buffer is free again then.
func (e *encrypter) write(encrypted []byte) error {
	e.used = 0
	if _, err := e.w.Write(encrypted); err != nil {
		e.err = fmt.Errorf("write encrypted message: %w", err)
	}
	return e.err
}

// Close writes the rest, and the tag if there is one.
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
	// A chunk that is not full has room for the padding.
	rest := e.sealer.end(e.buf[:e.used])
	if tag := e.sealer.mac(); tag != nil {
		rest = append(rest, tlv(tagOctets, tag)...)
	}
	err := e.write(rest)
	giveBack(e.buf)
	e.buf = nil
	if err != nil {
		return err
	}
	e.err = errClosed
	return nil
}
