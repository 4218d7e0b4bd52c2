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
	// PSS signs with RSASSA-PSS (RFC 4056) instead of PKCS #1 v1.5; both of its
	// hashes are Hash, and the salt is as long. Keys of elliptic curves do not
	// look at it.
	PSS bool
	// AlgorithmProtection adds the attribute of RFC 6211; not with NoAttributes.
	// QUIRK(Sterling, DataPower): refuse attributes that they do not know.
	AlgorithmProtection bool
	// KeyID names the signer by subject key identifier instead of issuer and
	// serial number; for a certificate without one it is computed by method (1)
	// of RFC 5280 §4.2.1.2.
	KeyID bool
	Time  time.Time // signing time attribute; left out when zero
}

// SignDetached makes a detached SignedData (RFC 5652 §5) with definite lengths
// over content whose digest by o.Hash is given: PKCS #1 v1.5 or PSS for RSA
// keys, else ECDSA. An unknown hash or kind of key is ErrUnsupported; other
// errors are wrong options and those of the key. It blocks as long as the key does.
func SignDetached(digest []byte, o SignOptions) ([]byte, error) {
	return SignDetachedTogether(map[crypto.Hash][]byte{o.Hash: digest}, o)
}

// SignDetachedTogether is SignDetached by several signers, who stand in the
// message in the order given. Of the content there must be a digest for each
// hash that they use.
func SignDetachedTogether(digests map[crypto.Hash][]byte, signers ...SignOptions) ([]byte, error) {
	plans, err := planSigners(signers)
	if err != nil {
		return nil, err
	}
	var infos []byte
	for _, p := range plans {
		info, err := p.sign(digests[p.Hash])
		if err != nil {
			return nil, err
		}
		infos = append(infos, info...)
	}
	return assemble(plans, infos), nil
}

// SignedSize is how many bytes SignDetachedTogether gives: exactly when all keys
// are RSA, at most with ECDSA, whose signatures vary in length.
func SignedSize(signers ...SignOptions) (int, error) {
	plans, err := planSigners(signers)
	if err != nil {
		return 0, err
	}
	var infos []byte
	for _, p := range plans {
		var attributes []byte
		if !p.NoAttributes {
			attributes = tlv(tagExplicit0, p.attributes(make([]byte, p.Hash.Size()))...)
		}
		infos = append(infos, p.info(attributes, make([]byte, p.size))...)
	}
	return len(assemble(plans, infos)), nil
}

// signPlan is a signer with what follows from the options alone.
type signPlan struct {
	SignOptions
	version   byte // of SignerInfo
	id        []byte
	digestAlg []byte
	alg       []byte
	by        crypto.SignerOpts
	size      int // of the signature, at most
}

