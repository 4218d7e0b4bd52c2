package as4

import (
	"errors"
	"fmt"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/scratch"
	"edigw/internal/xmltree"
)

// Codes of the errors that we send (ebMS 3.0 Core §6.7, AS4 §3.6).
const (
	codeValue       = "EBMS:0001" // ValueNotRecognized
	codeOther       = "EBMS:0004"
	codeEmpty       = "EBMS:0006" // EmptyMessagePartitionChannel
	codeMIME        = "EBMS:0007" // MimeInconsistency
	codeHeader      = "EBMS:0009" // InvalidHeader
	codePMode       = "EBMS:0010" // ProcessingModeMismatch
	codeExternal    = "EBMS:0011" // ExternalPayloadError
	codeSender      = "EBMS:0101" // FailedAuthentication
	codeDecryption  = "EBMS:0102" // FailedDecryption
	codePolicy      = "EBMS:0103" // PolicyNoncompliance
	codeCompression = "EBMS:0303" // DecompressionFailure
)

// refusal is why a message is not taken: what the partner is told, and what the
// operator reads.
type refusal struct {
	code    string      // of the ebMS error
	soap    *ebms.Fault // instead of it: what came is no SOAP message that we process
	told    string      // detail for the partner; empty: what the table of codes says is all
	problem string      // for the operator
}

// Error implements error.
func (r *refusal) Error() string { return r.problem }

// name is the code that goes back.
func (r *refusal) name() string {
	if r.soap != nil {
		return "env:" + string(r.soap.Code)
	}
	return r.code
}

// reason is why a letter exists.
func (r *refusal) reason() fault.Reason {
	switch r.code {
	case codeSender, codeDecryption, codePolicy:
		return fault.ReasonSignature
	case codeValue, codePMode:
		return fault.ReasonRejected
	}
	return fault.ReasonFormat
}

// answer is what the partner gets: signed if p signs, the zero PMode is a
// stranger's.
func (r *refusal) answer(h *Handler, p PMode, refTo string) (*Answer, error) {
	if r.soap != nil {
		return NewFault(r.soap), nil
	}
	now := h.o.Now()
	return NewError(p, NewSignalID(h.o.Domain), []ebms.Error{ebms.NewError(r.code, r.told, refTo)}, refTo, now)
}

// refuse makes a refusal whose reason the partner reads as well: it says nothing
// but what he sent and what we settled with him.
func refuse(code, why string, args ...any) error {
	text := fmt.Sprintf(why, args...)
	return &refusal{code: code, told: text, problem: text}
}

// refuseSilently makes one whose reason is for the operator alone.
func refuseSilently(code, told string, err error) error {
	return &refusal{code: code, told: told, problem: err.Error()}
}

// What the partner reads where the reason is not his to know. Of a message that
// could not be decrypted he learns nothing else, whatever was wrong; of one whose
// signature does not hold no digest, since it would be of what we decrypted for
// whoever sent it.
const (
	toldDecryption = "No key that is in force here opens the message, or its encrypted parts are not what was encrypted."
	toldSignature  = "The signature does not hold for this message."
	toldSigner     = "The signature is not by a certificate that we hold of you."
)

// securityFaults is the table from what is wrong with the security of a message to
// what goes back. Its order counts: an error may be of several kinds.
var securityFaults = []struct {
	kind error
	code string
	told string // empty: the reason itself
}{
	{wssec.ErrDecrypt, codeDecryption, toldDecryption},
	{wssec.ErrUnsigned, codePolicy, ""},
	{wssec.ErrSigner, codeSender, toldSigner},
	{wssec.ErrSignature, codeSender, toldSignature},
	{wssec.ErrPolicy, codePolicy, ""},
}

// refuseSecurity tells a fault of the security header; other is the code of what
// the table does not know. Faults of our own side stay what they are.
func refuseSecurity(err error, other string) error {
	if errors.Is(err, scratch.ErrDisk) || errors.Is(err, wssec.ErrSetting) {
		return err
	}
	for _, f := range securityFaults {
		if errors.Is(err, f.kind) {
			if f.told == "" {
				return refuse(f.code, "%v", err)
			}
			return refuseSilently(f.code, f.told, err)
		}
	}
	return refuse(other, "%v", err)
}

// refuseReading tells why a message could not be taken apart. What is neither of
// the message nor known stays what it is.
func refuseReading(err error) error {
	var soap *ebms.Fault
	var mismatch *MismatchError
	switch {
	case err == nil, refusalOf(err) != nil, errors.Is(err, scratch.ErrDisk):
		return err
	case problemOf(err) != nil:
		return refuse(problemOf(err).Code, "%s", problemOf(err).Detail)
	case errors.As(err, &soap):
		return &refusal{soap: soap, problem: soap.Error()}
	case errors.As(err, &mismatch):
		return refuse(mismatch.code(), "%s", mismatch.Error())
	case errors.Is(err, errMIME):
		return refuse(codeMIME, "%v", err)
	case errors.Is(err, errEnvelope), errors.Is(err, xmltree.ErrDTD), errors.Is(err, xmltree.ErrInstruction), errors.Is(err, xmltree.ErrLimit), errors.Is(err, xmltree.ErrSyntax):
		soap = &ebms.Fault{Code: ebms.Sender, Reason: err.Error()}
		return &refusal{soap: soap, problem: err.Error()}
	}
	return err
}

// problemOf is the fault of an ebMS header in an error; nil: there is none.
func problemOf(err error) *ebms.ProblemError {
	var problem *ebms.ProblemError
	if errors.As(err, &problem) {
		return problem
	}
	return nil
}

// refusalOf is the refusal in an error; nil: it is something else.
func refusalOf(err error) *refusal {
	var no *refusal
	if errors.As(err, &no) {
		return no
	}
	return nil
}

// MismatchError says that a message is from a known partner and is not what the
// P-Mode settles with him.
type MismatchError struct {
	Code      string // EBMS:0001 or EBMS:0010; empty: EBMS:0010
	Field     string // "Service", "AgreementRef"
	Got, Want string // as they are shown to people on both sides
}

func (e *MismatchError) code() string {
	if e.Code == "" {
		return codePMode
	}
	return e.Code
}

// Error names the field, what it says and what was settled.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s is %s; settled is %s", e.Field, orNone(e.Got), orNone(e.Want))
}

func orNone(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}
