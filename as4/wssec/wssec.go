// Package wssec signs, verifies, encrypts and decrypts SOAP messages with
// attachments: the part of WS-Security 1.1.1, its SwA and X.509 token profiles,
// XML Signature and XML Encryption that AS4 needs (AS4 §5.1.4–5.1.8).
//
// It works on a tree that was parsed once and says exactly which elements and
// parts a signature covers; whoever reads something else afterwards reads
// unsigned data. It decides neither what must be signed nor whom to trust.
// Attachments are streamed; what is decrypted is good only after Close said so.
package wssec

import (
	"crypto"
	"crypto/x509"
	"errors"
	"io"

	"edigw/internal/xmldsig"
)

// Kinds of failure. Decryption has one answer for every failure that a sender
// could learn from; everything else tells what and where.
var (
	ErrUnsigned  = errors.New("there is no signature")
	ErrSignature = errors.New("the signature does not verify")     // bad value, digest, or nothing that we may trust
	ErrSigner    = errors.New("the signer is not the partner")     // by a certificate that is not pinned, or not in force
	ErrPolicy    = errors.New("the security is too weak or other") // algorithm, transform or coverage not allowed
	ErrDecrypt   = errors.New("the message cannot be decrypted")
	ErrMalformed = errors.New("the security header is malformed")
	ErrSetting   = errors.New("a key, certificate or algorithm does not fit") // our own side
)

// SignatureAlgorithm is a signature method of XML Signature by its short name.
type SignatureAlgorithm = xmldsig.Algorithm

// Signature algorithms. RSA with SHA-1 does not exist here.
const (
	RSASHA256   = xmldsig.RSASHA256
	RSASHA384   = xmldsig.RSASHA384
	RSASHA512   = xmldsig.RSASHA512
	ECDSASHA256 = xmldsig.ECDSASHA256 // P-256, P-384, P-521, brainpoolP256r1
	ECDSASHA384 = xmldsig.ECDSASHA384
	ECDSASHA512 = xmldsig.ECDSASHA512
	Ed25519     = xmldsig.Ed25519
)

// Token says how a signature or an encrypted key names a certificate
// (X.509 token profile 1.1.1 §3; SOAP Message Security 1.1.1 §7).
type Token string

// Tokens. The first three carry certificates, the others only name one.
const (
	TokenBST          Token = "bst"     // BinarySecurityToken #X509v3
	TokenPKIPath      Token = "pkipath" // BinarySecurityToken #X509PKIPathv1
	TokenPKCS7        Token = "pkcs7"   // BinarySecurityToken #PKCS7
	TokenSKI          Token = "ski"     // KeyIdentifier #X509SubjectKeyIdentifier
	TokenThumbprint   Token = "thumbprint"
	TokenIssuerSerial Token = "issuer-serial"
)

// Signing is how we sign.
type Signing struct {
	Key         crypto.Signer // RSA, ECDSA (also brainpoolP256r1) or Ed25519
	Certificate *x509.Certificate
	Chain       []*x509.Certificate // intermediates, for PKIPath and PKCS7
	Algorithm   SignatureAlgorithm
	Digest      crypto.Hash // SHA256, SHA384, SHA512; 0: SHA256
	Token       Token       // empty: bst
}

// DataCipher encrypts the attachments.
type DataCipher string

// Data ciphers. CBC is not read or written: it is an oracle.
const (
	AES128GCM DataCipher = "aes128-gcm"
	AES192GCM DataCipher = "aes192-gcm"
	AES256GCM DataCipher = "aes256-gcm"
)

// KeyTransport is how the content key comes to the recipient.
type KeyTransport struct {
	// Method is one of rsa-oaep (http://www.w3.org/2009/xmlenc11#rsa-oaep),
	// rsa-oaep-mgf1p (the older name, MGF1 with SHA-1), ecdh-es (ECDH-ES with
	// ConcatKDF and AES key wrap) or x25519 (with HKDF and AES key wrap). Empty:
	// the one of rsa-oaep, ecdh-es and x25519 that fits the recipient's key.
	Method string
	Digest crypto.Hash // of OAEP, or of the KDF; 0: SHA256
	MGF    crypto.Hash // of OAEP's mask; 0: SHA256
	Wrap   int         // bits of the key wrap: 128, 192, 256; 0: 128
	// Derivation of ecdh-es and x25519 is concat-kdf or hkdf; empty: concat-kdf
	// for ecdh-es, hkdf for x25519.
	Derivation string
}

// Encrypting is how we encrypt.
type Encrypting struct {
	Recipient *x509.Certificate
	Cipher    DataCipher
	Transport KeyTransport
	Token     Token // how the recipient's certificate is named; empty: ski, or issuer-serial if it has none
}

// Opener is a key of ours that may open messages. Key is a crypto.Decrypter
// (RSA), an *ecdsa.PrivateKey (P-256, P-384, P-521, brainpoolP256r1), an
// *ecdh.PrivateKey (X25519) or another ecdh.KeyExchanger.
type Opener struct {
	Certificate *x509.Certificate
	Key         any
}

// Part is an attachment for signing or verification: its content after
// transfer decoding and decryption, before decompression.
type Part struct {
	ContentID string // without angle brackets, decoded (RFC 2392)
	MediaType string // that its digest goes by (SwA profile 1.1 §5.4.2): of an encrypted part EncryptedData/@MimeType
	Open      func() (io.ReadCloser, error)
}

// Reference is one reference of a signature, as written or as found.
type Reference struct {
	URI    string      // "#id" or "cid:…"
	Digest crypto.Hash // 0: unknown or refused
	Value  []byte
}
