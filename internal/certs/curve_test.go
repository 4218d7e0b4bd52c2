package certs

import (
	"bytes"
	"crypto/rand"
	"encoding/asn1"
	"math/big"
	"testing"
)

// Blinding leads to the same points, over scalars of one length.
func TestBlinding(t *testing.T) {
	t.Parallel()
	for _, b := range brainpools() {
		c := b.curve.(blinded)
		n, g := c.Params().N, c.Params()
		k, err := rand.Int(rand.Reader, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []*big.Int{big.NewInt(1), big.NewInt(2), k, new(big.Int).Sub(n, big.NewInt(1))} {
			wantX, wantY := c.Curve.ScalarBaseMult(k.Bytes()) //nolint:staticcheck // SA1019: what blinding must not change
			if x, y := c.ScalarBaseMult(k.Bytes()); x.Cmp(wantX) != 0 || y.Cmp(wantY) != 0 {
				t.Errorf("%s: %d times the base is another point", g.Name, k)
			}
			if x, y := c.ScalarMult(g.Gx, g.Gy, k.Bytes()); x.Cmp(wantX) != 0 || y.Cmp(wantY) != 0 {
				t.Errorf("%s: %d times a point is another point", g.Name, k)
			}
		}
		size := n.BitLen() + blindBits
		for range 200 {
			if got := new(big.Int).SetBytes(c.blind([]byte{1})).BitLen(); got < size-1 || got > size {
				t.Fatalf("%s: a blinded scalar of %d bits, want %d or one less", g.Name, got, size)
			}
		}
		if bytes.Equal(c.blind([]byte{1}), c.blind([]byte{1})) {
			t.Errorf("%s: blinded twice in the same way", g.Name)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for _, b := range brainpools() {
		c, ok := Brainpool(b.oid)
		oid, known := BrainpoolOID(c)
		if !ok || !known || !oid.Equal(b.oid) {
			t.Errorf("%s leads to %s", b.oid, oid)
		}
	}
	if _, ok := Brainpool(asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7}); ok {
		t.Error("P-256 is said to be a Brainpool curve")
	}
}
