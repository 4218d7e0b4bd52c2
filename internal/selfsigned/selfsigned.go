// Package selfsigned makes key pairs and self-signed certificates for an
// installation that has none yet. Trading partners exchange such certificates
// by hand and compare fingerprints; nobody's authority vouches for them.
//
// It stores nothing and knows no file formats but PEM.
package selfsigned

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Kind is the kind of a key.
type Kind string

// Kinds of keys.
const (
	RSA2048 Kind = "rsa-2048"
	RSA3072 Kind = "rsa-3072"
	RSA4096 Kind = "rsa-4096"
	P256    Kind = "p-256"
	P384    Kind = "p-384"
)

// NewKey makes a private key. RSA takes up to seconds of computing.
func NewKey(kind Kind) (crypto.Signer, error) {
	switch kind {
	case RSA2048:
		return rsa.GenerateKey(rand.Reader, 2048)
	case RSA3072:
		return rsa.GenerateKey(rand.Reader, 3072)
	case RSA4096:
		return rsa.GenerateKey(rand.Reader, 4096)
	case P256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case P384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	}
	return nil, fmt.Errorf("unknown kind of key %q: want rsa-2048, rsa-3072, rsa-4096, p-256 or p-384", kind)
}

// Request says what a certificate is to hold.
type Request struct {
	CommonName   string // required
	Organization string
	Hosts        []string // DNS names and IP addresses of a TLS server; empty: for signing and encrypting messages
	NotBefore    time.Time
	NotAfter     time.Time // after NotBefore
}

// Certificate signs a certificate for key with that same key. It is no CA. A
// message certificate may sign and be encrypted to; one with
// Hosts may serve and ask in TLS.
func Certificate(key crypto.Signer, r Request) (*x509.Certificate, error) {
	if key == nil || r.CommonName == "" || !r.NotAfter.After(r.NotBefore) {
		return nil, errors.New("certificate: want a key, a common name and an end after the beginning")
	}
	serial, err := Serial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: r.CommonName},
		NotBefore:    r.NotBefore,
		NotAfter:     r.NotAfter,
		// RFC 5280 §4.2.1.3: keyEncipherment and keyAgreement say who may be
		// encrypted to.
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment,
		BasicConstraintsValid: true,
	}
	if r.Organization != "" {
		template.Subject.Organization = []string{r.Organization}
	}
	if _, ok := key.(*ecdsa.PrivateKey); ok {
		template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyAgreement
	}
	if len(r.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	AddHosts(template, r.Hosts)
	id, err := keyID(key)
	if err != nil {
		return nil, err
	}
	template.SubjectKeyId = id
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", r.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

// Serial gives a random positive serial number of 127 bits at most.
func Serial() (*big.Int, error) {
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil
}

// AddHosts adds names and addresses to what a template is for.
func AddHosts(template *x509.Certificate, hosts []string) {
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
}

// CertificatePEM encodes certificates one after the other, leaf first.
func CertificatePEM(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// KeyPEM encodes a private key as unencrypted PKCS #8.
func KeyPEM(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// keyID is the key identifier of a certificate: the first 160 bits of the SHA-256
// of the key (RFC 7093 §2). With it messages can name the certificate.
func keyID(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	sum := sha256.Sum256(info.Key.Bytes)
	return sum[:20], nil
}
