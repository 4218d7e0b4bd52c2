package as4

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/tame"
	"edigw/internal/xmltree"
)

// Bounds on what is kept of a signal.
const (
	maxWords  = 1 << 10 // of the partner's own words
	maxDigest = 500     // of the digests that a receipt names
)

// VerifySignal judges a receipt, an ebMS error or a SOAP fault, by the bytes that
// arrived, against the builds of a message that were sent (of which it must fit
// one) and what was settled. SOAP is recognised by its content, whatever the
// Content-Type. The verdict is AckNone if there is no signal about a message at
// all; Signal.Problem may say what there is instead.
//
// A receipt is AckTrusted if it verifies as asked, signed or not. What an error
// or a fault says counts as a fact also where its signature is missing or bad:
// whoever cannot make out the sender has no P-Mode to sign by. The verdict is
// AckUnsigned then, where a signature was to be expected, and Detail says that
// anybody may have written it.
func VerifySignal(header http.Header, body []byte, sent []Rendition, p PMode, now time.Time) (fault.Acknowledgement, Signal) {
	env, err := readSignal(header, body)
	if errors.Is(err, errNoSignal) {
		return fault.Acknowledgement{}, Signal{}
	}
	v := &signalVerifier{env: env, p: p, sent: sent, now: now}
	if env == nil {
		return v.failed(err), v.Signal
	}
	v.describe()
	v.checkSignature(p.bundled(env, header.Get("Content-Type"), body))
	switch failures := v.failures(); {
	case len(failures) > 0 && env.Receipt() != nil:
		return v.failed(badSignal(fault.AckContradictory, "The answer holds a receipt and an error, %s", code(failures[0]))), v.Signal
	case len(failures) > 0:
		return v.refused(failures), v.Signal
	case env.Receipt() != nil:
		return v.receipt(err), v.Signal
	case env.Fault != nil:
		return v.fault(), v.Signal
	case err != nil && (env.Messaging != nil || env.Header != nil && errors.As(err, new(*ebms.Fault))):
		return v.failed(badSignal(fault.AckMalformed, "The answer cannot be read: %v", err)), v.Signal
	}
	v.Problem = v.nothing(err)
	return fault.Acknowledgement{}, v.Signal
}

// signalVerifier judges one signal.
type signalVerifier struct {
	Signal
	env  *ebms.Envelope
	p    PMode
	sent []Rendition
	now  time.Time

	signer    string // fingerprint of the certificate that verified, or that was found
	signature error  // why the signature is nothing worth; nil: it is good, or nobody looks at it
}

// describe takes out what the signal says of itself. Of a receipt and errors that
// came together it is the receipt.
func (v *signalVerifier) describe() {
	v.Fault = v.env.Fault
	if v.Fault != nil {
		v.Kind = KindFault
	}
	if s := v.env.Errors(); s != nil {
		v.is(KindError, s)
		v.Errors = s.Errors
	}
	if s := v.env.Receipt(); s != nil {
		v.is(KindReceipt, s)
	}
}

func (v *signalVerifier) is(kind SignalKind, s *ebms.SignalMessage) {
	v.Kind, v.MessageID, v.RefToMessageID = kind, clipID(s.MessageID), clipID(s.RefToMessageID)
}

// clipID bounds what a partner calls a message.
func clipID(id string) string { return tame.Clip(tame.Line(id), maxWords) }

// checkSignature verifies the signature, if there is one and anything to judge it
// by. A signature is good for nothing here that leaves eb:Messaging out.
// QUIRK(ICS2 national systems): the Body, which is empty, is not covered.
func (v *signalVerifier) checkSignature(parts []wssec.Part) {
	report, err := v.p.verify(v.env, parts, v.now)
	v.Report = reportLines(report)
	switch {
	case errors.Is(err, wssec.ErrUnsigned):
		return
	case !v.p.Receipt.Signed && len(v.p.Verify) == 0 && v.p.Authorities == nil:
		return // nobody asked for it, and nothing is on file to judge it by
	}
	v.Signed = true
	switch v.signer = Fingerprint(report.Signer); {
	case report.Stranger != nil:
		v.signer = Fingerprint(report.Stranger)
	case v.signer == "" && len(report.Claimed) > 0:
		v.signer = Fingerprint(report.Claimed[0])
	}
	if err == nil && v.env.Messaging != nil && !report.Covers(v.env.Messaging) {
		err = badSignal(fault.AckBadSignature, "The signature does not cover the eb:Messaging header")
	}
	v.signature = signatureVerdict(report, err)
}

// signatureVerdict tells what is wrong with a signature.
func signatureVerdict(r *wssec.Report, err error) error {
	var told *signalError
	switch {
	case err == nil, errors.As(err, &told):
		return err
	case errors.Is(err, wssec.ErrSigner):
		return badSignal(fault.AckWrongSigner, "%s", sentence(err))
	case errors.Is(err, wssec.ErrMalformed):
		return badSignal(fault.AckMalformed, "%s", sentence(err))
	}
	for _, f := range r.References {
		if f.Part != "" && f.Got == nil && f.Problem != "" {
			// QUIRK(phase4 before 0.9): signs its receipts with the list of parts
			// of the message that they are for.
			return badSignal(fault.AckMalformed, "The signature refers to an attachment that the answer does not have: %s %s", tame.Clip(tame.Line(f.URI), maxShown), f.Problem)
		}
		if f.Element != nil && f.Problem != "" {
			// QUIRK(Holodeck 4.1): changes the prefix of an attribute between
			// signing and sending.
			return badSignal(fault.AckBadSignature, "%s. The partner's product changed the header after it had signed it", sentence(err))
		}
	}
	return badSignal(fault.AckBadSignature, "%s", sentence(err))
}

