package as4

import (
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
)

// SignalProof is what the signature of a kept signal rests upon, for evidence.
type SignalProof struct {
	Envelope  []byte // the bytes of the SOAP envelope alone; nil: there is none
	Signed    bool
	Algorithm wssec.SignatureAlgorithm
	Elements  []string            // local names of the elements that the signature covers
	Parts     bool                // it covers parts, too, that came along
	Signer    *x509.Certificate   // with which it verifies; nil: with none
	Carried   []*x509.Certificate // in its tokens, believed for nothing
	Problem   error               // why it does not verify
	UserCopy  bool                // the receipt holds a copy of the header and no digests
}

// ProveSignal takes the signature of a kept signal apart, and verifies it under p
// at now.
func ProveSignal(header http.Header, body []byte, p PMode, now time.Time) (s SignalProof) {
	text, err := envelopeText(header, body)
	if err != nil {
		return s
	}
	s.Envelope = text
	env, _ := readSignal(header, body)
	if env == nil {
		return s
	}
	if receipt := env.Receipt(); receipt != nil {
		s.UserCopy = !receipt.Receipt.NonRepudiation()
	}
	report, err := p.verify(env, p.bundled(env, header.Get("Content-Type"), body), now)
	if errors.Is(err, wssec.ErrUnsigned) {
		return s
	}
	s.Signed, s.Algorithm, s.Carried, s.Problem = true, report.Algorithm, report.Claimed, err
	for _, r := range report.References {
		switch {
		case r.Part != "":
			s.Parts = true
		case r.Element != nil:
			s.Elements = append(s.Elements, r.Element.Tag)
		}
	}
	if err == nil && !report.Covers(env.Messaging) {
		s.Problem = errors.New("it does not cover the eb:Messaging header")
	}
	if s.Problem == nil {
		s.Signer = report.Signer
	}
	return s
}

// Acknowledged is a reference of a signature of ours, with the digest that a receipt
// names for it.
// Got is nil where it names none.
type Acknowledged struct {
	ebms.Reference
	Got []byte
}

// Acknowledged holds what was signed to what a receipt names, one by one; what the
// receipt names besides follows, with no Value.
func (r Rendition) Acknowledged(named []ebms.Reference) (all []Acknowledged) {
	taken := make([]bool, len(named))
	for _, sent := range r.References {
		a := Acknowledged{Reference: sent}
		for i, n := range named {
			if n.URI == sent.URI && !taken[i] {
				a.Got, taken[i] = n.Value, true
				break
			}
		}
		all = append(all, a)
	}
	for i, n := range named {
		if !taken[i] {
			all = append(all, Acknowledged{Reference: ebms.Reference{URI: n.URI, DigestMethod: n.DigestMethod}, Got: n.Value})
		}
	}
	return all
}
