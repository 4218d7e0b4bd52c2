package ebms

import (
	"net/http"
	"strconv"

	"github.com/beevik/etree"
)

// FaultCode is the code of a SOAP fault, without its prefix (SOAP 1.2 part 1
// §5.4.6). A peer may send others.
type FaultCode string

// Fault codes.
const (
	Sender          FaultCode = "Sender"
	Receiver        FaultCode = "Receiver"
	VersionMismatch FaultCode = "VersionMismatch"
	MustUnderstand  FaultCode = "MustUnderstand"
)

// QName is the name of an element with its namespace, which may be empty.
type QName struct{ Space, Local string }

// String is the name as James Clark writes it: "{namespace}local".
func (q QName) String() string {
	if q.Space == "" {
		return q.Local
	}
	return "{" + q.Space + "}" + q.Local
}

// Fault is a SOAP fault: one that we answer with, or one that a peer sent. As an
// error it says that a message is no SOAP message that can be processed here.
// Texts of a peer are bounded and free of control characters.
type Fault struct {
	Code          FaultCode // of a peer any code, or none; those of SOAP 1.1 are given their names of 1.2
	Subcode       string    // of a peer: its innermost one, without prefix
	Reason        string    // for people; we write English
	Detail        string    // of a peer: the text in its Detail, at most 4 KiB
	NotUnderstood []QName   // headers, with MustUnderstand: the first 10
	SOAP11        bool      // it was told, or must be told, in SOAP 1.1
}

// maxNotUnderstood bounds how many unknown headers are told.
const maxNotUnderstood = 10

// Error implements error.
func (f *Fault) Error() string {
	text := "SOAP fault"
	if f.Code != "" {
		text += " " + string(f.Code)
	}
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}

// Status is the HTTP status that goes with the fault (SOAP 1.2 part 2 §7.5.2.2).
func (f *Fault) Status() int {
	if f.Code == Sender && !f.SOAP11 {
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// ContentType is the media type of its envelope.
func (f *Fault) ContentType() string {
	if f.SOAP11 {
		return "text/xml; charset=UTF-8"
	}
	return "application/soap+xml; charset=UTF-8"
}

// Envelope is the message that tells the fault, with an eb:Messaging of the
// given elements, if any, as NewEnvelope has it. In SOAP 1.1 there is none.
func (f *Fault) Envelope(messages ...*etree.Element) *Envelope {
	if f.SOAP11 {
		return f.envelope11()
	}
	e := NewEnvelope(messages...)
	for i, q := range f.NotUnderstood { // SOAP 1.2 part 1 §5.4.8
		h := etree.NewElement("env:NotUnderstood")
		h.CreateAttr("qname", prefixed(h, q, i))
		e.Header.InsertChildAt(i, h)
	}
	if f.Code == VersionMismatch {
		upgrade(e.Header, SOAP)
	}
	fault := e.Body.CreateElement("env:Fault")
	fault.CreateElement("env:Code").CreateElement("env:Value").SetText("env:" + string(f.Code))
	text := fault.CreateElement("env:Reason").CreateElement("env:Text") // required, with its language
	text.CreateAttr("xml:lang", "en")
	text.SetText(clean(f.Reason, maxText))
	return e
}

// prefixed declares the namespace of a name on an element.
func prefixed(e *etree.Element, q QName, i int) string {
	if q.Space == "" {
		return carried(q.Local)
	}
	prefix := "n" + strconv.Itoa(i)
	e.CreateAttr("xmlns:"+prefix, carried(q.Space))
	return prefix + ":" + carried(q.Local)
}

// upgrade says which version we speak (SOAP 1.2 part 1 §5.4.7).
func upgrade(header *etree.Element, space string) {
	u := header.CreateElement("env:Upgrade")
	u.CreateAttr("xmlns:env", space)
	u.CreateElement("env:SupportedEnvelope").CreateAttr("qname", "env:Envelope")
}

// envelope11 is the fault for somebody who speaks SOAP 1.1 (SOAP 1.2 part 1
// App. A; SOAP 1.1 §4.4).
func (f *Fault) envelope11() *Envelope {
	root := etree.NewElement("S11:Envelope")
	root.CreateAttr("xmlns:S11", SOAP11)
	e := &Envelope{Root: root, Header: root.CreateElement("S11:Header"), Body: root.CreateElement("S11:Body")}
	if f.Code == VersionMismatch {
		upgrade(e.Header, SOAP)
	}
	code := f.Code
	for old, code12 := range codes11 {
		if code12 == code {
			code = old
		}
	}
	fault := e.Body.CreateElement("S11:Fault")
	fault.CreateElement("faultcode").SetText("S11:" + string(code))
	fault.CreateElement("faultstring").SetText(clean(f.Reason, maxText))
	return e
}

// codes11 are the codes of SOAP 1.1 that have another name in SOAP 1.2.
var codes11 = map[FaultCode]FaultCode{"Client": Sender, "Server": Receiver}
