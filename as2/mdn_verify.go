package as2

import (
	"crypto"
	"errors"
	"net/http"
	"strings"

	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/tame"
)

// VerifyMDN judges a receipt, by the bytes that arrived, against the builds of
// a message that were sent (of which it must fit one) and what was settled: who
// signs and whether a signed receipt was asked for. Only the machine-readable
// fields count. The verdict is AckNone, and nothing else set, if the content is
// no MDN at all; AckTrusted if it verifies as asked, signed or not.
//
// An unsigned MDN where none signed was asked for proves as little as the way
// by which it came; then Signer is empty. Validity periods are not looked at:
// a.Verify holds what may verify.
func VerifyMDN(header http.Header, body []byte, sent []Rendition, a Agreement) (fault.Acknowledgement, MDN) {
	r, err := readMDN(header, body)
	if errors.Is(err, errNoMDN) {
		return fault.Acknowledgement{}, MDN{}
	}
	signer, signature := r.verifySignature(a)
	ack := fault.Acknowledgement{
		Verdict:  fault.AckTrusted,
		Positive: r.positive(a),
		Mode:     r.Disposition.Mode,
		Type:     r.Disposition.Type,
		Modifier: r.Disposition.Modifier,
		Text:     r.Disposition.Text,
		Detail:   r.Text,
		Signer:   signer,
		Ref:      r.OriginalMessageID,
	}
	if r.MIC != (MIC{}) {
		ack.Digest = tame.Clip(tame.Line(r.MIC.String()), maxWords)
	}
	var fail *mdnError
	if errors.As(r.judge(err, signature, sent, a), &fail) {
		ack.Verdict, r.Problem = fail.verdict, fail.why
	}
	return ack, r.MDN
}

// judge takes the steps in the order in which they can be trusted: without its
// end there is no signature, without a signature no word of it counts.
func (r *mdnReader) judge(parsed, signature error, sent []Rendition, a Agreement) error {
	// 1. It came whole, and can be read far enough to find a signature.
	if parsed != nil && r.Signed && r.signature == nil {
		return parsed
	}
	// 2. If it is signed, then by the partner (RFC 4130 §7.3.1).
	if signature != nil {
		return signature
	}
	// 3. It says one thing.
	if parsed != nil {
		return parsed
	}
	// 4. It is about a message of ours.
	ours := fitting(sent, r.OriginalMessageID)
	if len(ours) == 0 {
		return badMDN(fault.AckOtherMessage, "The receipt is about another message: %s", r.OriginalMessageID)
	}
	// 5. It is signed if that was asked.
	if a.MDN.Signed && !r.Signed {
		return badMDN(fault.AckUnsigned, "A signed receipt was asked for, this one is not signed")
	}
	// 6. It is about the same content (RFC 4130 §7.4.3). A refusal need not say.
	if !r.positive(a) {
		return nil
	}
	return r.checkMIC(ours, a)
}

// positive reports whether the receipt says that the message was taken. One
// that calls it a duplicate and names no digest does not: the partner did not
// open it, and goes by the Message-ID. QUIRK(pyas2lib)
func (r *mdnReader) positive(a Agreement) bool {
	d := r.Disposition
	known := d.Modifier == "warning" && strings.EqualFold(d.Text, "duplicate-document")
	return d.Positive() && !(known && r.MIC == (MIC{}) && a.MDN.Signed)
}

// fitting are the builds with this Message-ID.
func fitting(sent []Rendition, id string) []Rendition {
	var out []Rendition
	for _, s := range sent {
		if SameMessageID(s.MessageID, id) {
			out = append(out, s)
		}
	}
	return out
}

// verifySignature returns who signed, or is said to have signed, as the
// fingerprint of his certificate, and an *mdnError if that cannot be believed.
func (r *mdnReader) verifySignature(a Agreement) (signer string, err error) {
	if r.signature == nil {
		return "", nil
	}
	if !a.MDN.Signed && len(a.Verify) == 0 {
		r.Signed = false // nobody asked for it, and nothing is on file to judge it by
		return "", nil
	}
	v, err := smime.VerifyDetached(r.signature, func(h crypto.Hash) ([]byte, error) {
		sum := h.New()
		sum.Write(r.part)
		return sum.Sum(nil), nil
	}, a.Verify)
	if err == nil {
		r.Digest = v.Hash
		return smime.Fingerprint(v.Signer), nil
	}
	if v != nil && len(v.Signers) > 0 {
		signer = v.Signers[0].Fingerprint
	}
	if errors.Is(err, smime.ErrSignerUnknown) {
		return signer, badMDN(fault.AckWrongSigner, "The receipt is not signed by a certificate of the partner on file: %v", err)
	}
	return signer, badMDN(fault.AckBadSignature, "The receipt's signature is not good: %v", err)
}

// checkMIC compares the digest that the receipt names with those of the builds.
func (r *mdnReader) checkMIC(ours []Rendition, a Agreement) error {
	if r.MIC == (MIC{}) {
		if !a.MDN.Signed {
			return nil // RFC 4130 §7.4.3 asks for it in signed receipts only
		}
		return badMDN(fault.AckMICMismatch, "The receipt names no digest of what was received")
	}
	if _, _, ok := r.MIC.digest(); !ok {
		return badMDN(fault.AckMICMismatch, "The receipt's digest does not fit its algorithm: %s", r.MIC)
	}
	for _, s := range ours {
		for _, m := range s.MICs {
			if m.Equal(r.MIC) {
				return nil
			}
		}
	}
	return badMDN(fault.AckMICMismatch, "The receipt is for other content: it names %s, sent was %s", r.MIC, ours[0].firstMIC())
}

// firstMIC is the digest that a receiver is expected to return.
func (r Rendition) firstMIC() string {
	if len(r.MICs) == 0 {
		return "none"
	}
	return r.MICs[0].String()
}
