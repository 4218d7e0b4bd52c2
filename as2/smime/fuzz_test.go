package smime

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
)

// fixedKey unwraps every key to the same bytes: a fuzzer must reach behind it.
type fixedKey struct{ crypto.Decrypter }

func (fixedKey) Decrypt(io.Reader, []byte, crypto.DecrypterOpts) ([]byte, error) {
	return []byte("0123456789abcdef"), nil
}

// known tells whether an error is one that callers can map.
func known(err error) bool {
	for _, kind := range []error{
		ErrMalformed, ErrNesting, ErrLimit, ErrUnsupported, ErrNotRecipient, ErrDecrypt,
		ErrNoSigner, ErrSignerUnknown, ErrSignature, ErrDigest, ErrEmbeddedContent, ErrDecompress,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// twice reads a message in one piece and byte by byte, which must give the same.
func twice(t *testing.T, message []byte, read func(io.Reader) ([]byte, error)) ([]byte, error) {
	t.Helper()
	whole, err := read(bytes.NewReader(message))
	slow, slowErr := read(iotest.OneByteReader(bytes.NewReader(message)))
	if !bytes.Equal(whole, slow) || (err == nil) != (slowErr == nil) {
		t.Fatalf("in one piece %d bytes and %v, byte by byte %d and %v", len(whole), err, len(slow), slowErr)
	}
	if err != nil && !known(err) {
		t.Fatalf("error of no kind: %v", err)
	}
	return whole, err
}

// addCaptures seeds a fuzzer with the foreign messages that are at hand.
func addCaptures(f *testing.F, add func([]byte)) {
	root := os.Getenv("EDIGW_FIXTURES")
	if root == "" {
		return
	}
	files, _ := filepath.Glob(filepath.Join(root, "as2", "openas2", "*.pkcs7"))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		add(b)
	}
}

func FuzzVerifyDetached(f *testing.F) {
	content := []byte("Content-Type: text/plain\r\n\r\nISA*00*GOOD-1~")
	for _, o := range []SignOptions{
		p256().options(crypto.SHA256),
		{Key: p256().key, Certificate: p256().cert, Hash: crypto.SHA1, NoAttributes: true, OmitCertificates: true},
	} {
		f.Add(sign(f, content, o))
	}
	f.Add(withSigners(f, sign(f, content, p384().options(crypto.SHA512)), sign(f, content, p256().options(crypto.SHA256))))
	f.Add(signedWith(tlv(tagSet), nil))
	f.Add(opaque(f, sign(f, content, p256().options(crypto.SHA256)), content))
	f.Fuzz(func(t *testing.T, sig []byte) {
		v, err := VerifyDetached(sig, digestOf(content), p256().pins())
		if err != nil {
			if !known(err) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if !v.Signer.Equal(p256().cert) || !bytes.Equal(v.Digest, sumOf(v.Hash, content)) {
			t.Fatalf("verified %x by %s", v.Digest, v.Signer.Subject)
		}
		hashes, err := SignerHashes(sig)
		if err != nil || len(hashes) == 0 {
			t.Fatalf("hashes %v, %v", hashes, err)
		}
	})
}

func FuzzSignedReader(f *testing.F) {
	content := payload(300)
	sig := sign(f, content, p256().options(crypto.SHA256))
	f.Add(opaque(f, sig, content))
	f.Add(opaque(f, sig, content[:100], nil, content[100:]))
	f.Add(sig)
	f.Fuzz(func(t *testing.T, message []byte) {
		twice(t, message, func(r io.Reader) ([]byte, error) {
			s, err := NewSignedReader(r, Limits{})
			if err != nil {
				return nil, err
			}
			got, err := io.ReadAll(s)
			if err != nil {
				return got, err
			}
			v, err := s.Verify(p256().pins())
			if err == nil && !bytes.Equal(v.Digest, sumOf(v.Hash, got)) {
				t.Fatal("verified another digest than that of the content")
			}
			return got, err
		})
	})
}

// fuzzCertificate names the recipient of the seeds; its key is not needed.
const fuzzCertificate = "fuzz.pem"

func FuzzDecrypt(f *testing.F) {
	block, _ := pem.Decode(readFile(f, filepath.Join("testdata", fuzzCertificate)))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		f.Fatal(err)
	}
	for _, size := range []int{0, 100} {
		message := encrypt(f, payload(size), AES128CBC, cert)
		f.Add(message)
		recipients, alg, ct := parts(f, message)
		f.Add(enveloped(f, recipients, append(alg, indefiniteLength(tagExplicit0, tlv(tagOctets, ct[:10]), tlv(tagOctets, ct[10:]))...)))
	}
	f.Add(encrypt(f, payload(10), TripleDES, cert))
	addCaptures(f, func(b []byte) { f.Add(b) })
	ours := []Recipient{{cert, fixedKey{}}}
	f.Fuzz(func(t *testing.T, message []byte) {
		ids, err := RecipientIDs(bytes.NewReader(message), Limits{})
		if err != nil && !known(err) {
			t.Fatalf("error of no kind: %v", err)
		}
		for _, id := range ids {
			if len(id.String()) > 1024 {
				t.Fatalf("name of %d bytes", len(id.String()))
			}
		}
		if bytes.Contains(message, []byte(oidDESEDE3CBC)) || bytes.Contains(message, []byte(oidAES192CBC)) || bytes.Contains(message, []byte(oidAES256CBC)) {
			return // fixedKey has no key of that length: a random one is used, and twice would differ
		}
		twice(t, message, func(r io.Reader) ([]byte, error) {
			d, err := NewDecrypter(r, ours, Limits{})
			if err != nil {
				return nil, err
			}
			return io.ReadAll(d)
		})
	})
}

func FuzzDecompress(f *testing.F) {
	f.Add(compress(f, payload(300)))
	f.Add(compress(f, make([]byte, 5000)))
	f.Add(compressedWith(zlibStream(f, payload(300))))
	f.Add(compressedWith([]byte("plain text")))
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := twice(t, message, func(r io.Reader) ([]byte, error) {
			d, err := NewDecompressor(r, Limits{InflateTotal: 1 << 22})
			if err != nil {
				return nil, err
			}
			return io.ReadAll(d)
		})
		if err == nil && len(got) > 1<<22 {
			t.Fatalf("%d bytes came out", len(got))
		}
	})
}
