package testpki_test

import (
	"crypto/x509"
	"testing"

	"edigw/internal/testpki"
)

func TestIssuedThroughIntermediateVerifies(t *testing.T) {
	t.Parallel()
	root := testpki.CA(t, "Root", testpki.Valid())
	middle := root.Intermediate(t, "Middle", testpki.Valid())
	leaf := middle.Issue(t, testpki.RSA(t, 0), "as2.northwind.example", testpki.Valid(), "as2.northwind.example")

	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root.Cert)
	for _, c := range leaf.Chain {
		between.AddCert(c)
	}
	_, err := leaf.Cert.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: "as2.northwind.example"})
	if err != nil {
		t.Errorf("chain: %v", err)
	}
	if got := len(leaf.TLS().Certificate); got != 2 {
		t.Errorf("certificates shown to a client: got %d, want leaf and intermediate", got)
	}
}

func TestPoolGivesOneKeyPerNumber(t *testing.T) {
	t.Parallel()
	if testpki.RSA(t, 0) != testpki.RSA(t, 0) {
		t.Error("number 0 gave two keys")
	}
	if testpki.RSA(t, 0) == testpki.RSA(t, 1) {
		t.Error("numbers 0 and 1 gave the same key")
	}
}
