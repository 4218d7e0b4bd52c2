//go:build openssl

package rsakey

/*
#cgo pkg-config: libcrypto
#include <stdlib.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

static EVP_PKEY *load(const unsigned char *der, long n) {
	EVP_PKEY *k = d2i_PrivateKey(EVP_PKEY_RSA, NULL, &der, n);
	ERR_clear_error();
	return k;
}

// Signs a digest; salt < 0 means PKCS #1 v1.5. Gives 1 if it went well.
static int sign(EVP_PKEY *k, const char *hash, int salt, const unsigned char *sum, size_t n, unsigned char *out, size_t *size) {
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(k, NULL);
	const EVP_MD *md = EVP_get_digestbyname(hash);
	int ok = c != NULL && md != NULL && EVP_PKEY_sign_init(c) == 1
		&& EVP_PKEY_CTX_set_rsa_padding(c, salt < 0 ? RSA_PKCS1_PADDING : RSA_PKCS1_PSS_PADDING) == 1
		&& EVP_PKEY_CTX_set_signature_md(c, md) == 1
		&& (salt < 0 || (EVP_PKEY_CTX_set_rsa_mgf1_md(c, md) == 1 && EVP_PKEY_CTX_set_rsa_pss_saltlen(c, salt) == 1))
		&& EVP_PKEY_sign(c, out, size, sum, n) == 1;
	EVP_PKEY_CTX_free(c);
	ERR_clear_error();
	return ok;
}

// Decrypts one block without looking at its padding: that is done in constant
// time on the other side. Gives 1 if it went well.
static int decrypt(EVP_PKEY *k, const unsigned char *in, size_t n, unsigned char *out, size_t *size) {
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(k, NULL);
	int ok = c != NULL && EVP_PKEY_decrypt_init(c) == 1
		&& EVP_PKEY_CTX_set_rsa_padding(c, RSA_NO_PADDING) == 1
		&& EVP_PKEY_decrypt(c, out, size, in, n) == 1;
	EVP_PKEY_CTX_free(c);
	ERR_clear_error();
	return ok;
}
*/
import "C"

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"io"
	"runtime"
	"unsafe"
)

const backend = "OpenSSL"

// key is a private key that lives twice: OpenSSL computes with one copy, the
// standard library does what OpenSSL is not asked for with the other.
type key struct {
	*rsa.PrivateKey
	pkey *C.EVP_PKEY
}

var errOpenSSL = errors.New("OpenSSL refuses to compute with the RSA key")

func wrap(k *rsa.PrivateKey) Key {
	der := x509.MarshalPKCS1PrivateKey(k)
	defer clear(der)
	pkey := C.load((*C.uchar)(unsafe.Pointer(&der[0])), C.long(len(der)))
	if pkey == nil {
		return k
	}
	out := &key{k, pkey}
	runtime.AddCleanup(out, func(p *C.EVP_PKEY) { C.EVP_PKEY_free(p) }, pkey)
	return out
}

var hashNames = map[crypto.Hash]string{crypto.SHA1: "SHA1", crypto.SHA256: "SHA256", crypto.SHA384: "SHA384", crypto.SHA512: "SHA512"}

// Sign implements crypto.Signer.
func (k *key) Sign(random io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	name, known := hashNames[o.HashFunc()]
	salt := -1
	if pss, ok := o.(*rsa.PSSOptions); ok {
		salt = pss.SaltLength
		if salt == rsa.PSSSaltLengthEqualsHash {
			salt = o.HashFunc().Size()
		}
		known = known && salt > 0
	}
	if !known || len(digest) != o.HashFunc().Size() {
		return k.PrivateKey.Sign(random, digest, o)
	}
	hash := C.CString(name)
	defer C.free(unsafe.Pointer(hash))
	out := make([]byte, k.Size())
	size := C.size_t(len(out))
	ok := C.sign(k.pkey, hash, C.int(salt), bytePointer(digest), C.size_t(len(digest)), bytePointer(out), &size)
	runtime.KeepAlive(k)
	if ok != 1 {
		return nil, errOpenSSL
	}
	return out[:size], nil
}

// Decrypt implements crypto.Decrypter. Only session keys by PKCS #1 v1.5 go to
// OpenSSL: what is wrong with one shows nowhere, neither in the answer nor in
// the time that it takes.
func (k *key) Decrypt(random io.Reader, message []byte, o crypto.DecrypterOpts) ([]byte, error) {
	want, ok := o.(*rsa.PKCS1v15DecryptOptions)
	if !ok || want.SessionKeyLen <= 0 || len(message) != k.Size() || len(message) < want.SessionKeyLen+11 {
		return k.PrivateKey.Decrypt(random, message, o)
	}
	session := make([]byte, want.SessionKeyLen)
	rand.Read(session)
	block := make([]byte, k.Size())
	size := C.size_t(len(block))
	done := C.decrypt(k.pkey, bytePointer(message), C.size_t(len(message)), bytePointer(block), &size)
	runtime.KeepAlive(k)
	good := subtle.ConstantTimeEq(int32(done), 1) & padded(block, len(session))
	subtle.ConstantTimeCopy(good, session, block[len(block)-len(session):])
	return session, nil
}

// padded tells whether a block is 0 2, padding without zeros, 0 and a key of
// size bytes (RFC 8017 §7.2.1), without branching on what is in it.
func padded(block []byte, size int) int {
	end := len(block) - size - 1
	good := subtle.ConstantTimeByteEq(block[0], 0) & subtle.ConstantTimeByteEq(block[1], 2) & subtle.ConstantTimeByteEq(block[end], 0)
	for _, b := range block[2:end] {
		good &= 1 ^ subtle.ConstantTimeByteEq(b, 0)
	}
	return good
}

// Equal compares public parts, as *rsa.PrivateKey does.
func (k *key) Equal(other crypto.PrivateKey) bool {
	if o, ok := other.(*key); ok {
		return k.PrivateKey.Equal(o.PrivateKey)
	}
	return k.PrivateKey.Equal(other)
}

func bytePointer(b []byte) *C.uchar { return (*C.uchar)(unsafe.Pointer(unsafe.SliceData(b))) }
