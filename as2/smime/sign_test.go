package smime

import (
	"crypto"
	"crypto/x509"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSignedSize(t *testing.T) {
	t.Parallel()
	for _, p := range []party{partner(), p256(), p384(), p521(), nameless()} {
		for _, h := range []crypto.Hash{crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			for name, edit := range map[string]func(*SignOptions){
				"plain":         func(*SignOptions) {},
				"no attributes": func(o *SignOptions) { o.NoAttributes = true },
				"none embedded": func(o *SignOptions) { o.OmitCertificates = true },
				"chain":         func(o *SignOptions) { o.Chain, o.Time = stranger().pins(), signedAt.AddDate(30, 0, 0) },
				"pss":           func(o *SignOptions) { o.PSS = true },
				"pss, bare":     func(o *SignOptions) { o.PSS, o.NoAttributes = true, true },
				"protected":     func(o *SignOptions) { o.PSS, o.AlgorithmProtection = true, true },
				"key id":        func(o *SignOptions) { o.KeyID = true },
			} {
				o := p.options(h)
				edit(&o)
				size, err := SignedSize(o)
				if err != nil {
					t.Fatal(err)
				}
				got := len(sign(t, []byte("x"), o))
				if got > size || p.cert.PublicKeyAlgorithm == x509.RSA && got != size {
					t.Errorf("%s, %v, %s: %d bytes, announced %d", p.cert.Subject, h, name, got, size)
				}
			}
		}
	}
	two := []SignOptions{partner().options(crypto.SHA256), gateway().options(crypto.SHA512)}
	two[1].PSS = true
	size, err := SignedSize(two...)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(signTogether(t, nil, two...)); got != size {
		t.Errorf("two signers: %d bytes, announced %d", got, size)
	}
}

// signTogether has several sign content.
func signTogether(t testing.TB, content []byte, signers ...SignOptions) []byte {
	t.Helper()
	digests := map[crypto.Hash][]byte{}
	for _, o := range signers {
		digests[o.Hash] = sumOf(o.Hash, content)
	}
	sig, err := SignDetachedTogether(digests, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func TestSignRefusesWrongOptions(t *testing.T) {
	t.Parallel()
	sum := sumOf(crypto.SHA256, nil)
	for name, edit := range map[string]func(*SignOptions){
		"key of another":                    func(o *SignOptions) { o.Key = stranger().key },
		"unknown hash":                      func(o *SignOptions) { o.Hash = crypto.MD5 },
		"no key":                            func(o *SignOptions) { o.Key = nil },
		"no certificate":                    func(o *SignOptions) { o.Certificate = nil },
		"protection of attributes left out": func(o *SignOptions) { o.NoAttributes, o.AlgorithmProtection = true, true },
	} {
		o := partner().options(crypto.SHA256)
		edit(&o)
		if _, err := SignDetached(sum, o); err == nil {
			t.Errorf("%s: signed", name)
		}
		if _, err := SignedSize(o); err == nil {
			t.Errorf("%s: has a size", name)
		}
	}
	good := partner().options(crypto.SHA256)
	if _, err := SignDetached(sum[1:], good); err == nil {
		t.Error("signed half a digest")
	}
	if _, err := SignDetachedTogether(map[crypto.Hash][]byte{crypto.SHA256: sum}); err == nil {
		t.Error("signed by nobody")
	}
	if _, err := SignDetachedTogether(map[crypto.Hash][]byte{crypto.SHA256: sum}, good, p384().options(crypto.SHA384)); err == nil || !strings.Contains(err.Error(), "sha-384") {
		t.Errorf("without the digest of the second signer: %v", err)
	}
}

// layout is what the head of a SignedData says.
type layout struct {
	Version      int
	Digests      []string
	Certificates []string
	Signers      []int // versions of SignerInfo
	Named        []string
}

func layoutOf(t testing.TB, sig []byte) layout {
	t.Helper()
	c := newCursor(sig)
	outer := c.in(tagSequence)
	outer.oid()
	explicit := outer.in(tagExplicit0)
	data := explicit.in(tagSequence)
	l := layout{Version: data.small()}
	for set := data.in(tagSet); len(set.rest) > 0; {
		d, _ := digestByOID(set.algorithm().oid)
		l.Digests = append(l.Digests, d.name)
	}
	data.raw(tagSequence)
	if data.peek() == tagExplicit0 {
		for _, cert := range embedded(data.raw(tagExplicit0)) {
			l.Certificates = append(l.Certificates, cert.Subject.CommonName)
		}
	}
	for set := data.in(tagSet); len(set.rest) > 0; {
		in := set.in(tagSequence)
		l.Signers = append(l.Signers, in.small())
		l.Named = append(l.Named, in.identity().text().String())
	}
	if *c.bad || len(c.rest) > 0 {
		t.Fatal("not a signature")
	}
	return l
}

func TestSignedDataLayout(t *testing.T) {
	t.Parallel()
	rsa, ec, branchOffice := partner().options(crypto.SHA512), p256().options(crypto.SHA256), branch().leaf.options(crypto.SHA256)
	branchOffice.Chain = []*x509.Certificate{branch().issuer.cert, branch().root.cert}
	second := branch().issuer.options(crypto.SHA256)
	second.Chain = branch().root.pins()
	keyID, computed := p256().options(crypto.SHA256), nameless().options(crypto.SHA256)
	keyID.KeyID, computed.KeyID = true, true
	none := rsa
	none.OmitCertificates = true
	name := func(p party) string { return p.cert.Subject.CommonName }
	id := func(p party) string { return CertificateID(p.cert).String() }
	key := func(id []byte) string { return ID{KeyID: hexText(id)}.String() }
	tests := []struct {
		name    string
		signers []SignOptions
		want    layout
	}{
		{"one", []SignOptions{rsa}, layout{1, []string{"sha-512"}, []string{name(partner())}, []int{1}, []string{id(partner())}}},
		{"without its certificate", []SignOptions{none}, layout{1, []string{"sha-512"}, nil, []int{1}, []string{id(partner())}}},
		{"leaf first, then the chain", []SignOptions{branchOffice}, layout{
			1, []string{"sha-256"},
			[]string{name(branch().leaf), name(branch().issuer), name(branch().root)}, []int{1}, []string{id(branch().leaf)},
		}},
		{"RFC 5652 §5.1: version 3 with a key identifier", []SignOptions{keyID}, layout{
			3, []string{"sha-256"}, []string{name(p256())}, []int{3}, []string{key(p256().cert.SubjectKeyId)},
		}},
		{"RFC 5280 §4.2.1.2: computed key identifier", []SignOptions{computed}, layout{
			3, []string{"sha-256"}, []string{name(nameless())}, []int{3}, []string{key(computedKeyID(nameless().cert))},
		}},
		{"several: in the order given, digests once", []SignOptions{rsa, ec, keyID}, layout{
			3, []string{"sha-256", "sha-512"},
			[]string{name(partner()), name(p256())}, []int{1, 1, 3},
			[]string{id(partner()), id(p256()), key(p256().cert.SubjectKeyId)},
		}},
		{"several: certificates once", []SignOptions{branchOffice, second}, layout{
			1, []string{"sha-256"},
			[]string{name(branch().leaf), name(branch().issuer), name(branch().root)}, []int{1, 1},
			[]string{id(branch().leaf), id(branch().issuer)},
		}},
	}
	content := payload(100)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sig := signTogether(t, content, tt.signers...)
			if diff := cmp.Diff(tt.want, layoutOf(t, sig)); diff != "" {
				t.Error(diff)
			}
			for _, o := range tt.signers { // each is good alone
				v, err := VerifyDetached(sig, digestOf(content), []*x509.Certificate{o.Certificate})
				if err != nil || v.Hash != o.Hash || len(v.Signers) != len(tt.signers) {
					t.Errorf("%s: %v", o.Certificate.Subject, err)
				}
			}
		})
	}
}

