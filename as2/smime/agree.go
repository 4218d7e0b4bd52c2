package smime

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"fmt"

	"edigw/internal/keywrap"
)

// agreementScheme is a way from a shared secret to a key (RFC 5753 §7.1.4).
// The curves here have the cofactor 1, so that both kinds of ECDH are the same.
type agreementScheme struct {
	oid  string
	hash crypto.Hash
}

var agreementSchemes = []agreementScheme{
	{oidStdDHSHA1, crypto.SHA1}, // read only: what openssl writes unasked
	{oidStdDHSHA256, crypto.SHA256},
	{oidStdDHSHA384, crypto.SHA384},
	{oidStdDHSHA512, crypto.SHA512},
	{oidCofactorDHSHA1, crypto.SHA1},
	{oidCofactorDHSHA256, crypto.SHA256},
	{oidCofactorDHSHA384, crypto.SHA384},
	{oidCofactorDHSHA512, crypto.SHA512},
}

// wrapKeySizes are the key wraps (RFC 3565 §2.3.2) with the sizes of their keys.
var wrapKeySizes = map[string]int{oidAES128Wrap: 16, oidAES192Wrap: 24, oidAES256Wrap: 32}

// curveOf gives the elliptic curve of a certificate's key and the scheme that is
// as strong, if it is one that we agree keys on.
func curveOf(c *x509.Certificate) (*ecdh.PublicKey, agreementScheme, bool) {
	pub, ok := c.PublicKey.(*ecdsa.PublicKey)
	if !ok {
		return nil, agreementScheme{}, false
	}
	key, err := pub.ECDH()
	if err != nil {
		return nil, agreementScheme{}, false
	}
	switch key.Curve() {
	case ecdh.P256():
		return key, agreementScheme{oidStdDHSHA256, crypto.SHA256}, true
	case ecdh.P384():
		return key, agreementScheme{oidStdDHSHA384, crypto.SHA384}, true
	case ecdh.P521():
		return key, agreementScheme{oidStdDHSHA512, crypto.SHA512}, true
	}
	return nil, agreementScheme{}, false
}

// keyEncryptionKey derives the key that wraps the content key, with
// ECC-CMS-SharedInfo (RFC 5753 §7.2). wrap is the AlgorithmIdentifier of the
// key wrap as it is in the message, ukm nil when there is none.
func keyEncryptionKey(h crypto.Hash, secret, wrap, ukm []byte, size int) []byte {
	var entity []byte
	if ukm != nil {
		entity = tlv(tagExplicit0, tlv(tagOctets, ukm))
	}
	bits := binary.BigEndian.AppendUint32(nil, uint32(size)*8)
	return deriveX963(h, secret, tlv(tagSequence, wrap, entity, tlv(tagExplicit2, tlv(tagOctets, bits))), size)
}

// deriveX963 is the key derivation of ANSI X9.63 (SEC 1 §3.6.1).
func deriveX963(h crypto.Hash, secret, info []byte, size int) []byte {
	var key []byte
	for counter := uint32(1); len(key) < size; counter++ {
		sum := h.New()
		sum.Write(secret)
		sum.Write(binary.BigEndian.AppendUint32(nil, counter))
		sum.Write(info)
		key = sum.Sum(key)
	}
	return key[:size]
}

// ecAddressee writes KeyAgreeRecipientInfo (RFC 5652 §6.2.2, RFC 5753 §3.1.1)
// with an ephemeral key for each recipient.
type ecAddressee struct {
	certificate *x509.Certificate
	pub         *ecdh.PublicKey
	scheme      agreementScheme
	id          []byte
	wrap        []byte // AlgorithmIdentifier
	wrapSize    int
}

func newECAddressee(c *x509.Certificate, keySize int, o EncryptOptions) (*ecAddressee, error) {
	a := &ecAddressee{certificate: c}
	var ok bool
	if a.pub, a.scheme, ok = curveOf(c); !ok {
		return nil, unsupported("encrypting to the %s key of %s", c.PublicKeyAlgorithm, CertificateID(c))
	}
	var err error
	if o.KeyID {
		a.id, err = encodeKeyID(c)
		id := newCursor(a.id)
		a.id = tlv(tagExplicit0, tlv(tagOctets, id.bytes(tagContext0))) // RecipientKeyIdentifier
	} else {
		a.id, err = encodeIdentity(c)
	}
	for oid, size := range wrapKeySizes { // as strong as the cipher of the content
		if size == keySize {
			a.wrap, a.wrapSize = algorithmID(oid, nil), size
		}
	}
	return a, err
}

