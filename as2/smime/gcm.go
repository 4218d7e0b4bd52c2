package smime

import (
	"crypto/subtle"
	"fmt"

	"edigw/internal/gcm"
)

// gcmShortestTag is also the default of its length (RFC 5084 §3.2).
const gcmShortestTag = 12

// gcmSealer encrypts content whose tag stands behind it.
type gcmSealer struct{ *gcm.Stream }

func (s gcmSealer) seal(dst, src []byte) { s.Seal(dst, src) }

// end encrypts the rest, which needs no padding.
func (s gcmSealer) end(rest []byte) []byte {
	s.Seal(rest, rest)
	return rest
}

func (s gcmSealer) mac() []byte {
	tag := s.Tag(nil)
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
	case len(p.nonce) != gcm.NonceSize: // RFC 5084 §3.2 recommends it
		return p, unsupported("AES-GCM with a nonce of %d bytes", len(p.nonce))
	case p.tagSize < gcmShortestTag || p.tagSize > gcm.TagSize:
		return p, malformed("tag of AES-GCM of %d bytes", p.tagSize)
	}
	return p, nil
}

// gcmOpener decrypts content whose tag stands behind it, as AuthEnvelopedData
// has it, or at its end.
type gcmOpener struct {
	*gcm.Stream
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
	if err := o.Fits(len(p)); err != nil {
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	o.Open(p)
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
	tag := o.Tag(t.attributes)
	if subtle.ConstantTimeCompare(tag[:o.tagSize], t.mac) != 1 {
		return nil, ErrDecrypt
	}
	return rest, nil
}
