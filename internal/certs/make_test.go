package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

func generated(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func described() *x509.Certificate {
	begin := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	return &x509.Certificate{
		SerialNumber: big.NewInt(0x4f22), Subject: pkix.Name{CommonName: "north.example", Organization: []string{"Test material"}},
		NotBefore: begin, NotAfter: begin.AddDate(3, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyAgreement,
		SubjectKeyId: []byte("test material"), BasicConstraintsValid: true,
	}
}

// ordinary is a certificate as crypto/x509 makes it.
func ordinary(t testing.TB, key crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, described(), described(), key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate(t, der)
}

// What is made on a Brainpool curve is read by openssl, which checks the
// signature, and by this package.
func TestMade(t *testing.T) {
	t.Parallel()
	o := newOpenSSL(t)
	k := generated(t, BrainpoolP256r1())
	private, err := MarshalPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	der, err := SelfSigned(described(), k)
	if err != nil {
		t.Fatal(err)
	}
	o.write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	o.write("crt.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if out := string(o.run("pkey -in key.pem -noout -text -check")); !strings.Contains(out, "brainpoolP256r1") || !strings.Contains(out, "Key is valid") {
		t.Errorf("openssl reads another key:\n%s", out)
	}
	if out := string(o.run("verify -x509_strict -no_check_time -check_ss_sig -CAfile crt.pem crt.pem")); !strings.Contains(out, "crt.pem: OK") {
		t.Errorf("openssl: %s", out)
	}
	if !bytes.Equal(o.run("pkey -in key.pem -pubout"), o.run("x509 -in crt.pem -noout -pubkey")) {
		t.Error("to openssl, the certificate is of another key")
	}
	c := certificate(t, der)
	if err := c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature); err != nil {
		t.Errorf("its own signature: %v", err)
	}
	want := described()
	if c.SerialNumber.Cmp(want.SerialNumber) != 0 || c.Subject.String() != want.Subject.String() || c.KeyUsage != want.KeyUsage ||
		!c.NotAfter.Equal(want.NotAfter) || !bytes.Equal(c.SubjectKeyId, want.SubjectKeyId) || c.IsCA || !k.PublicKey.Equal(c.PublicKey) {
		t.Errorf("the certificate says something else: %+v", c)
	}
	if back := key(t, private); !back.Equal(k) {
		t.Error("the key comes back as another")
	}
}

// Every Brainpool key is written as openssl reads it, and short numbers keep their
// length.
func TestPrivateKeysAreWritten(t *testing.T) {
	t.Parallel()
	o := newOpenSSL(t)
	for i, name := range curveNames {
		k := generated(t, brainpools()[i].curve)
		der, err := MarshalPrivateKey(k)
		if err != nil {
			t.Fatal(err)
		}
		o.write(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		if out := string(o.run("pkey -noout -text -in " + name)); !strings.Contains(out, name) {
			t.Errorf("%s: openssl reads\n%s", name, out)
		}
		public, err := MarshalPublicKey(&k.PublicKey)
		if err != nil || !bytes.Equal(public, decodePEM(t, o.run("pkey -pubout -in "+name))) {
			t.Errorf("%s: openssl writes the public key in another way (%v)", name, err)
		}
	}
	short, err := ParsePrivateKey(decodePEM(t, []byte(shortKey)))
	if err != nil {
		t.Fatal(err)
	}
	der, err := MarshalPrivateKey(short)
	if err != nil {
		t.Fatal(err)
	}
	if again := key(t, der); !again.Equal(short) || !bytes.Contains(der, append(make([]byte, 31), 5)) {
		t.Error("a key with a small number is cut")
	}
}

// shortKey is the number 5 on brainpoolP256r1 as SEC 1 has it, without the point;
// test material.
const shortKey = `-----BEGIN EC PRIVATE KEY-----
MDICAQEEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFoAsGCSskAwMC
CAEBBw==
-----END EC PRIVATE KEY-----
`

// On the other curves of the package keys are read, and nothing is made that
// nobody here would use.
func TestOthersAreNotMade(t *testing.T) {
	t.Parallel()
	curve, _ := Brainpool(brainpools()[1].oid)
	if _, err := SelfSigned(described(), generated(t, curve)); err == nil || !strings.Contains(err.Error(), "brainpoolP384r1") {
		t.Errorf("brainpoolP384r1: %v", err)
	}
	der, err := SelfSigned(described(), generated(t, elliptic.P384()))
	if err != nil {
		t.Fatal(err)
	}
	if c := certificate(t, der); c.SignatureAlgorithm != x509.ECDSAWithSHA384 {
		t.Errorf("P-384 is left to crypto/x509: %v", c.SignatureAlgorithm)
	}
}
