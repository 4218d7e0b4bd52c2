package smime

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"edigw/internal/gcm"
)

// addressee writes the RecipientInfo of one certificate.
type addressee interface {
	// info encrypts the content key to its recipient.
	info(key []byte) ([]byte, error)
	// blank is as long as what info gives for a key of this size.
	blank(size int) []byte
}

// envelope is what is known of a message before there is a key.
type envelope struct {
	cipher     cipherAlgorithm
	addressees []addressee
	version    byte
	size       int64 // of the encrypted content
}

func newEnvelope(contentLen int64, o EncryptOptions) (*envelope, error) {
	a, err := cipherByName(o.Cipher)
	switch {
	case err != nil:
		return nil, err
	case contentLen < 0:
		return nil, fmt.Errorf("encrypt %d bytes: not a length", contentLen)
	case contentLen > a.longest():
		return nil, fmt.Errorf("encrypt %d bytes: %s takes at most %d", contentLen, a.name, a.longest())
	case len(o.Recipients) == 0:
		return nil, errors.New("encrypt: no recipient given")
	}
	e := &envelope{cipher: a, size: a.encryptedLen(contentLen)}
	for _, c := range o.Recipients {
		to, plain, err := newAddressee(c, a.keySize, o)
		if err != nil {
			return nil, err
		}
		if !plain && !a.gcm { // RFC 5652 §6.1; RFC 5083 §2.1 knows version 0 only
			e.version = 2
		}
		e.addressees = append(e.addressees, to)
	}
	return e, nil
}

// newAddressee also tells whether its RecipientInfo is of version 0.
func newAddressee(c *x509.Certificate, keySize int, o EncryptOptions) (addressee, bool, error) {
	if pub, ok := c.PublicKey.(*rsa.PublicKey); ok {
		to, err := newRSAAddressee(c, pub, keySize, o)
		return to, !o.KeyID, err
	}
	to, err := newECAddressee(c, keySize, o)
	return to, false, err
}

// trailing is how long what stands behind the encrypted content is.
func (e *envelope) trailing() int64 {
	if e.cipher.gcm {
		return int64(len(tlv(tagOctets, make([]byte, gcm.TagSize))))
	}
	return 0
}

// head is everything in front of the encrypted content.
func (e *envelope) head(iv []byte, infos [][]byte) []byte {
	oid := oidEnvelopedData
	if e.cipher.gcm {
		oid = oidAuthEnvelopedData
	}
	slices.SortFunc(infos, bytes.Compare) // X.690 §11.6: a SET OF in DER
	content := append(tlv(tagOID, []byte(oidData)), e.cipher.identifier(iv)...)
	content = appendHeader(content, tagContext0, e.size)
	inner := append([]byte{tagInteger, 1, e.version}, tlv(tagSet, infos...)...)
	inner = append(appendHeader(inner, tagSequence, int64(len(content))+e.size), content...)
	behind := e.size + e.trailing()
	outer := append(appendHeader(nil, tagSequence, int64(len(inner))+behind), inner...)
	head := tlv(tagOID, []byte(oid))
	head = append(appendHeader(head, tagExplicit0, int64(len(outer))+behind), outer...)
	return append(appendHeader(nil, tagSequence, int64(len(head))+behind), head...)
}