// A key identifier only selects: the key behind it decides.
func TestKeyIDOfAnotherKey(t *testing.T) {
	t.Parallel()
	o := lookalike().options(crypto.SHA256)
	o.KeyID = true
	sig := sign(t, nil, o)
	if _, err := VerifyDetached(sig, digestOf(nil), partner().pins()); !errors.Is(err, ErrSignature) {
		t.Errorf("key identifier of the partner, another key: %v", err)
	}
	if _, err := VerifyDetached(sig, digestOf(nil), append(partner().pins(), lookalike().cert)); err != nil {
		t.Errorf("both pinned: %v", err)
	}
	v, err := VerifyDetached(sig, digestOf(nil), p256().pins())
	if !errors.Is(err, ErrSignerUnknown) || v.Signers[0].KeyID != hexText(lookalike().cert.SubjectKeyId) {
		t.Errorf("a stranger: %v", err)
	}
}

// askedKey keeps what a key store would be asked for.
type askedKey struct {
	crypto.Signer
	opts []crypto.SignerOpts
}

func (k *askedKey) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	k.opts = append(k.opts, opts)
	return k.Signer.Sign(random, digest, opts)
}

// A key store learns the hash and the padding from the options only.
func TestKeyStoreIsTold(t *testing.T) {
	t.Parallel()
	key := &askedKey{Signer: partner().key}
	o := partner().options(crypto.SHA384)
	o.Key = key
	sign(t, nil, o)
	o.PSS = true
	sign(t, nil, o)
	want := []crypto.SignerOpts{crypto.SHA384, pssOptions(crypto.SHA384)}
	if !slices.EqualFunc(key.opts, want, func(a, b crypto.SignerOpts) bool { return cmp.Equal(a, b) }) {
		t.Errorf("asked with %#v", key.opts)
	}
}
