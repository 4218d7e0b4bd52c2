package smime

import "slices"

// Kind is what a CMS message holds, spelled like the smime-type parameter
// (RFC 8551 §3.2.2).
type Kind string

// The kinds that AS2 partners send.
const (
	SignedData        Kind = "signed-data"
	EnvelopedData     Kind = "enveloped-data"
	CompressedData    Kind = "compressed-data"
	AuthEnvelopedData Kind = "authEnveloped-data"
)

var kinds = map[string]Kind{
	oidSignedData:        SignedData,
	oidEnvelopedData:     EnvelopedData,
	oidCompressedData:    CompressedData,
	oidAuthEnvelopedData: AuthEnvelopedData,
}

// Sniff recognises a CMS message by its first bytes, of which 32 are enough.
// QUIRK(several): application/pkcs7-mime often comes without smime-type.
func Sniff(head []byte) (Kind, bool) {
	b := newMemoryBERReader(head)
	if err := b.enterNext(tagSequence, "ContentInfo"); err != nil {
		return "", false
	}
	oid, err := b.oid()
	if err != nil {
		return "", false
	}
	k, ok := kinds[oid]
	return k, ok
}

func (b *berReader) oid() (string, error) {
	e, err := b.expect(tagOID, "a content type")
	if err != nil {
		return "", err
	}
	oid, err := b.appendValue(nil, e, maxOID)
	return string(oid), err
}

// enterContent opens ContentInfo, its [0] and the SEQUENCE of the wanted kind
// in it, and passes over the version (RFC 5652 §3): partners set it wrongly,
// and nothing here depends on it.
func (b *berReader) enterContent(want Kind) error {
	_, err := b.enterContentOf(want)
	return err
}

// enterContentOf is enterContent where more than one kind may come; it tells
// which did.
func (b *berReader) enterContentOf(want ...Kind) (Kind, error) {
	if err := b.enterNext(tagSequence, "ContentInfo"); err != nil {
		return "", err
	}
	oid, err := b.oid()
	if err != nil {
		return "", err
	}
	got, known := kinds[oid]
	switch {
	case !known:
		return "", malformed("content type %s where %s belongs", oidText(oid), want[0])
	case !slices.Contains(want, got):
		return "", malformed("%s where %s belongs", got, want[0])
	}
	if err := b.enterNext(tagExplicit0, "content"); err != nil {
		return "", err
	}
	if err := b.enterNext(tagSequence, string(got)); err != nil {
		return "", err
	}
	e, err := b.expect(tagInteger, "version")
	if err != nil {
		return "", err
	}
	return got, b.skip(e)
}

// enterEncapsulated opens EncapsulatedContentInfo (RFC 5652 §5.2) up to its
// OCTET STRING, which is nil when there is no content; then it is closed again.
func (b *berReader) enterEncapsulated() (contentType string, content *octetReader, err error) {
	if err := b.enterNext(tagSequence, "encapsulated content"); err != nil {
		return "", nil, err
	}
	if contentType, err = b.oid(); err != nil {
		return "", nil, err
	}
	e, ok, err := b.next()
	if err != nil || !ok {
		return contentType, nil, err
	}
	if e.tag != tagExplicit0 {
		return "", nil, malformed("0x%02x where content belongs", e.tag)
	}
	if err := b.enter(e); err != nil {
		return "", nil, err
	}
	if e, ok, err = b.next(); err != nil {
		return "", nil, err
	}
	if !ok || e.tag&^constructed != tagOctets {
		return "", nil, malformed("content is not an octet string")
	}
	content, err = b.octets(e)
	return contentType, content, err
}

// leaveEncapsulated closes the two elements around the content.
func (b *berReader) leaveEncapsulated() error {
	for range 2 {
		e, ok, err := b.next()
		if err != nil {
			return err
		}
		if ok {
			return malformed("0x%02x behind the content", e.tag)
		}
	}
	return nil
}
