package as4

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/rawmime"
	"edigw/internal/xmltree"
)

// SignalKind says what a signal of the partner's is.
type SignalKind string

// Kinds of signals.
const (
	KindReceipt SignalKind = "receipt"
	KindError   SignalKind = "error"
	KindFault   SignalKind = "fault" // a bare SOAP fault
)

// Signal is what a partner's signal says. What he wrote is bounded and free of
// control characters.
type Signal struct {
	MessageID      string // its own; may be empty
	RefToMessageID string // of the message that it is about; may be empty
	Kind           SignalKind
	Errors         []ebms.Error
	Fault          *ebms.Fault      // nil: none
	References     []ebms.Reference // that a receipt names
	Signed         bool             // it carries a signature; the verdict says whether that is good
	Report         []string         // of the signature: one line a reference, what it says and what we got
	Problem        string           // one sentence when it is no receipt that can be believed
}

// signalError is a fault of a signal and the verdict that it means.
type signalError struct {
	verdict fault.AckVerdict
	why     string
}

// Error implements error.
func (e *signalError) Error() string { return e.why }

func badSignal(verdict fault.AckVerdict, why string, args ...any) error {
	return &signalError{verdict, fmt.Sprintf(why, args...)}
}

// errNoSignal: the content is something else than SOAP.
var errNoSignal = errors.New("not a SOAP envelope")

// An envelope is recognised by its first tag, and as whole by its last one: what
// a partner answers comes with any status and any Content-Type.
var (
	envelopeBegins = regexp.MustCompile(`(?s)^(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*<(?:[^\s<>:/]+:)?Envelope[\s/>]`)
	envelopeEnds   = regexp.MustCompile(`(?s)(?:</(?:[^\s<>:/]+:)?Envelope\s*>|/>)(?:\s|<!--.*?-->)*$`)
)

const byteOrderMark = "\ufeff"

// readSignal reads the envelope of an answer or of a signal that came by itself.
// The error is errNoSignal, a *signalError, or what is wrong with the header of
// an envelope that could be read otherwise.
// QUIRK(phase4, Oxalis): errors come as text/plain with status 400, and HTML or
// plain text in place of SOAP.
func readSignal(header http.Header, body []byte) (*ebms.Envelope, error) {
	text, err := envelopeText(header, body)
	if err != nil {
		return nil, err
	}
	doc, err := xmltree.Parse(text, xmltree.Limits{Bytes: maxSignal})
	switch {
	case err != nil && !envelopeEnds.Match(text):
		return nil, badSignal(fault.AckCutOff, "The answer began, but its end is missing")
	case err != nil:
		return nil, badSignal(fault.AckMalformed, "The answer cannot be read: %v", err)
	}
	return ebms.ParseEnvelope(doc)
}

// envelopeText finds the envelope: the whole body, or the root of a multipart.
func envelopeText(header http.Header, body []byte) ([]byte, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(body, []byte(byteOrderMark)), " \t\r\n")
	if bytes.HasPrefix(text, []byte("<")) {
		return text, isSignal(text)
	}
	f, ok := framingByContent(header.Get("Content-Type"), text)
	if !ok {
		return nil, errNoSignal
	}
	root, err := f.readEnvelope(bytes.NewReader(body), maxSignal)
	switch {
	case err != nil && !bytes.Contains(body, []byte("Envelope")):
		return nil, errNoSignal
	case err != nil && !bytes.Contains(body, []byte("--"+f.boundary+"--")):
		return nil, badSignal(fault.AckCutOff, "The answer began, but its end is missing")
	case err != nil:
		return nil, badSignal(fault.AckMalformed, "The answer cannot be read: %v", err)
	}
	root = bytes.TrimLeft(bytes.TrimPrefix(root, []byte(byteOrderMark)), " \t\r\n")
	return root, isSignal(root)
}

func isSignal(text []byte) error {
	if !envelopeBegins.Match(text) {
		return errNoSignal
	}
	return nil
}

// framingByContent is how a multipart lies in a body: as Content-Type says, or
// as its first line does where that says something else.
func framingByContent(contentType string, text []byte) (framing, bool) {
	if mediaType, params, err := rawmime.ParseMediaType(contentType); err == nil && mediaType == typeRelated && params["boundary"] != "" {
		return framing{boundary: params["boundary"], start: bareID(params["start"])}, true
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimRight(line, "\r \t")
	if boundary, ok := bytes.CutPrefix(line, []byte("--")); ok && len(boundary) > 0 {
		return framing{boundary: string(boundary)}, true
	}
	return framing{}, false
}
