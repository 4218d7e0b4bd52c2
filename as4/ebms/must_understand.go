package ebms

import (
	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// roles are those in which we act: the ones that SOAP gives to whom a message
// ends with (SOAP 1.2 part 1 §2.2), and those of an MSH (ebMS 3.0 Core §7.10,
// ebMS 3.0 Part 2 §2.4.3). A header without a role is for the last of the first.
var roles = map[string]bool{
	"":                              true,
	SOAP + "/role/next":             true,
	SOAP + "/role/ultimateReceiver": true,
	"ebms":                          true,
	nextMSH:                         true,
}

const nextMSH = "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/part2/200811/nextmsh"

// readHeaders gives the eb:Messaging headers that are for us. A header for us
// that must be understood and is neither one nor wsse:Security ends it: nothing
// of the message may be processed then (SOAP 1.2 part 1 §2.6).
func (e *Envelope) readHeaders() (messaging []*etree.Element, err error) {
	if e.Header == nil {
		return nil, nil
	}
	var unknown []QName
	for _, h := range e.Header.ChildElements() {
		must, ok := mustUnderstand(h)
		if !ok {
			return nil, &Fault{Code: Sender, Reason: "mustUnderstand of header " + name(h) + " is neither true nor false."}
		}
		if role, _ := xmltree.Attr(h, SOAP, "role"); !roles[trim(role)] {
			continue
		}
		switch {
		case xmltree.Is(h, EB, "Messaging"):
			messaging = append(messaging, h)
		case xmltree.Is(h, WSSE, "Security"):
		case must:
			if len(unknown) < maxNotUnderstood {
				unknown = append(unknown, QName{Space: clean(xmltree.Space(h), maxName), Local: name(h)})
			}
		}
	}
	if len(unknown) > 0 {
		return nil, &Fault{Code: MustUnderstand, Reason: "The message has a header that must be understood and is not known here: " + unknown[0].String() + ".", NotUnderstood: unknown}
	}
	return messaging, nil
}

// mustUnderstand reads the attribute, an xsd:boolean (SOAP 1.2 part 1 §5.2.3).
func mustUnderstand(h *etree.Element) (must, ok bool) {
	v, found := xmltree.Attr(h, SOAP, "mustUnderstand")
	switch trim(v) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, !found
}
