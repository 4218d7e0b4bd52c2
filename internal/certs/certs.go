// Package certs reads and makes certificates and private keys that crypto/x509 refuses:
// those on the Brainpool curves of RFC 5639. Everything else it leaves to
// crypto/x509.
//
// What it gives are ordinary certificates and ECDSA keys: chains are built and
// signatures checked by the standard library, whose generic arithmetic works on
// any curve. It is slow (some milliseconds each) and takes time that depends on
// the numbers; secret ones are blinded.
package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	cryptoasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// maxSize bounds what is read: certificates and keys have a few kilobytes.
const maxSize = 128 << 10

var (
	oidPublicKeyEC = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
	// oidNobody is as long as oidPublicKeyEC and stands for no kind of key.
	oidNobody = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 127}
)

// ParseCertificate reads one certificate in DER, as x509.ParseCertificate does,
// also when its key is on a Brainpool curve.
func ParseCertificate(der []byte) (*x509.Certificate, error) {
	if len(der) > maxSize {
		return nil, fmt.Errorf("a certificate of %d bytes, more than %d are not read", len(der), maxSize)
	}
	cert, err := x509.ParseCertificate(der)
	if err == nil {
		return cert, nil
	}
	key, at, ours := brainpoolKey(der)
	if !ours {
		return nil, err
	}
	if key == nil {
		return nil, errors.New("the public key of the certificate is no point of its Brainpool curve")
	}
	return parseAround(der, key, at)
}

// parseAround reads a certificate with the kind of its key made unknown, which
// crypto/x509 takes, and puts back what it said.
func parseAround(der []byte, key *ecdsa.PublicKey, at int) (*x509.Certificate, error) {
	masked := bytes.Clone(der)
	other, err := asn1.Marshal(oidNobody)
	if err != nil {
		return nil, fmt.Errorf("encode an object identifier: %w", err)
	}
	copy(masked[at:], other)
	cert, err := x509.ParseCertificate(masked)
	if err != nil {
		return nil, err
	}
	copy(masked[at:], der[at:at+len(other)]) // the certificate's raw parts are parts of masked
	cert.PublicKeyAlgorithm, cert.PublicKey = x509.ECDSA, key
	return cert, nil
}

// brainpoolKey finds the public key in a certificate, and where the object
// identifier of its kind stands. ours says that it is on a Brainpool curve; the
// key is nil if it is no point of that.
func brainpoolKey(der []byte) (key *ecdsa.PublicKey, at int, ours bool) {
	in := cryptobyte.String(der)
	var cert, tbs, info, algorithm cryptobyte.String
	var kind, curve asn1.ObjectIdentifier
	if !in.ReadASN1(&cert, cryptoasn1.SEQUENCE) || !in.Empty() || !cert.ReadASN1(&tbs, cryptoasn1.SEQUENCE) ||
		!tbs.SkipOptionalASN1(cryptoasn1.Tag(0).ContextSpecific().Constructed()) || // version
		!tbs.SkipASN1(cryptoasn1.INTEGER) || // serialNumber
		!tbs.SkipASN1(cryptoasn1.SEQUENCE) || // signature
		!tbs.SkipASN1(cryptoasn1.SEQUENCE) || // issuer
		!tbs.SkipASN1(cryptoasn1.SEQUENCE) || // validity
		!tbs.SkipASN1(cryptoasn1.SEQUENCE) || // subject
		!tbs.ReadASN1(&info, cryptoasn1.SEQUENCE) || !info.ReadASN1(&algorithm, cryptoasn1.SEQUENCE) {
		return nil, 0, false
	}
	at = len(der) - len(cert) - len(tbs) - len(info) - len(algorithm) // what is left of each stands behind it
	if !algorithm.ReadASN1ObjectIdentifier(&kind) || !kind.Equal(oidPublicKeyEC) || !algorithm.ReadASN1ObjectIdentifier(&curve) {
		return nil, 0, false
	}
	on, ours := Brainpool(curve)
	if !ours {
		return nil, 0, false
	}
	var point asn1.BitString
	if !info.ReadASN1BitString(&point) || point.BitLength%8 != 0 {
		return nil, 0, true
	}
	x, y, good := Point(on, point.Bytes)
	if !good {
		return nil, 0, true
	}
	return &ecdsa.PublicKey{Curve: on, X: x, Y: y}, at, true //nolint:staticcheck // SA1019: the parsers of crypto/ecdsa know no Brainpool curves
}

