package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"edigw/internal/gcm"
	"edigw/internal/testfixture"
)

// fixedKey unwraps every key to the same bytes: a fuzzer must reach behind it.
type fixedKey struct{ crypto.Decrypter }

func (fixedKey) Decrypt(io.Reader, []byte, crypto.DecrypterOpts) ([]byte, error) {
	return []byte(fuzzKey), nil
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
	for _, o := range flippedForms() {
		f.Add(sign(f, content, o))
	}
	f.Add(signTogether(f, content, p256().options(crypto.SHA256), partner().options(crypto.SHA512)))
	f.Add(withSigners(f, sign(f, content, p384().options(crypto.SHA512)), sign(f, content, p256().options(crypto.SHA256))))
	f.Add(signedWith(tlv(tagSet), nil))
	f.Add(opaque(f, sign(f, content, p256().options(crypto.SHA256)), content))
	f.Fuzz(func(t *testing.T, sig []byte) {
		pinned := []*x509.Certificate{p256().cert, partner().cert, p384().cert, p521().cert}
		v, err := VerifyDetached(sig, digestOf(content), pinned)
		if err != nil {
			if !known(err) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if !slices.Contains(pinned, v.Signer) || !bytes.Equal(v.Digest, sumOf(v.Hash, content)) {
			t.Fatalf("verified %x by %s", v.Digest, v.Signer.Subject)
		}
	})
}

func FuzzSignedReader(f *testing.F) {
	content := payload(300)
	sig := sign(f, content, p256().options(crypto.SHA256))
	f.Add(opaque(f, sig, content))
	f.Add(opaque(f, sig, content[:100], nil, content[100:]))
	f.Add(opaque(f, signTogether(f, content, p256().options(crypto.SHA256), partner().options(crypto.SHA512)), content))
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

// fuzzKey is what fixedKey unwraps every key to.
const fuzzKey = "0123456789abcdef"

// fuzzAgreement is a recipient of an elliptic curve that is the same in every
// process: its seeds must be read by all of them.
func fuzzAgreement(f *testing.F) party {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), []byte("generated test material, 32 byte"))
	if err != nil {
		f.Fatal(err)
	}
	return newParty("agreement.northwind.example", 0xf022, key)
}

func FuzzDecrypt(f *testing.F) {
	block, _ := pem.Decode(testfixture.Read(f, filepath.Join("testdata", fuzzCertificate)))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		f.Fatal(err)
	}
	agreeing := fuzzAgreement(f)
	addEncrypted(f, cert, agreeing)
	addCaptures(f, func(b []byte) { f.Add(b) })
	ours := []Recipient{{Certificate: cert, Key: fixedKey{}}}
	f.Fuzz(func(t *testing.T, message []byte) {
		var not *NotRecipientError
		if _, err := NewDecrypter(bytes.NewReader(message), nil, Limits{}); errors.As(err, &not) {
			for _, id := range not.Named {
				if len(id.String()) > 1024 {
					t.Fatalf("name of %d bytes", len(id.String()))
				}
			}
		}
		// Once: a key that cannot be unwrapped becomes a random one.
		if _, err := decrypt(message, agreeing.recipient()); err != nil && !known(err) {
			t.Fatalf("error of no kind: %v", err)
		}
		for _, a := range cipherAlgorithms {
			if a.keySize != len(fuzzKey) && bytes.Contains(message, []byte(a.oid)) {
				return // fixedKey has no key of that length: a random one is used, and twice would differ
			}
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

// addEncrypted seeds a fuzzer with every form of encrypted message.
func addEncrypted(f *testing.F, cert *x509.Certificate, agreeing party) {
	for _, size := range []int{0, 100} {
		message := encrypt(f, payload(size), AES128CBC, cert)
		f.Add(message)
		recipients, alg, ct := parts(f, message)
		f.Add(enveloped(f, recipients, append(alg, indefiniteLength(tagExplicit0, tlv(tagOctets, ct[:10]), tlv(tagOctets, ct[10:]))...)))
		for _, c := range []Cipher{AES128CBC, AES128GCM} {
			f.Add(encrypt(f, payload(size), c, cert, agreeing.cert))
			f.Add(encryptWith(f, payload(size), EncryptOptions{Cipher: c, Recipients: agreeing.pins(), KeyID: true}))
			f.Add(encryptWith(f, payload(size), EncryptOptions{
				Cipher: c, Recipients: []*x509.Certificate{cert}, KeyID: true, Transport: KeyTransport{OAEP: true, Hash: crypto.SHA256, MGF: crypto.SHA1},
			}))
		}
		// These decrypt.
		key, iv := []byte(fuzzKey), payload(gcm.NonceSize)
		to, _, err := newAddressee(cert, len(key), EncryptOptions{})
		if err != nil {
			f.Fatal(err)
		}
		attributes := [][]byte{attribute(oidAttrContentType, tlv(tagOID, []byte(oidData)))}
		f.Add(authEnveloped(f, key, iv, payload(size), nil, to.blank(len(key))))
		f.Add(authEnveloped(f, key, iv, payload(size), attributes, to.blank(len(key))))
		f.Add(authEnveloped(f, key, iv, payload(size), attributes, agreement{
			scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: algorithmID(oidAES128Wrap, nil), wrapSize: 16, ukm: payload(16),
		}.encode(f, agreeing, key)))
		sealed, tag := gcmSealed(f, key, iv, payload(size), nil)
		f.Add(enveloped(f, recipients, append(algorithmID(oidAES128GCM, gcmParameters{nonce: iv, tagSize: gcm.TagSize}.encode()),
			tlv(tagContext0, append(sealed, tag...))...)))
	}
	f.Add(encrypt(f, payload(10), TripleDES, cert))
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