func (a *ecAddressee) info(key []byte) ([]byte, error) {
	ephemeral, err := a.pub.Curve().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an ephemeral key for %s: %w", CertificateID(a.certificate), err)
	}
	secret, err := ephemeral.ECDH(a.pub)
	if err != nil {
		return nil, fmt.Errorf("agree on a key with %s: %w", CertificateID(a.certificate), err)
	}
	wrapped, err := keywrap.Wrap(keyEncryptionKey(a.scheme.hash, secret, a.wrap, nil, a.wrapSize), key)
	if err != nil {
		return nil, fmt.Errorf("encrypt content key for %s: %w", CertificateID(a.certificate), err)
	}
	return a.encode(ephemeral.PublicKey().Bytes(), wrapped), nil
}

func (a *ecAddressee) blank(size int) []byte {
	return a.encode(a.pub.Bytes(), make([]byte, size+keywrap.Overhead))
}

func (a *ecAddressee) encode(point, wrapped []byte) []byte {
	originator := tlv(tagExplicit1, // OriginatorPublicKey; its curve is that of the recipient
		algorithmID(oidECPublicKey, nil),
		tlv(tagBitString, []byte{0}, point))
	return tlv(tagExplicit1, // kari
		[]byte{tagInteger, 1, 3},
		tlv(tagExplicit0, originator),
		algorithmID(a.scheme.oid, a.wrap),
		tlv(tagSequence, tlv(tagSequence, a.id, tlv(tagOctets, wrapped))))
}

// keyAgreement is what the recipients of one KeyAgreeRecipientInfo share.
type keyAgreement struct {
	point []byte // the originator's ephemeral key; nil if it is named otherwise
	ukm   []byte // user keying material; nil when absent
}

// keyAgreement reads KeyAgreeRecipientInfo, one recipientInfo for each of its
// encrypted keys.
func (c *cursor) keyAgreement() []recipientInfo {
	in := c.in(tagExplicit1)
	in.bytes(tagInteger)
	var agreed keyAgreement
	if originator := in.in(tagExplicit0); originator.peek() == tagExplicit1 {
		key := originator.in(tagExplicit1)
		key.algorithm()
		if point := key.bytes(tagBitString); len(point) > 0 && point[0] == 0 {
			agreed.point = point[1:]
		} else {
			key.fail()
		}
	}
	if in.peek() == tagExplicit1 {
		ukm := in.in(tagExplicit1)
		agreed.ukm = ukm.bytes(tagOctets)
	}
	alg := in.algorithm()
	var infos []recipientInfo
	for keys := in.in(tagSequence); len(keys.rest) > 0; {
		one := keys.in(tagSequence)
		var id identity
		if one.peek() == tagExplicit0 {
			named := one.in(tagExplicit0) // RecipientKeyIdentifier; date and other do not matter
			id.keyID = named.bytes(tagOctets)
		} else {
			id = one.identity()
		}
		infos = append(infos, recipientInfo{id: id, alg: alg, key: one.bytes(tagOctets), agreed: &agreed})
	}
	return infos
}

// agreed reads how a content key was wrapped for an elliptic-curve key of ours.
// All that it refuses is in the message for everyone to see.
func agreed(info recipientInfo, r Recipient) (keyUnwrapper, error) {
	var scheme agreementScheme
	for _, s := range agreementSchemes {
		if s.oid == info.alg.oid {
			scheme = s
		}
	}
	if scheme.oid == "" {
		return nil, unsupported("key agreement %s", refusedText(info.alg.oid))
	}
	params := newCursor(info.alg.params)
	wrap := params.algorithm()
	size := wrapKeySizes[wrap.oid]
	switch {
	case *params.bad || len(params.rest) > 0:
		return nil, malformed("key wrap of a key agreement cannot be read")
	case size == 0:
		return nil, unsupported("key wrap %s", refusedText(wrap.oid))
	case info.agreed.point == nil:
		return nil, unsupported("key agreement with a static key of the sender")
	case r.Agree == nil:
		return nil, unsupported("key agreement with the %s key of %s", r.Certificate.PublicKeyAlgorithm, CertificateID(r.Certificate))
	}
	ephemeral, err := r.Agree.Curve().NewPublicKey(info.agreed.point)
	if err != nil {
		if p := info.agreed.point; len(p) > 0 && (p[0] == 2 || p[0] == 3) {
			return nil, unsupported("key agreement with a compressed point")
		}
		return nil, malformed("the ephemeral key is no point on the curve of %s", CertificateID(r.Certificate))
	}
	return func(int) ([]byte, error) {
		secret, err := r.Agree.ECDH(ephemeral)
		if err != nil {
			return nil, err
		}
		return keywrap.Unwrap(keyEncryptionKey(scheme.hash, secret, info.alg.params, info.agreed.ukm, size), info.key)
	}, nil
}
