package smime

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// longName is a name of so many parts, CN=a each.
func longName(parts int) []byte {
	one := tlv(tagSet, tlv(tagSequence, tlv(tagOID, []byte("\x55\x04\x03")), tlv(0x13, []byte("a"))))
	return tlv(tagSequence, bytes.Repeat(one, parts))
}

// Long names are not taken apart: one of 15,000 parts took seconds, and was
// compared with every certificate in the message.
func TestLongNamesAreNotTakenApart(t *testing.T) {
	t.Parallel()
	if got := nameText(longName(100)); !strings.HasPrefix(got, "CN=a,CN=a,") || !strings.HasSuffix(got, "…") {
		t.Errorf("100 parts: %q", got)
	}
	long := longName(15_000)
	if got := nameText(long); got != unreadableName {
		t.Errorf("15,000 parts: %q", got)
	}
	id := identity{issuer: long, serial: []byte{0x4f, 0x22}}
	if got := id.text(); got.Issuer != unreadableName || got.Serial != "4F:22" {
		t.Errorf("shown as %s", got)
	}
	if same := longName(15_000); id.names(&x509.Certificate{SerialNumber: big.NewInt(0x4f22), RawIssuer: partner().cert.RawIssuer}) ||
		!id.names(&x509.Certificate{SerialNumber: big.NewInt(0x4f22), RawIssuer: same}) {
		t.Error("compared by something else than its bytes")
	}
}

// However many certificates a signature carries, only the first are looked at.
func TestEmbeddedCertificatesAreBounded(t *testing.T) {
	t.Parallel()
	template := &x509.Certificate{SerialNumber: big.NewInt(5), Subject: pkix.Name{CommonName: "many"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, p256().key.Public(), p256().key)
	if err != nil {
		t.Fatal(err)
	}
	_, signer := takeApart(t, sign(t, nil, stranger().options(crypto.SHA256)))
	many := slices.Concat(stranger().cert.Raw, bytes.Repeat(der, 1000))
	v, err := VerifyDetached(signedWith(tlv(tagSet), tlv(tagExplicit0, many), signer), digestOf(nil), partner().pins())
	if !errors.Is(err, ErrSignerUnknown) || len(v.Embedded) != maxEmbedded || v.Signers[0].Fingerprint != Fingerprint(stranger().cert) {
		t.Errorf("%d certificates, %v", len(v.Embedded), err)
	}
}

// What a message calls an algorithm is shown only if it can be one.
func TestLongIdentifiersAreNotShown(t *testing.T) {
	t.Parallel()
	if got := oidText(oidSHA256 + strings.Repeat("\x01", maxOID)); got != "an invalid object identifier" {
		t.Errorf("shown as %q", got)
	}
}
