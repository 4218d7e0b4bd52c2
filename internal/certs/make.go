package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
)

// pkcs8 is PrivateKeyInfo (RFC 5208 §5).
type pkcs8 struct {
	Version   int
	Algorithm pkix.AlgorithmIdentifier
	Key       []byte
}

// MarshalPrivateKey writes a private key as PKCS #8, as x509.MarshalPKCS8PrivateKey
// does, also one on a Brainpool curve.
func MarshalPrivateKey(key crypto.PrivateKey) ([]byte, error) {
	ec, algorithm, ours := brainpoolAlgorithm(key)
	if !ours {
		return x509.MarshalPKCS8PrivateKey(key)
	}
	size := (ec.Params().N.BitLen() + 7) / 8
	inner, err := asn1.Marshal(sec1Key{
		Version: 1, Scalar: ec.D.FillBytes(make([]byte, size)), //nolint:staticcheck // SA1019: crypto/ecdsa writes no Brainpool keys
		Public: bits(marshalPoint(&ec.PublicKey)),
	})
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return asn1.Marshal(pkcs8{Algorithm: algorithm, Key: inner})
}

// publicKeyInfo is SubjectPublicKeyInfo (RFC 5280 §4.1).
type publicKeyInfo struct {
	Algorithm pkix.AlgorithmIdentifier
	Key       asn1.BitString
}

// MarshalPublicKey writes a public key as x509.MarshalPKIXPublicKey does, also one
// on a Brainpool curve.
func MarshalPublicKey(key crypto.PublicKey) ([]byte, error) {
	ec, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return x509.MarshalPKIXPublicKey(key)
	}
	algorithm, ours, err := algorithmOf(ec.Curve)
	switch {
	case err != nil:
		return nil, err
	case !ours:
		return x509.MarshalPKIXPublicKey(key)
	}
	return asn1.Marshal(publicKeyInfo{algorithm, bits(marshalPoint(ec))})
}

// signed is Certificate (RFC 5280 §4.1).
type signed struct {
	TBS       asn1.RawValue
	Algorithm pkix.AlgorithmIdentifier
	Signature asn1.BitString
}

// SelfSigned makes the certificate that a template describes for a key, signed
// with that key, as x509.CreateCertificate does, also for brainpoolP256r1; of the
// other Brainpool curves it makes none. The template names the key identifier: with
// a Brainpool key nobody else can.
func SelfSigned(template *x509.Certificate, key crypto.Signer) (der []byte, err error) {
	ec, _, ours := brainpoolAlgorithm(key)
	switch {
	case !ours:
		return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	case ec.Curve != BrainpoolP256r1():
		return nil, fmt.Errorf("no certificates are made on %s", ec.Params().Name)
	}
	double, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	tbs, algorithm, err := unsigned(template, template, double, &ec.PublicKey)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(tbs) // as with P-256
	signature, err := ecdsa.SignASN1(rand.Reader, ec, sum[:])
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(signed{asn1.RawValue{FullBytes: tbs}, algorithm, bits(signature)})
}

// Agreement makes the certificate that a template describes for a key that only
// agrees on secrets, which x509.CreateCertificate refuses, signed with the key of an
// issuer. The template names the key identifier.
func Agreement(template, issuer *x509.Certificate, key *ecdh.PublicKey, by ed25519.PrivateKey) (der []byte, err error) {
	tbs, algorithm, err := unsigned(template, issuer, by, key)
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(signed{asn1.RawValue{FullBytes: tbs}, algorithm, bits(ed25519.Sign(by, tbs))})
}

// unsigned is the part of a certificate that is signed, with the algorithm that it
// names. crypto/x509 writes it for a key that it takes, and the key is exchanged.
func unsigned(template, issuer *x509.Certificate, writer crypto.Signer, key crypto.PublicKey) (tbs []byte, algorithm pkix.AlgorithmIdentifier, err error) {
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, writer.Public(), writer)
	if err != nil {
		return nil, algorithm, err
	}
	var made signed
	if _, err := asn1.Unmarshal(der, &made); err != nil {
		return nil, algorithm, err
	}
	theirs, err := x509.MarshalPKIXPublicKey(writer.Public())
	if err != nil {
		return nil, algorithm, err
	}
	ours, err := MarshalPublicKey(key)
	if err != nil {
		return nil, algorithm, err
	}
	var fields []asn1.RawValue
	if _, err := asn1.Unmarshal(made.TBS.FullBytes, &fields); err != nil {
		return nil, algorithm, err
	}
	const at = 6 // version, serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo
	if len(fields) <= at || !bytes.Equal(fields[at].FullBytes, theirs) {
		return nil, algorithm, errors.New("the public key does not stand in its place in a certificate")
	}
	fields[at] = asn1.RawValue{FullBytes: ours}
	tbs, err = asn1.Marshal(fields)
	return tbs, made.Algorithm, err
}

// brainpoolAlgorithm names the curve of a private key; ours is false if that is
// none of this package.
func brainpoolAlgorithm(key crypto.PrivateKey) (ec *ecdsa.PrivateKey, algorithm pkix.AlgorithmIdentifier, ours bool) {
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, algorithm, false
	}
	algorithm, ours, err := algorithmOf(ec.Curve)
	return ec, algorithm, ours && err == nil
}

// algorithmOf names a curve of this package; ours is false if it is none.
func algorithmOf(curve elliptic.Curve) (out pkix.AlgorithmIdentifier, ours bool, err error) {
	oid, ours := BrainpoolOID(curve)
	if !ours {
		return out, false, nil
	}
	name, err := asn1.Marshal(oid)
	if err != nil {
		return out, true, fmt.Errorf("encode an object identifier: %w", err)
	}
	return pkix.AlgorithmIdentifier{Algorithm: oidPublicKeyEC, Parameters: asn1.RawValue{FullBytes: name}}, true, nil
}

// marshalPoint writes the point of a key uncompressed (SEC 1 §2.3.3).
func marshalPoint(key *ecdsa.PublicKey) []byte {
	size := (key.Params().BitSize + 7) / 8
	out := make([]byte, 1+2*size)
	out[0] = 4
	key.X.FillBytes(out[1 : 1+size]) //nolint:staticcheck // SA1019: crypto/ecdsa writes no Brainpool keys
	key.Y.FillBytes(out[1+size:])    //nolint:staticcheck // SA1019
	return out
}

func bits(b []byte) asn1.BitString { return asn1.BitString{Bytes: b, BitLength: 8 * len(b)} }
