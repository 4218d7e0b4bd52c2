package partner

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/as2/smime"
	"edigw/internal/certs"
	"edigw/internal/conf"
	"edigw/internal/rsakey"
)

// ownKey is one of the gateway's own keys.
type ownKey struct {
	term
	key   privateKey
	chain []*x509.Certificate // intermediates
	uses  []string
}

// privateKey is any private key: most sign, those of X25519 only agree.
type privateKey interface{ Public() crypto.PublicKey }

// opens reports whether messages are decrypted with it. That does not wait for
// its from, which says when partners are told to encrypt to it: who has the
// certificate may use it before.
func (k ownKey) opens(now time.Time) bool { return now.Before(k.ends()) }

// clientKey is a client certificate for TLS.
type clientKey struct {
	term
	pair *tls.Certificate
}

// ownFor are the own keys for a use.
func ownFor(own []ownKey, use string) []ownKey {
	var out []ownKey
	for _, k := range own {
		if slices.Contains(k.uses, use) {
			out = append(out, k)
		}
	}
	return out
}

func termsOf(own []ownKey) []term {
	var out []term
	for _, k := range own {
		out = append(out, k.term)
	}
	return out
}

func ownTerms(own []ownKey, use string) []term { return termsOf(ownFor(own, use)) }

func clientTerms(keys []clientKey) []term {
	var out []term
	for _, k := range keys {
		out = append(out, k.term)
	}
	return out
}

// identity is a private key with its certificate and the intermediates.
type identity struct {
	key   privateKey
	cert  *x509.Certificate
	chain []*x509.Certificate
}

// loadKey reads an own key: a P12, or PEM with the key and its certificates.
func loadKey(k Key, file string) (ownKey, error) {
	data, err := readFile(string(k.File))
	if err != nil {
		return ownKey{}, err
	}
	password := ""
	if !armoured(data) {
		if password, err = k.Password.Read(); err != nil {
			return ownKey{}, fmt.Errorf("its password: %w", err)
		}
	}
	id, err := parseIdentity(data, password)
	if err != nil {
		return ownKey{}, err
	}
	if err := id.suits(k.Use); err != nil {
		return ownKey{}, err
	}
	return ownKey{term: term{newLeaf(id.cert), file, k.From.Begin(time.UTC), k.Until.End(time.UTC)}, key: computing(id.key), chain: id.chain, uses: k.Use}, nil
}

// computing is the key in the hands of whoever computes with it.
func computing(key privateKey) privateKey {
	if k, ok := key.(*rsa.PrivateKey); ok {
		return rsakey.Wrap(k)
	}
	return key
}

// armoured reports whether data is PEM.
func armoured(data []byte) bool { return bytes.Contains(data, []byte("-----BEGIN ")) }

// parseIdentity reads a P12, or PEM with a key and its certificates; the
// password is that of the P12.
func parseIdentity(data []byte, password string) (identity, error) {
	read := p12Identity
	if armoured(data) {
		read = pemIdentity
	}
	key, list, err := read(data, password)
	if err != nil {
		return identity{}, err
	}
	private, ok := key.(privateKey)
	if !ok {
		return identity{}, errKeyKind
	}
	var serials []string
	for i, c := range list {
		if public, ok := publicKey(c).(interface{ Equal(crypto.PublicKey) bool }); ok && public.Equal(private.Public()) {
			return identity{private, c, intermediates(slices.Delete(slices.Clone(list), i, i+1))}, nil
		}
		serials = append(serials, smime.CertificateID(c).Serial)
	}
	return identity{}, fmt.Errorf("none of its certificates belongs to its key: serial %s", strings.Join(serials[:min(len(serials), 5)], ", "))
}

var errKeyKind = errors.New("a key of a kind that is not supported; RSA, elliptic curves, Ed25519 and X25519 are")