// receipt judges a receipt, taking the steps in the order in which they can be
// trusted (AS4 §3.4, §5.1.8). parsed is what is wrong with its header.
func (v *signalVerifier) receipt(parsed error) fault.Acknowledgement {
	if list, err := v.env.Receipt().Receipt.References(); err == nil {
		v.References = list
	}
	ack := v.acknowledgement(fault.AckTrusted)
	ack.Positive = true
	ack.Digest = digests(v.References)
	var fail *signalError
	if errors.As(v.judge(parsed), &fail) {
		ack.Verdict, v.Problem = fail.verdict, fail.why
	}
	return ack
}

func (v *signalVerifier) judge(parsed error) error {
	// 1. If it is signed, then by the responder of this leg.
	if v.signature != nil {
		return v.signature
	}
	// 2. It says one thing.
	if parsed != nil {
		return badSignal(fault.AckMalformed, "The receipt cannot be read: %v", parsed)
	}
	// 3. It is about a message of ours.
	ours := v.fitting(v.RefToMessageID)
	if len(ours) == 0 {
		return badSignal(fault.AckOtherMessage, "The receipt is about another message: %s", orNone(v.RefToMessageID))
	}
	// 4. It is signed if that was asked.
	if v.p.Receipt.Signed && !v.Signed {
		return badSignal(fault.AckUnsigned, "A signed receipt was asked for, this one is not signed%s", v.elsewhere())
	}
	// 5. It is about the same content.
	return v.checkContent(ours)
}

// elsewhere says that there is a signature where it proves nothing.
// QUIRK(edelivery on npm): puts it beside wsse:Security.
func (v *signalVerifier) elsewhere() string {
	if len(xmltree.Children(v.env.Header, ebms.DS, "Signature")) > 0 {
		return ": its ds:Signature stands outside of the security header"
	}
	return ""
}

// checkContent compares the digests that the receipt names with those of our
// signature, or, where none were asked for, its copy of the header.
func (v *signalVerifier) checkContent(ours []Rendition) error {
	r := v.env.Receipt().Receipt
	signed := slices.ContainsFunc(ours, func(s Rendition) bool { return len(s.References) > 0 })
	switch {
	case !signed, !v.p.Receipt.NonRepudiation && !r.NonRepudiation():
		return v.checkCopy(r)
	case !r.NonRepudiation():
		return badSignal(fault.AckMICMismatch, "The receipt names no digest of what was received")
	}
	if _, err := r.References(); err != nil {
		return badSignal(fault.AckMalformed, "%s", sentence(err))
	}
	var differs error
	for _, s := range ours {
		err := ebms.Compare(s.References, v.References)
		if err == nil {
			return nil
		}
		if differs == nil {
			differs = err
		}
	}
	return badSignal(fault.AckMICMismatch, "%s", sentence(differs))
}

// checkCopy holds the copy of the eb:UserMessage, if there is one, to its id.
func (v *signalVerifier) checkCopy(r *ebms.Receipt) error {
	u := r.UserMessage()
	if u == nil {
		return nil
	}
	for _, info := range xmltree.Children(u, ebms.EB, "MessageInfo") {
		for _, id := range xmltree.Children(info, ebms.EB, "MessageId") {
			if text := strings.TrimSpace(xmltree.Text(id)); !ebms.SameMessageID(text, v.RefToMessageID) {
				return badSignal(fault.AckOtherMessage, "The receipt holds the header of another message: %s", orNone(clipID(text)))
			}
		}
	}
	return nil
}

// fitting are the builds with this MessageId.
func (v *signalVerifier) fitting(id string) (ours []Rendition) {
	for _, s := range v.sent {
		if ebms.SameMessageID(s.MessageID, id) {
			ours = append(ours, s)
		}
	}
	return ours
}

// acknowledgement begins one.
func (v *signalVerifier) acknowledgement(verdict fault.AckVerdict) fault.Acknowledgement {
	return fault.Acknowledgement{Verdict: verdict, Signer: v.signer, Ref: v.RefToMessageID}
}

// failed is the acknowledgement of a signal of which nothing can be taken.
func (v *signalVerifier) failed(err error) fault.Acknowledgement {
	ack := v.acknowledgement(fault.AckMalformed)
	var fail *signalError
	if errors.As(err, &fail) {
		ack.Verdict = fail.verdict
	}
	v.Problem = err.Error()
	return ack
}

// digests is what a receipt names, for people.
func digests(list []ebms.Reference) string {
	var all []string
	for _, r := range list {
		all = append(all, r.URI+" "+base64.StdEncoding.EncodeToString(r.Value))
	}
	return tame.Clip(tame.Line(strings.Join(all, ", ")), maxDigest)
}

// sentence begins with a capital.
func sentence(err error) string {
	text := err.Error()
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:]
}
