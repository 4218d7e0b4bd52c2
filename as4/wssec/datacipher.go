package wssec

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"

	"edigw/internal/gcm"
)

// chunk is how much is encrypted or decrypted at a time.
const chunk = 64 << 10

// dataCipher is a block encryption algorithm (XML Encryption 1.1 §5.2.4).
type dataCipher struct {
	name DataCipher
	uri  string
	size int // of its key in bytes
}

var dataCiphers = []dataCipher{
	{AES128GCM, nsXENC11 + "aes128-gcm", 16},
	{AES192GCM, nsXENC11 + "aes192-gcm", 24},
	{AES256GCM, nsXENC11 + "aes256-gcm", 32},
}

func dataCipherByName(name DataCipher) (dataCipher, error) {
	for _, c := range dataCiphers {
		if c.name == name {
			return c, nil
		}
	}
	return dataCipher{}, setting("cipher %q is not one of aes128-gcm, aes192-gcm, aes256-gcm", name)
}

func dataCipherByURI(uri string) (dataCipher, error) {
	for _, c := range dataCiphers {
		if c.uri == uri {
			return c, nil
		}
	}
	return dataCipher{}, policy("content is encrypted with %s; only AES-GCM is read, since all others show nobody whether it was changed", shown(fragmentOrAll(uri)))
}

// CipherSize is how long content of n bytes becomes: the nonce stands in front
// of it, the tag behind (XML Encryption 1.1 §5.2.4).
func CipherSize(n int64) int64 { return gcm.NonceSize + n + gcm.TagSize }

var errSealed = errors.New("the part is closed")

// sealer encrypts one part.
type sealer struct {
	w     io.Writer
	gcm   *gcm.Stream
	nonce []byte // nil once it is written
	buf   []byte // to be encrypted
	err   error
}

func newSealer(w io.Writer, key []byte) *sealer {
	nonce := make([]byte, gcm.NonceSize)
	rand.Read(nonce) // never fails
	s := &sealer{w: w, nonce: nonce}
	s.gcm, s.err = gcm.New(key, nonce)
	return s
}

// Write implements io.Writer. It hands on chunks of 64 KiB.
func (s *sealer) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) && s.err == nil {
		n := min(chunk-len(s.buf), len(p)-done)
		s.buf = append(s.buf, p[done:done+n]...)
		done += n
		if len(s.buf) == chunk {
			s.flush()
		}
	}
	return done, s.err
}

// flush encrypts and hands on what is there. Only the last time it may be part
// of a block.
func (s *sealer) flush() {
	if s.err = s.gcm.Fits(len(s.buf)); s.err != nil {
		return
	}
	if s.nonce != nil {
		if s.write(s.nonce); s.err != nil {
			return
		}
		s.nonce = nil
	}
	s.gcm.Seal(s.buf, s.buf)
	s.write(s.buf)
	s.buf = s.buf[:0]
}

func (s *sealer) write(p []byte) {
	if _, err := s.w.Write(p); err != nil {
		s.err = fmt.Errorf("write encrypted part: %w", err)
	}
}

// Close writes the rest and the tag. A second time it does nothing.
func (s *sealer) Close() error {
	if s.err == nil {
		s.flush()
	}
	if s.err == nil {
		tag := s.gcm.Tag(nil)
		s.write(tag[:])
	}
	if s.err != nil {
		if errors.Is(s.err, errSealed) {
			return nil
		}
		return s.err
	}
	s.err, s.buf = errSealed, nil
	return nil
}

// open decrypts a part from r to w. What w got is good only if the error is
// nil: a wrong key and anything wrong with the bytes shows at the end, and is
// ErrDecrypt. Errors of r and w are handed on.
func open(w io.Writer, r io.Reader, key []byte) error {
	nonce := make([]byte, gcm.NonceSize)
	if _, err := io.ReadFull(r, nonce); err != nil {
		return endedEarly(err)
	}
	g, err := gcm.New(key, nonce)
	if err != nil {
		return ErrDecrypt
	}
	var buf []byte
	for {
		// The last bytes may be the tag: they are decrypted when more comes.
		if buf, err = fill(buf, r, chunk+gcm.TagSize); err != nil {
			break
		}
		if err := g.Fits(chunk); err != nil {
			return policy("a part is too long: %v", err)
		}
		g.Open(buf[:chunk])
		if _, err := w.Write(buf[:chunk]); err != nil {
			return err
		}
		buf = buf[:copy(buf, buf[chunk:])]
	}
	if err != io.EOF { //nolint:errorlint // the plain value: fill gives that for the end
		return err
	}
	return last(w, g, buf)
}

// last decrypts what is left, with the tag at its end.
func last(w io.Writer, g *gcm.Stream, rest []byte) error {
	if len(rest) < gcm.TagSize {
		return ErrDecrypt
	}
	content, tag := rest[:len(rest)-gcm.TagSize], rest[len(rest)-gcm.TagSize:]
	if err := g.Fits(len(content)); err != nil {
		return policy("a part is too long: %v", err)
	}
	g.Open(content)
	want := g.Tag(nil)
	if subtle.ConstantTimeCompare(tag, want[:]) != 1 {
		return ErrDecrypt
	}
	_, err := w.Write(content)
	return err
}

// fill reads until buf has size bytes. It gives io.EOF, and less, at the end.
// A buffer grows with what comes, so that small parts take little.
func fill(buf []byte, r io.Reader, size int) ([]byte, error) {
	for len(buf) < size {
		if len(buf) == cap(buf) {
			larger := make([]byte, len(buf), min(max(4<<10, 4*cap(buf)), size))
			copy(larger, buf)
			buf = larger
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), size)])
		buf = buf[:len(buf)+n]
		if err != nil && (len(buf) < size || !errors.Is(err, io.EOF)) {
			return buf, err
		}
	}
	return buf, nil
}

// endedEarly: content that ends within the nonce is no different from any other
// that does not decrypt.
func endedEarly(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrDecrypt
	}
	return err
}
