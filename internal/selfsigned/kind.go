package selfsigned

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"edigw/internal/certs"
)

// Kind is the kind of a key.
type Kind string

// Kinds of keys.
const (
	RSA2048   Kind = "rsa-2048"
	RSA3072   Kind = "rsa-3072"
	RSA4096   Kind = "rsa-4096"
	P256      Kind = "p-256"
	P384      Kind = "p-384"
	P521      Kind = "p-521"
	Brainpool Kind = "brainpoolP256r1"
	Ed25519   Kind = "ed25519"
	X25519    Kind = "x25519" // agrees, and signs nothing
)

// Signing lists the kinds of keys that NewKey makes.
func Signing() []Kind {
	return []Kind{RSA2048, RSA3072, RSA4096, P256, P384, P521, Brainpool, Ed25519}
}

// NewKey makes a private key that signs. RSA takes up to seconds of computing.
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
	case P521:
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case Brainpool:
		return ecdsa.GenerateKey(certs.BrainpoolP256r1(), rand.Reader)
	case Ed25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("unknown kind of key %q: want %s", kind, Words(Signing()))
}

// Words lists kinds for people.
func Words(kinds []Kind) string {
	var all []string
	for _, k := range kinds {
		all = append(all, string(k))
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// KindOf is the kind of the key of a certificate: of RSA one with its bits, empty
// for what no key of ours is.
func KindOf(c *x509.Certificate) Kind {
	key := c.PublicKey
	if key == nil { // crypto/x509 leaves those of X25519 aside
		key, _ = x509.ParsePKIXPublicKey(c.RawSubjectPublicKeyInfo)
	}
	switch key := key.(type) {
	case *rsa.PublicKey:
		return Kind(fmt.Sprintf("rsa-%d", key.N.BitLen()))
	case *ecdsa.PublicKey:
		curves := []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521(), certs.BrainpoolP256r1()}
		if i := slices.Index(curves, key.Curve); i >= 0 {
			return []Kind{P256, P384, P521, Brainpool}[i]
		}
	case ed25519.PublicKey:
		return Ed25519
	case *ecdh.PublicKey:
		if key.Curve() == ecdh.X25519() {
			return X25519
		}
	}
	return ""
}
