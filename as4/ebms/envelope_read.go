package ebms

import (
	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// ParseEnvelope reads a document that xmltree has parsed. The envelope is never
// nil and holds what was read before the first error, which is a *Fault for what
// is no SOAP 1.2 message that we can process, or a *ProblemError for what is
// wrong in eb:Messaging. A response of a peer may have both: look at Fault and
// Signals first.
//
// Taken are: an eb:Messaging with one UserMessage and at most one signal of each
// kind, in any order; a Body with a SOAP fault, with or without eb:Messaging,
// also in SOAP 1.1. The Body of a signal is ignored.
func ParseEnvelope(doc *etree.Document) (*Envelope, error) {
	e := &Envelope{}
	if doc == nil || doc.Root() == nil {
		return e, &Fault{Code: Sender, Reason: "The document has no element."}
	}
	e.Root = doc.Root()
	switch {
	case xmltree.Is(e.Root, SOAP11, "Envelope"):
		return e, e.readSOAP11()
	case !xmltree.Is(e.Root, SOAP, "Envelope"):
		return e, &Fault{Code: VersionMismatch, Reason: "This is no SOAP 1.2 envelope: the outer element is " + name(e.Root) + " of namespace " + clean(xmltree.Space(e.Root), maxName) + "."}
	}
	if err := e.readStructure(); err != nil {
		return e, err
	}
	headers, err := e.readHeaders()
	if err != nil {
		return e, err
	}
	return e, e.readMessaging(headers)
}

// readSOAP11 takes a fault out of a SOAP 1.1 envelope, the one thing that we
// take in it: some servers answer so whatever they are asked.
func (e *Envelope) readSOAP11() error {
	for _, body := range xmltree.Children(e.Root, SOAP11, "Body") {
		for _, f := range xmltree.Children(body, SOAP11, "Fault") {
			e.Body, e.Fault = body, readFault(f)
			return nil
		}
	}
	return &Fault{Code: VersionMismatch, SOAP11: true, Reason: "SOAP 1.1 is not spoken here, only SOAP 1.2."}
}

// readStructure finds Header, Body and a fault (SOAP 1.2 part 1 §5.1).
func (e *Envelope) readStructure() error {
	for _, child := range e.Root.ChildElements() {
		switch {
		case xmltree.Is(child, SOAP, "Header") && e.Header == nil && e.Body == nil:
			e.Header = child
		case xmltree.Is(child, SOAP, "Body") && e.Body == nil:
			e.Body = child
		default:
			return &Fault{Code: Sender, Reason: "The Envelope holds a " + name(child) + " that must not stand there: it has one Header and then one Body."}
		}
	}
	switch {
	case e.Body == nil:
		return &Fault{Code: Sender, Reason: "The Envelope has no Body."}
	case stray(e.Root) != "":
		return &Fault{Code: Sender, Reason: "The Envelope holds text beside Header and Body."}
	}
	if list := e.Body.ChildElements(); len(list) == 1 && xmltree.Is(list[0], SOAP, "Fault") {
		e.Fault = readFault(list[0])
	}
	if e.Header == nil && e.Fault == nil {
		return &Fault{Code: Sender, Reason: "The Envelope has no Header."}
	}
	return nil
}

// readMessaging reads the eb:Messaging for us.
func (e *Envelope) readMessaging(headers []*etree.Element) error {
	switch {
	case len(headers) > 1:
		return &ProblemError{Code: invalidHeader, Detail: "There are several eb:Messaging headers, one is allowed."}
	case len(headers) == 0 && e.Fault != nil:
		return nil
	case len(headers) == 0:
		return &ProblemError{Code: invalidHeader, Detail: "There is no eb:Messaging header."}
	}
	e.Messaging = headers[0]
	whole := &reading{}
	users := 0
	for _, unit := range whole.within(e.Messaging).rest {
		r := &reading{}
		switch {
		case xmltree.Is(unit, EB, "UserMessage"):
			if users++; users == 1 {
				e.User, e.UserElement = r.userMessage(unit), unit
			}
		case xmltree.Is(unit, EB, "SignalMessage"):
			e.Signals = append(e.Signals, r.signalMessage(unit))
		case xmltree.Space(unit) == EB:
			r.fail(invalidHeader, "Messaging: %s must not stand there", name(unit))
		}
		if whole.problem == nil {
			whole.problem, whole.messageID = r.problem, r.messageID
		}
	}
	e.checkBundle(whole, users)
	if e.User != nil {
		e.checkBody(whole)
	}
	return whole.err()
}

// checkBundle holds Messaging to the rules of bundling (ebMS 3.0 Core §5.2.4).
func (e *Envelope) checkBundle(r *reading, users int) {
	pulls, receipts, errors := 0, 0, 0
	for _, s := range e.Signals {
		if s.PullRequest != nil {
			pulls++
		}
		if s.Receipt != nil {
			receipts++
		}
		if s.Errors != nil {
			errors++
		}
	}
	switch {
	case users > 1:
		r.messageID = "" // of which one?
		r.problem = nil
		r.fail(invalidHeader, "Messaging holds more than one UserMessage: %d", users)
	case users+len(e.Signals) == 0:
		r.fail(invalidHeader, "Messaging holds neither a UserMessage nor a SignalMessage")
	case pulls > 1 || receipts > 1 || errors > 1:
		r.fail(invalidHeader, "Messaging holds more than one signal of a kind")
	}
}

// checkBody: a UserMessage comes with an empty Body or one payload in it (AS4
// §2.1.2).
func (e *Envelope) checkBody(r *reading) {
	if r.problem != nil {
		return
	}
	r.messageID = e.User.MessageID
	switch n := len(e.Body.ChildElements()); {
	case n > 1:
		r.fail(invalidHeader, "The SOAP Body holds %d elements, one payload is allowed", n)
	case stray(e.Body) != "":
		r.fail(invalidHeader, "The SOAP Body holds text that is in no element")
	}
}

// Payload is the element in the Body; nil if there is none or it is a SOAP
// fault. It looks anew each time, for decryption may have put another one there.
func (e *Envelope) Payload() *etree.Element {
	if e.Body == nil || e.Fault != nil {
		return nil
	}
	if list := e.Body.ChildElements(); len(list) == 1 {
		return list[0]
	}
	return nil
}

// PullRequest is the signal that asks for a message; nil if there is none.
func (e *Envelope) PullRequest() *SignalMessage {
	return e.signal(func(s *SignalMessage) bool { return s.PullRequest != nil })
}

// Receipt is the signal that holds a receipt; nil if there is none.
func (e *Envelope) Receipt() *SignalMessage {
	return e.signal(func(s *SignalMessage) bool { return s.Receipt != nil })
}

// Errors is the signal that holds errors; nil if there is none.
func (e *Envelope) Errors() *SignalMessage {
	return e.signal(func(s *SignalMessage) bool { return s.Errors != nil })
}

func (e *Envelope) signal(is func(*SignalMessage) bool) *SignalMessage {
	for i := range e.Signals {
		if is(&e.Signals[i]) {
			return &e.Signals[i]
		}
	}
	return nil
}
