// Package sbdh wraps a business document into the Standard Business Document of
// UN/CEFACT as Peppol uses it (Business Message Envelope 2.0), reads its header,
// and takes the document out again.
//
// Documents stream: of one, only its beginning and its end are held. It does not
// check that a document is well-formed, nor what its header says is true.
package sbdh

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Namespace is that of the Standard Business Document Header.
const Namespace = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"

// Schemes of identifiers (Peppol Policy for use of identifiers 4.3).
const (
	SchemeParticipant = "iso6523-actorid-upis"
	SchemeDocument    = "busdox-docid-qns"
	SchemeProcess     = "cenbii-procid-ubl"
)

// Errors. Each is wrapped with what was found.
var (
	ErrDocument = errors.New("the document cannot stand in a Standard Business Document")
	ErrHeader   = errors.New("the Standard Business Document cannot be read")
)

// ID is an identifier with its scheme.
type ID struct{ Scheme, Value string }

// String is scheme::value, or the value alone.
func (i ID) String() string {
	if i.Scheme == "" {
		return i.Value
	}
	return i.Scheme + "::" + i.Value
}

// ParseID reads scheme::value; without a scheme it has the one given.
func ParseID(text, scheme string) ID {
	if before, after, ok := strings.Cut(text, "::"); ok && before != "" && !strings.ContainsAny(before, ":/# ") {
		return ID{before, after}
	}
	return ID{scheme, text}
}

// Header is a StandardBusinessDocumentHeader.
type Header struct {
	Sender, Receiver ID
	Document         ID     // the type of the document, scope DOCUMENTID
	Process          ID     // scope PROCESSID
	Country          string // of the sender, scope COUNTRY_C1; empty: none
	Standard         string // namespace of the document's root
	TypeVersion      string
	Type             string // name of the document's root
	Instance         string // unique for each document
	Created          time.Time
}

// DocumentType is the identifier of a document's type: its root element, the
// customization that it keeps to and the version of the standard.
func DocumentType(namespace, root, customization, version string) ID {
	return ID{SchemeDocument, namespace + "::" + root + "##" + customization + "::" + version}
}

// Missing names the first thing that a header must say and does not; empty if
// there is nothing.
func (h Header) Missing() string {
	for _, f := range []struct{ what, value string }{
		{"sender", h.Sender.Value}, {"receiver", h.Receiver.Value}, {"document type", h.Document.Value}, {"process", h.Process.Value},
		{"standard", h.Standard}, {"version of the type", h.TypeVersion}, {"type", h.Type}, {"instance identifier", h.Instance},
	} {
		if f.value == "" {
			return f.what
		}
	}
	return ""
}

// write is the header with the start tag of the document around it. It has a
// prefix: a document without a namespace must stay without one.
func (h Header) write() []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<sh:StandardBusinessDocument xmlns:sh="` + Namespace + `"><sh:StandardBusinessDocumentHeader><sh:HeaderVersion>1.0</sh:HeaderVersion>`)
	party := func(side string, id ID) {
		fmt.Fprintf(&b, `<sh:%s><sh:Identifier Authority="%s">%s</sh:Identifier></sh:%[1]s>`, side, escape(id.Scheme), escape(id.Value))
	}
	party("Sender", h.Sender)
	party("Receiver", h.Receiver)
	fmt.Fprintf(&b, `<sh:DocumentIdentification><sh:Standard>%s</sh:Standard><sh:TypeVersion>%s</sh:TypeVersion><sh:InstanceIdentifier>%s</sh:InstanceIdentifier><sh:Type>%s</sh:Type><sh:CreationDateAndTime>%s</sh:CreationDateAndTime></sh:DocumentIdentification><sh:BusinessScope>`,
		escape(h.Standard), escape(h.TypeVersion), escape(h.Instance), escape(h.Type), h.Created.UTC().Format(time.RFC3339))
	scope := func(kind string, id ID) {
		fmt.Fprintf(&b, `<sh:Scope><sh:Type>%s</sh:Type><sh:InstanceIdentifier>%s</sh:InstanceIdentifier>`, kind, escape(id.Value))
		if id.Scheme != "" {
			fmt.Fprintf(&b, `<sh:Identifier>%s</sh:Identifier>`, escape(id.Scheme))
		}
		b.WriteString(`</sh:Scope>`)
	}
	scope("DOCUMENTID", h.Document)
	scope("PROCESSID", h.Process)
	if h.Country != "" {
		scope("COUNTRY_C1", ID{Value: h.Country})
	}
	b.WriteString("</sh:BusinessScope></sh:StandardBusinessDocumentHeader>\n")
	return b.Bytes()
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}
