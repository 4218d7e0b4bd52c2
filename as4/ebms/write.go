package ebms

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"

	"github.com/beevik/etree"
)

// timestampFormat is xsd:dateTime in UTC with milliseconds.
const timestampFormat = "2006-01-02T15:04:05.000Z"

// Element is eb:UserMessage, in the order of the schema and without an empty
// MessageProperties, PayloadInfo or PartProperties, which the schema forbids.
// Check says what would be wrong with it.
func (u *UserMessage) Element() *etree.Element {
	e := newElement("UserMessage")
	attr(e, "mpc", u.MPC)
	u.MessageInfo.write(e)
	parties := e.CreateElement("eb:PartyInfo")
	u.From.write(parties.CreateElement("eb:From"))
	u.To.write(parties.CreateElement("eb:To"))
	about := e.CreateElement("eb:CollaborationInfo")
	if a := u.Agreement; a != nil {
		ref := leaf(about, "AgreementRef", a.Value)
		attr(ref, "type", a.Type)
		attr(ref, "pmode", a.PMode)
	}
	attr(leaf(about, "Service", u.Service.Value), "type", u.Service.Type)
	leaf(about, "Action", u.Action)
	leaf(about, "ConversationId", u.ConversationID) // required, and may be empty
	writeProperties(e, "MessageProperties", u.Properties)
	if len(u.Parts) > 0 {
		payload := e.CreateElement("eb:PayloadInfo")
		for _, p := range u.Parts {
			p.write(payload.CreateElement("eb:PartInfo"))
		}
	}
	return e
}

func (i MessageInfo) write(parent *etree.Element) {
	e := parent.CreateElement("eb:MessageInfo")
	leaf(e, "Timestamp", i.Timestamp.UTC().Format(timestampFormat))
	leaf(e, "MessageId", i.MessageID)
	if i.RefToMessageID != "" {
		leaf(e, "RefToMessageId", i.RefToMessageID)
	}
}

func (p Party) write(e *etree.Element) {
	for _, id := range p.IDs {
		attr(leaf(e, "PartyId", id.Value), "type", id.Type)
	}
	leaf(e, "Role", p.Role)
}

func (p PartInfo) write(e *etree.Element) {
	attr(e, "href", p.Href)
	for _, s := range p.Schemas {
		schema := e.CreateElement("eb:Schema")
		schema.CreateAttr("location", carried(s.Location)) // required
		attr(schema, "version", s.Version)
		attr(schema, "namespace", s.Namespace)
	}
	if p.Description != "" {
		leaf(e, "Description", p.Description).CreateAttr("xml:lang", "en")
	}
	writeProperties(e, "PartProperties", p.Properties)
}

func writeProperties(parent *etree.Element, tag string, list []Property) {
	if len(list) == 0 {
		return
	}
	e := parent.CreateElement("eb:" + tag)
	for _, p := range list {
		property := leaf(e, "Property", p.Value)
		property.CreateAttr("name", carried(p.Name)) // required
		attr(property, "type", p.Type)
	}
}

// Element is eb:SignalMessage. What of a receipt was received is copied, with
// the namespaces that it needs.
func (s *SignalMessage) Element() *etree.Element {
	e := newElement("SignalMessage")
	s.MessageInfo.write(e)
	switch {
	case s.PullRequest != nil:
		attr(e.CreateElement("eb:PullRequest"), "mpc", s.PullRequest.MPC)
	case s.Receipt != nil:
		receipt := detach(s.Receipt.Element)
		if uri, _ := declared(receipt, "eb"); uri == EB {
			receipt.RemoveAttr("xmlns:eb") // as around it
		}
		e.AddChild(receipt)
	default:
		for _, x := range s.Errors {
			x.write(e.CreateElement("eb:Error"))
		}
	}
	return e
}

func (x Error) write(e *etree.Element) {
	attr(e, "category", clean(x.Category, maxName))
	attr(e, "refToMessageInError", clean(x.RefToMessageInError, maxMessageID))
	e.CreateAttr("errorCode", clean(x.Code, maxName)) // required
	attr(e, "origin", clean(x.Origin, maxName))
	severity := Failure
	if x.Severity == Warning {
		severity = Warning
	}
	e.CreateAttr("severity", string(severity)) // required
	attr(e, "shortDescription", clean(x.ShortDescription, maxName))
	if text := clean(x.Description, maxText); text != "" {
		leaf(e, "Description", text).CreateAttr("xml:lang", "en")
	}
	if text := clean(x.Detail, maxText); text != "" {
		leaf(e, "ErrorDetail", text)
	}
}

// newElement is an element of the eb namespace that stands by itself.
func newElement(tag string) *etree.Element {
	e := etree.NewElement("eb:" + tag)
	e.CreateAttr("xmlns:eb", EB)
	return e
}

func leaf(parent *etree.Element, tag, text string) *etree.Element {
	e := parent.CreateElement("eb:" + tag)
	if text != "" {
		e.SetText(carried(text))
	}
	return e
}

// attr writes an attribute that may be left out.
func attr(e *etree.Element, key, value string) {
	if value != "" {
		e.CreateAttr(key, carried(value))
	}
}

// NewEnvelope is a SOAP 1.2 envelope with an empty Body whose eb:Messaging holds
// messages: eb:SignalMessage and eb:UserMessage elements that stand by
// themselves, which it takes over. Messaging and Body have a wsu:Id. User and
// Signals stay empty: they are for what was read.
func NewEnvelope(messages ...*etree.Element) *Envelope {
	root := etree.NewElement("env:Envelope")
	root.CreateAttr("xmlns:env", SOAP)
	e := &Envelope{Root: root, Header: root.CreateElement("env:Header"), Body: root.CreateElement("env:Body")}
	e.Body.CreateAttr("xmlns:wsu", WSU)
	e.Body.CreateAttr("wsu:Id", NewID())
	if len(messages) == 0 {
		return e
	}
	e.Messaging = e.Header.CreateElement("eb:Messaging")
	e.Messaging.CreateAttr("xmlns:eb", EB)
	e.Messaging.CreateAttr("xmlns:wsu", WSU)
	e.Messaging.CreateAttr("env:mustUnderstand", "true") // ebMS 3.0 Core §5.2.1
	e.Messaging.CreateAttr("wsu:Id", NewID())
	for _, signals := range []bool{true, false} { // signals first, as the schema has it
		for _, m := range messages {
			if (m.Tag == "SignalMessage") == signals {
				m.RemoveAttr("xmlns:eb")
				e.Messaging.AddChild(m)
			}
		}
	}
	return e
}

// NewID is a new value for a wsu:Id: an NCName, which begins with a letter (XML
// Schema part 2 §3.3.8).
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return "id-" + hex.EncodeToString(b[:])
}

// usualSize is that of an envelope with a signature and a few properties.
const usualSize = 8 << 10

// Serialise writes an XML declaration and the element, in UTF-8. The same tree
// always gives the same bytes, and whoever parses them gets the same tree:
// nothing is indented, and line breaks in values are escaped where a parser
// would change them.
func Serialise(root *etree.Element) []byte {
	var b bytes.Buffer
	b.Grow(usualSize)
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>`)
	root.WriteTo(&b, &etree.WriteSettings{CanonicalText: true, CanonicalAttrVal: true})
	return b.Bytes()
}
