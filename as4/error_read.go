package as4

import (
	"fmt"
	"slices"
	"strings"

	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/tame"
)

// maxTold is how many errors of one signal are put into words.
const maxTold = 3

// Codes that need no failure behind them to say something: there is nothing to
// pull, a fragment is known, or the answer takes another way.
var codesAlone = []string{codeEmpty, "EBMS:0046", "EBMS:0060"}

// failures are the errors that say that a message failed. A warning does not (ebMS
// 3.0 Core §6.2.6), whatever its code, unless it is all that there is to say; and
// beside a receipt an error about another message is not about ours.
func (v *signalVerifier) failures() (all []ebms.Error) {
	alone := v.env.Receipt() == nil
	for _, e := range v.Errors {
		switch {
		case e.Severity == ebms.Warning && !(alone && slices.Contains(codesAlone, code(e))):
		case !alone && !v.about(e):
		default:
			all = append(all, e)
		}
	}
	return all
}

func (v *signalVerifier) about(e ebms.Error) bool {
	ref := e.RefToMessageInError
	return ref == "" || len(v.fitting(ref)) > 0
}

// refused is a negative acknowledgement.
func (v *signalVerifier) refused(failures []ebms.Error) fault.Acknowledgement {
	v.Kind = KindError
	first := failures[0]
	if v.RefToMessageID == "" {
		v.RefToMessageID = clipID(first.RefToMessageInError)
	}
	ack := v.told()
	ack.EBMS = code(first)
	ack.Detail = tame.Clip(v.mark()+words(failures), maxWords)
	// An error need not say what it is about: then it is the exchange's.
	if ref := v.RefToMessageID; ref != "" && len(v.fitting(ref)) == 0 {
		ack.Verdict = fault.AckOtherMessage
		v.Problem = "The error is about another message: " + ref
		return ack
	}
	if v.Problem == "" && ack.EBMS == codeDecryption {
		// QUIRK(phase4): whatever is wrong with the security header.
		v.Problem = "Some products, phase4 among them, answer EBMS:0102 to any fault of signature or encryption"
	}
	return ack
}

// fault is a negative acknowledgement of an answer that is nothing but a SOAP
// fault.
func (v *signalVerifier) fault() fault.Acknowledgement {
	f := v.env.Fault
	ack := v.told()
	ack.EBMS = "env:" + string(f.Code)
	if f.Code == "" {
		ack.EBMS = "env:" + string(ebms.Receiver)
	}
	ack.Detail = tame.Clip(v.mark()+joined(f.Reason, f.Subcode, f.Detail), maxWords)
	return ack
}

// told is an acknowledgement whose words count, signed or not.
func (v *signalVerifier) told() fault.Acknowledgement {
	ack := v.acknowledgement(fault.AckTrusted)
	if !v.believed() {
		ack.Verdict, ack.Signer = fault.AckUnsigned, ""
		v.Problem = "The answer is not signed, so that anybody may have written it"
		if v.signature != nil {
			v.Problem = "The answer's signature is not good, so that anybody may have written it. " + v.signature.Error()
		}
	}
	return ack
}

// believed reports whether a refusal is signed by the partner, or need not be.
func (v *signalVerifier) believed() bool {
	return v.signature == nil && (v.Signed || !v.p.Receipt.Signed)
}

// mark begins the partner's words where nobody vouches that they are his.
func (v *signalVerifier) mark() string {
	if v.believed() {
		return ""
	}
	return "(unsigned) "
}

// nothing says what an answer is that has no acknowledgement in it.
func (v *signalVerifier) nothing(err error) string {
	switch {
	case len(v.Errors) > 0:
		return "The answer holds a warning and no receipt: " + tame.Clip(words(v.Errors), maxWords)
	case v.env.User != nil:
		return "The answer holds a message and no receipt"
	case err != nil:
		return "The answer is SOAP, but no acknowledgement: " + tame.Clip(tame.Line(err.Error()), maxWords)
	}
	return "The answer is SOAP, but no acknowledgement"
}

// code is the code of an error as the tables have it.
// QUIRK(several): lower case, or no prefix.
func code(e ebms.Error) string {
	c := strings.ToUpper(strings.TrimSpace(e.Code))
	if c != "" && strings.Trim(c, "0123456789") == "" {
		c = "EBMS:" + c
	}
	if c == "" {
		c = codeOther
	}
	return c
}

// words is what errors say, in the partner's words.
func words(list []ebms.Error) string {
	var all []string
	for i, e := range list {
		if i == maxTold {
			all = append(all, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		text := joined(e.ShortDescription, e.Description, e.Detail)
		if len(list) > 1 {
			text = code(e) + " " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// joined is texts with colons between them, in place of a full stop; one that
// another one holds is left out.
func joined(texts ...string) string {
	var all []string
	for _, t := range texts {
		t = tame.Line(t)
		if t == "" || strings.Contains(strings.Join(all, "\n"), t) {
			continue
		}
		if n := len(all); n > 0 {
			all[n-1] = strings.TrimSuffix(all[n-1], ".")
		}
		all = append(all, t)
	}
	return strings.Join(all, ": ")
}
