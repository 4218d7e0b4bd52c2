package smime

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHashNames(t *testing.T) {
	t.Parallel()
	for want, names := range map[crypto.Hash][]string{
		crypto.SHA1:   {"sha1", "sha-1", "SHA1", "rsa-sha1", " Sha-1 "},
		crypto.SHA256: {"sha256", "sha-256", "SHA-256", "rsa-sha256", "sha2_256", "SHA2-256", "rsassa-pss-sha-256"},
		crypto.SHA384: {"sha384", "SHA-384"},
		crypto.SHA512: {"sha512", "sha-512", "rsa-sha512"},
		0:             {"", "md5", "sha", "sha-224", "sha3-256", "sha2561"},
	} {
		for _, name := range names {
			if got, ok := HashByName(name); got != want || ok != (want != 0) {
				t.Errorf("%q: got %v, %v", name, got, ok)
			}
		}
		if want != 0 {
			if back, _ := HashByName(HashName(want)); back != want {
				t.Errorf("%v is called %q", want, HashName(want))
			}
		}
	}
	if got := HashName(crypto.MD5); got != "" {
		t.Errorf("MD5 is called %q", got)
	}
}

func TestVerifiedFacts(t *testing.T) {
	t.Parallel()
	content := payload(100)
	o := partner().options(crypto.SHA256)
	o.Chain = stranger().pins()
	got, err := VerifyDetached(sign(t, content, o), digestOf(content), partner().pins())
	if err != nil {
		t.Fatal(err)
	}
	want := &Verification{
		Signer: partner().cert, Hash: crypto.SHA256, Digest: sumOf(crypto.SHA256, content), SigningTime: signedAt,
		Embedded: []*x509.Certificate{partner().cert, stranger().cert},
		Signers: []SignerReport{{
			ID:          ID{Issuer: "O=Northwind,CN=partner.northwind.example", Serial: "4F:22"},
			Fingerprint: Fingerprint(partner().cert), Hash: crypto.SHA256, Certificate: partner().cert,
		}},
	}
	want.Signers[0].Issuer = partner().cert.Issuer.String()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The digest callback is asked once for each hash, and only when a pinned
// signer needs it.
func TestDigestIsAskedOnce(t *testing.T) {
	t.Parallel()
	content := payload(100)
	two := withSigners(t, sign(t, content, partner().options(crypto.SHA256)), sign(t, content, gateway().options(crypto.SHA256)))
	asked := 0
	count := func(h crypto.Hash) ([]byte, error) { asked++; return sumOf(h, content), nil }
	if _, err := VerifyDetached(two, count, []*x509.Certificate{partner().cert, gateway().cert}); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	asked = 0
	if _, err := VerifyDetached(two, count, stranger().pins()); !errors.Is(err, ErrSignerUnknown) || asked != 0 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	broken := errors.New("disk on fire")
	_, err := VerifyDetached(two, func(crypto.Hash) ([]byte, error) { return nil, broken }, partner().pins())
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// withSigners puts the signers of two signatures into one.
func withSigners(t testing.TB, a, b []byte) []byte {
	t.Helper()
	d1, s1 := takeApart(t, a)
	d2, s2 := takeApart(t, b)
	return signedWith(tlv(tagSet, d1, d2), nil, s1, s2)
}

// takeApart gives the digests and the signers of a signature.
func takeApart(t testing.TB, sig []byte) (digests, signers []byte) {
	t.Helper()
	c := newCursor(sig)
	outer := c.in(tagSequence)
	outer.oid()
	explicit := outer.in(tagExplicit0)
	data := explicit.in(tagSequence)
	data.raw(tagInteger)
	digests = data.bytes(tagSet)
	data.raw(tagSequence)
	if data.peek() == tagExplicit0 {
		data.raw(tagExplicit0)
	}
	signers = data.bytes(tagSet)
	if *c.bad {
		t.Fatal("not a signature")
	}
	return digests, signers
}

// signedWith builds a detached SignedData from parts.
func signedWith(digests, certificates []byte, signers ...[]byte) []byte {
	return tlv(tagSequence, tlv(tagOID, []byte(oidSignedData)), tlv(tagExplicit0, tlv(tagSequence,
		[]byte{tagInteger, 1, 1}, digests, tlv(tagSequence, tlv(tagOID, []byte(oidData))), certificates,
		tlv(tagSet, signers...))))
}

func TestOnlyPinnedSignersCount(t *testing.T) {
	t.Parallel()
	content := payload(100)
	good := sign(t, content, partner().options(crypto.SHA256))
	bad := sign(t, payload(101), partner().options(crypto.SHA256))
	foreign := sign(t, content, stranger().options(crypto.SHA256))
	tests := []struct {
		name   string
		sig    []byte
		pinned []*x509.Certificate
		want   error
	}{
		{"the partner", good, partner().pins(), nil},
		{"one of two certificates of the partner", good, append(p256().pins(), partner().cert), nil},
		{"nobody pinned", good, nil, ErrSignerUnknown},
		{"a stranger with his certificate inside", foreign, partner().pins(), ErrSignerUnknown},
		{"stranger first, partner second", withSigners(t, foreign, good), partner().pins(), nil},
		{"good by a stranger, bad by the partner", withSigners(t, foreign, bad), partner().pins(), ErrDigest},
		{"bad and good by the partner", withSigners(t, bad, good), partner().pins(), nil},
		{"name and serial of the partner, other key", sign(t, content, lookalike().options(crypto.SHA256)), partner().pins(), ErrSignature},
		{"both certificates of that name pinned", good, append(lookalike().pins(), partner().cert), nil},
		{"other content", bad, partner().pins(), ErrDigest},
		{"nobody signed", signedWith(tlv(tagSet), nil), partner().pins(), ErrNoSigner},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := VerifyDetached(tt.sig, digestOf(content), tt.pinned)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if v == nil || (err == nil) != (v.Signer != nil) {
				t.Errorf("verification %v beside %v", v, err)
			}
		})
	}
}

