package smime

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"io"
	"strings"
)

// Recipient is a certificate of ours with its private key, which may live in
// hardware: of Key only Decrypt is called, with *rsa.PKCS1v15DecryptOptions.
type Recipient struct {
	Certificate *x509.Certificate
	Key         crypto.Decrypter
}

// NotRecipientError is an ErrNotRecipient that can say for whom the message is.
type NotRecipientError struct {
	Named []ID // to whom the message is encrypted; empty for kinds we do not read
	Held  []ID // the certificates that we hold keys for
}

// Error gives "message is encrypted for serial 4F:22 of CN=a; we hold serial 51 of CN=b".
func (e *NotRecipientError) Error() string {
	return fmt.Sprintf("message is encrypted for %s; we hold %s", listIDs(e.Named), listIDs(e.Held))
}

// Is makes errors.Is(err, ErrNotRecipient) true.
func (e *NotRecipientError) Is(target error) bool { return target == ErrNotRecipient }

// listIDs names the first few.
func listIDs(ids []ID) string {
	const shown = 3
	if len(ids) == 0 {
		return "nobody we can name"
	}
	var texts []string
	for _, id := range ids[:min(len(ids), shown)] {
		texts = append(texts, id.String())
	}
	if more := len(ids) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// RecipientIDs reads the head of EnvelopedData and tells for whom it is,
// without the recipients of kinds that we do not read (RFC 5652 §6.2.2 to 6.2.5).
func RecipientIDs(r io.Reader, l Limits) ([]ID, error) {
	b := newBERReader(r, l)
	infos, err := b.envelopeRecipients()
	if err != nil {
		return nil, err
	}
	return recipientTexts(infos), nil
}

func recipientTexts(infos []recipientInfo) []ID {
	var ids []ID
	for _, info := range infos {
		ids = append(ids, info.id.text())
	}
	return ids
}

// recipientInfo is KeyTransRecipientInfo (RFC 5652 §6.2.1).
type recipientInfo struct {
	id  identity
	alg algorithm
	key []byte
}

// envelopeRecipients reads EnvelopedData up to and including its recipients.
func (b *berReader) envelopeRecipients() ([]recipientInfo, error) {
	if err := b.enterContent(EnvelopedData); err != nil {
		return nil, err
	}
	e, ok, err := b.next()
	if err == nil && ok && e.tag == tagExplicit0 { // originatorInfo
		if err := b.skip(e); err != nil {
			return nil, err
		}
		e, ok, err = b.next()
	}
	switch {
	case err != nil:
		return nil, err
	case !ok || e.tag != tagSet:
		return nil, malformed("recipients are missing")
	}
	der, err := b.der(e)
	if err != nil {
		return nil, err
	}
	c := newCursor(der)
	set := c.in(tagSet)
	var infos []recipientInfo
	for len(set.rest) > 0 {
		if set.peek() != tagSequence { // key agreement, password and others
			set.next()
			continue
		}
		in := set.in(tagSequence)
		in.bytes(tagInteger)
		infos = append(infos, recipientInfo{id: in.identity(), alg: in.algorithm(), key: in.bytes(tagOctets)})
	}
	if *c.bad {
		return nil, malformed("recipients cannot be read")
	}
	return infos, nil
}

// choose finds the first recipient of the message that is one of ours.
func choose(infos []recipientInfo, ours []Recipient) (recipientInfo, Recipient, error) {
	for _, info := range infos {
		for _, r := range ours {
			if !info.id.names(r.Certificate) {
				continue
			}
			if info.alg.oid != oidRSA {
				return info, r, unsupported("key transport %s", oidText(info.alg.oid))
			}
			return info, r, nil
		}
	}
	var held []ID
	for _, r := range ours {
		held = append(held, CertificateID(r.Certificate))
	}
	return recipientInfo{}, Recipient{}, &NotRecipientError{Named: recipientTexts(infos), Held: held}
}

// contentKey unwraps the content key of size bytes. A key that cannot be
// unwrapped is replaced by a random one, so that the failure shows where all
// others do, when the content does not decrypt (RFC 3218 §2.3.2).
func (r Recipient) contentKey(wrapped []byte, size int) []byte {
	key := make([]byte, size)
	rand.Read(key)
	// A key store may answer errors of its own making: all are treated alike.
	// AS2 partners know no other key transport (RFC 3370 §4.2.1); SessionKeyLen and a random key close the oracle.
	plain, err := r.Key.Decrypt(rand.Reader, wrapped, &rsa.PKCS1v15DecryptOptions{SessionKeyLen: size}) //nolint:staticcheck // SA1019: see above
	if err == nil && len(plain) == size {
		return bytes.Clone(plain)
	}
	return key
}
