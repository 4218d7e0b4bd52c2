package selfsigned_test

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"edigw/internal/selfsigned"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestCertificateServesTLSForItsHosts(t *testing.T) {
	t.Parallel()
	key, err := selfsigned.NewKey(selfsigned.P256)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := selfsigned.Certificate(key, selfsigned.Request{
		CommonName: "edi.acme.example", Organization: "ACME", Hosts: []string{"edi.acme.example", "127.0.0.1"},
		NotBefore: begin, NotAfter: begin.AddDate(2, 0, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"edi.acme.example", "127.0.0.1"} {
		if err := cert.VerifyHostname(host); err != nil {
			t.Errorf("host %s: %v", host, err)
		}
	}
	if cert.IsCA {
		t.Error("the certificate is a CA")
	}
	keyPEM, err := selfsigned.KeyPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(selfsigned.CertificatePEM(cert), keyPEM)
	if err != nil {
		t.Fatalf("PEM does not load as a pair: %v", err)
	}
	if !pair.PrivateKey.(*ecdsa.PrivateKey).Equal(key) {
		t.Error("PEM holds another key")
	}
}

func TestMessageCertificateSignsAndIsEncryptedTo(t *testing.T) {
	t.Parallel()
	key, err := selfsigned.NewKey(selfsigned.RSA2048)
	if err != nil {
		t.Fatal(err)
	}
	request := selfsigned.Request{CommonName: "ACME-AS2", NotBefore: begin, NotAfter: begin.AddDate(2, 0, 0)}
	cert, err := selfsigned.Certificate(key, request)
	if err != nil {
		t.Fatal(err)
	}
	want := x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment
	if cert.KeyUsage != want {
		t.Errorf("key usage: got %b, want %b", cert.KeyUsage, want)
	}
	if err := cert.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature); err != nil {
		t.Errorf("signature: %v", err)
	}
	again, err := selfsigned.Certificate(key, request)
	if err != nil {
		t.Fatal(err)
	}
	if cert.SerialNumber.Cmp(again.SerialNumber) == 0 {
		t.Error("two certificates bear the same serial number")
	}
}

func TestImpossibleRequestIsRefused(t *testing.T) {
	t.Parallel()
	key, err := selfsigned.NewKey(selfsigned.P256)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]selfsigned.Request{
		"no name":              {NotBefore: begin, NotAfter: begin.AddDate(1, 0, 0)},
		"ends at its start":    {CommonName: "x", NotBefore: begin, NotAfter: begin},
		"ends before it began": {CommonName: "x", NotBefore: begin, NotAfter: begin.AddDate(-1, 0, 0)},
	} {
		if _, err := selfsigned.Certificate(key, r); err == nil {
			t.Errorf("%s: got a certificate, want an error", name)
		}
	}
	if _, err := selfsigned.NewKey("dsa"); err == nil {
		t.Error("kind dsa: got a key, want an error")
	}
}
