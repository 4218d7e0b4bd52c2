package wssec

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"io"
	"strings"
)

// NotRecipientError is an ErrDecrypt that can say for whom the message is: that
// is in it for everyone to see.
type NotRecipientError struct {
	Named []string // whom the key is encrypted for, as the message says it; may be empty
	Held  []string // the certificates that we hold keys for
}

// Error gives "the message cannot be decrypted: it is encrypted for serial 4F:22
// issued by CN=a; we hold serial 51 issued by CN=b …".
func (e *NotRecipientError) Error() string {
	return fmt.Sprintf("%v: it is encrypted for %s; we hold %s", ErrDecrypt, listed(e.Named), listed(e.Held))
}

// Is makes errors.Is(err, ErrDecrypt) true.
func (e *NotRecipientError) Is(target error) bool { return target == ErrDecrypt }

// listed names the first few.
func listed(names []string) string {
	const most = 3
	if len(names) == 0 {
		return "nobody that we can name"
	}
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Opening is an Encrypted whose keys are decrypted. It is safe for concurrent
// use.
type Opening struct {
	encrypted *Encrypted
	secrets   map[*encryptedKey][]byte // nil for one that does not decrypt
}

// Unlock decrypts the content keys that are for us, one operation with a private
// key for each, at most four. A key of ours is meant if the message names its
// certificate. What does not decrypt does not show here, but when a part does
// not: so a sender learns nothing from the answer.
//
// Errors: *NotRecipientError if a part has no key for us; ErrPolicy and
// ErrMalformed about what is in the message for everyone to see.
func (e *Encrypted) Unlock(keys []Opener) (*Opening, error) {
	unwrap := map[*encryptedKey]keyUnwrapper{}
	var refused error
	for _, k := range e.keys {
		u, err := k.forUs(keys)
		if err != nil && refused == nil {
			refused = err
		}
		if u != nil {
			unwrap[k] = u
		}
	}
	if len(unwrap) > maxPrivate {
		return nil, policy("%d EncryptedKeys are for us, more than %d are not tried", len(unwrap), maxPrivate)
	}
	for _, d := range e.data {
		if !anyOf(d.keys, unwrap) {
			return nil, e.notForUs(refused, d.keys, keys)
		}
	}
	if len(unwrap) == 0 {
		return nil, e.notForUs(refused, e.keys, keys)
	}
	o := &Opening{encrypted: e, secrets: map[*encryptedKey][]byte{}}
	for k, u := range unwrap {
		secret, err := u()
		if err != nil {
			secret = nil // a key store may answer errors of its own making: all are treated alike
		}
		o.secrets[k] = bytes.Clone(secret)
	}
	return o, nil
}

// forUs gives the way to decrypt a key with one of ours; nil, nil if it is for
// somebody else.
func (k *encryptedKey) forUs(keys []Opener) (keyUnwrapper, error) {
	if k.unnamed != nil {
		return nil, k.unnamed
	}
	var refused error
	for _, o := range keys {
		if !k.recipient.names(o.Certificate) {
			continue
		}
		u, err := k.unwrapper(o)
		if err == nil {
			return u, nil
		}
		if refused == nil {
			refused = err
		}
	}
	return nil, refused
}

func anyOf[T any](keys []*encryptedKey, have map[*encryptedKey]T) bool {
	for _, k := range keys {
		if _, ok := have[k]; ok {
			return true
		}
	}
	return false
}

// notForUs says that none of these keys is for us, or why one that may be is
// not taken.
func (e *Encrypted) notForUs(refused error, named []*encryptedKey, keys []Opener) error {
	if refused != nil {
		return refused
	}
	err := &NotRecipientError{}
	for _, k := range named {
		text := k.recipient.text
		if carried := k.recipient.certs; len(carried) > 0 {
			text = inAllWays(carried[0])
		}
		err.Named = append(err.Named, text)
	}
	for _, o := range keys {
		err.Held = append(err.Held, inAllWays(o.Certificate))
	}
	return err
}

// inAllWays names a certificate in the ways that messages do.
func inAllWays(c *x509.Certificate) string {
	issuer, ok := nameText(c.RawIssuer)
	if !ok {
		issuer = "an unreadable name"
	}
	id := c.SubjectKeyId
	if len(id) == 0 {
		id = computedKeyID(c)
	}
	return fmt.Sprintf("serial %s issued by %s (subject key identifier %s)", serialText(c.SerialNumber), shown(issuer), hexText(id))
}

// Decrypt writes the content of a part to w, which is good only if the error is
// nil: keep it aside until then. ErrDecrypt is the one answer to a key that does
// not decrypt, a wrong one, and content that is not what was encrypted; it comes
// when all of the part was read. A part that is not among Parts is ErrMalformed.
// Errors of reading and writing are handed on.
func (o *Opening) Decrypt(w io.Writer, contentID string, ciphertext io.Reader) error {
	for _, d := range o.encrypted.data {
		if d.ContentID == contentID {
			return open(w, ciphertext, o.contentKey(d))
		}
	}
	return malformed("part %s is not encrypted", shown(contentID))
}

// contentKey is the key of a part. One that could not be decrypted, or has
// another length than its cipher's, is replaced by a random one, so that it fails
// where everything else does.
func (o *Opening) contentKey(d *encryptedData) []byte {
	key := make([]byte, d.cipher.size)
	rand.Read(key) // never fails
	for _, k := range d.keys {
		if secret, ours := o.secrets[k]; ours {
			if len(secret) == len(key) {
				return secret
			}
			break
		}
	}
	return key
}
