package smime

import (
	"crypto"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// resigned signs with SHA-256, NULL parameters, and sha256WithRSA.
func TestAlgorithmProtection(t *testing.T) {
	t.Parallel()
	content := payload(50)
	digest, signature := algorithmID(oidSHA256, derNull), algorithmID(oidSHA256WithRSA, derNull)
	as := func(tag byte, algorithm []byte) []byte {
		c := newCursor(algorithm)
		return tlv(tag, c.bytes(tagSequence))
	}
	protection := func(parts ...[]byte) []byte { return attribute(oidAttrProtection, tlv(tagSequence, parts...)) }
	tests := []struct {
		name string
		attr []byte
		want error
	}{
		{"agrees", protection(digest, as(tagExplicit1, signature)), nil},
		{"parameters absent instead of NULL", protection(algorithmID(oidSHA256, nil), as(tagExplicit1, algorithmID(oidSHA256WithRSA, nil))), nil},
		{"another digest", protection(algorithmID(oidSHA1, derNull), as(tagExplicit1, signature)), ErrSignature},
		{"another signature algorithm", protection(digest, as(tagExplicit1, algorithmID(oidRSA, derNull))), ErrSignature},
		{"other parameters", protection(digest, as(tagExplicit1, algorithmID(oidSHA256WithRSA, tlv(tagSequence)))), ErrSignature},
		{"no signature algorithm", protection(digest), ErrSignature},
		{"a MAC algorithm in its place", protection(digest, as(tagExplicit2, signature)), ErrSignature},
		{"a MAC algorithm beside it", protection(digest, as(tagExplicit1, signature), as(tagExplicit2, signature)), ErrSignature},
		{"signature algorithm tagged explicitly", protection(digest, tlv(tagExplicit1, signature)), ErrSignature},
		{"not a sequence", attribute(oidAttrProtection, tlv(tagOctets, digest)), ErrSignature},
		{"without a value", attribute(oidAttrProtection), ErrSignature},
		{"two values", attribute(oidAttrProtection, tlv(tagSequence, digest, as(tagExplicit1, signature)), derNull), ErrMalformed},
	}
	kind := attribute(oidAttrContentType, tlv(tagOID, []byte(oidData)))
	sum := attribute(oidAttrMessageDigest, tlv(tagOctets, sumOf(crypto.SHA256, content)))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			attributes := [][]byte{kind, sum, tt.attr}
			sig := resigned(t, partner(), tlv(tagSet, attributes...), oidData, attributes...)
			if _, err := VerifyDetached(sig, digestOf(content), partner().pins()); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	twice := [][]byte{kind, sum, tests[0].attr, tests[0].attr}
	sig := resigned(t, partner(), tlv(tagSet, twice...), oidData, twice...)
	if _, err := VerifyDetached(sig, digestOf(content), partner().pins()); !errors.Is(err, ErrMalformed) {
		t.Errorf("two attributes: %v", err)
	}
}

// The attribute spelled out by hand from RFC 6211 §2; it is absent unless asked for.
func TestRow47AlgorithmProtectionIsWritten(t *testing.T) {
	t.Parallel()
	o := p256().options(crypto.SHA256)
	find := func(o SignOptions) string {
		sd, err := parseDetached(sign(t, nil, o))
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(sd.signers[0].protection)
	}
	if got := find(o); got != "" {
		t.Errorf("unasked: %s", got)
	}
	o.AlgorithmProtection = true
	const want = "3019" + "300b" + "0609608648016503040201" + "a10a" + "06082a8648ce3d040302"
	if diff := cmp.Diff(want, find(o)); diff != "" {
		t.Error(diff)
	}
}
