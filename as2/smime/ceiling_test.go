package smime

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"io"
	"testing"
	"time"

	"edigw/internal/gcm"
)

// BenchmarkShareOfCeiling prints which share of the ceiling the engine reaches.
// The ceiling is what every message costs whoever makes it: SHA-256 over the
// content and the bare cipher of the standard library over content in memory,
// here AES-GCM all at once. The engine does the same with whole messages.
func BenchmarkShareOfCeiling(b *testing.B) {
	const size = 16 << 20
	content := payload(size)
	for _, c := range []Cipher{AES128CBC, AES256CBC, AES128GCM, AES256GCM} {
		message := encrypt(b, content, c, partner().cert)
		seal, open := bareCipher(b, c, content)
		share := func(direction string, bare, engine func()) {
			b.Run(string(c)+"/"+direction, func(b *testing.B) {
				var ceiling, own time.Duration
				for b.Loop() { // by turns, so that both meet the same neighbours
					start := b.Elapsed()
					bare()
					between := b.Elapsed()
					engine()
					ceiling, own = ceiling+between-start, own+b.Elapsed()-between
				}
				b.ReportMetric(100*float64(ceiling)/float64(own), "%ceiling")
				b.ReportMetric(float64(b.N)*size/1e6/own.Seconds(), "MB/s")
			})
		}
		share("encrypt", func() { sha256.Sum256(content); seal() }, func() { sha256.Sum256(content); encryptAway(b, content, c) })
		share("decrypt", func() { open(); sha256.Sum256(content) }, func() { decryptAway(b, message) })
	}
}

// bareCipher encrypts and decrypts content with nothing around it.
func bareCipher(b *testing.B, c Cipher, content []byte) (seal, open func()) {
	b.Helper()
	a, err := cipherByName(c)
	if err != nil {
		b.Fatal(err)
	}
	key, iv := a.newKey()
	block, err := aes.NewCipher(key)
	if err != nil {
		b.Fatal(err)
	}
	out := make([]byte, len(content)+gcm.TagSize)
	if !a.gcm {
		return func() { cipher.NewCBCEncrypter(block, iv).CryptBlocks(out[:len(content)], content) },
			func() { cipher.NewCBCDecrypter(block, iv).CryptBlocks(out[:len(content)], content) }
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		b.Fatal(err)
	}
	sealed := aead.Seal(nil, iv, content, nil)
	return func() { aead.Seal(out[:0], iv, content, nil) }, func() {
		if _, err := aead.Open(out[:0], iv, sealed, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func encryptAway(b *testing.B, content []byte, c Cipher) {
	w, err := NewEncrypter(io.Discard, int64(len(content)), EncryptOptions{Cipher: c, Recipients: partner().pins()})
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

// decryptAway hashes what comes out, as whoever verifies a signature does.
func decryptAway(b *testing.B, message []byte) {
	d, err := NewDecrypter(bytes.NewReader(message), []Recipient{partner().recipient()}, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.CopyBuffer(sha256.New(), struct{ io.Reader }{d}, make([]byte, chunk)); err != nil {
		b.Fatal(err)
	}
}
