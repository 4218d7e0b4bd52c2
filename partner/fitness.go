package partner

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"fmt"

	"edigw/internal/certs"
)

// leastRSA is the least number of bits of an RSA key that we use; a partner's
// may be shorter and is warned of.
const leastRSA = 2048

// leastUsableRSA is the least that crypto/rsa computes with: whatever is
// encrypted or verified with a shorter key fails.
const leastUsableRSA = 1024

// keyKind is a kind of key as far as algorithms go by it, in words for people.
type keyKind string

const (
	kindRSA       keyKind = "RSA"
	kindNIST      keyKind = "P-256, P-384 or P-521"
	kindBrainpool keyKind = "brainpoolP256r1"
	kindEd25519   keyKind = "Ed25519"
	kindX25519    keyKind = "X25519"
	kindOther     keyKind = "" // an elliptic curve or a kind of key that few use
)

// publicKey is the key of a certificate. crypto/x509 leaves those of X25519 aside
// when it reads a certificate.
func publicKey(c *x509.Certificate) any {
	if c.PublicKey != nil {
		return c.PublicKey
	}
	key, err := x509.ParsePKIXPublicKey(c.RawSubjectPublicKeyInfo)
	if err != nil {
		return nil
	}
	return key
}

func kindOf(public any) keyKind {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return kindRSA
	case *ecdsa.PublicKey:
		switch {
		case agreeable(key):
			return kindNIST
		case key.Curve == certs.BrainpoolP256r1():
			return kindBrainpool
		}
	case ed25519.PublicKey:
		return kindEd25519
	case *ecdh.PublicKey:
		if key.Curve() == ecdh.X25519() {
			return kindX25519
		}
	}
	return kindOther
}

// misfit says why a certificate of a partner cannot serve a use in a protocol,
// empty if it can. Key usage and other extensions do not matter: a certificate is
// pinned, and many that partners made have none, or the wrong ones.
func misfit(protocol, use string, c *x509.Certificate) string {
	kind, held := kindOf(publicKey(c)), keyWords(c)
	switch {
	case use != UseEncrypt && use != UseVerify:
		return ""
	case kind == kindRSA:
		if n := c.PublicKey.(*rsa.PublicKey).N.BitLen(); n < leastUsableRSA {
			return fmt.Sprintf("an RSA key of %d bits; %d is the least that is computed with", n, leastUsableRSA)
		}
		return ""
	case protocol == protocolAS4:
		return misfitAS4(use, kind, held)
	case use == UseEncrypt && kind != kindNIST:
		return held + "; encryption needs RSA, P-256, P-384 or P-521"
	case use == UseVerify && c.PublicKeyAlgorithm != x509.ECDSA:
		return held + "; signatures are verified with RSA and ECDSA"
	}
	return ""
}

func misfitAS4(use string, kind keyKind, held string) string {
	switch {
	case kind == kindNIST || kind == kindBrainpool || use == UseEncrypt && kind == kindX25519 || use == UseVerify && kind == kindEd25519:
		return ""
	case use == UseEncrypt:
		return held + "; encryption needs RSA, P-256, P-384, P-521, brainpoolP256r1 or X25519"
	}
	return held + "; signatures are verified with RSA, P-256, P-384, P-521, brainpoolP256r1 and Ed25519"
}

// keyWords says what key a certificate holds.
func keyWords(c *x509.Certificate) string {
	switch key := publicKey(c).(type) {
	case *rsa.PublicKey:
		return "an RSA key"
	case *ecdsa.PublicKey:
		return "a key of curve " + key.Params().Name
	case ed25519.PublicKey:
		return "an Ed25519 key"
	case *ecdh.PublicKey:
		return fmt.Sprintf("an %v key", key.Curve())
	}
	return fmt.Sprintf("a key of kind %v", c.PublicKeyAlgorithm)
}

// agreeable reports whether ECDH is done with keys of this curve (RFC 5753).
func agreeable(key *ecdsa.PublicKey) bool {
	switch key.Curve {
	case elliptic.P256(), elliptic.P384(), elliptic.P521():
		return true
	}
	return false
}

// weakness says what is too short about a key, empty if nothing is.
func weakness(c *x509.Certificate) string {
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < leastRSA {
		return fmt.Sprintf("an RSA key of %d bits; %d is the least that counts as safe", key.N.BitLen(), leastRSA)
	}
	return ""
}
