package smime

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"strings"
	"unicode"
)

// ID names a certificate as messages do: by issuer and serial number, or by
// key identifier. It is text for people and safe to show: printable, at most a
// few hundred bytes.
type ID struct {
	Issuer string // such as CN=northwind,O=Northwind; "" when named by KeyID
	Serial string // such as 4F:22; "" when named by KeyID
	KeyID  string // such as A1:B2:C3; "" when named by Issuer and Serial
}

// String gives "serial 4F:22 of CN=northwind", or "key A1:B2:C3".
func (id ID) String() string {
	if id.KeyID != "" {
		return "key " + id.KeyID
	}
	return fmt.Sprintf("serial %s of %s", id.Serial, id.Issuer)
}

// CertificateID is how a message names this certificate by issuer and serial.
func CertificateID(c *x509.Certificate) ID {
	return ID{Issuer: nameText(c.RawIssuer), Serial: hexText(c.SerialNumber.Bytes())}
}

// Fingerprint is the SHA-256 of the whole certificate in upper-case hexadecimal
// with colons, to be compared by eye or phone.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hexText(sum[:])
}

// identity is an ID as encoded: SignerIdentifier or RecipientIdentifier
// (RFC 5652 §5.3, §6.2.1).
type identity struct {
	issuer []byte // Name, whole
	serial []byte // content of the INTEGER
	keyID  []byte
}

// identity reads an identifier whose second form is tagged [0].
func (c *cursor) identity() identity {
	if c.peek() == tagContext0 {
		return identity{keyID: c.bytes(tagContext0)}
	}
	in := c.in(tagSequence)
	return identity{issuer: in.raw(tagSequence), serial: in.bytes(tagInteger)}
}

// encodeIdentity writes issuerAndSerialNumber.
func encodeIdentity(c *x509.Certificate) ([]byte, error) {
	serial, err := asn1.Marshal(c.SerialNumber)
	if err != nil {
		return nil, fmt.Errorf("encode serial number of %s: %w", CertificateID(c), err)
	}
	return tlv(tagSequence, c.RawIssuer, serial), nil
}

// encodeKeyID writes subjectKeyIdentifier, which has the tag [0] among the
// identifiers of signers and of recipients (RFC 5652 §5.3, §6.2.1): that of the
// certificate, or the computed one if it has none.
func encodeKeyID(c *x509.Certificate) ([]byte, error) {
	id := c.SubjectKeyId
	if len(id) == 0 {
		id = computedKeyID(c)
	}
	if len(id) == 0 {
		return nil, fmt.Errorf("%s has no key identifier, and its public key cannot be read to compute one", CertificateID(c))
	}
	return tlv(tagContext0, id), nil
}

func (i identity) text() ID {
	if i.issuer == nil {
		return ID{KeyID: hexText(i.keyID)}
	}
	return ID{Issuer: nameText(i.issuer), Serial: hexText(i.magnitude().Bytes())}
}

// magnitude reads the serial as a positive number, which all certificates that
// can be on file have.
func (i identity) magnitude() *big.Int { return new(big.Int).SetBytes(i.serial) }

func (i identity) names(c *x509.Certificate) bool {
	if i.issuer == nil {
		return len(i.keyID) > 0 && (bytes.Equal(i.keyID, c.SubjectKeyId) || bytes.Equal(i.keyID, computedKeyID(c)))
	}
	return i.magnitude().Cmp(c.SerialNumber) == 0 && sameName(i.issuer, c.RawIssuer)
}

// computedKeyID is method (1) of RFC 5280 §4.2.1.2, for certificates that do
// not carry the extension.
func computedKeyID(c *x509.Certificate) []byte {
	cur := newCursor(c.RawSubjectPublicKeyInfo)
	in := cur.in(tagSequence)
	in.algorithm()
	key := in.bytes(tagBitString)
	if *in.bad || len(key) < 1 {
		return nil
	}
	sum := sha1.Sum(key[1:])
	return sum[:]
}

// sameName compares names leniently: a match only selects which pinned
// certificate to verify with.
// QUIRK(Java): X500Principal writes a name anew, with other string types.
func sameName(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	text := nameText(a)
	return text != unreadableName && strings.EqualFold(text, nameText(b))
}

const (
	unreadableName = "an unreadable name"
	maxText        = 256
	// maxName is the longest name that is taken apart, in bytes: to write one as
	// text takes time by the square of its parts. Real ones have a few hundred.
	maxName = 4 << 10
)

func nameText(der []byte) string {
	if len(der) > maxName {
		return unreadableName
	}
	var rdn pkix.RDNSequence
	if rest, err := asn1.Unmarshal(der, &rdn); err != nil || len(rest) > 0 {
		return unreadableName
	}
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(rdn.String(), "?"))
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

func hexText(b []byte) string {
	if len(b) == 0 {
		return "00"
	}
	const digits = "0123456789ABCDEF"
	more := len(b) > maxText/4
	if more {
		b = b[:maxText/4]
	}
	out := make([]byte, 0, 3*len(b))
	for i, c := range b {
		if i > 0 {
			out = append(out, ':')
		}
		out = append(out, digits[c>>4], digits[c&15])
	}
	if more {
		return string(out) + "…"
	}
	return string(out)
}
