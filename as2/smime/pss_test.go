package smime

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"errors"
	"testing"
)

func pssOptions(h crypto.Hash) *rsa.PSSOptions {
	return &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: h}
}

// The encodings are spelled out by hand from RFC 4055 §3.1 and §6.
func TestPSSParameters(t *testing.T) {
	t.Parallel()
	for h, want := range map[crypto.Hash]string{
		crypto.SHA1:   "3000", // all defaults
		crypto.SHA256: "3034 a00f300d06096086480165030402010500 a11c301a06092a864886f70d010108300d06096086480165030402010500 a203020120",
		crypto.SHA384: "3034 a00f300d06096086480165030402020500 a11c301a06092a864886f70d010108300d06096086480165030402020500 a203020130",
		crypto.SHA512: "3034 a00f300d06096086480165030402030500 a11c301a06092a864886f70d010108300d06096086480165030402030500 a203020140",
	} {
		d, _ := digestByHash(h)
		wantBytes, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(want), []byte(" "), nil)))
		if err != nil {
			t.Fatal(err)
		}
		if got := pssParams(d); !bytes.Equal(got, wantBytes) {
			t.Errorf("%v: %x", h, got)
		}
		content := payload(10)
		o := partner().options(h)
		o.PSS = true
		sig := sign(t, content, o)
		if !bytes.Contains(sig, algorithmID(oidRSAPSS, wantBytes)) {
			t.Errorf("%v: the signature has other parameters", h)
		}
		if _, err := VerifyDetached(sig, digestOf(content), partner().pins()); err != nil {
			t.Errorf("%v: %v", h, err)
		}
	}
}

// signedPSS is a signature without attributes whose parameters are ours to choose.
func signedPSS(t testing.TB, content []byte, h crypto.Hash, salt int, params []byte) []byte {
	t.Helper()
	p := partner()
	signature, err := rsa.SignPSS(rand.Reader, p.key.(*rsa.PrivateKey), h, sumOf(h, content), &rsa.PSSOptions{SaltLength: salt})
	if err != nil {
		t.Fatal(err)
	}
	id, err := encodeIdentity(p.cert)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := digestByHash(h)
	alg := algorithmID(d.oid, nil)
	return signedWith(tlv(tagSet, alg), nil, tlv(tagSequence,
		[]byte{tagInteger, 1, 1}, id, alg, algorithmID(oidRSAPSS, params), tlv(tagOctets, signature)))
}

func TestPSSIsReadAsAnnounced(t *testing.T) {
	t.Parallel()
	hash := func(oid string) []byte { return tlv(tagExplicit0, algorithmID(oid, derNull)) }
	mask := func(oid string) []byte {
		return tlv(tagExplicit1, algorithmID(oidMGF1, algorithmID(oid, nil)))
	}
	number := func(tag byte, n ...byte) []byte { return tlv(tag, tlv(tagInteger, n)) }
	salt := func(n ...byte) []byte { return number(tagExplicit2, n...) }
	params := func(parts ...[]byte) []byte { return tlv(tagSequence, parts...) }
	both := append(hash(oidSHA256), mask(oidSHA256)...)
	const sha256 = crypto.SHA256
	tests := []struct {
		name   string
		hash   crypto.Hash
		salt   int // of the signature; crypto/rsa takes 0 for the longest
		params []byte
		want   error
	}{
		{"salt as long as the digest", sha256, 32, params(both, salt(32)), nil},
		{"salt of 20", sha256, 20, params(both, salt(20)), nil},
		{"salt of 1", sha256, 1, params(both, salt(1)), nil},
		{"the longest salt that a key of 2048 bits has room for", sha256, 222, params(both, salt(0, 222)), nil},
		{"another salt than stated", sha256, 32, params(both, salt(20)), ErrSignature},
		{"no salt length stated", sha256, 32, params(both), nil},
		{"trailer stated", sha256, 32, params(both, salt(32), number(tagExplicit3, 1)), nil},
		{"all defaults", crypto.SHA1, 20, params(), nil},
		{"defaults spelled out", crypto.SHA1, 20, params(hash(oidSHA1), mask(oidSHA1), salt(20), number(tagExplicit3, 1)), nil},
		{"default mask under SHA-256", sha256, 32, params(hash(oidSHA256), salt(32)), ErrUnsupported},
		{"another mask hash", sha256, 32, params(hash(oidSHA256), mask(oidSHA512), salt(32)), ErrUnsupported},
		{"another hash than the signer's", sha256, 32, params(hash(oidSHA512), mask(oidSHA512), salt(32)), ErrUnsupported},
		{"another mask generation", sha256, 32, params(hash(oidSHA256), tlv(tagExplicit1, algorithmID(oidRSA, nil)), salt(32)), ErrUnsupported},
		{"another trailer", sha256, 32, params(both, salt(32), number(tagExplicit3, 2)), ErrUnsupported},
		{"negative salt", sha256, 32, params(both, salt(0xff)), ErrMalformed},
		{"salt without end", sha256, 32, params(both, salt(1, 0, 0)), ErrMalformed},
		{"more behind", sha256, 32, params(both, salt(32), derNull), ErrMalformed},
		{"no parameters, as pyas2lib has it", sha256, 32, nil, nil},
		{"null", sha256, 32, derNull, ErrMalformed},
	}
	content := payload(40)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sig := signedPSS(t, content, tt.hash, tt.salt, tt.params)
			if _, err := VerifyDetached(sig, digestOf(content), partner().pins()); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// A key that is too short for its digest is an error, not a weaker signature.
func TestPSSNeedsRoom(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	o := newParty("short.northwind.example", 0x1024, key).options(crypto.SHA512)
	o.PSS = true
	if _, err := SignDetached(sumOf(crypto.SHA512, nil), o); err == nil {
		t.Error("signed")
	}
}
