// Package p12 reads PKCS #12 key stores (RFC 7292): what OpenSSL, Java and
// Windows write, today's and older ones, in DER or BER, with any number of keys
// and certificates. It writes none.
//
// A store is a user's own file, but may come from a partner: its size, nesting
// and the work that it may ask for are bounded.
package p12

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"unicode/utf16"

	"edigw/internal/ber"
	"edigw/internal/certs"
)

// Kinds of failure, to be told apart by errors.Is.
var (
	// ErrMalformed: not the structure of RFC 7292, or cut off.
	ErrMalformed = errors.New("not a PKCS #12 key store")
	// ErrJKS is an ErrMalformed: a store of Java's older kind.
	ErrJKS = fmt.Errorf("%w but a JKS one; keytool -importkeystore -deststoretype pkcs12 makes one of it", ErrMalformed)
	// ErrPassword: the password is wrong, or what it protects was changed.
	ErrPassword = errors.New("the password is wrong")
	// ErrUnsupported: an algorithm, a kind of key or of content that is not
	// read here, or more of something than the bounds allow; which, it says.
	ErrUnsupported = errors.New("unsupported in a PKCS #12 key store")
)

// Bounds of a store.
const (
	maxSize    = 16 << 20
	maxBags    = 20_000
	maxObjects = 500_000 // a bag has about twenty
	maxName    = 256
	maxKey     = 32 << 10 // bytes of one private key; RSA of 16,384 bits has 9,300
)

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// javaStore begins the key stores that Java wrote before PKCS #12.
var javaStore = []byte{0xfe, 0xed, 0xfe, 0xed}

// Entry is what goes by one name in a store: a key with its certificates, or
// certificates alone.
type Entry struct {
	Name         string              // friendly name, or alias, of at most 256 characters as they are in the store; may be empty
	Key          crypto.PrivateKey   // as certs.ParsePrivateKey gives it; nil: certificates only
	Certificates []*x509.Certificate // in the order of the store; none need belong to Key
}

// Read opens a store of at most 16 MiB: keys with the certificates that a key id
// or a name ties to them, then what is left, one entry for each name, all in the
// order of the store. A MAC is verified if there is one; none is asked for. What
// deriving keys may cost is bounded: 40 million iterations in all.
//
// Errors: ErrMalformed, ErrPassword, ErrUnsupported. It keeps nothing of data,
// and is safe for concurrent use.
func Read(data []byte, password string) ([]Entry, error) {
	return read(data, password, maxWork)
}

func read(data []byte, password string, work int) ([]Entry, error) {
	if len(data) > maxSize {
		return nil, unsupported("more than %d bytes", maxSize)
	}
	if bytes.HasPrefix(data, javaStore) {
		return nil, ErrJKS
	}
	r := reader{ber: ber.NewReaderFor(maxObjects), password: password, bmp: bmp(password), left: work}
	var p pfx
	if err := r.whole(data, &p); err != nil {
		return nil, err
	}
	switch {
	case p.Version != 3: // RFC 7292 §4
		return nil, unsupported("version %d", p.Version)
	case !p.Safe.Type.Equal(oidData):
		return nil, unsupported("a store protected by %s", p.Safe.Type)
	}
	var safe []byte
	if !whole(p.Safe.Content.Bytes, &safe) {
		return nil, ErrMalformed
	}
	if len(p.MAC.FullBytes) > 0 {
		var m macData
		if !whole(p.MAC.FullBytes, &m) {
			return nil, ErrMalformed
		}
		if err := r.checkMAC(m, safe); err != nil {
			return nil, err
		}
		r.verified = true
	}
	if err := r.readSafe(safe); err != nil {
		return nil, err
	}
	return r.entries(), nil
}

