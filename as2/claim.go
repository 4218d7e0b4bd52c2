package as2

import (
	"crypto"
	"crypto/x509"

	"edigw/as2/smime"
	"edigw/internal/tame"
)

// Bounds of what is kept of who is said to have signed.
const (
	maxClaims           = 2
	maxClaimCertificate = 16 << 10
)

// Claim is who is said to have made a signature that could not be verified: to
// show to people, trusted for nothing.
type Claim struct {
	Name        string `json:"name"`                  // "serial 4F:22 of CN=northwind", or a key identifier
	Certificate []byte `json:"certificate,omitempty"` // DER, out of the message itself; empty: it carries none
}

// claims are the strangers among the signers of a message.
func claims(v *smime.Verification) (all []Claim) {
	if v == nil {
		return nil
	}
	for _, s := range v.Signers {
		if s.Certificate != nil || len(all) == maxClaims {
			continue
		}
		c := Claim{Name: tame.Clip(tame.Line(s.ID.String()), maxWords)}
		if e := claimed(v.Embedded, s.Fingerprint); e != nil && len(e.Raw) <= maxClaimCertificate {
			c.Certificate = e.Raw
		}
		all = append(all, c)
	}
	return all
}

// claimed is the certificate in the message that a signature names.
func claimed(embedded []*x509.Certificate, fingerprint string) *x509.Certificate {
	for _, e := range embedded {
		if fingerprint != "" && smime.Fingerprint(e) == fingerprint {
			return e
		}
	}
	return nil
}

// ReceiptClaims tells who is said to have signed a receipt, beside the
// partner's certificates, which are pinned. A certificate is given only if the
// signature verifies with it.
func ReceiptClaims(r Receipt, pinned []*x509.Certificate) []Claim {
	m, _ := readMDN(r.Header, r.Body)
	if m.signature == nil {
		return nil
	}
	digest := func(h crypto.Hash) ([]byte, error) {
		sum := h.New()
		sum.Write(m.part)
		return sum.Sum(nil), nil
	}
	v, err := smime.VerifyDetached(m.signature, digest, pinned)
	if err == nil {
		return nil
	}
	all := claims(v)
	for i := range all {
		if e, err := x509.ParseCertificate(all[i].Certificate); err != nil || !fits(m.signature, digest, e) {
			all[i].Certificate = nil
		}
	}
	return all
}

func fits(signature []byte, digest func(crypto.Hash) ([]byte, error), c *x509.Certificate) bool {
	_, err := smime.VerifyDetached(signature, digest, []*x509.Certificate{c})
	return err == nil
}
