package smime

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"fmt"
)

// Cipher names how content is encrypted, as settings spell it.
type Cipher string

// The ciphers that are written and read. All are in CBC mode; AES-GCM belongs
// to AuthEnvelopedData (RFC 5083), another structure, and is refused as
// unsupported.
const (
	TripleDES Cipher = "3des"
	AES128CBC Cipher = "aes128-cbc"
	AES192CBC Cipher = "aes192-cbc"
	AES256CBC Cipher = "aes256-cbc"
)

type cipherAlgorithm struct {
	name     Cipher
	oid      string
	keySize  int
	newBlock func(key []byte) (cipher.Block, error)
}

var cipherAlgorithms = []cipherAlgorithm{
	{TripleDES, oidDESEDE3CBC, 24, des.NewTripleDESCipher},
	{AES128CBC, oidAES128CBC, 16, aes.NewCipher},
	{AES192CBC, oidAES192CBC, 24, aes.NewCipher},
	{AES256CBC, oidAES256CBC, 32, aes.NewCipher},
}

func (a cipherAlgorithm) blockSize() int {
	if a.name == TripleDES {
		return des.BlockSize
	}
	return aes.BlockSize
}

func cipherByName(name Cipher) (cipherAlgorithm, error) {
	for _, a := range cipherAlgorithms {
		if a.name == name {
			return a, nil
		}
	}
	return cipherAlgorithm{}, unsupported("cipher %q", string(name))
}

func cipherByOID(oid string) (cipherAlgorithm, error) {
	for _, a := range cipherAlgorithms {
		if a.oid == oid {
			return a, nil
		}
	}
	return cipherAlgorithm{}, unsupported("cipher %s", oidText(oid))
}

// setParity makes every byte of a DES key odd, as FIPS 46-3 has it and some
// hardware insists.
func setParity(key []byte) {
	for i, b := range key {
		b &= 0xfe
		p := b ^ b>>4
		p ^= p >> 2
		p ^= p >> 1
		key[i] = b | ^p&1
	}
}

func (a cipherAlgorithm) encrypter(key, iv []byte) (cipher.BlockMode, error) {
	block, err := a.newBlock(key)
	if err != nil {
		return nil, fmt.Errorf("set up %s: %w", a.name, err)
	}
	return cipher.NewCBCEncrypter(block, iv), nil
}

func (a cipherAlgorithm) decrypter(key, iv []byte) (cipher.BlockMode, error) {
	block, err := a.newBlock(key)
	if err != nil {
		return nil, fmt.Errorf("set up %s: %w", a.name, err)
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}
