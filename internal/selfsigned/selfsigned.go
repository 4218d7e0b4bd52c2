// Package selfsigned makes key pairs and self-signed certificates for an
// installation that has none yet. Trading partners exchange such certificates
// by hand and compare fingerprints; nobody's authority vouches for them. An X25519
// key signs nothing: its certificate is signed with another key of ours.
//
// It stores nothing and knows no file formats but PEM.
package selfsigned

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
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

	"edigw/internal/certs"
)

// Request says what a certificate is to hold.
type Request struct {
	CommonName   string // required
	Organization string
	Unit         string   // of the organisation, which tells two certificates of one name apart
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
	template, err := r.template(key.Public())
	if err != nil {
		return nil, err
	}
	der, err := certs.SelfSigned(template, key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", r.CommonName, err)
	}
	return certs.ParseCertificate(der)
}

// Agreement makes a certificate for a key that only agrees on secrets, signed with
// an Ed25519 key of ours, whose certificate is issuer. The two need different
// names: to many products, what has one name as subject and issuer is signed by itself.
// Nobody's chain ends there, for the issuer is no authority: partners pin both.
func Agreement(key *ecdh.PublicKey, issuer *x509.Certificate, by ed25519.PrivateKey, r Request) (*x509.Certificate, error) {
	if key == nil || issuer == nil || by == nil || r.CommonName == "" || !r.NotAfter.After(r.NotBefore) {
		return nil, errors.New("certificate: want a key, an issuer with its key, a common name and an end after the beginning")
	}
	template, err := r.template(key)
	if err != nil {
		return nil, err
	}
	if template.Subject.String() == issuer.Subject.String() {
		return nil, fmt.Errorf("certificate %s: its issuer has the same name", r.CommonName)
	}
	der, err := certs.Agreement(template, issuer, key, by)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", r.CommonName, err)
	}
	return certs.ParseCertificate(der)
}

// template is what a certificate for a key says.
func (r Request) template(key crypto.PublicKey) (*x509.Certificate, error) {
	serial, err := Serial()
	if err != nil {
		return nil, err
	}
	id, err := keyID(key)
	if err != nil {
		return nil, err
	}
	out := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: r.CommonName},
		NotBefore:    r.NotBefore,
		NotAfter:     r.NotAfter,
		KeyUsage:     usage(key),
		SubjectKeyId: id,

		BasicConstraintsValid: true,
	}
	if r.Organization != "" {
		out.Subject.Organization = []string{r.Organization}
	}
	if r.Unit != "" {
		out.Subject.OrganizationalUnit = []string{r.Unit}
	}
	if len(r.Hosts) > 0 {
		out.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	AddHosts(out, r.Hosts)
	return out, nil
}

// usage is all that a key of that kind can do: keyEncipherment and keyAgreement
// say who may be encrypted to (RFC 5280 §4.2.1.3).
func usage(key crypto.PublicKey) x509.KeyUsage {
	switch key.(type) {
	case *ecdsa.PublicKey:
		return x509.KeyUsageDigitalSignature | x509.KeyUsageKeyAgreement
	case ed25519.PublicKey:
		return x509.KeyUsageDigitalSignature
	case *ecdh.PublicKey:
		return x509.KeyUsageKeyAgreement
	}
	return x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment
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
func CertificatePEM(list ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range list {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// KeyPEM encodes a private key as unencrypted PKCS #8.
func KeyPEM(key crypto.PrivateKey) ([]byte, error) {
	der, err := certs.MarshalPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// keyID is the key identifier of a certificate: the first 160 bits of the SHA-256
// of the key (RFC 7093 §2). With it messages can name the certificate.
func keyID(key crypto.PublicKey) ([]byte, error) {
	der, err := certs.MarshalPublicKey(key)
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
