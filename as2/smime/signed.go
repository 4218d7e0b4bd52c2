package smime

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"hash"
	"io"
)

// signedData is SignedData (RFC 5652 §5.1) without its content.
type signedData struct {
	contentType  string
	certificates []*x509.Certificate
	signers      []*signerInfo
}

// maxDetached bounds the size of a detached signature.
const maxDetached = 1 << 20

func parseDetached(sig []byte) (*signedData, error) {
	if len(sig) > maxDetached {
		return nil, fmt.Errorf("%w: signature of more than %d bytes", ErrLimit, maxDetached)
	}
	b := newMemoryBERReader(sig)
	if _, err := b.enterSigned(); err != nil {
		return nil, err
	}
	contentType, content, err := b.enterEncapsulated()
	if err != nil {
		return nil, err
	}
	if content != nil { // even when empty: RFC 8551 §3.5.3
		return nil, ErrEmbeddedContent
	}
	return b.signedRest(contentType)
}

// enterSigned opens SignedData up to its content and tells which digests it
// announces.
func (b *berReader) enterSigned() ([]crypto.Hash, error) {
	if err := b.enterContent(SignedData); err != nil {
		return nil, err
	}
	c, err := b.expectDER(tagSet, "digest algorithms")
	if err != nil {
		return nil, err
	}
	set := c.in(tagSet)
	var hashes []crypto.Hash
	for len(set.rest) > 0 {
		if d, ok := digestByOID(set.algorithm().oid); ok {
			hashes = append(hashes, d.hash)
		}
	}
	if *c.bad {
		return nil, malformed("digest algorithms cannot be read")
	}
	return hashes, nil
}

// signedRest reads what follows the content, to the end of the message.
func (b *berReader) signedRest(contentType string) (*signedData, error) {
	sd := &signedData{contentType: contentType}
	for {
		e, ok, err := b.next()
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, malformed("signers are missing")
		case e.tag == tagExplicit1: // revocation lists: validity is not decided here
			if err := b.skip(e); err != nil {
				return nil, err
			}
			continue
		case e.tag != tagExplicit0 && e.tag != tagSet:
			return nil, malformed("0x%02x where certificates or signers belong", e.tag)
		}
		der, err := b.der(e)
		if err != nil {
			return nil, err
		}
		if e.tag == tagExplicit0 {
			if sd.certificates != nil {
				return nil, malformed("certificates occur twice")
			}
			sd.certificates = embedded(der)
			continue
		}
		if sd.signers, err = parseSigners(der); err != nil {
			return nil, err
		}
		return sd, b.finish()
	}
}

// maxEmbedded is how many certificates out of a message are looked at: each is
// compared with every signer. A chain has two to four.
const maxEmbedded = 64

// embedded collects the first certificates that can be read; others are of no
// consequence, as none is trusted.
func embedded(der []byte) []*x509.Certificate {
	certificates := []*x509.Certificate{}
	c := newCursor(der)
	set := c.in(tagExplicit0)
	for {
		_, _, raw, ok := set.next()
		if !ok || len(certificates) == maxEmbedded {
			return certificates
		}
		if cert, err := x509.ParseCertificate(raw); err == nil {
			certificates = append(certificates, cert)
		}
	}
}

// SignedReader reads opaque signed data (RFC 8551 §3.5.2): the content first,
// then the signatures over it.
type SignedReader struct {
	ber         *berReader
	content     *octetReader
	contentType string
	hashes      map[crypto.Hash]hash.Hash
	rest        *signedData
	err         error
}

// NewSignedReader reads the head of a SignedData message, BER or DER. The
// content is then read from the SignedReader, and Verify asked at its end.
//
// Errors: ErrUnsupported, ErrMalformed (also when there is no content),
// ErrNesting, ErrLimit, or those of r.
func NewSignedReader(r io.Reader, l Limits) (*SignedReader, error) {
	b := newBERReader(r, l)
	announced, err := b.enterSigned()
	if err != nil {
		return nil, err
	}
	s := &SignedReader{ber: b, hashes: map[crypto.Hash]hash.Hash{}}
	for _, h := range announced {
		s.hashes[h] = h.New() // at most four
	}
	s.contentType, s.content, err = b.enterEncapsulated()
	if err != nil {
		return nil, err
	}
	if s.content == nil {
		return nil, malformed("signed data holds no content")
	}
	return s, nil
}

// Read gives the content, not verified yet: keep it aside until Verify has
// succeeded. io.EOF comes when the message is complete.
func (s *SignedReader) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.content.Read(p)
	for _, h := range s.hashes {
		h.Write(p[:n])
	}
	if errors.Is(err, io.EOF) {
		err = s.finish()
	}
	s.err = err
	return n, err
}

func (s *SignedReader) finish() error {
	if err := s.ber.leaveEncapsulated(); err != nil {
		return err
	}
	var err error
	if s.rest, err = s.ber.signedRest(s.contentType); err != nil {
		return err
	}
	return io.EOF
}

// errUnread is our own mistake, not the sender's.
var errUnread = errors.New("verify: content was not read to its end")

// Verify checks the signatures after Read gave io.EOF. It is VerifyDetached in
// all but ErrEmbeddedContent; a digest that the message did not announce before
// its content is ErrUnsupported.
func (s *SignedReader) Verify(pinned []*x509.Certificate) (*Verification, error) {
	if s.rest == nil {
		return nil, errUnread
	}
	return s.rest.verify(func(h crypto.Hash) ([]byte, error) {
		if sum, ok := s.hashes[h]; ok {
			return sum.Sum(nil), nil
		}
		return nil, unsupported("digest %s was not announced before the content", HashName(h))
	}, pinned)
}
