// Package rsakey chooses who computes with our private RSA keys: the standard
// library, or OpenSSL's libcrypto if the program was built with the tag
// openssl, which takes about a fourth of the time. What comes out is the same,
// and so is every refusal.
package rsakey

import (
	"crypto"
	"crypto/rsa"
)

// Key is a private key that signs and decrypts, as *rsa.PrivateKey does.
type Key interface {
	crypto.Signer
	crypto.Decrypter
}

// Wrap gives the key that computes for k. Keys that OpenSSL does not take, and
// all keys without the tag, are given back as they are.
func Wrap(k *rsa.PrivateKey) Key { return wrap(k) }

// Backend names who computes, for the log.
const Backend = backend