func TestStrangerIsShown(t *testing.T) {
	t.Parallel()
	v, err := VerifyDetached(sign(t, nil, stranger().options(crypto.SHA256)), digestOf(nil), partner().pins())
	if !errors.Is(err, ErrSignerUnknown) || !strings.Contains(err.Error(), "06:66") {
		t.Fatalf("got %v", err)
	}
	if r := v.Signers[0]; r.Fingerprint != Fingerprint(stranger().cert) || r.Certificate != nil || r.Serial != "06:66" {
		t.Errorf("reported %+v", r)
	}
}

// resigned builds a signature with attributes of our making.
func resigned(t testing.TB, p party, sumOver []byte, contentType string, attributes ...[]byte) []byte {
	t.Helper()
	signature, err := p.key.Sign(nil, sumOf(crypto.SHA256, sumOver), crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	id, err := encodeIdentity(p.cert)
	if err != nil {
		t.Fatal(err)
	}
	alg := algorithmID(oidSHA256, derNull)
	var implicit []byte
	if attributes != nil {
		implicit = tlv(tagExplicit0, attributes...)
	}
	signer := tlv(tagSequence, []byte{tagInteger, 1, 1}, id, alg, implicit, algorithmID(oidSHA256WithRSA, derNull), tlv(tagOctets, signature))
	return tlv(tagSequence, tlv(tagOID, []byte(oidSignedData)), tlv(tagExplicit0, tlv(tagSequence,
		[]byte{tagInteger, 1, 1}, tlv(tagSet, alg), tlv(tagSequence, tlv(tagOID, []byte(contentType))), tlv(tagSet, signer))))
}

// attribute is one of SignedAttributes.
func attribute(oid string, values ...[]byte) []byte {
	return tlv(tagSequence, tlv(tagOID, []byte(oid)), tlv(tagSet, values...))
}

func TestSignedAttributes(t *testing.T) {
	t.Parallel()
	content := payload(50)
	kind := attribute(oidAttrContentType, tlv(tagOID, []byte(oidData)))
	digest := attribute(oidAttrMessageDigest, tlv(tagOctets, sumOf(crypto.SHA256, content)))
	short := attribute(oidAttrMessageDigest, tlv(tagOctets, sumOf(crypto.SHA256, content)[:20]))
	twice := attribute(oidAttrMessageDigest, tlv(tagOctets, sumOf(crypto.SHA256, content)), tlv(tagOctets, make([]byte, 32)))
	strange := attribute(oidZlib, derNull)
	tests := []struct {
		name    string
		sumOver []byte
		kind    string
		attrs   [][]byte
		want    error
	}{
		{"sorted", tlv(tagSet, kind, digest), oidData, [][]byte{kind, digest}, nil},
		{"unsorted, signed over DER", tlv(tagSet, kind, digest), oidData, [][]byte{digest, kind}, nil},
		{"unsorted, signed as sent", tlv(tagSet, digest, kind), oidData, [][]byte{digest, kind}, nil},
		{"unknown attribute", tlv(tagSet, strange, kind, digest), oidData, [][]byte{strange, kind, digest}, nil},
		{"digest too short", tlv(tagSet, kind, short), oidData, [][]byte{kind, short}, ErrDigest},
		{"two digests in one attribute", tlv(tagSet, kind, twice), oidData, [][]byte{kind, twice}, ErrMalformed},
		{"two digest attributes", tlv(tagSet, kind, digest, digest), oidData, [][]byte{kind, digest, digest}, ErrMalformed},
		{"no digest", tlv(tagSet, kind), oidData, [][]byte{kind}, ErrMalformed},
		{"no content type", tlv(tagSet, digest), oidData, [][]byte{digest}, ErrMalformed},
		{"content type differs", tlv(tagSet, kind, digest), oidCompressedData, [][]byte{kind, digest}, ErrDigest},
		{"no attributes", content, oidData, nil, nil},
		{"no attributes, not data", content, oidCompressedData, nil, ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sig := resigned(t, partner(), tt.sumOver, tt.kind, tt.attrs...)
			if _, err := VerifyDetached(sig, digestOf(content), partner().pins()); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestSigningTimes(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{signedAt, signedAt.AddDate(40, 0, 0), signedAt.AddDate(-50, 0, 0)} {
		o := p256().options(crypto.SHA256)
		o.Time = at
		v, err := VerifyDetached(sign(t, nil, o), digestOf(nil), p256().pins())
		if err != nil || !v.SigningTime.Equal(at) {
			t.Errorf("%v: got %v, %v", at, v.SigningTime, err)
		}
	}
}

func TestOpaqueSigned(t *testing.T) {
	t.Parallel()
	content := payload(100_000)
	sig := sign(t, content, partner().options(crypto.SHA256))
	message := opaque(t, sig, content[:1], nil, content[1:70_000], content[70_000:])
	read := func(message []byte) ([]byte, *SignedReader, error) {
		s, err := NewSignedReader(iotest.HalfReader(bytes.NewReader(message)), Limits{})
		if err != nil {
			return nil, nil, err
		}
		got, err := io.ReadAll(s)
		return got, s, err
	}
	got, s, err := read(append(bytes.Clone(message), "\r\n"...))
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	v, err := s.Verify(partner().pins())
	if err != nil || !bytes.Equal(v.Digest, sumOf(crypto.SHA256, content)) {
		t.Errorf("got %v", err)
	}
	if _, err := VerifyDetached(message, digestOf(content), partner().pins()); !errors.Is(err, ErrEmbeddedContent) {
		t.Errorf("as a detached signature: %v", err)
	}
	if _, _, err := read(sig); !errors.Is(err, ErrMalformed) {
		t.Errorf("without content: %v", err)
	}
	if _, _, err := read(message[:len(message)-1]); !errors.Is(err, ErrMalformed) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut short: %v", err)
	}
	changed := bytes.Clone(message)
	changed[bytes.Index(changed, content[500:600])] ^= 1
	if _, s, err = read(changed); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Verify(partner().pins()); !errors.Is(err, ErrDigest) {
		t.Errorf("changed content: %v", err)
	}
	unread, err := NewSignedReader(bytes.NewReader(message), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unread.Verify(partner().pins()); err == nil {
		t.Error("verifies before the content is read")
	}
}

func TestDetachedBounds(t *testing.T) {
	t.Parallel()
	sig := sign(t, nil, p256().options(crypto.SHA256))
	if _, err := VerifyDetached(append(sig, make([]byte, maxDetached)...), digestOf(nil), p256().pins()); !errors.Is(err, ErrLimit) {
		t.Errorf("too long: %v", err)
	}
	one := sign(t, nil, p256().options(crypto.SHA256))
	for range 5 {
		one = withSigners(t, one, one)
	}
	if _, err := VerifyDetached(one, digestOf(nil), p256().pins()); !errors.Is(err, ErrLimit) {
		t.Errorf("32 signers: %v", err)
	}
	for i := range sig {
		if _, err := VerifyDetached(sig[:i], digestOf(nil), p256().pins()); !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}
