package as4

import (
	"errors"
	"net/http"
	"time"

	"edigw/as4/wssec"
	"edigw/internal/tame"
)

// maxClaimCertificate bounds what is kept of who is said to have signed.
const maxClaimCertificate = 16 << 10

// Claim is who is said to have made a signature that could not be verified: to
// show to people, trusted for nothing.
type Claim struct {
	Name        string `json:"name"`                  // "serial 4F:22 of CN=northwind", or how else the signature names its signer
	Certificate []byte `json:"certificate,omitempty"` // DER, out of the message itself; the value of the signature verifies with it. Empty: it carries none
}

// claims are who made a signature that is by nobody on file.
func claims(r *wssec.Report) []Claim {
	c := r.Stranger
	if c == nil {
		c = r.Signer // below an authority, and somebody else's
	}
	switch {
	case c != nil && len(c.Raw) <= maxClaimCertificate:
		return []Claim{{Name: certificateName(c), Certificate: c.Raw}}
	case r.Named != "":
		return []Claim{{Name: tame.Clip(tame.Line(r.Named), maxWords)}}
	}
	return nil
}

// ReceiptClaims tells who is said to have signed a receipt or an error, if that
// is nobody whom p knows. A certificate is given only if the value of the
// signature verifies with it.
func ReceiptClaims(header http.Header, body []byte, p PMode, now time.Time) []Claim {
	env, _ := readSignal(header, body)
	if env == nil {
		return nil
	}
	report, err := p.verify(env, p.bundled(env, header.Get("Content-Type"), body), now)
	if !errors.Is(err, wssec.ErrSigner) {
		return nil
	}
	return claims(report)
}
