package selfsigned_test

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/certs"
	"edigw/internal/selfsigned"
	"edigw/internal/testfixture"
)

func openssl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(testfixture.Program(t, "openssl"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func request(name string) selfsigned.Request {
	return selfsigned.Request{CommonName: name, NotBefore: begin, NotAfter: begin.AddDate(2, 0, 0)}
}

// TestEveryKind: key and certificate are read by openssl and by ourselves, belong
// together, and the certificate says of which kind it is.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	says := map[selfsigned.Kind]string{
		selfsigned.RSA2048: "Public-Key: (2048 bit)", selfsigned.RSA3072: "Public-Key: (3072 bit)", selfsigned.RSA4096: "Public-Key: (4096 bit)",
		selfsigned.P256: "NIST CURVE: P-256", selfsigned.P384: "NIST CURVE: P-384", selfsigned.P521: "NIST CURVE: P-521",
		selfsigned.Brainpool: "brainpoolP256r1", selfsigned.Ed25519: "ED25519",
	}
	for _, kind := range selfsigned.Signing() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			key, err := selfsigned.NewKey(kind)
			if err != nil {
				t.Fatal(err)
			}
			cert, err := selfsigned.Certificate(key, request("ACME-AS4"))
			if err != nil {
				t.Fatal(err)
			}
			private, err := selfsigned.KeyPEM(key)
			if err != nil {
				t.Fatal(err)
			}
			keyFile, certFile := written(t, "key.pem", private), written(t, "crt.pem", selfsigned.CertificatePEM(cert))
			if says[kind] == "" || selfsigned.KindOf(cert) != kind || cert.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
				t.Errorf("the certificate says %s, usage %b", selfsigned.KindOf(cert), cert.KeyUsage)
			}
			if out := openssl(t, "x509", "-in", certFile, "-noout", "-text"); !strings.Contains(out, says[kind]) {
				t.Errorf("openssl does not find %s in\n%s", says[kind], out)
			}
			if out := openssl(t, "verify", "-x509_strict", "-no_check_time", "-check_ss_sig", "-CAfile", certFile, certFile); !strings.Contains(out, ": OK") {
				t.Errorf("openssl: %s", out)
			}
			if openssl(t, "pkey", "-in", keyFile, "-pubout") != openssl(t, "x509", "-in", certFile, "-noout", "-pubkey") {
				t.Error("to openssl, the certificate is of another key")
			}
		})
	}
}

// TestAgreement: an X25519 key has a certificate that another key signed.
func TestAgreement(t *testing.T) {
	t.Parallel()
	signer, err := selfsigned.NewKey(selfsigned.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	by := signer.(ed25519.PrivateKey)
	issuer, err := selfsigned.Certificate(by, request("ACME-AS4"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := selfsigned.Agreement(key.PublicKey(), issuer, by, request("ACME-AS4")); err == nil || !strings.Contains(err.Error(), "same name") {
		t.Errorf("a certificate that looks self-signed: %v", err)
	}
	r := request("ACME-AS4")
	r.Unit = "encryption"
	cert, err := selfsigned.Agreement(key.PublicKey(), issuer, by, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := issuer.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature); err != nil {
		t.Errorf("the issuer's signature: %v", err)
	}
	if selfsigned.KindOf(cert) != selfsigned.X25519 || cert.KeyUsage != x509.KeyUsageKeyAgreement || !bytes.Equal(cert.AuthorityKeyId, issuer.SubjectKeyId) || bytes.Equal(cert.RawIssuer, cert.RawSubject) {
		t.Errorf("kind %s, usage %b, issuer %s, subject %s", selfsigned.KindOf(cert), cert.KeyUsage, cert.Issuer, cert.Subject)
	}
	private, err := selfsigned.KeyPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile := written(t, "crt.pem", selfsigned.CertificatePEM(cert))
	if openssl(t, "pkey", "-in", written(t, "key.pem", private), "-pubout") != openssl(t, "x509", "-in", certFile, "-noout", "-pubkey") {
		t.Error("to openssl, the certificate is of another key")
	}
	if back, err := certs.ParseCertificate(cert.Raw); err != nil || !back.Equal(cert) {
		t.Errorf("read again: %v", err)
	}
}
