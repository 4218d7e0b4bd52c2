package smime

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"fmt"
)

const (
	// gcmNonceSize is the one length of nonce that is written and read; RFC 5084
	// §3.2 recommends it, and others cost a security margin.
	gcmNonceSize = 12
	// gcmShortestTag is also the default of its length (RFC 5084 §3.2).
	gcmShortestTag = 12
	// gcmLongest is how much content one nonce may encrypt (SP 800-38D §5.2.1.1).
	gcmLongest = 1<<36 - 32
)

// gcm is AES-GCM over a stream: the counter mode and the hash, each by itself.
type gcm struct {
	ctr cipher.Stream
	sum *ghash
}

func newGCM(key, nonce []byte) (*gcm, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	sum, err := newGHASH(block, nonce)
	if err != nil {
		return nil, err
	}
	// SP 800-38D §7.1: content begins at the second counter. It cannot come around
	// its 32 bits within gcmLongest.
	counter := make([]byte, aes.BlockSize)
	copy(counter, nonce)
	counter[aes.BlockSize-1] = 2
	return &gcm{ctr: cipher.NewCTR(block, counter), sum: sum}, nil
}

// seal encrypts src to dst. Only the last src may have part of a block.
func (c *gcm) seal(dst, src []byte) {
	c.ctr.XORKeyStream(dst, src)
	c.sum.write(dst[:len(src)])
}

// end encrypts the rest, which needs no padding.
func (c *gcm) end(rest []byte) []byte {
	c.seal(rest, rest)
	return rest
}

func (c *gcm) mac() []byte {
	tag := c.sum.tag(nil)
	return tag[:]
}

// gcmParameters are GCMParameters (RFC 5084 §3.2).
type gcmParameters struct {
	nonce   []byte
	tagSize int
}

func (p gcmParameters) encode() []byte {
	return tlv(tagSequence, tlv(tagOctets, p.nonce), tlv(tagInteger, []byte{byte(p.tagSize)}))
}

func readGCMParameters(der []byte) (gcmParameters, error) {
	c := newCursor(der)
	in := c.in(tagSequence)
	p := gcmParameters{nonce: in.bytes(tagOctets), tagSize: gcmShortestTag}
	if in.peek() == tagInteger {
		p.tagSize = in.small()
	}
	switch {
	case *c.bad || len(in.rest) > 0:
		return p, malformed("parameters of AES-GCM cannot be read")
	case len(p.nonce) != gcmNonceSize:
		return p, unsupported("AES-GCM with a nonce of %d bytes", len(p.nonce))
	case p.tagSize < gcmShortestTag || p.tagSize > gcmTagSize:
		return p, malformed("tag of AES-GCM of %d bytes", p.tagSize)
	}
	return p, nil
}

// gcmOpener decrypts content whose tag stands behind it, as AuthEnvelopedData
// has it, or at its end.
type gcmOpener struct {
	*gcm
	tagSize int
	// appended: the content ends with its tag. QUIRK(as2-lib): it puts what
	// Bouncy Castle's cipher gives out into EnvelopedData, which has no other
	// place for a tag.
	appended bool
}

func (o *gcmOpener) tail() int {
	if o.appended {
		return o.tagSize
	}
	return 0
}

func (o *gcmOpener) open(p []byte) error {
	if o.sum.size+uint64(len(p)) > gcmLongest {
		return fmt.Errorf("%w: more than %d bytes in AES-GCM", ErrLimit, int64(gcmLongest))
	}
	o.sum.write(p)
	o.ctr.XORKeyStream(p, p)
	return nil
}

// end gives the rest only if the tag is right. A tag that was shortened has the
// first bytes of a whole one (SP 800-38D §7.1).
func (o *gcmOpener) end(rest []byte, t trailer) ([]byte, error) {
	if o.appended {
		if len(rest) < o.tagSize {
			return nil, ErrDecrypt
		}
		t = trailer{mac: rest[len(rest)-o.tagSize:]}
		rest = rest[:len(rest)-o.tagSize]
	}
	if len(t.mac) != o.tagSize {
		return nil, malformed("tag of %d bytes where %d are announced", len(t.mac), o.tagSize)
	}
	if err := o.open(rest); err != nil {
		return nil, err
	}
	tag := o.sum.tag(t.attributes)
	if subtle.ConstantTimeCompare(tag[:o.tagSize], t.mac) != 1 {
		return nil, ErrDecrypt
	}
	return rest, nil
}
