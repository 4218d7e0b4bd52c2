package wssec

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"slices"

	"edigw/internal/ber"
	"edigw/internal/certs"
	"edigw/internal/xmldsig"

	"golang.org/x/crypto/cryptobyte"
	cryptoasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// Bounds of what tokens carry. Certificates of strangers are read and used
// before anybody is known.
const (
	maxTokenSize    = 256 << 10
	maxCertificates = 16 // of one token
	maxRSABits      = xmldsig.MaxRSABits
)

var (
	oidSignedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidData       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
)

// parseCertificate reads one certificate out of a message.
func parseCertificate(der []byte) (*x509.Certificate, error) {
	c, err := certs.ParseCertificate(der)
	if err != nil {
		return nil, malformed("a certificate cannot be read: %v", err)
	}
	if pub, ok := c.PublicKey.(*rsa.PublicKey); ok && pub.N.BitLen() > maxRSABits {
		return nil, policy("an RSA key of %d bits, more than %d are not taken", pub.N.BitLen(), maxRSABits)
	}
	return c, nil
}

// readPKIPath reads a SEQUENCE of certificates (X.509 token profile 1.1.1
// §3.1); the last one is whose key it is, and comes first here.
// QUIRK(BDEW peers): the bare certificate in its place.
func readPKIPath(der []byte) ([]*x509.Certificate, error) {
	if c, err := parseCertificate(der); err == nil {
		return []*x509.Certificate{c}, nil
	}
	in := cryptobyte.String(der)
	var path cryptobyte.String
	if !in.ReadASN1(&path, cryptoasn1.SEQUENCE) || !in.Empty() {
		return nil, malformed("a PKIPath cannot be read")
	}
	all, err := readCertificates(path)
	slices.Reverse(all)
	return all, err
}

// readCertificates reads certificates one behind the other.
func readCertificates(in cryptobyte.String) (all []*x509.Certificate, err error) {
	for !in.Empty() {
		var one cryptobyte.String
		if !in.ReadAnyASN1Element(&one, nil) {
			return nil, malformed("a list of certificates is cut off")
		}
		if len(all) == maxCertificates {
			return nil, malformed("more than %d certificates in one token", maxCertificates)
		}
		c, err := parseCertificate(one)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, malformed("a token without a certificate")
	}
	return all, nil
}

// readPKCS7 takes the certificates out of SignedData (RFC 2315 §9.1), DER or
// BER. They are a set: those that issued no other come first.
func readPKCS7(data []byte) ([]*x509.Certificate, error) {
	der, err := ber.NewReader().DER(data)
	if err != nil {
		return nil, malformed("a PKCS #7 token cannot be read: %v", err)
	}
	in := cryptobyte.String(der)
	var info, explicit, signed, set cryptobyte.String
	var kind asn1.ObjectIdentifier
	tag0 := cryptoasn1.Tag(0).ContextSpecific().Constructed()
	if !in.ReadASN1(&info, cryptoasn1.SEQUENCE) || !in.Empty() || !info.ReadASN1ObjectIdentifier(&kind) || !kind.Equal(oidSignedData) ||
		!info.ReadASN1(&explicit, tag0) || !explicit.ReadASN1(&signed, cryptoasn1.SEQUENCE) ||
		!signed.SkipASN1(cryptoasn1.INTEGER) || !signed.SkipASN1(cryptoasn1.SET) || !signed.SkipASN1(cryptoasn1.SEQUENCE) ||
		!signed.ReadASN1(&set, tag0) {
		return nil, malformed("a PKCS #7 token without certificates")
	}
	all, err := readCertificates(set)
	if err != nil {
		return nil, err
	}
	issues := func(c *x509.Certificate) bool {
		return slices.ContainsFunc(all, func(d *x509.Certificate) bool { return d != c && bytes.Equal(d.RawIssuer, c.RawSubject) })
	}
	leaves := slices.DeleteFunc(slices.Clone(all), issues)
	return append(leaves, slices.DeleteFunc(all, func(c *x509.Certificate) bool { return slices.Contains(leaves, c) })...), nil
}

// writePKIPath is the inverse of readPKIPath; chain goes from the leaf's issuer up.
func writePKIPath(leaf *x509.Certificate, chain []*x509.Certificate) ([]byte, error) {
	var b cryptobyte.Builder
	b.AddASN1(cryptoasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		for _, c := range slices.Backward(chain) {
			b.AddBytes(c.Raw)
		}
		b.AddBytes(leaf.Raw)
	})
	return b.Bytes()
}

// writePKCS7 wraps certificates into SignedData without signers.
func writePKCS7(leaf *x509.Certificate, chain []*x509.Certificate) ([]byte, error) {
	tag0 := cryptoasn1.Tag(0).ContextSpecific().Constructed()
	raw := [][]byte{leaf.Raw}
	for _, c := range chain {
		raw = append(raw, c.Raw)
	}
	slices.SortFunc(raw, bytes.Compare) // DER of a SET OF
	var b cryptobyte.Builder
	b.AddASN1(cryptoasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oidSignedData)
		b.AddASN1(tag0, func(b *cryptobyte.Builder) {
			b.AddASN1(cryptoasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1Int64(1)
				b.AddASN1(cryptoasn1.SET, func(*cryptobyte.Builder) {})
				b.AddASN1(cryptoasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddASN1ObjectIdentifier(oidData) })
				b.AddASN1(tag0, func(b *cryptobyte.Builder) { b.AddBytes(bytes.Join(raw, nil)) })
				b.AddASN1(cryptoasn1.SET, func(*cryptobyte.Builder) {})
			})
		})
	})
	return b.Bytes()
}