func planSigners(signers []SignOptions) ([]signPlan, error) {
	if len(signers) == 0 {
		return nil, errors.New("sign: no signer given")
	}
	plans := make([]signPlan, len(signers))
	for i, o := range signers {
		var err error
		if plans[i], err = o.plan(); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

func (o SignOptions) plan() (signPlan, error) {
	if o.Key == nil || o.Certificate == nil {
		return signPlan{}, errors.New("sign: key or certificate is missing")
	}
	if o.NoAttributes && o.AlgorithmProtection {
		return signPlan{}, errors.New("sign: algorithm protection is a signed attribute, and those are to be left out: choose one")
	}
	digest, ok := digestByHash(o.Hash)
	if !ok {
		return signPlan{}, unsupported("signing with hash %d", o.Hash)
	}
	// RFC 5754 §2: parameters absent
	p := signPlan{SignOptions: o, version: 1, digestAlg: algorithmID(digest.oid, nil), by: o.Hash}
	encode := encodeIdentity
	if o.KeyID {
		p.version, encode = 3, encodeKeyID // RFC 5652 §5.3
	}
	var err error
	if p.id, err = encode(o.Certificate); err != nil {
		return signPlan{}, fmt.Errorf("sign: %w", err)
	}
	var same bool
	switch pub := o.Certificate.PublicKey.(type) {
	case *rsa.PublicKey:
		same = pub.Equal(o.Key.Public())
		p.alg = algorithmID(oidRSA, derNull) // RFC 3370 §3.2
		if o.PSS {
			p.alg = algorithmID(oidRSAPSS, pssParams(digest))
			p.by = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: o.Hash}
		}
		p.size = pub.Size()
	case *ecdsa.PublicKey:
		same = pub.Equal(o.Key.Public())
		p.alg = algorithmID(digest.ecOID, nil) // RFC 5754 §3.3
		number := tlv(tagInteger, make([]byte, (pub.Curve.Params().N.BitLen()+7)/8+1))
		p.size = len(tlv(tagSequence, number, number))
	default:
		return signPlan{}, unsupported("signing with a %s key", o.Certificate.PublicKeyAlgorithm)
	}
	if !same {
		return signPlan{}, fmt.Errorf("sign: the key does not belong to the certificate, %s", CertificateID(o.Certificate))
	}
	return p, nil
}

// sign makes SignerInfo over content of this digest.
func (p signPlan) sign(digest []byte) ([]byte, error) {
	if len(digest) != p.Hash.Size() {
		return nil, fmt.Errorf("sign: digest of %d bytes, %s has %d", len(digest), HashName(p.Hash), p.Hash.Size())
	}
	sum := digest
	var attributes []byte
	if !p.NoAttributes {
		members := p.attributes(digest)
		sum = hashSet(p.Hash, members)
		attributes = tlv(tagExplicit0, members...) // RFC 5652 §5.3: IMPLICIT on the wire
	}
	signature, err := p.Key.Sign(rand.Reader, sum, p.by)
	if err != nil {
		return nil, fmt.Errorf("sign with the key of %s: %w", CertificateID(p.Certificate), err)
	}
	return p.info(attributes, signature), nil
}

// attributes are the members of SignedAttributes in DER order.
func (p signPlan) attributes(digest []byte) [][]byte {
	attribute := func(oid string, value []byte) []byte {
		return tlv(tagSequence, tlv(tagOID, []byte(oid)), tlv(tagSet, value))
	}
	members := [][]byte{
		attribute(oidAttrContentType, tlv(tagOID, []byte(oidData))),
		attribute(oidAttrMessageDigest, tlv(tagOctets, digest)),
	}
	if !p.Time.IsZero() {
		at := p.Time.UTC()
		value := tlv(tagUTCTime, []byte(at.Format("060102150405Z")))
		if at.Year() < 1950 || at.Year() >= 2050 { // RFC 5652 §11.3
			value = tlv(tagGeneralTime, []byte(at.Format("20060102150405Z")))
		}
		members = append(members, attribute(oidAttrSigningTime, value))
	}
	if p.AlgorithmProtection {
		signature := slices.Clone(p.alg)
		signature[0] = tagExplicit1 // RFC 6211 §2: [1] IMPLICIT
		members = append(members, attribute(oidAttrProtection, tlv(tagSequence, p.digestAlg, signature)))
	}
	slices.SortFunc(members, bytes.Compare)
	return members
}

// info writes SignerInfo (RFC 5652 §5.3).
func (p signPlan) info(attributes, signature []byte) []byte {
	return tlv(tagSequence,
		[]byte{tagInteger, 1, p.version},
		p.id, p.digestAlg, attributes, p.alg,
		tlv(tagOctets, signature))
}

// assemble writes ContentInfo around SignedData (RFC 5652 §5.1). The leaf comes
// first among the certificates, where some readers look for it.
func assemble(plans []signPlan, infos []byte) []byte {
	version := byte(1)
	var digests [][]byte
	var certificates []byte
	seen := map[string]bool{}
	for _, p := range plans {
		version = max(version, p.version)
		if !slices.ContainsFunc(digests, func(d []byte) bool { return bytes.Equal(d, p.digestAlg) }) {
			digests = append(digests, p.digestAlg)
		}
		if p.OmitCertificates {
			continue
		}
		for _, c := range append([]*x509.Certificate{p.Certificate}, p.Chain...) {
			if !seen[string(c.Raw)] {
				seen[string(c.Raw)] = true
				certificates = append(certificates, c.Raw...)
			}
		}
	}
	if certificates != nil {
		certificates = tlv(tagExplicit0, certificates)
	}
	slices.SortFunc(digests, bytes.Compare)
	data := tlv(tagSequence,
		[]byte{tagInteger, 1, version},
		tlv(tagSet, digests...),
		tlv(tagSequence, tlv(tagOID, []byte(oidData))),
		certificates,
		tlv(tagSet, infos))
	return tlv(tagSequence, tlv(tagOID, []byte(oidSignedData)), tlv(tagExplicit0, data))
}
