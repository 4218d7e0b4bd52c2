package partner

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"edigw/internal/conf"
)

// ownKey is one of the gateway's own keys.
type ownKey struct {
	term
	key   crypto.Signer
	chain []*x509.Certificate // intermediates
	uses  []string
}

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

// loadKey reads an own key: a P12, or PEM with the key and its certificates.
func loadKey(k Key, file string) (ownKey, error) {
	data, err := readFile(string(k.File))
	if err != nil {
		return ownKey{}, err
	}
	var key any
	var list []*x509.Certificate
	if bytes.Contains(data, []byte("-----BEGIN ")) {
		key, list, err = pemKey(data)
	} else {
		key, list, err = p12Key(data, k.Password)
	}
	if err != nil {
		return ownKey{}, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return ownKey{}, errors.New("a key of a kind that is not supported; RSA and ECDSA are")
	}
	out := ownKey{key: signer, uses: k.Use}
	for i, c := range list {
		if public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); ok && public.Equal(signer.Public()) {
			out.term = term{newLeaf(c), file, k.From.Begin(time.UTC), k.Until.End(time.UTC)}
			out.chain = intermediates(slices.Delete(slices.Clone(list), i, i+1))
			return out, out.suits()
		}
	}
	return ownKey{}, errors.New("none of its certificates belongs to its key")
}

// suits refuses uses that the kind of key cannot serve.
func (k ownKey) suits() error {
	switch key := k.key.(type) {
	case *rsa.PrivateKey:
		if key.N.BitLen() < 2048 {
			return fmt.Errorf("an RSA key of %d bits; 2048 is the least", key.N.BitLen())
		}
		return nil
	case *ecdsa.PrivateKey:
		if slices.Contains(k.uses, "decrypt") {
			return errors.New("an ECDSA key cannot decrypt; use an RSA key")
		}
		return nil
	}
	return errors.New("a key of a kind that is not supported; RSA and ECDSA are")
}

// intermediates leaves out certificates that signed themselves: a partner
// trusts such a one from its own files or not at all.
func intermediates(list []*x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(list, func(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, c.RawSubject) })
}

func pemKey(data []byte) (any, []*x509.Certificate, error) {
	list, err := parseCertificates(data)
	if err != nil {
		return nil, nil, err
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		var key any
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			if block.Headers["DEK-Info"] != "" {
				return nil, nil, errEncryptedPEM
			}
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
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

func p12Key(data []byte, secret conf.Secret) (any, []*x509.Certificate, error) {
	password, err := secret.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("its password: %w", err)
	}
	key, cert, more, err := decodeP12(data, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return nil, nil, errors.New("the password is wrong")
	case err != nil:
		return nil, nil, errors.New("neither PEM nor a P12 with one key; write it anew with openssl pkcs12 -export")
	}
	return key, append([]*x509.Certificate{cert}, more...), nil
}

// decodeP12 turns a panic of the library on crafted input into an error.
func decodeP12(data []byte, password string) (key any, cert *x509.Certificate, more []*x509.Certificate, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not a P12")
		}
	}()
	return pkcs12.DecodeChain(data, password)
}

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
