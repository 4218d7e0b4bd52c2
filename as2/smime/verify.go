package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// SignerReport is what became of one signature.
type SignerReport struct {
	ID                            // of Certificate, else as the message has it
	Fingerprint string            // of Certificate, else of the embedded certificate that it names; or ""
	Hash        crypto.Hash       // 0 when unsupported
	Certificate *x509.Certificate // the pinned one that it names; nil for a stranger
	Err         error             // nil when it verifies
}

// Verification is what a signature proves. On failure it comes beside the error
// with Embedded and Signers only, to show who signed instead.
type Verification struct {
	Signer      *x509.Certificate   // the pinned certificate that verified
	Hash        crypto.Hash         // digest algorithm of the signature; the MIC follows it
	Digest      []byte              // of the content, by Hash
	SigningTime time.Time           // as the signer claims; zero when not stated
	Embedded    []*x509.Certificate // from the message, the first 64: for display, trusted for nothing
	Signers     []SignerReport      // in the order of the message
}

// VerifyDetached checks a detached SignedData, BER or DER, of at most 1 MiB.
// digest gives the content's digest by a hash: it is called at most once for
// each hash that a pinned signer used; its errors are kept in the chain of ours.
//
// The signer is found among pinned by issuer and serial number or key
// identifier, and verified with that copy only. One valid signature of a pinned
// certificate suffices; Verification.Signers reports the others.
//
// Errors: ErrNoSigner, ErrSignerUnknown, ErrSignature, ErrDigest,
// ErrEmbeddedContent, ErrUnsupported, ErrMalformed, ErrNesting, ErrLimit.
// Bytes behind the message are not looked at. Validity periods are the
// caller's to check.
func VerifyDetached(sig []byte, digest func(crypto.Hash) ([]byte, error), pinned []*x509.Certificate) (*Verification, error) {
	sd, err := parseDetached(sig)
	if err != nil {
		return nil, err
	}
	return sd.verify(digest, pinned)
}

// verify looks for a valid signature of a pinned certificate.
func (sd *signedData) verify(digest func(crypto.Hash) ([]byte, error), pinned []*x509.Certificate) (*Verification, error) {
	v := &Verification{Embedded: sd.certificates}
	if len(sd.signers) == 0 {
		return v, ErrNoSigner
	}
	digests := map[crypto.Hash][]byte{}
	content := func(h crypto.Hash) ([]byte, error) {
		if sum, ok := digests[h]; ok {
			return sum, nil
		}
		sum, err := digest(h)
		if err == nil {
			digests[h] = sum
		}
		return sum, err
	}
	var failure error
	var strangers []ID
	for _, s := range sd.signers {
		r := sd.report(s, content, pinned)
		v.Signers = append(v.Signers, r)
		switch {
		case r.Err == nil && v.Signer == nil:
			v.Signer, v.Hash, v.Digest, v.SigningTime = r.Certificate, r.Hash, digests[r.Hash], s.signingTime
		case r.Certificate == nil:
			strangers = append(strangers, r.ID)
		case r.Err != nil && failure == nil:
			failure = fmt.Errorf("signature by %s: %w", r.ID, r.Err)
		}
	}
	switch {
	case v.Signer != nil:
		return v, nil
	case failure != nil:
		return v, failure
	}
	return v, fmt.Errorf("%w: signed by %s", ErrSignerUnknown, listIDs(strangers))
}

// report checks one signer with every pinned certificate that it names.
func (sd *signedData) report(s *signerInfo, content func(crypto.Hash) ([]byte, error), pinned []*x509.Certificate) SignerReport {
	r := SignerReport{ID: s.id.text(), Hash: s.digest.hash, Err: ErrSignerUnknown}
	for _, c := range sd.certificates {
		if s.id.names(c) {
			r.Fingerprint = Fingerprint(c)
		}
	}
	for _, c := range pinned {
		if !s.id.names(c) {
			continue
		}
		err := sd.check(s, c, content)
		if r.Certificate == nil || err == nil || errors.Is(err, ErrDigest) {
			r.ID, r.Certificate, r.Fingerprint, r.Err = CertificateID(c), c, Fingerprint(c), err
		}
		if err == nil {
			break
		}
	}
	return r
}

// check is RFC 5652 §5.6 with one certificate.
func (sd *signedData) check(s *signerInfo, c *x509.Certificate, content func(crypto.Hash) ([]byte, error)) error {
	if s.err != nil {
		return s.err
	}
	if !s.signed {
		// RFC 5652 §5.3: attributes may be absent for plain data only.
		if sd.contentType != oidData {
			return malformed("content type %s is signed without attributes", oidText(sd.contentType))
		}
		sum, err := content(s.digest.hash)
		if err != nil {
			return err
		}
		return s.verifySum(c.PublicKey, sum)
	}
	err := s.verifySum(c.PublicKey, s.attributesSum())
	if errors.Is(err, ErrSignature) {
		if sum, other := s.attributesSumAsSent(); other {
			err = s.verifySum(c.PublicKey, sum)
		}
	}
	if err != nil {
		return err
	}
	if err := s.checkProtection(); err != nil {
		return err
	}
	if s.contentType != sd.contentType { // RFC 5652 §11.1
		return fmt.Errorf("%w: content type differs", ErrDigest)
	}
	sum, err := content(s.digest.hash)
	if err != nil {
		return err
	}
	if len(sum) != s.digest.hash.Size() || !bytes.Equal(sum, s.messageDigest) { // RFC 5652 §5.6, §11.2
		return ErrDigest
	}
	return nil
}

// verifySum checks the signature over a digest of the declared algorithm.
func (s *signerInfo) verifySum(key crypto.PublicKey, sum []byte) error {
	h := s.digest.hash
	if len(sum) != h.Size() {
		return ErrDigest
	}
	good := false
	switch pub := key.(type) {
	case *rsa.PublicKey:
		switch s.alg.oid {
		case oidRSA, s.digest.rsaOID: // RFC 5754 §3.2 wants both accepted
			good = rsa.VerifyPKCS1v15(pub, h, sum, s.signature) == nil
		case oidRSAPSS:
			options, err := s.pss()
			if err != nil {
				return err
			}
			good = rsa.VerifyPSS(pub, h, sum, s.signature, options) == nil
		default:
			return s.unsupported("an RSA")
		}
	case *ecdsa.PublicKey:
		switch s.alg.oid {
		case s.digest.ecOID, oidECPublicKey: // QUIRK(several): the key's identifier in place of the signature's
			good = ecdsa.VerifyASN1(pub, sum, s.signature)
		default:
			return s.unsupported("an ECDSA")
		}
	default:
		return unsupported("verifying with a key of type %T", key)
	}
	if !good {
		return ErrSignature
	}
	return nil
}

func (s *signerInfo) unsupported(key string) error {
	return unsupported("signature algorithm %s with %s and %s key", oidText(s.alg.oid), s.digest.name, key)
}