// suits refuses uses that the kind of key cannot serve.
func (id identity) suits(uses []string) error {
	switch key := id.key.(type) {
	case *rsa.PrivateKey:
		if n := key.N.BitLen(); n < leastRSA {
			return fmt.Errorf("an RSA key of %d bits; %d is the least", n, leastRSA)
		}
		return nil
	case *ecdsa.PrivateKey:
		kind, name := kindOf(&key.PublicKey), key.Params().Name
		if slices.Contains(uses, UseDecrypt) && kind != kindNIST && kind != kindBrainpool {
			return fmt.Errorf("a key of curve %s cannot decrypt; use RSA, P-256, P-384, P-521 or brainpoolP256r1", name)
		}
		switch _, brainpool := certs.BrainpoolOID(key.Curve); {
		case brainpool && kind != kindBrainpool:
			return fmt.Errorf("a key of curve %s; of the Brainpool curves brainpoolP256r1 alone is used", name)
		case brainpool && slices.Contains(uses, UseTLSClient):
			return fmt.Errorf("a key of curve %s, which TLS does not use here; take RSA, P-256, P-384 or P-521", name)
		}
		return nil
	case ed25519.PrivateKey:
		if slices.Contains(uses, UseDecrypt) {
			return errors.New("an Ed25519 key, which only signs; an X25519 key decrypts")
		}
		return nil
	case *ecdh.PrivateKey:
		if key.Curve() == ecdh.X25519() && !slices.Contains(uses, UseSign) && !slices.Contains(uses, UseTLSClient) {
			return nil
		}
		return fmt.Errorf("an %v key, which only decrypts; an Ed25519 key signs", key.Curve())
	}
	return errKeyKind
}

// signsAS2 and opensAS2 report whether a key is of a kind that AS2 uses; AS4
// takes more kinds.
func (k ownKey) signsAS2() bool {
	switch k.key.Public().(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey:
		return k.kind != kindBrainpool
	}
	return false
}

func (k ownKey) opensAS2() bool { return k.kind == kindRSA || k.kind == kindNIST }

// forAS2 are the own keys for a use that are of a kind which AS2 uses.
func forAS2(own []ownKey, use string) []ownKey {
	return slices.DeleteFunc(ownFor(own, use), func(k ownKey) bool {
		return use == UseSign && !k.signsAS2() || use == UseDecrypt && !k.opensAS2()
	})
}

// recipient is the key as it decrypts AS2.
func (k ownKey) recipient() (smime.Recipient, bool) {
	r := smime.Recipient{Certificate: k.certificate()}
	switch key := k.key.(type) {
	case *ecdsa.PrivateKey:
		agree, err := key.ECDH()
		if err != nil {
			return r, false
		}
		r.Agree = agree
	case crypto.Decrypter:
		r.Key = key
	default:
		return r, false
	}
	return r, true
}

// intermediates leaves out certificates that signed themselves: a partner
// trusts such a one from its own files or not at all.
func intermediates(list []*x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(list, func(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, c.RawSubject) })
}

func pemIdentity(data []byte, _ string) (any, []*x509.Certificate, error) {
	list, err := parseCertificates(data)
	if err != nil {
		return nil, nil, err
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		var key any
		switch block.Type {
		case "PRIVATE KEY", "EC PRIVATE KEY":
			key, err = certs.ParsePrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			if block.Headers["DEK-Info"] != "" {
				return nil, nil, errEncryptedPEM
			}
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, nil, errEncryptedPEM
		default:
			continue
		}
		if err != nil {
			return nil, nil, errors.New("its private key cannot be read")
		}
		return key, list, nil
	}
	return nil, nil, errors.New("no private key in it")
}

var errEncryptedPEM = errors.New("its PEM key is encrypted")

// loadPair reads a TLS certificate and its key.
func loadPair(cert, key conf.Path) (*tls.Certificate, *leaf, error) {
	certPEM, err := readFile(string(cert))
	if err != nil {
		return nil, nil, fmt.Errorf("cert: %w", err)
	}
	keyPEM, err := readFile(string(key))
	if err != nil {
		return nil, nil, fmt.Errorf("key: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, nil, errors.New("certificate and key are not PEM, or do not belong together")
	}
	return &pair, newLeaf(pair.Leaf), nil
}
