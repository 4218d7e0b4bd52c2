package wssec

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"

	"edigw/internal/certs"

	"edigw/internal/xmldsig"
)

// agreeCurve is a curve that keys are agreed on. One of the two fields that can
// compute is set.
type agreeCurve struct {
	name  string
	oid   string // of NamedCurve (XML Signature 1.1 §4.5.2.3); empty: X25519, which is not named so
	std   ecdh.Curve
	other elliptic.Curve
}

// agreeCurves are all of them. X25519 is of RFC 9231, the others of ECDH-ES.
func agreeCurves() []agreeCurve {
	return []agreeCurve{
		{"P-256", "1.2.840.10045.3.1.7", ecdh.P256(), nil},
		{"P-384", "1.3.132.0.34", ecdh.P384(), nil},
		{"P-521", "1.3.132.0.35", ecdh.P521(), nil},
		{"brainpoolP256r1", "1.3.36.3.3.2.8.1.1.7", nil, certs.BrainpoolP256r1()},
		{"X25519", "", ecdh.X25519(), nil},
	}
}

// agreeKey is a public key with its curve. A point that was read is on it.
type agreeKey struct {
	agreeCurve
	point []byte // uncompressed (SEC 1 §2.3.3), or as RFC 7748 has it
}

func curveByOID(oid string) (agreeCurve, bool) {
	for _, c := range agreeCurves() {
		if oid != "" && c.oid == oid {
			return c, true
		}
	}
	return agreeCurve{}, false
}

// agreeKeyOf gives the public key of a certificate or in DER, if it is on one of
// our curves.
func agreeKeyOf(pub any) (agreeKey, bool) {
	switch pub := pub.(type) {
	case *ecdh.PublicKey:
		for _, c := range agreeCurves() {
			if c.std == pub.Curve() {
				return agreeKey{c, pub.Bytes()}, true
			}
		}
	case *ecdsa.PublicKey:
		if std, err := pub.ECDH(); err == nil {
			return agreeKeyOf(std)
		}
		for _, c := range agreeCurves() {
			if c.other != nil && c.other == pub.Curve {
				return agreeKey{c, uncompressed(c.other, pub.X, pub.Y)}, true //nolint:staticcheck // SA1019: Bytes of crypto/ecdsa knows no Brainpool curves
			}
		}
	}
	return agreeKey{}, false
}

// keyOf gives the public key of a certificate. crypto/x509 leaves keys for
// X25519 aside when it reads a certificate, and reads them alone.
func keyOf(c *x509.Certificate) any {
	if c.PublicKey != nil {
		return c.PublicKey
	}
	pub, err := x509.ParsePKIXPublicKey(c.RawSubjectPublicKeyInfo)
	if err != nil {
		return nil
	}
	return pub
}

// uncompressed is SEC 1 §2.3.3.
func uncompressed(c elliptic.Curve, x, y *big.Int) []byte {
	size := (c.Params().BitSize + 7) / 8
	out := make([]byte, 1+2*size)
	out[0] = 4
	x.FillBytes(out[1 : 1+size])
	y.FillBytes(out[1+size:])
	return out
}

// key checks that a point is on the curve.
func (c agreeCurve) key(point []byte) (agreeKey, error) {
	if c.std != nil {
		if _, err := c.std.NewPublicKey(point); err != nil {
			return agreeKey{}, malformed("the ephemeral key is no uncompressed point on %s", c.name)
		}
	} else if _, _, ok := certs.Point(c.other, point); !ok {
		return agreeKey{}, malformed("the ephemeral key is no uncompressed point on %s", c.name)
	}
	return agreeKey{c, point}, nil
}

// ephemeral makes a key pair on the curve of to and agrees with it on a secret.
func (to agreeKey) ephemeral() (ours agreeKey, secret []byte, err error) {
	if to.std == nil {
		return to.ephemeralOther()
	}
	peer, err := to.std.NewPublicKey(to.point)
	if err != nil {
		return agreeKey{}, nil, fmt.Errorf("read a key on %s: %w", to.name, err)
	}
	private, err := to.std.GenerateKey(rand.Reader)
	if err != nil {
		return agreeKey{}, nil, fmt.Errorf("make a key on %s: %w", to.name, err)
	}
	secret, err = private.ECDH(peer)
	if err != nil {
		return agreeKey{}, nil, fmt.Errorf("agree on a key by %s: %w", to.name, err)
	}
	return agreeKey{to.agreeCurve, private.PublicKey().Bytes()}, secret, nil
}

func (to agreeKey) ephemeralOther() (ours agreeKey, secret []byte, err error) {
	n := to.other.Params().N
	d, err := rand.Int(rand.Reader, new(big.Int).Sub(n, big.NewInt(1)))
	if err != nil {
		return agreeKey{}, nil, fmt.Errorf("make a key on %s: %w", to.name, err)
	}
	scalar := d.Add(d, big.NewInt(1)).FillBytes(make([]byte, (n.BitLen()+7)/8))
	x, y := to.other.ScalarBaseMult(scalar) //nolint:staticcheck // SA1019: crypto/ecdh has no Brainpool curves
	secret, err = multiply(to, scalar)
	return agreeKey{to.agreeCurve, uncompressed(to.other, x, y)}, secret, err
}

// multiply gives the shared secret: the first coordinate, as long as the field
// (SEC 1 §3.3.1).
func multiply(peer agreeKey, scalar []byte) ([]byte, error) {
	x, y, ok := certs.Point(peer.other, peer.point)
	if !ok {
		return nil, errors.New("a point is not on its curve")
	}
	x, _ = peer.other.ScalarMult(x, y, scalar) //nolint:staticcheck // SA1019: crypto/ecdh has no Brainpool curves
	return x.FillBytes(make([]byte, (peer.other.Params().BitSize+7)/8)), nil
}

// agree computes the shared secret of our key and an ephemeral one, which is on
// the same curve.
func agree(key any, peer agreeKey) ([]byte, error) {
	if peer.std == nil {
		private, ok := key.(*ecdsa.PrivateKey)
		if !ok {
			return nil, fmt.Errorf("a key on %s that cannot be computed with", peer.name)
		}
		return multiply(peer, private.D.FillBytes(make([]byte, xmldsig.OrderSize(&private.PublicKey)))) //nolint:staticcheck // SA1019: Bytes of crypto/ecdsa knows no Brainpool curves
	}
	if private, ok := key.(*ecdsa.PrivateKey); ok {
		std, err := private.ECDH()
		if err != nil {
			return nil, err
		}
		key = std
	}
	private, ok := key.(ecdh.KeyExchanger)
	if !ok {
		return nil, fmt.Errorf("a key on %s that cannot be computed with", peer.name)
	}
	point, err := peer.std.NewPublicKey(peer.point)
	if err != nil {
		return nil, err
	}
	return private.ECDH(point)
}

// subjectPublicKeyInfo is a key of crypto/ecdh as DEREncodedKeyValue has it.
func (to agreeKey) subjectPublicKeyInfo() ([]byte, error) {
	pub, err := to.std.NewPublicKey(to.point)
	if err != nil {
		return nil, err
	}
	return x509.MarshalPKIXPublicKey(pub)
}
