package certs

import (
	"bytes"
	"crypto/ecdsa"
	"testing"
)

func FuzzParseCertificate(f *testing.F) {
	for _, name := range []string{"ca", "leaf"} {
		f.Add(readPEM(f, "testdata", name+".crt.pem"))
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		c, err := ParseCertificate(der)
		if err != nil {
			return
		}
		if !bytes.Equal(c.Raw, der) || !bytes.Contains(der, c.RawTBSCertificate) || !bytes.Contains(der, c.RawSubjectPublicKeyInfo) {
			t.Error("the raw parts are no parts of what was read")
		}
		if pub, ok := c.PublicKey.(*ecdsa.PublicKey); ok {
			checkOnCurve(t, pub)
		}
	})
}

func FuzzParsePrivateKey(f *testing.F) {
	for _, name := range []string{"ca", "leaf"} {
		f.Add(readPEM(f, "testdata", name+".key.pem"))
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		k, err := ParsePrivateKey(der)
		if ec, ok := k.(*ecdsa.PrivateKey); err == nil && ok {
			checkOnCurve(t, &ec.PublicKey)
		}
	})
}

func checkOnCurve(t *testing.T, pub *ecdsa.PublicKey) {
	t.Helper()
	if !pub.Curve.IsOnCurve(pub.X, pub.Y) { //nolint:staticcheck // SA1019: crypto/ecdh has no Brainpool curves
		t.Error("a key that is not on its curve")
	}
}
