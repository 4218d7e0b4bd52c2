package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"strings"
)

// Recipient is a certificate of ours with its private key, which may live in
// hardware: of Key only Decrypt is called, with *rsa.PKCS1v15DecryptOptions or
// *rsa.OAEPOptions, of Agree only ECDH. An RSA certificate needs Key, one of an
// elliptic curve needs Agree.
type Recipient struct {
	Certificate *x509.Certificate
	Key         crypto.Decrypter
	Agree       ecdh.KeyExchanger
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

func recipientTexts(infos []recipientInfo) []ID {
	var ids []ID
	for _, info := range infos {
		ids = append(ids, info.id.text())
	}
	return ids
}

// recipientInfo is the content key for one recipient: KeyTransRecipientInfo
// (RFC 5652 §6.2.1), or one key of a KeyAgreeRecipientInfo (§6.2.2).
type recipientInfo struct {
	id     identity
	alg    algorithm
	key    []byte
	agreed *keyAgreement // nil for key transport
}

// envelopeRecipients reads EnvelopedData or AuthEnvelopedData up to and including
// its recipients.
func (b *berReader) envelopeRecipients() (Kind, []recipientInfo, error) {
	kind, err := b.enterContentOf(EnvelopedData, AuthEnvelopedData)
	if err != nil {
		return "", nil, err
	}
	e, ok, err := b.next()
	if err == nil && ok && e.tag == tagExplicit0 { // originatorInfo
		if err := b.skip(e); err != nil {
			return "", nil, err
		}
		e, ok, err = b.next()
	}
	switch {
	case err != nil:
		return "", nil, err
	case !ok || e.tag != tagSet:
		return "", nil, malformed("recipients are missing")
	}
	der, err := b.der(e)
	if err != nil {
		return "", nil, err
	}
	infos, err := readRecipients(der)
	return kind, infos, err
}

// readRecipients takes RecipientInfos apart. Kinds that we do not read count too.
func readRecipients(der []byte) ([]recipientInfo, error) {
	c := newCursor(der)
	set := c.in(tagSet)
	var infos []recipientInfo
	for others := 0; len(set.rest) > 0; {
		switch set.peek() {
		case tagSequence:
			in := set.in(tagSequence)
			in.bytes(tagInteger)
			infos = append(infos, recipientInfo{id: in.identity(), alg: in.algorithm(), key: in.bytes(tagOctets)})
		case tagExplicit1:
			infos = append(infos, set.keyAgreement()...)
		default: // passwords, keys known before, and others
			set.next()
			others++
		}
		if len(infos)+others > maxRecipients {
			return nil, fmt.Errorf("%w: more than %d recipients", ErrLimit, maxRecipients)
		}
	}
	if *c.bad {
		return nil, malformed("recipients cannot be read")
	}
	for _, info := range infos {
		if info.agreed != nil && len(info.agreed.ukm) > maxKeyingMaterial {
			return nil, fmt.Errorf("%w: more than %d bytes of user keying material", ErrLimit, maxKeyingMaterial)
		}
	}
	return infos, nil
}

// choose finds the first recipient of the message that is one of ours and whose
// key we can unwrap.
func choose(infos []recipientInfo, ours []Recipient) (keyUnwrapper, Recipient, error) {
	var refused error
	for _, info := range infos {
		for _, r := range ours {
			if !info.id.names(r.Certificate) {
				continue
			}
			unwrap, err := info.unwrapper(r)
			if err == nil {
				return unwrap, r, nil
			}
			if refused == nil {
				refused = err
			}
		}
	}
	if refused != nil {
		return nil, Recipient{}, refused
	}
	var held []ID
	for _, r := range ours {
		held = append(held, CertificateID(r.Certificate))
	}
	return nil, Recipient{}, &NotRecipientError{Named: recipientTexts(infos), Held: held}
}

// keyUnwrapper decrypts a content key of size bytes.
type keyUnwrapper func(size int) ([]byte, error)

func (info recipientInfo) unwrapper(r Recipient) (keyUnwrapper, error) {
	if info.agreed != nil {
		return agreed(info, r)
	}
	return transported(info, r)
}

// contentKey unwraps the content key of size bytes. A key that cannot be
// unwrapped is replaced by a random one, so that the failure shows where all
// others do, when the content does not decrypt (RFC 3218 §2.3.2).
func (unwrap keyUnwrapper) contentKey(size int) []byte {
	key := make([]byte, size)
	rand.Read(key) // never fails
	// A key store may answer errors of its own making: all are treated alike.
	plain, err := unwrap(size)
	if err == nil && len(plain) == size {
		return bytes.Clone(plain)
	}
	return key
}
