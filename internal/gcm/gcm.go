// Package gcm is AES-GCM (NIST SP 800-38D) over a stream. The standard library
// takes a message only whole, so that a large one would have to be in memory.
//
// Whoever opens with it has plain content before the tag was compared, and must
// keep it aside until Tag said that it is good.
package gcm

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

const (
	// NonceSize is the one length of nonce that is written and read; others cost
	// a security margin (SP 800-38D §5.2.1.1).
	NonceSize = 12
	// TagSize is the length of a whole tag, and of a block.
	TagSize = 16
	// Longest is how many bytes one nonce may encrypt (SP 800-38D §5.2.1.1).
	Longest = 1<<36 - 32
)

// Stream encrypts or decrypts one message: the counter mode and the hash, each
// by itself. It is not safe for concurrent use.
type Stream struct {
	ctr cipher.Stream
	sum *ghash
}

// New begins a message with a key of 16, 24 or 32 bytes and a nonce of
// NonceSize bytes, which must never have been used with the key before.
func New(key, nonce []byte) (*Stream, error) {
	if len(nonce) != NonceSize {
		return nil, fmt.Errorf("a nonce of AES-GCM has %d bytes, not %d", NonceSize, len(nonce))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	sum, err := newGHASH(block, nonce)
	if err != nil {
		return nil, err
	}
	// SP 800-38D §7.1: content begins at the second counter. It cannot come around
	// its 32 bits within Longest.
	counter := make([]byte, aes.BlockSize)
	copy(counter, nonce)
	counter[aes.BlockSize-1] = 2
	return &Stream{ctr: cipher.NewCTR(block, counter), sum: sum}, nil
}

// Fits tells, before n bytes more are sealed or opened, if that would be beyond
// Longest.
func (s *Stream) Fits(n int) error {
	if s.sum.size+uint64(n) > Longest {
		return fmt.Errorf("more than %d bytes in AES-GCM", int64(Longest))
	}
	return nil
}

// Seal encrypts src to dst, which may be src. Only the last src may have part
// of a block.
func (s *Stream) Seal(dst, src []byte) {
	s.ctr.XORKeyStream(dst, src)
	s.sum.write(dst[:len(src)])
}

// Open decrypts p in place. Only the last p may have part of a block.
func (s *Stream) Open(p []byte) {
	s.sum.write(p)
	s.ctr.XORKeyStream(p, p)
}

// Tag is that of everything that was sealed or opened, and of additional data.
// Compare it in constant time.
func (s *Stream) Tag(additional []byte) [TagSize]byte { return s.sum.tag(additional) }