type (
	pfx struct {
		Version int
		Safe    contentInfo
		MAC     asn1.RawValue `asn1:"optional"`
	}
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"explicit,tag:0"`
	}
	macData struct {
		Mac struct {
			Algorithm pkix.AlgorithmIdentifier
			Digest    []byte
		}
		Salt       []byte
		Iterations int `asn1:"optional,default:1"`
	}
	encryptedData struct {
		Version int
		Content struct {
			Type      asn1.ObjectIdentifier
			Algorithm pkix.AlgorithmIdentifier
			Encrypted asn1.RawValue `asn1:"optional"`
		}
	}
	bag struct {
		ID         asn1.ObjectIdentifier
		Value      asn1.RawValue `asn1:"explicit,tag:0"`
		Attributes []attribute   `asn1:"set,optional"`
	}
	attribute struct {
		ID     asn1.ObjectIdentifier
		Values asn1.RawValue `asn1:"set"`
	}
	shrouded struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	certificateBag struct {
		Type asn1.ObjectIdentifier
		Data []byte `asn1:"explicit,tag:0"`
	}
)

var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidEncryptedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 6}
	oidKeyBag        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 1}
	oidShroudedKey   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 2}
	oidCertificate   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 3}
	oidX509          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 22, 1}
	oidFriendlyName  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 20}
	oidLocalKeyID    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 21}
)

// reader takes one store apart.
type reader struct {
	ber      *ber.Reader
	password string
	bmp      []byte
	left     int  // iterations of key derivations that are still allowed
	verified bool // a MAC showed that the password is right
	found    []item
}

// item is one key or certificate with what ties it to others.
type item struct {
	name, keyID string
	key         crypto.PrivateKey
	cert        *x509.Certificate
}

// readSafe reads AuthenticatedSafe (RFC 7292 §4.1).
func (r *reader) readSafe(safe []byte) error {
	var parts []contentInfo
	if err := r.whole(safe, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		var content []byte
		var bags []bag
		var err error
		switch {
		case part.Type.Equal(oidData):
			if !whole(part.Content.Bytes, &content) {
				return ErrMalformed
			}
			err = r.whole(content, &bags)
		case part.Type.Equal(oidEncryptedData):
			if content, err = r.open(part.Content.Bytes); err == nil && r.whole(content, &bags) != nil {
				err = r.garbled()
			}
		default:
			err = unsupported("content %s", part.Type)
		}
		if err == nil {
			err = r.readBags(bags)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// garbled is what is wrong with what was decrypted and makes no sense: without a
// MAC one of 256 wrong passwords shows only so.
func (r *reader) garbled() error {
	if r.verified {
		return ErrMalformed
	}
	return ErrPassword
}

// open decrypts EncryptedData. Its content is tagged implicitly, so that pieces
// of it are told by their place only.
func (r *reader) open(der []byte) ([]byte, error) {
	var e encryptedData
	if !whole(der, &e) {
		return nil, ErrMalformed
	}
	data := e.Content.Encrypted.Bytes
	if e.Content.Encrypted.IsCompound {
		data = nil
		for rest := e.Content.Encrypted.Bytes; len(rest) > 0; {
			var piece []byte
			var err error
			if rest, err = asn1.Unmarshal(rest, &piece); err != nil {
				return nil, ErrMalformed
			}
			data = append(data, piece...)
		}
	}
	return r.decrypt(e.Content.Algorithm, data)
}

// readBags reads SafeContents (RFC 7292 §4.2). Kinds of bags that hold neither
// keys nor certificates are passed over.
func (r *reader) readBags(bags []bag) (err error) {
	for _, b := range bags {
		one := item{name: b.name(), keyID: b.keyID()}
		switch {
		case b.ID.Equal(oidKeyBag):
			one.key, err = parseKey(b.Value.Bytes)
		case b.ID.Equal(oidShroudedKey):
			one.key, err = r.unshroud(b.Value.Bytes)
		case b.ID.Equal(oidCertificate):
			one.cert, err = parseCertificate(b.Value.Bytes)
		default:
			continue
		}
		if err != nil {
			return err
		}
		if one.key == nil && one.cert == nil {
			continue
		}
		if r.found = append(r.found, one); len(r.found) > maxBags {
			return unsupported("more than %d keys and certificates", maxBags)
		}
	}
	return nil
}

func (r *reader) unshroud(der []byte) (crypto.PrivateKey, error) {
	var s shrouded
	if !whole(der, &s) {
		return nil, ErrMalformed
	}
	plain, err := r.decrypt(s.Algorithm, s.Data)
	if err != nil {
		return nil, err
	}
	var outer asn1.RawValue
	if !whole(plain, &outer) {
		return nil, r.garbled()
	}
	return parseKey(plain)
}

// parseKey bounds the key first: to look at one takes time by the square of it.
func parseKey(der []byte) (crypto.PrivateKey, error) {
	if len(der) > maxKey {
		return nil, unsupported("a private key of %d bytes, more than %d", len(der), maxKey)
	}
	key, err := certs.ParsePrivateKey(der)
	if err != nil {
		return nil, unsupported("a key that cannot be read: %v", err)
	}
	return key, nil
}

// parseCertificate gives nil for kinds of certificates that are not X.509.
func parseCertificate(der []byte) (*x509.Certificate, error) {
	var c certificateBag
	if !whole(der, &c) {
		return nil, ErrMalformed
	}
	if !c.Type.Equal(oidX509) {
		return nil, nil
	}
	cert, err := certs.ParseCertificate(c.Data)
	if err != nil {
		return nil, unsupported("a certificate that cannot be read: %v", err)
	}
	return cert, nil
}

// value is the first value of an attribute.
func (b bag) value(id asn1.ObjectIdentifier) []byte {
	for _, a := range b.Attributes {
		var v asn1.RawValue
		if !a.ID.Equal(id) {
			continue
		}
		if _, err := asn1.Unmarshal(a.Values.Bytes, &v); err == nil {
			return v.Bytes
		}
	}
	return nil
}

func (b bag) keyID() string { return string(b.value(oidLocalKeyID)) }

// name reads the friendly name, a BMPString.
func (b bag) name() string {
	text := b.value(oidFriendlyName)
	var units []uint16
	for i := 0; i+1 < len(text) && len(units) < maxName; i += 2 {
		units = append(units, uint16(text[i])<<8|uint16(text[i+1]))
	}
	return string(utf16.Decode(units))
}

// entries ties certificates to keys: by key id, else by name; what fits
// neither stands alone.
func (r *reader) entries() []Entry {
	var out []Entry
	byID, byName := map[string]int{}, map[string]int{}
	add := func(i item) int {
		out = append(out, Entry{Name: i.name})
		n := len(out) - 1
		if _, taken := byID[i.keyID]; i.keyID != "" && !taken {
			byID[i.keyID] = n
		}
		if _, taken := byName[i.name]; i.name != "" && !taken {
			byName[i.name] = n
		}
		return n
	}
	for _, i := range r.found {
		if i.key != nil {
			out[add(i)].Key = i.key
		}
	}
	for _, i := range r.found {
		if i.cert == nil {
			continue
		}
		n, tied := byID[i.keyID]
		if i.keyID == "" || !tied {
			n, tied = byName[i.name]
			tied = tied && i.name != ""
		}
		if !tied {
			n = add(i)
		}
		out[n].Certificates = append(out[n].Certificates, i.cert)
		if out[n].Name == "" {
			out[n].Name = i.name
		}
	}
	return out
}