// Point reads an uncompressed point (SEC 1 §2.3.3) and checks that it is on the
// curve.
func Point(curve elliptic.Curve, encoded []byte) (x, y *big.Int, ok bool) {
	size := (curve.Params().BitSize + 7) / 8
	if len(encoded) != 1+2*size || encoded[0] != 4 {
		return nil, nil, false
	}
	x, y = new(big.Int).SetBytes(encoded[1:1+size]), new(big.Int).SetBytes(encoded[1+size:])
	p := curve.Params().P
	if x.Cmp(p) >= 0 || y.Cmp(p) >= 0 || !curve.IsOnCurve(x, y) { //nolint:staticcheck // SA1019: crypto/ecdh has no Brainpool curves
		return nil, nil, false
	}
	return x, y, true
}

// ParsePrivateKey reads one private key in DER: PKCS #8, or SEC 1 for elliptic
// curves (RFC 5958, RFC 5915). It gives what x509.ParsePKCS8PrivateKey gives,
// and *ecdsa.PrivateKey for the Brainpool curves.
func ParsePrivateKey(der []byte) (crypto.PrivateKey, error) {
	if len(der) > maxSize {
		return nil, fmt.Errorf("a private key of %d bytes, more than %d are not read", len(der), maxSize)
	}
	if curve, inner, ok := pkcs8Brainpool(der); ok {
		return parseSEC1(inner, curve)
	}
	if _, err := sec1Curve(der); err == nil {
		return parseSEC1(der, nil)
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("not a private key in PKCS #8 or SEC 1: %w", err)
	}
	return key, nil
}

// pkcs8Brainpool takes the SEC 1 key out of PKCS #8 if it is for a Brainpool curve.
func pkcs8Brainpool(der []byte) (curve elliptic.Curve, key []byte, ok bool) {
	in := cryptobyte.String(der)
	var info, algorithm, inner cryptobyte.String
	var kind, oid asn1.ObjectIdentifier
	if !in.ReadASN1(&info, cryptoasn1.SEQUENCE) || !in.Empty() || !info.SkipASN1(cryptoasn1.INTEGER) ||
		!info.ReadASN1(&algorithm, cryptoasn1.SEQUENCE) || !info.ReadASN1(&inner, cryptoasn1.OCTET_STRING) ||
		!algorithm.ReadASN1ObjectIdentifier(&kind) || !kind.Equal(oidPublicKeyEC) || !algorithm.ReadASN1ObjectIdentifier(&oid) {
		return nil, nil, false
	}
	curve, ok = Brainpool(oid)
	return curve, inner, ok
}

// sec1Key is ECPrivateKey (RFC 5915 §3).
type sec1Key struct {
	Version int
	Scalar  []byte
	Curve   asn1.ObjectIdentifier `asn1:"optional,explicit,tag:0"`
	Public  asn1.BitString        `asn1:"optional,explicit,tag:1"`
}

func readSEC1(der []byte) (sec1Key, error) {
	var k sec1Key
	if rest, err := asn1.Unmarshal(der, &k); err != nil || len(rest) > 0 || k.Version != 1 {
		return k, errors.New("not an elliptic curve private key (RFC 5915), or cut off")
	}
	return k, nil
}

// sec1Curve is the Brainpool curve that a key names itself.
func sec1Curve(der []byte) (elliptic.Curve, error) {
	k, err := readSEC1(der)
	if err != nil {
		return nil, err
	}
	curve, ok := Brainpool(k.Curve)
	if !ok {
		return nil, fmt.Errorf("%s is no Brainpool curve", k.Curve)
	}
	return curve, nil
}

// parseSEC1 reads a key; curve is nil if it names its own.
func parseSEC1(der []byte, curve elliptic.Curve) (*ecdsa.PrivateKey, error) {
	k, err := readSEC1(der)
	if err != nil {
		return nil, err
	}
	if k.Curve != nil {
		own, ok := Brainpool(k.Curve)
		if !ok || curve != nil && own != curve {
			return nil, errors.New("the private key names two different curves")
		}
		curve = own
	}
	n := curve.Params().N
	d := new(big.Int).SetBytes(k.Scalar)
	if d.Sign() == 0 || d.Cmp(n) >= 0 {
		return nil, fmt.Errorf("the private key is out of the range of %s", curve.Params().Name)
	}
	key := &ecdsa.PrivateKey{D: d} //nolint:staticcheck // SA1019: the parsers of crypto/ecdsa know no Brainpool curves
	key.Curve = curve
	key.X, key.Y = curve.ScalarBaseMult(d.FillBytes(make([]byte, (n.BitLen()+7)/8))) //nolint:staticcheck // SA1019: crypto/ecdh has no Brainpool curves
	if k.Public.BitLength > 0 {
		if x, y, ok := Point(curve, k.Public.Bytes); !ok || x.Cmp(key.X) != 0 || y.Cmp(key.Y) != 0 {
			return nil, errors.New("the public key beside the private key is another")
		}
	}
	return key, nil
}
