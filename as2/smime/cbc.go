package smime

import (
	"crypto/cipher"
	"crypto/subtle"
)

// cbcSealer encrypts in CBC mode with the padding of RFC 5652 §6.3.
type cbcSealer struct{ mode cipher.BlockMode }

func (s cbcSealer) seal(dst, src []byte) { s.mode.CryptBlocks(dst, src) }

func (s cbcSealer) end(rest []byte) []byte {
	size := s.mode.BlockSize()
	pad := size - len(rest)%size
	for range pad {
		rest = append(rest, byte(pad))
	}
	s.mode.CryptBlocks(rest, rest)
	return rest
}

func (cbcSealer) mac() []byte { return nil }

// cbcOpener decrypts what cbcSealer wrote. The last block may be padding only.
type cbcOpener struct{ mode cipher.BlockMode }

func (o cbcOpener) tail() int { return o.mode.BlockSize() }

func (o cbcOpener) open(p []byte) error {
	o.mode.CryptBlocks(p, p)
	return nil
}

func (o cbcOpener) end(rest []byte, _ trailer) ([]byte, error) {
	size := o.mode.BlockSize()
	if len(rest) == 0 || len(rest)%size != 0 {
		return nil, ErrDecrypt
	}
	o.mode.CryptBlocks(rest, rest)
	pad, good := padding(rest[len(rest)-size:])
	if !good {
		return nil, ErrDecrypt
	}
	return rest[:len(rest)-pad], nil
}

// padding looks at the last block without branching on what is in it.
func padding(block []byte) (int, bool) {
	pad := int(block[len(block)-1])
	good := subtle.ConstantTimeLessOrEq(1, pad) & subtle.ConstantTimeLessOrEq(pad, len(block))
	for i, b := range block {
		outside := subtle.ConstantTimeLessOrEq(i+1+pad, len(block))
		good &= outside | subtle.ConstantTimeByteEq(b, byte(pad))
	}
	return pad, good == 1
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
