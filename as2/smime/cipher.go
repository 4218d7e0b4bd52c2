package smime

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/rand"
	"fmt"

	"edigw/internal/gcm"
)

// Cipher names how content is encrypted, as settings spell it.
type Cipher string

// The ciphers that are written and read. Those in CBC mode make EnvelopedData,
// which every AS2 product reads; those in GCM make AuthEnvelopedData (RFC 5083),
// which shows that content was changed, and which few products know.
const (
	TripleDES Cipher = "3des"
	AES128CBC Cipher = "aes128-cbc"
	AES192CBC Cipher = "aes192-cbc"
	AES256CBC Cipher = "aes256-cbc"
	AES128GCM Cipher = "aes128-gcm"
	AES192GCM Cipher = "aes192-gcm"
	AES256GCM Cipher = "aes256-gcm"
)

// Kind is the kind of message that content encrypted so is in, which its
// smime-type must say: EnvelopedData or AuthEnvelopedData.
func (c Cipher) Kind() Kind {
	if a, err := cipherByName(c); err == nil && a.gcm {
		return AuthEnvelopedData
	}
	return EnvelopedData
}

type cipherAlgorithm struct {
	name      Cipher
	oid       string
	keySize   int
	blockSize int
	gcm       bool
}

var cipherAlgorithms = []cipherAlgorithm{
	{TripleDES, oidDESEDE3CBC, 24, des.BlockSize, false},
	{AES128CBC, oidAES128CBC, 16, aes.BlockSize, false},
	{AES192CBC, oidAES192CBC, 24, aes.BlockSize, false},
	{AES256CBC, oidAES256CBC, 32, aes.BlockSize, false},
	{AES128GCM, oidAES128GCM, 16, aes.BlockSize, true},
	{AES192GCM, oidAES192GCM, 24, aes.BlockSize, true},
	{AES256GCM, oidAES256GCM, 32, aes.BlockSize, true},
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
	return cipherAlgorithm{}, unsupported("cipher %s", refusedText(oid))
}

// contentSealer encrypts content.
type contentSealer interface {
	// seal encrypts src, of whole blocks, to dst.
	seal(dst, src []byte)
	// end encrypts the rest, behind which there is room for a block.
	end(rest []byte) []byte
	// mac is the tag of everything; nil if there is none.
	mac() []byte
}

// contentOpener decrypts content in place.
type contentOpener interface {
	// tail is how many bytes at the end of the content only end may be given.
	tail() int
	// open decrypts whole blocks of 16 bytes.
	open(p []byte) error
	// end decrypts the rest and judges everything, and gives content only if it
	// is good, else ErrDecrypt.
	end(rest []byte, t trailer) ([]byte, error)
}

// ivSize is the length of the initialisation vector or nonce.
func (a cipherAlgorithm) ivSize() int {
	if a.gcm {
		return gcm.NonceSize
	}
	return a.blockSize
}

// newKey makes a fresh key and initialisation vector.
func (a cipherAlgorithm) newKey() (key, iv []byte) {
	secret := make([]byte, a.keySize+a.ivSize())
	rand.Read(secret) // never fails
	key, iv = secret[:a.keySize], secret[a.keySize:]
	if a.name == TripleDES {
		setParity(key)
	}
	return key, iv
}

// identifier is the AlgorithmIdentifier with its parameters.
func (a cipherAlgorithm) identifier(iv []byte) []byte {
	if a.gcm {
		return algorithmID(a.oid, gcmParameters{nonce: iv, tagSize: gcm.TagSize}.encode())
	}
	return algorithmID(a.oid, tlv(tagOctets, iv))
}

// encryptedLen is how long content of n bytes becomes.
func (a cipherAlgorithm) encryptedLen(n int64) int64 {
	if a.gcm {
		return n
	}
	return n + int64(a.blockSize) - n%int64(a.blockSize) // RFC 5652 §6.3
}

// longest is how much content may be encrypted.
func (a cipherAlgorithm) longest() int64 {
	if a.gcm {
		return gcm.Longest
	}
	return 1 << 62
}

func (a cipherAlgorithm) block(key []byte) (cipher.Block, error) {
	if a.name == TripleDES {
		return des.NewTripleDESCipher(key)
	}
	return aes.NewCipher(key)
}

func (a cipherAlgorithm) sealer(key, iv []byte) (contentSealer, error) {
	if a.gcm {
		c, err := gcm.New(key, iv)
		if err != nil {
			return nil, fmt.Errorf("set up %s: %w", a.name, err)
		}
		return gcmSealer{c}, nil
	}
	block, err := a.block(key)
	if err != nil {
		return nil, fmt.Errorf("set up %s: %w", a.name, err)
	}
	return cbcSealer{cipher.NewCBCEncrypter(block, iv)}, nil
}

// opener reads the parameters of the cipher, and only then asks for the key.
func (a cipherAlgorithm) opener(kind Kind, params []byte, key func(size int) []byte) (contentOpener, error) {
	if a.gcm {
		p, err := readGCMParameters(params)
		if err != nil {
			return nil, err
		}
		c, err := gcm.New(key(a.keySize), p.nonce)
		if err != nil {
			return nil, ErrDecrypt
		}
		return &gcmOpener{Stream: c, tagSize: p.tagSize, appended: kind == EnvelopedData}, nil
	}
	if kind == AuthEnvelopedData {
		return nil, unsupported("%s in %s", a.name, kind)
	}
	c := newCursor(params)
	iv := c.bytes(tagOctets)
	if *c.bad || len(iv) != a.blockSize {
		return nil, malformed("initialisation vector of %s", a.name)
	}
	block, err := a.block(key(a.keySize))
	if err != nil {
		return nil, ErrDecrypt
	}
	return cbcOpener{cipher.NewCBCDecrypter(block, iv)}, nil
}
