package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// SignOptions says with what and how to sign. Key, Certificate and Hash are
// required.
type SignOptions struct {
	Key         crypto.Signer // RSA or ECDSA; may live in hardware
	Certificate *x509.Certificate
	Chain       []*x509.Certificate // embedded behind Certificate
	Hash        crypto.Hash
	// OmitCertificates embeds none: the partner has ours on file.
	OmitCertificates bool
	// NoAttributes signs the content's digest itself.
	// QUIRK(Sterling): refuses signed attributes.
	NoAttributes bool
	Time         time.Time // signing time attribute; left out when zero
}

// SignDetached makes a detached SignedData in DER (RFC 5652 §5) over content
// whose digest by o.Hash is given: PKCS #1 v1.5 for RSA keys, else ECDSA. An
// unknown hash or kind of key is ErrUnsupported; other errors are wrong options
// and those of the key. It blocks as long as the key does.
func SignDetached(digest []byte, o SignOptions) ([]byte, error) {
	p, err := o.prepare()
	if err != nil {
		return nil, err
	}
	if len(digest) != o.Hash.Size() {
		return nil, fmt.Errorf("sign: digest of %d bytes, %s has %d", len(digest), p.digest.name, o.Hash.Size())
	}
	sum := digest
	var attributes []byte
	if !o.NoAttributes {
		members := o.attributes(digest)
		sum = hashSet(o.Hash, members)
		attributes = tlv(tagExplicit0, members...) // RFC 5652 §5.3: IMPLICIT on the wire
	}
	signature, err := o.Key.Sign(rand.Reader, sum, o.Hash)
	if err != nil {
		return nil, fmt.Errorf("sign with the key of %s: %w", CertificateID(o.Certificate), err)
	}
	return o.assemble(p, attributes, signature), nil
}

// SignedSize is how many bytes SignDetached gives: exactly for RSA keys, at
// most for ECDSA, whose signatures vary in length.
func SignedSize(o SignOptions) (int, error) {
	p, err := o.prepare()
	if err != nil {
		return 0, err
	}
	var attributes []byte
	if !o.NoAttributes {
		attributes = tlv(tagExplicit0, o.attributes(make([]byte, o.Hash.Size()))...)
	}
	return len(o.assemble(p, attributes, make([]byte, p.signatureSize))), nil
}

// signPlan is what follows from the options alone.
type signPlan struct {
	digest        digestAlgorithm
	id            []byte
	signatureAlg  []byte
	signatureSize int
}

func (o SignOptions) prepare() (signPlan, error) {
	if o.Key == nil || o.Certificate == nil {
		return signPlan{}, errors.New("sign: key or certificate is missing")
	}
	digest, ok := digestByHash(o.Hash)
	if !ok {
		return signPlan{}, unsupported("signing with hash %d", o.Hash)
	}
	id, err := encodeIdentity(o.Certificate)
	if err != nil {
		return signPlan{}, err
	}
	p := signPlan{digest: digest, id: id}
	var same bool
	switch pub := o.Certificate.PublicKey.(type) {
	case *rsa.PublicKey:
		same = pub.Equal(o.Key.Public())
		p.signatureAlg = algorithmID(oidRSA, derNull) // RFC 3370 §3.2
		p.signatureSize = pub.Size()
	case *ecdsa.PublicKey:
		same = pub.Equal(o.Key.Public())
		p.signatureAlg = algorithmID(digest.ecOID, nil) // RFC 5754 §3.3
		number := tlv(tagInteger, make([]byte, (pub.Curve.Params().N.BitLen()+7)/8+1))
		p.signatureSize = len(tlv(tagSequence, number, number))
	default:
		return signPlan{}, unsupported("signing with a %s key", o.Certificate.PublicKeyAlgorithm)
	}
	if !same {
		return signPlan{}, fmt.Errorf("sign: the key does not belong to the certificate, %s", CertificateID(o.Certificate))
	}
	return p, nil
}

// attributes are the members of SignedAttributes in DER order. Algorithm
// protection (RFC 6211) is left out.
// QUIRK(Sterling, DataPower): refuse attributes that they do not know.
func (o SignOptions) attributes(digest []byte) [][]byte {
	attribute := func(oid string, value []byte) []byte {
		return tlv(tagSequence, tlv(tagOID, []byte(oid)), tlv(tagSet, value))
	}
	members := [][]byte{
		attribute(oidAttrContentType, tlv(tagOID, []byte(oidData))),
		attribute(oidAttrMessageDigest, tlv(tagOctets, digest)),
	}
	if !o.Time.IsZero() {
		at := o.Time.UTC()
		value := tlv(tagUTCTime, []byte(at.Format("060102150405Z")))
		if at.Year() < 1950 || at.Year() >= 2050 { // RFC 5652 §11.3
			value = tlv(tagGeneralTime, []byte(at.Format("20060102150405Z")))
		}
		members = append(members, attribute(oidAttrSigningTime, value))
	}
	slices.SortFunc(members, bytes.Compare)
	return members
}

// assemble writes ContentInfo around SignedData. The leaf comes first among the
// certificates, where some readers look for it.
func (o SignOptions) assemble(p signPlan, attributes, signature []byte) []byte {
	digestAlg := algorithmID(p.digest.oid, nil) // RFC 5754 §2: parameters absent
	signer := tlv(tagSequence,
		[]byte{tagInteger, 1, 1},
		p.id, digestAlg, attributes, p.signatureAlg,
		tlv(tagOctets, signature))
	var certificates []byte
	if !o.OmitCertificates {
		raw := slices.Clone(o.Certificate.Raw)
		for _, c := range o.Chain {
			raw = append(raw, c.Raw...)
		}
		certificates = tlv(tagExplicit0, raw)
	}
	data := tlv(tagSequence,
		[]byte{tagInteger, 1, 1},
		tlv(tagSet, digestAlg),
		tlv(tagSequence, tlv(tagOID, []byte(oidData))),
		certificates,
		tlv(tagSet, signer))
	return tlv(tagSequence, tlv(tagOID, []byte(oidSignedData)), tlv(tagExplicit0, data))
}
