package smime

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"testing"
)

// zeros reads as n bytes without holding them.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Not parallel: it looks at the memory of the whole process.
func TestMemoryIsConstant(t *testing.T) {
	const large, small = 256 << 20, 1 << 20
	for name, o := range map[string]EncryptOptions{
		"CBC, RSA":      {Cipher: AES256CBC, Recipients: partner().pins()},
		"GCM, RSA":      {Cipher: AES256GCM, Recipients: partner().pins(), Transport: KeyTransport{OAEP: true}},
		"CBC, EC":       {Cipher: AES128CBC, Recipients: p256().pins()},
		"GCM, EC":       {Cipher: AES128GCM, Recipients: p521().pins()},
		"GCM, RSA + EC": {Cipher: AES128GCM, Recipients: append(p384().pins(), partner().cert), KeyID: true},
	} {
		few := allocated(func() { throughPipe(t, small, o) })
		many := allocated(func() { throughPipe(t, large, o) })
		if many > few+256<<10 {
			t.Errorf("%s: %d bytes allocated for %d of content, %d for %d", name, many, large, few, small)
		}
	}
}

// throughPipe encrypts size bytes and decrypts them on the other side.
func throughPipe(t *testing.T, size int64, o EncryptOptions) {
	r, w := io.Pipe()
	go func() {
		e, err := NewEncrypter(w, size, o)
		if err == nil {
			_, err = io.Copy(e, zeros(size))
			err = errors.Join(err, e.Close())
		}
		w.CloseWithError(err)
	}()
	d, err := NewDecrypter(r, []Recipient{partner().recipient(), p256().recipient(), p384().recipient(), p521().recipient()}, Limits{})
	if err != nil {
		r.CloseWithError(err)
		t.Error(err)
		return
	}
	if n, err := io.Copy(io.Discard, d); err != nil || n != size {
		r.CloseWithError(err)
		t.Errorf("%d bytes, %v", n, err)
	}
}

// Not parallel, as above.
func TestMemoryOfSignedAndCompressedIsConstant(t *testing.T) {
	const size = 32 << 20
	sig := sign(t, make([]byte, size), p256().options(crypto.SHA256))
	signed := opaque(t, sig, make([]byte, size))
	n := allocated(func() {
		s, err := NewSignedReader(bytes.NewReader(signed), Limits{})
		if err != nil {
			t.Error(err)
			return
		}
		if n, err := io.Copy(io.Discard, s); err != nil || n != size {
			t.Errorf("%d bytes, %v", n, err)
		}
		if _, err := s.Verify(p256().pins()); err != nil {
			t.Error(err)
		}
	})
	if n > 1<<20 {
		t.Errorf("%d bytes allocated for %d of signed content", n, size)
	}
	n = allocated(func() {
		r, w := io.Pipe()
		go func() {
			c, err := NewCompressor(w)
			if err == nil {
				_, err = io.Copy(c, zeros(size))
				err = errors.Join(err, c.Close())
			}
			w.CloseWithError(err)
		}()
		d, err := NewDecompressor(r, Limits{InflateRatio: 2000})
		if err != nil {
			t.Error(err)
			return
		}
		if n, err := io.Copy(io.Discard, d); err != nil || n != size {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	if n > 4<<20 {
		t.Errorf("%d bytes allocated for %d of compressed content", n, size)
	}
}

func BenchmarkEncrypt(b *testing.B) {
	const size = 16 << 20
	content := make([]byte, size)
	for _, c := range allCiphers {
		b.Run(string(c), func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				w, err := NewEncrypter(io.Discard, size, EncryptOptions{Cipher: c, Recipients: partner().pins()})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := w.Write(content); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecrypt(b *testing.B) {
	const size = 16 << 20
	for _, c := range allCiphers {
		b.Run(string(c), func(b *testing.B) {
			message := encrypt(b, make([]byte, size), c, partner().cert)
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				d, err := NewDecrypter(bytes.NewReader(message), []Recipient{partner().recipient()}, Limits{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
