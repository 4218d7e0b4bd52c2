package gcm

import (
	"crypto/cipher"
	"encoding/binary"
)

// ghash makes the tag of AES-GCM (NIST SP 800-38D §6.4 and §7.1) over encrypted
// content that comes in chunks. The standard library hashes at the speed of the
// hardware, but takes a message only whole. What it takes as additional data it
// only hashes, however, so a chunk X given as that, with no content, comes back as
//
//	(Y(X) ⊕ L)·H ⊕ E
//
// where Y(X) is GHASH over the blocks of X, L the block of lengths, H the key of
// the hash and E the encrypted first counter. L, H and E are known here, so that
// Y(X)·H is too. GHASH is a polynomial in H: behind what was hashed before, X of
// n blocks gives Y·H = Yₒ·H·Hⁿ ⊕ Y(X)·H. That is one multiplication of ours a chunk.
// Nothing of what comes back leaves this type but the one tag at the end.
type ghash struct {
	aead  cipher.AEAD
	nonce []byte
	h     gf128 // H
	mask  gf128 // E
	sum   gf128 // Y·H over what was written
	size  uint64
	last  stride // of the last chunk: all but one have the same length
	out   []byte
}

// stride is what depends on the length of a chunk only.
type stride struct {
	size    int
	power   gf128 // Hⁿ
	lengths gf128 // L·H
}

// newGHASH takes a nonce of 12 bytes, of which E is made.
func newGHASH(block cipher.Block, nonce []byte) (*ghash, error) {
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	var zero, first [TagSize]byte
	block.Encrypt(zero[:], zero[:])
	copy(first[:], nonce)
	first[TagSize-1] = 1 // SP 800-38D §7.1, step 2
	block.Encrypt(first[:], first[:])
	return &ghash{
		aead: aead, nonce: nonce, h: newGF128(zero[:]), mask: newGF128(first[:]),
		out: make([]byte, 0, TagSize),
	}, nil
}

// write hashes a chunk. Only the last one may have part of a block at its end.
func (g *ghash) write(p []byte) {
	if len(p) == 0 {
		return
	}
	if g.last.size != len(p) {
		g.last = g.stride(len(p))
	}
	g.sum = g.sum.times(g.last.power).plus(g.hash(p, g.last))
	g.size += uint64(len(p))
}

// tag ends the hash. Additional data stands in front of the content that was
// written, and is moved there by as many powers of H.
func (g *ghash) tag(additional []byte) [TagSize]byte {
	sum := g.sum
	if len(additional) > 0 {
		front := g.hash(additional, g.stride(len(additional)))
		sum = sum.plus(front.times(g.h.power(blocks(g.size))))
	}
	lengths := gf128{uint64(len(additional)) * 8, g.size * 8}
	return sum.plus(lengths.times(g.h)).plus(g.mask).bytes()
}

func (g *ghash) stride(size int) stride {
	return stride{
		size:    size,
		power:   g.h.power(blocks(uint64(size))),
		lengths: gf128{uint64(size) * 8, 0}.times(g.h),
	}
}

// hash is Y(p)·H.
func (g *ghash) hash(p []byte, s stride) gf128 {
	whole := newGF128(g.aead.Seal(g.out, g.nonce, nil, p))
	return whole.plus(g.mask).plus(s.lengths)
}

func blocks(size uint64) uint64 { return (size + TagSize - 1) / TagSize }

// gf128 is an element of the field of GHASH (SP 800-38D §6.3), the first bit of
// the block highest.
type gf128 struct{ high, low uint64 }

func newGF128(block []byte) gf128 {
	return gf128{binary.BigEndian.Uint64(block), binary.BigEndian.Uint64(block[8:])}
}

func (x gf128) bytes() (block [TagSize]byte) {
	binary.BigEndian.PutUint64(block[:], x.high)
	binary.BigEndian.PutUint64(block[8:], x.low)
	return block
}

func (x gf128) plus(y gf128) gf128 { return gf128{x.high ^ y.high, x.low ^ y.low} }

// times is SP 800-38D §6.3 without a branch or an index that depends on x or y.
func (x gf128) times(y gf128) gf128 {
	var z gf128
	for _, word := range [2]uint64{x.high, x.low} {
		for range 64 {
			take := -(word >> 63)
			word <<= 1
			z.high ^= y.high & take
			z.low ^= y.low & take
			carry := -(y.low & 1)
			y.low = y.low>>1 | y.high<<63
			y.high = y.high>>1 ^ carry&(0xe1<<56)
		}
	}
	return z
}

// power is xⁿ. It takes as long as n is large, which is no secret.
func (x gf128) power(n uint64) gf128 {
	z := gf128{1 << 63, 0} // one
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			z = z.times(x)
		}
		x = x.times(x)
	}
	return z
}
