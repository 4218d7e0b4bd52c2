package smime

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
)

// KeyTransport is how a content key is encrypted to an RSA key (RFC 3370 §4.2.1,
// RFC 3560). The zero value is PKCS #1 v1.5, which every AS2 product reads.
type KeyTransport struct {
	OAEP bool
	Hash crypto.Hash // with OAEP; 0: SHA-1, as RFC 8017 has it
	MGF  crypto.Hash // hash of the mask generation; 0: as Hash
}

// Fits says in its error that an RSA key is too short to carry a key for a
// cipher. What else cannot be encrypted with is Encrypt's to tell.
func (t KeyTransport) Fits(c Cipher, pub *rsa.PublicKey) error {
	a, err := cipherByName(c)
	if err != nil {
		return nil //nolint:nilerr // not about the key
	}
	return t.room(a.keySize, pub)
}

func (t KeyTransport) room(keySize int, pub *rsa.PublicKey) error {
	overhead, name := 11, "PKCS #1 v1.5" // RFC 8017 §7.2.1
	if t.OAEP {
		o, err := t.oaep()
		if err != nil {
			return err
		}
		overhead, name = 2*o.Hash.Size()+2, "OAEP with "+o.Hash.String() // RFC 8017 §7.1.1
	}
	if pub.Size() < keySize+overhead {
		return fmt.Errorf("an RSA key of %d bits is too short for %s", pub.N.BitLen(), name)
	}
	return nil
}

// oaep is what the transport says, with its defaults.
func (t KeyTransport) oaep() (*rsa.OAEPOptions, error) {
	o := &rsa.OAEPOptions{Hash: t.Hash, MGFHash: t.MGF}
	if o.Hash == 0 {
		o.Hash = crypto.SHA1
	}
	if o.MGFHash == 0 {
		o.MGFHash = o.Hash
	}
	for _, h := range []crypto.Hash{o.Hash, o.MGFHash} {
		if _, ok := digestByHash(h); !ok {
			return nil, unsupported("key transport by RSAES-OAEP with %s", h)
		}
	}
	return o, nil
}

// encodeOAEP writes RSAES-OAEP-params (RFC 8017 A.2.1), the defaults by omission.
func encodeOAEP(o *rsa.OAEPOptions) []byte {
	var fields []byte
	if o.Hash != crypto.SHA1 {
		fields = append(fields, tlv(tagExplicit0, hashID(o.Hash))...)
	}
	if o.MGFHash != crypto.SHA1 {
		fields = append(fields, tlv(tagExplicit1, algorithmID(oidMGF1, hashID(o.MGFHash)))...)
	}
	return tlv(tagSequence, fields)
}

func hashID(h crypto.Hash) []byte {
	d, _ := digestByHash(h)
	return algorithmID(d.oid, derNull)
}

// readOAEP reads RSAES-OAEP-params. Parameters that are absent altogether are
// the defaults.
func readOAEP(params []byte) (*rsa.OAEPOptions, error) {
	hash := algorithm{oid: oidSHA1}
	mask := algorithm{oid: oidMGF1, params: algorithmID(oidSHA1, nil)}
	label := algorithm{oid: oidPSpecified, params: tlv(tagOctets)}
	c := newCursor(params)
	if len(params) > 0 {
		in := c.in(tagSequence)
		for i, field := range []*algorithm{&hash, &mask, &label} {
			if tag := byte(tagExplicit0 + i); in.peek() == tag {
				explicit := in.in(tag)
				*field = explicit.algorithm()
			}
		}
		if len(in.rest) > 0 {
			in.fail()
		}
	}
	inner := cursor{rest: mask.params, bad: c.bad}
	maskHash := inner.algorithm()
	if *c.bad {
		return nil, malformed("parameters of RSAES-OAEP cannot be read")
	}
	h, known := digestByOID(hash.oid)
	m, maskKnown := digestByOID(maskHash.oid)
	switch {
	case !known:
		return nil, unsupported("RSAES-OAEP with hash %s", oidText(hash.oid))
	case mask.oid != oidMGF1 || !maskKnown:
		return nil, unsupported("RSAES-OAEP with mask generation %s of %s", oidText(mask.oid), oidText(maskHash.oid))
	case label.oid != oidPSpecified || string(label.params) != string(tlv(tagOctets)):
		return nil, unsupported("RSAES-OAEP with a label")
	}
	return &rsa.OAEPOptions{Hash: h.hash, MGFHash: m.hash}, nil
}

