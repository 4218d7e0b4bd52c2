package certs

import (
	"crypto/elliptic"
	"crypto/rand"
	"encoding/asn1"
	"math/big"
	"sync"

	"github.com/ProtonMail/go-crypto/brainpool"
)

// named is a Brainpool curve of RFC 5639 §3 with its object identifier.
type named struct {
	oid   asn1.ObjectIdentifier
	curve elliptic.Curve
}

// brainpools are made once: keys are compared by the identity of their curve.
// Their arithmetic looks for the curves of NIST without making them first, which
// would race with whoever makes those at that moment; so they are made here.
var brainpools = sync.OnceValue(func() []named {
	oid := func(last int) asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 3, 36, 3, 3, 2, 8, 1, 1, last} }
	_ = elliptic.P256() // makes all four
	return []named{
		{oid(7), blinded{brainpool.P256r1()}},
		{oid(11), blinded{brainpool.P384r1()}},
		{oid(13), blinded{brainpool.P512r1()}},
	}
})

// BrainpoolP256r1 is the curve of RFC 5639 §3.4.
func BrainpoolP256r1() elliptic.Curve { return brainpools()[0].curve }

// Brainpool finds a curve of this package by its object identifier.
func Brainpool(oid asn1.ObjectIdentifier) (elliptic.Curve, bool) {
	for _, b := range brainpools() {
		if b.oid.Equal(oid) {
			return b.curve, true
		}
	}
	return nil, false
}

// BrainpoolOID is the object identifier of a curve of this package.
func BrainpoolOID(c elliptic.Curve) (asn1.ObjectIdentifier, bool) {
	for _, b := range brainpools() {
		if b.curve == c {
			return b.oid, true
		}
	}
	return nil, false
}

// blinded hides a secret scalar from whoever measures time. The arithmetic
// underneath takes as long as the scalar is long and has ones in it, and the
// length of an ECDSA nonce alone gives the key away after some hundreds of
// signatures. A random multiple of the order leads to the same point.
type blinded struct{ elliptic.Curve }

// blindBits is the length of the random factor.
const blindBits = 64

func (b blinded) ScalarBaseMult(k []byte) (x, y *big.Int) {
	return b.Curve.ScalarBaseMult(b.blind(k)) //nolint:staticcheck // SA1019: crypto/ecdh has no Brainpool curves
}

func (b blinded) ScalarMult(x, y *big.Int, k []byte) (*big.Int, *big.Int) {
	return b.Curve.ScalarMult(x, y, b.blind(k)) //nolint:staticcheck // SA1019: crypto/ecdh has no Brainpool curves
}

// blind adds a random multiple of the order. The highest bit of the factor is
// set, so that the length of the sum says nothing about k.
func (b blinded) blind(k []byte) []byte {
	factor := make([]byte, blindBits/8)
	rand.Read(factor)
	factor[0] |= 0x80
	n := b.Params().N
	sum := new(big.Int).Mul(n, new(big.Int).SetBytes(factor))
	sum.Add(sum, new(big.Int).SetBytes(k))
	return sum.FillBytes(make([]byte, (n.BitLen()+blindBits)/8+1))
}
