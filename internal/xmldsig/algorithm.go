// Package xmldsig is what every use of XML Signature here shares: the algorithms
// that are taken, and signatures that stand inside the document that they are
// over. It trusts nobody by itself.
package xmldsig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256" // crypto.Hash.New needs them linked in
	_ "crypto/sha512"
	"encoding/asn1"
	"fmt"
	"math/big"
)

// Algorithm is a signature method of XML Signature by its short name.
type Algorithm string

// Signature algorithms. RSA with SHA-1 does not exist here.
const (
	RSASHA256   Algorithm = "rsa-sha256"
	RSASHA384   Algorithm = "rsa-sha384"
	RSASHA512   Algorithm = "rsa-sha512"
	ECDSASHA256 Algorithm = "ecdsa-sha256" // P-256, P-384, P-521, brainpoolP256r1
	ECDSASHA384 Algorithm = "ecdsa-sha384"
	ECDSASHA512 Algorithm = "ecdsa-sha512"
	Ed25519     Algorithm = "ed25519"
)

// Method is a signature method (XML Signature 1.1 §6.4, RFC 9231 §2.3).
type Method struct {
	Name Algorithm
	URI  string
	Hash crypto.Hash // 0: the key takes the text itself
	Kind string      // of key
}

// Kinds of keys, as people read them.
const (
	KindRSA     = "RSA"
	KindECDSA   = "elliptic curve"
	KindEd25519 = "Ed25519"
)

var methods = []Method{
	{RSASHA256, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", crypto.SHA256, KindRSA},
	{RSASHA384, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384", crypto.SHA384, KindRSA},
	{RSASHA512, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512", crypto.SHA512, KindRSA},
	{ECDSASHA256, "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256", crypto.SHA256, KindECDSA},
	{ECDSASHA384, "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384", crypto.SHA384, KindECDSA},
	{ECDSASHA512, "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512", crypto.SHA512, KindECDSA},
	{Ed25519, "http://www.w3.org/2021/04/xmldsig-more#eddsa-ed25519", 0, KindEd25519},
}

// MethodByName finds a method by its short name.
func MethodByName(name Algorithm) (Method, bool) {
	for _, m := range methods {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}

// MethodByURI finds a method by its identifier.
func MethodByURI(uri string) (Method, bool) {
	for _, m := range methods {
		if m.URI == uri {
			return m, true
		}
	}
	return Method{}, false
}

// KindOf is the kind of a key; of one that is not taken, its Go type.
func KindOf(key crypto.PublicKey) string {
	switch key.(type) {
	case *rsa.PublicKey:
		return KindRSA
	case *ecdsa.PublicKey:
		return KindECDSA
	case ed25519.PublicKey:
		return KindEd25519
	}
	return fmt.Sprintf("%T", key)
}

// sum is what the key signs.
func (m Method) sum(text []byte) []byte {
	if m.Hash == 0 {
		return text
	}
	h := m.Hash.New()
	h.Write(text)
	return h.Sum(nil)
}

// Sign makes the signature value. ECDSA values are r and s side by side, each
// as long as the order of the curve (XML Signature 1.1 §6.4.3), not DER.
func (m Method) Sign(key crypto.Signer, text []byte) ([]byte, error) {
	value, err := key.Sign(rand.Reader, m.sum(text), m.Hash)
	if err != nil {
		return nil, err
	}
	pub, ok := key.Public().(*ecdsa.PublicKey)
	if !ok {
		return value, nil
	}
	var v struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(value, &v); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("the key gave something else than an ECDSA signature")
	}
	n := pub.Params().N
	if v.R.Sign() <= 0 || v.S.Sign() <= 0 || v.R.Cmp(n) >= 0 || v.S.Cmp(n) >= 0 {
		return nil, fmt.Errorf("the key gave an ECDSA signature out of range")
	}
	size := OrderSize(pub)
	value = make([]byte, 2*size)
	v.R.FillBytes(value[:size])
	v.S.FillBytes(value[size:])
	return value, nil
}

// Verify checks a signature value. The key is of the method's kind.
func (m Method) Verify(key crypto.PublicKey, text, value []byte) bool {
	switch pub := key.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(pub, m.Hash, m.sum(text), value) == nil
	case *ecdsa.PublicKey:
		size := OrderSize(pub)
		if len(value) != 2*size {
			return false
		}
		r, s := new(big.Int).SetBytes(value[:size]), new(big.Int).SetBytes(value[size:])
		return ecdsa.Verify(pub, m.sum(text), r, s)
	case ed25519.PublicKey:
		return ed25519.Verify(pub, text, value)
	}
	return false
}

// OrderSize is the length of the order in bytes.
func OrderSize(pub *ecdsa.PublicKey) int { return (pub.Params().N.BitLen() + 7) / 8 }

// Digest is a digest method (XML Signature 1.1 §6.2).
type Digest struct {
	Hash crypto.Hash
	URI  string
	Name string // for people
}

// Digests are those that are taken.
var Digests = []Digest{
	{crypto.SHA256, "http://www.w3.org/2001/04/xmlenc#sha256", "SHA-256"},
	{crypto.SHA384, "http://www.w3.org/2001/04/xmldsig-more#sha384", "SHA-384"},
	{crypto.SHA512, "http://www.w3.org/2001/04/xmlenc#sha512", "SHA-512"},
}

// DigestByHash finds a digest method by its function.
func DigestByHash(h crypto.Hash) (Digest, bool) {
	for _, d := range Digests {
		if d.Hash == h {
			return d, true
		}
	}
	return Digest{}, false
}

// DigestByURI finds a digest method by its identifier.
func DigestByURI(uri string) (Digest, bool) {
	for _, d := range Digests {
		if d.URI == uri {
			return d, true
		}
	}
	return Digest{}, false
}