// rsaAddressee writes KeyTransRecipientInfo (RFC 5652 §6.2.1).
type rsaAddressee struct {
	certificate *x509.Certificate
	pub         *rsa.PublicKey
	head        []byte // version, identifier and algorithm
	oaep        *rsa.OAEPOptions
}

func newRSAAddressee(c *x509.Certificate, pub *rsa.PublicKey, keySize int, o EncryptOptions) (*rsaAddressee, error) {
	a := &rsaAddressee{certificate: c, pub: pub}
	alg := algorithmID(oidRSA, derNull) // RFC 3370 §4.2.1: parameters must be NULL
	if o.Transport.OAEP {
		var err error
		if a.oaep, err = o.Transport.oaep(); err != nil {
			return nil, err
		}
		alg = algorithmID(oidRSAOAEP, encodeOAEP(a.oaep))
	}
	if err := o.Transport.room(keySize, pub); err != nil {
		return nil, unsupported("%v: the certificate is %s", err, CertificateID(c))
	}
	version, encode := byte(0), encodeIdentity
	if o.KeyID {
		version, encode = 2, encodeKeyID
	}
	id, err := encode(c)
	if err != nil {
		return nil, err
	}
	a.head = append([]byte{tagInteger, 1, version}, id...)
	a.head = append(a.head, alg...)
	return a, nil
}

func (a *rsaAddressee) info(key []byte) ([]byte, error) {
	var wrapped []byte
	var err error
	if a.oaep != nil {
		wrapped, err = rsa.EncryptOAEPWithOptions(rand.Reader, a.pub, key, a.oaep)
	} else {
		// The one transport that all AS2 products read (RFC 3370 §4.2.1); there is no oracle on this side.
		wrapped, err = rsa.EncryptPKCS1v15(rand.Reader, a.pub, key) //nolint:staticcheck // SA1019: see above
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt content key for %s: %w", CertificateID(a.certificate), err)
	}
	return a.encode(wrapped), nil
}

func (a *rsaAddressee) blank(int) []byte { return a.encode(make([]byte, a.pub.Size())) }

func (a *rsaAddressee) encode(wrapped []byte) []byte {
	return tlv(tagSequence, a.head, tlv(tagOctets, wrapped))
}

// transported reads how a content key was encrypted to an RSA key of ours.
func transported(info recipientInfo, r Recipient) (keyUnwrapper, error) {
	var oaep *rsa.OAEPOptions
	switch info.alg.oid {
	case oidRSA:
	case oidRSAOAEP:
		var err error
		if oaep, err = readOAEP(info.alg.params); err != nil {
			return nil, err
		}
	default:
		return nil, unsupported("key transport %s", refusedText(info.alg.oid))
	}
	if r.Key == nil {
		return nil, unsupported("key transport to the %s key of %s", r.Certificate.PublicKeyAlgorithm, CertificateID(r.Certificate))
	}
	return func(size int) ([]byte, error) {
		if oaep != nil {
			return r.Key.Decrypt(rand.Reader, info.key, oaep)
		}
		// SessionKeyLen, and the random key of contentKey, close the oracle of this transport.
		return r.Key.Decrypt(rand.Reader, info.key, &rsa.PKCS1v15DecryptOptions{SessionKeyLen: size}) //nolint:staticcheck // SA1019: see above
	}, nil
}
