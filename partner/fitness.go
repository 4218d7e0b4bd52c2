package partner

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
)

// leastRSA is the least number of bits of an RSA key that we use; a partner's
// may be shorter and is warned of.
const leastRSA = 2048

// leastUsableRSA is the least that crypto/rsa computes with: whatever is
// encrypted or verified with a shorter key fails.
const leastUsableRSA = 1024

// misfit says why a certificate of a partner cannot serve a use, empty if it
// can. Key usage and other extensions do not matter: a certificate is pinned,
// and many that partners made have none, or the wrong ones.
func misfit(use string, c *x509.Certificate) string {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if n := key.N.BitLen(); n < leastUsableRSA && (use == UseEncrypt || use == UseVerify) {
			return fmt.Sprintf("an RSA key of %d bits; %d is the least that is computed with", n, leastUsableRSA)
		}
		return ""
	case *ecdsa.PublicKey:
		if use == UseEncrypt && !agreeable(key) {
			return fmt.Sprintf("a key of curve %s; encryption needs RSA, P-256, P-384 or P-521", key.Params().Name)
		}
		return ""
	}
	switch use {
	case UseEncrypt:
		return fmt.Sprintf("a key of kind %v; encryption needs RSA or an elliptic curve of NIST", c.PublicKeyAlgorithm)
	case UseVerify:
		return fmt.Sprintf("a key of kind %v; signatures are verified with RSA and ECDSA", c.PublicKeyAlgorithm)
	}
	return ""
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
