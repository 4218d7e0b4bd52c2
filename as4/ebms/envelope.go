package ebms

import "github.com/beevik/etree"

// Envelope is a SOAP 1.2 envelope and what its eb:Messaging says (ebMS 3.0 Core
// §5.2.1). The elements are those of the tree that was parsed: what is signed
// must be they.
type Envelope struct {
	Root      *etree.Element
	Header    *etree.Element // nil: there is none, as in some faults
	Body      *etree.Element
	Messaging *etree.Element // the eb:Messaging for us; nil: there is none

	User        *UserMessage
	UserElement *etree.Element  // eb:UserMessage as it stands
	Signals     []SignalMessage // at most one of each kind (ebMS 3.0 Core §5.2.4)
	Fault       *Fault          // in the Body; nil: none
}
