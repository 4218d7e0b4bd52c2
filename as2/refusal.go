package as2

import (
	"errors"
	"fmt"

	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/scratch"
)

// What follows "processed/error:" (RFC 4130 §7.5.4, RFC 5402 §5).
const (
	authenticationFailed = "authentication-failed"
	decryptionFailed     = "decryption-failed"
	decompressionFailed  = "decompression-failed"
	integrityFailed      = "integrity-check-failed"
	insufficientSecurity = "insufficient-message-security"
	unexpectedError      = "unexpected-processing-error"
	unknownRelationship  = "unknown-trading-relationship"
	invalidMessageID     = "invalid-message-id" // the successor of RFC 4130 has it
)

// What follows "failed/failure:" (RFC 4130 §7.5.3).
const (
	unsupportedFormat = "unsupported format"
	unsupportedMIC    = "unsupported MIC-algorithms"
)

// refusal is why a message is not taken: what the partner is told, and what the
// operator reads.
type refusal struct {
	disposition Disposition
	reason      fault.Reason
	problem     string
	told        string // what people at the partner read; empty: as refusalTexts has it
}

// Error implements error.
func (r *refusal) Error() string { return r.problem }

// refuse makes the refusal "processed/error: text".
func refuse(text, why string, args ...any) error {
	return &refusal{
		disposition: Disposition{Mode: autoMode, Type: "processed", Modifier: "error", Text: text},
		reason:      refusalReason(text),
		problem:     fmt.Sprintf(why, args...),
	}
}

// cannotAnswer makes the refusal "failed/failure: text": no receipt of the kind
// that is required can be made.
func cannotAnswer(text, why string, args ...any) error {
	return &refusal{
		disposition: Disposition{Mode: autoMode, Type: "failed", Modifier: "failure", Text: text},
		reason:      fault.ReasonFormat,
		problem:     fmt.Sprintf(why, args...),
	}
}

func refusalReason(text string) fault.Reason {
	switch text {
	case authenticationFailed, decryptionFailed, integrityFailed, insufficientSecurity:
		return fault.ReasonSignature
	}
	return fault.ReasonFormat
}

// faultTexts is the table from what is wrong with a layer to what the partner
// is told.
var faultTexts = []struct {
	kind error
	text string
}{
	{smime.ErrNotRecipient, decryptionFailed},
	{smime.ErrDecrypt, decryptionFailed},
	{smime.ErrNoSigner, authenticationFailed},
	{smime.ErrSignerUnknown, authenticationFailed},
	{smime.ErrSignature, authenticationFailed},
	{smime.ErrDigest, integrityFailed},
	{smime.ErrEmbeddedContent, integrityFailed},
	{smime.ErrDecompress, decompressionFailed},
}

// refuseLayer tells a fault in a layer; other is said of what the table does
// not know. A fault of our own disk stays what it is.
func refuseLayer(err error, other string) error {
	if errors.Is(err, scratch.ErrDisk) {
		return err
	}
	for _, f := range faultTexts {
		if errors.Is(err, f.kind) {
			return refuse(f.text, "%v", err)
		}
	}
	return refuse(other, "%v", err)
}

// receiptNotAgreed is told to who wants the receipt where we do not send one.
const receiptNotAgreed = "The receipt is asked for at an address that we have not agreed on. Please tell us that address first, or ask for the receipt in the response."

// refusalTexts says the dispositions in words, for the part of the MDN that
// people read. Nothing of the inside of this gateway is told there.
var refusalTexts = map[string]string{
	authenticationFailed: "The sender could not be authenticated: the signature is not by a certificate that we hold of you.",
	decryptionFailed:     "The message could not be decrypted with any key of ours, or what is in it is not a whole message, signed as agreed.",
	decompressionFailed:  "The message could not be decompressed.",
	integrityFailed:      "The content is not what was signed.",
	insufficientSecurity: "The message is not signed or encrypted as agreed.",
	unexpectedError:      "The message could not be processed.",
	unknownRelationship:  "There is no agreement here between the two AS2 names of this message.",
	invalidMessageID:     "The Message-ID is missing, or holds blanks or control characters.",
	unsupportedFormat:    "A receipt of the kind that was required cannot be made here.",
	unsupportedMIC:       "None of the MIC algorithms that were required is supported here.",
}
