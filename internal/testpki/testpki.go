// Package testpki makes keys and certificates for tests: self-signed, issued
// by a CA, expired, for loopback servers. Nothing of it may leave a test: its
// RSA keys are shared by a whole test binary.
package testpki

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"sync"
	"testing"
	"time"

	"edigw/internal/selfsigned"
)

// Identity is a key with its certificate and those of its issuers.
type Identity struct {
	Key   crypto.Signer
	Cert  *x509.Certificate
	Chain []*x509.Certificate // issuers, nearest first, without the root
}

// TLS gives the identity as crypto/tls wants it.
func (i Identity) TLS() tls.Certificate {
	c := tls.Certificate{Certificate: [][]byte{i.Cert.Raw}, PrivateKey: i.Key, Leaf: i.Cert}
	for _, up := range i.Chain {
		c.Certificate = append(c.Certificate, up.Raw)
	}
	return c
}

// CertPEM is the certificate and its chain in PEM.
func (i Identity) CertPEM() []byte {
	return selfsigned.CertificatePEM(append([]*x509.Certificate{i.Cert}, i.Chain...)...)
}

// KeyPEM is the private key in PEM, PKCS #8.
func (i Identity) KeyPEM(tb testing.TB) []byte {
	tb.Helper()
	p, err := selfsigned.KeyPEM(i.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Span is the time in which a certificate is valid.
type Span struct{ NotBefore, NotAfter time.Time }

// Valid spans an hour around now and the year after it.
func Valid() Span {
	now := time.Now()
	return Span{now.Add(-time.Hour), now.AddDate(1, 0, 0)}
}

// Expired ended an hour ago.
func Expired() Span {
	now := time.Now()
	return Span{now.AddDate(-1, 0, 0), now.Add(-time.Hour)}
}

// pool makes RSA keys once for a test binary: making one takes longer than
// most tests. Tests that need different keys take different numbers.
var pool = [...]func() (crypto.Signer, error){
	sync.OnceValues(rsaKey), sync.OnceValues(rsaKey), sync.OnceValues(rsaKey), sync.OnceValues(rsaKey),
}

func rsaKey() (crypto.Signer, error) { return selfsigned.NewKey(selfsigned.RSA2048) }

// RSA gives the n-th shared RSA-2048 key, n from 0 to 3.
func RSA(tb testing.TB, n int) crypto.Signer {
	tb.Helper()
	key, err := pool[n]()
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// P256 makes a new P-256 key.
func P256(tb testing.TB) crypto.Signer {
	tb.Helper()
	key, err := selfsigned.NewKey(selfsigned.P256)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// SelfSigned makes a certificate of key for itself. With hosts it is one for
// TLS servers and clients, without one for messages.
func SelfSigned(tb testing.TB, key crypto.Signer, name string, span Span, hosts ...string) Identity {
	tb.Helper()
	cert, err := selfsigned.Certificate(key, selfsigned.Request{
		CommonName: name, Organization: "Test material", Hosts: hosts, NotBefore: span.NotBefore, NotAfter: span.NotAfter,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return Identity{Key: key, Cert: cert}
}

// Server is a self-signed P-256 identity of a loopback server.
func Server(tb testing.TB) Identity {
	tb.Helper()
	return SelfSigned(tb, P256(tb), "localhost", Valid(), "localhost", "127.0.0.1", "::1")
}

// CA makes a root of its own.
func CA(tb testing.TB, name string, span Span) Identity {
	tb.Helper()
	key := P256(tb)
	template := template(tb, name, span)
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	return Identity{Key: key, Cert: sign(tb, template, template, key, key)}
}

// Intermediate makes a CA below i.
func (i Identity) Intermediate(tb testing.TB, name string, span Span) Identity {
	tb.Helper()
	key := P256(tb)
	template := template(tb, name, span)
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	return Identity{Key: key, Cert: sign(tb, template, i.Cert, key, i.Key), Chain: i.below()}
}

// Issue makes a certificate for key below the CA i. With hosts it is one for
// TLS servers and clients, without one for messages.
func (i Identity) Issue(tb testing.TB, key crypto.Signer, name string, span Span, hosts ...string) Identity {
	tb.Helper()
	template := template(tb, name, span)
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	if len(hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	selfsigned.AddHosts(template, hosts)
	return Identity{Key: key, Cert: sign(tb, template, i.Cert, key, i.Key), Chain: i.below()}
}

// below is the chain of what i issues: i itself unless it is a root.
func (i Identity) below() []*x509.Certificate {
	if i.Cert.CheckSignatureFrom(i.Cert) == nil {
		return nil
	}
	return append([]*x509.Certificate{i.Cert}, i.Chain...)
}

func template(tb testing.TB, name string, span Span) *x509.Certificate {
	tb.Helper()
	serial, err := selfsigned.Serial()
	if err != nil {
		tb.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name, Organization: []string{"Test material"}},
		NotBefore:             span.NotBefore,
		NotAfter:              span.NotAfter,
		BasicConstraintsValid: true,
	}
}

func sign(tb testing.TB, template, parent *x509.Certificate, key, by crypto.Signer) *x509.Certificate {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}
