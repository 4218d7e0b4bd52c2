package smime

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// flippedForms are small signatures of every form.
func flippedForms() map[string]SignOptions {
	forms := map[string]SignOptions{}
	add := func(name string, p party, h crypto.Hash, edit func(*SignOptions)) {
		o := p.options(h)
		o.OmitCertificates = true
		edit(&o)
		forms[name] = o
	}
	add("rsa", partner(), crypto.SHA256, func(*SignOptions) {})
	add("rsa sha1", partner(), crypto.SHA1, func(*SignOptions) {})
	add("rsa plain", partner(), crypto.SHA256, func(o *SignOptions) { o.NoAttributes = true })
	add("rsa key id", partner(), crypto.SHA256, func(o *SignOptions) { o.KeyID = true })
	add("pss", partner(), crypto.SHA384, func(o *SignOptions) { o.PSS = true })
	add("pss plain", partner(), crypto.SHA256, func(o *SignOptions) { o.PSS, o.NoAttributes = true, true })
	add("pss protected", partner(), crypto.SHA512, func(o *SignOptions) { o.PSS, o.AlgorithmProtection = true, true })
	add("p256", p256(), crypto.SHA256, func(*SignOptions) {})
	add("p256 plain", p256(), crypto.SHA256, func(o *SignOptions) { o.NoAttributes = true })
	add("p384 protected", p384(), crypto.SHA384, func(o *SignOptions) { o.AlgorithmProtection = true })
	add("p521 key id", p521(), crypto.SHA512, func(o *SignOptions) { o.KeyID = true })
	return forms
}

// A flipped byte of the content fails; one of the signature fails or changes
// nothing that is reported as verified.
func TestFlippedByteFails(t *testing.T) {
	t.Parallel()
	content := []byte("Content-Type: application/edi-x12\r\n\r\nISA*00*GOOD-1~\r\n")
	for name, o := range flippedForms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sig := sign(t, content, o)
			wantErr := ErrDigest
			if o.NoAttributes {
				wantErr = ErrSignature
			}
			for i := range content {
				changed := bytes.Clone(content)
				changed[i] ^= 1
				if _, err := VerifyDetached(sig, digestOf(changed), []*x509.Certificate{o.Certificate}); !errors.Is(err, wantErr) {
					t.Fatalf("content byte %d: %v", i, err)
				}
			}
			flipSignature(t, sig, content, o, 0)
		})
	}
}

// With two signers each is looked at alone: that one signature is broken must
// not matter to who pins the other.
func TestFlippedByteOfTwoSigners(t *testing.T) {
	t.Parallel()
	content := payload(60)
	signers := []SignOptions{p256().options(crypto.SHA256), partner().options(crypto.SHA512)}
	for i := range signers {
		signers[i].OmitCertificates = true
	}
	digests := map[crypto.Hash][]byte{crypto.SHA256: sumOf(crypto.SHA256, content), crypto.SHA512: sumOf(crypto.SHA512, content)}
	sig, err := SignDetachedTogether(digests, signers...)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range signers {
		flipSignature(t, sig, content, o, i)
	}
}

// flipSignature turns bits of every byte of a signature, pinned to the signer at
// this place in it.
func flipSignature(t *testing.T, sig, content []byte, o SignOptions, place int) {
	t.Helper()
	pinned := []*x509.Certificate{o.Certificate}
	want, err := VerifyDetached(sig, digestOf(content), pinned)
	if err != nil {
		t.Fatal(err)
	}
	protected := sealed(t, sig, place, o.AlgorithmProtection)
	flips := []byte{0x01, 0x20, 0x80, 0xff}
	if o.Certificate == p384().cert || o.Certificate == p521().cert {
		flips = flips[:1] // a verification takes long
	}
	for i := range sig {
		for _, flip := range flips {
			changed := bytes.Clone(sig)
			changed[i] ^= flip
			v, err := VerifyDetached(changed, digestOf(content), pinned)
			switch {
			case err != nil:
			case protected[i]:
				t.Errorf("byte %d (%#x) of signature, algorithms or attributes does not matter", i, flip)
			case !v.Signer.Equal(want.Signer) || v.Hash != want.Hash || !bytes.Equal(v.Digest, want.Digest) || !v.SigningTime.Equal(want.SigningTime):
				t.Errorf("byte %d (%#x) changes what verifies", i, flip)
			case len(want.Signers) == 1 && !cmp.Equal(v, want):
				t.Errorf("byte %d (%#x) changes what is reported", i, flip)
			}
		}
	}
}

// sealed marks the bytes of a signer that must all matter: signed attributes,
// digest algorithm and signature value, and with algorithm protection the
// signature algorithm.
func sealed(t testing.TB, sig []byte, place int, algorithms bool) []bool {
	t.Helper()
	c := newCursor(sig)
	outer := c.in(tagSequence)
	outer.oid()
	explicit := outer.in(tagExplicit0)
	data := explicit.in(tagSequence)
	data.raw(tagInteger)
	data.raw(tagSet)
	data.raw(tagSequence)
	set := data.in(tagSet)
	for range place {
		set.raw(tagSequence)
	}
	in := set.in(tagSequence)
	after := len(set.rest) // bytes behind this signer
	at := func() int { return len(sig) - after - len(in.rest) }
	marks := make([]bool, len(sig))
	mark := func(from, to int) {
		for i := from; i < to; i++ {
			marks[i] = true
		}
	}
	in.raw(tagInteger)
	in.identity()
	start := at()
	in.raw(tagSequence)
	if in.peek() == tagExplicit0 {
		in.raw(tagExplicit0)
	}
	mark(start, at())
	start = at()
	in.algorithm()
	if algorithms {
		mark(start, at())
	}
	value := len(in.bytes(tagOctets))
	mark(at()-value, at())
	if *c.bad {
		t.Fatal("not a signature")
	}
	return marks
}

// A flipped byte of an opaque message fails, or changes neither the content nor
// what is reported as verified.
func TestFlippedByteOfOpaqueFails(t *testing.T) {
	t.Parallel()
	content := payload(200)
	o := p256().options(crypto.SHA256)
	o.OmitCertificates = true
	message := opaque(t, sign(t, content, o), content[:90], content[90:])
	read := func(message []byte) ([]byte, *Verification, error) {
		s, err := NewSignedReader(bytes.NewReader(message), Limits{})
		if err != nil {
			return nil, nil, err
		}
		got, err := io.ReadAll(s)
		if err != nil {
			return nil, nil, err
		}
		v, err := s.Verify(p256().pins())
		return got, v, err
	}
	_, want, err := read(message)
	if err != nil {
		t.Fatal(err)
	}
	for i := range message {
		for _, flip := range []byte{0x01, 0x20, 0x80, 0xff} {
			changed := bytes.Clone(message)
			changed[i] ^= flip
			if got, v, err := read(changed); err == nil && (!bytes.Equal(got, content) || !cmp.Equal(v, want)) {
				t.Errorf("byte %d (%#x) changes what verifies", i, flip)
			}
		}
	}
}
