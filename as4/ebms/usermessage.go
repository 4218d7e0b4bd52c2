package ebms

import "time"

// MessageInfo identifies a message unit (ebMS 3.0 Core §5.2.2.1).
type MessageInfo struct {
	Timestamp      time.Time `json:"timestamp"`                   // UTC; written with milliseconds
	MessageID      string    `json:"message_id"`                  // as it was written: bare, or (QUIRK(several)) in angle brackets
	RefToMessageID string    `json:"ref_to_message_id,omitempty"` // of the message unit that this one answers; empty: none
}

// UserMessage is business data's header (ebMS 3.0 Core §5.2.2). Values are
// without the white space around them.
type UserMessage struct {
	MessageInfo
	MPC            string        `json:"mpc,omitempty"` // @mpc as written; empty: none, which means DefaultMPC
	From           Party         `json:"from"`
	To             Party         `json:"to"`
	Agreement      *AgreementRef `json:"agreement,omitempty"` // nil: there is none, which is not the same as an empty one
	Service        Service       `json:"service"`
	Action         string        `json:"action"`
	ConversationID string        `json:"conversation_id"`      // may be empty
	Properties     []Property    `json:"properties,omitempty"` // in their order; nil: none
	Parts          []PartInfo    `json:"parts,omitempty"`      // in their order, the first one leads; nil: no payload
}

// Test reports whether u is for the test service: it is answered like any other
// message and never delivered (ebMS 3.0 Core App. D.2, test service).
func (u *UserMessage) Test() bool {
	return u.Service.Value == TestService && u.Action == TestAction
}

// Party is one side of an exchange (ebMS 3.0 Core §5.2.2.3, §5.2.2.4).
type Party struct {
	IDs  []PartyID `json:"ids"` // at least one; more are other names of the same party
	Role string    `json:"role"`
}

// PartyID names a party. Without a type the value is a URI (ebMS 3.0 Core
// §5.2.2.3).
type PartyID struct {
	Value string `json:"value"`
	Type  string `json:"type,omitempty"`
}

// AgreementRef names what the two parties settled (ebMS 3.0 Core §5.2.2.7).
type AgreementRef struct {
	Value string `json:"value"`
	Type  string `json:"type,omitempty"`
	PMode string `json:"pmode,omitempty"`
}

// Service names the service that acts on a message. Without a type the value is
// a URI (ebMS 3.0 Core §5.2.2.8).
type Service struct {
	Value string `json:"value"`
	Type  string `json:"type,omitempty"`
}

// Property is a property of a message or of a part. Type is not in the first
// edition of the schema; peers neither always send nor always take it.
type Property struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Value string `json:"value"`
}

// Lookup finds the properties of a name: the value of the first one, and how
// many there are.
func Lookup(list []Property, name string) (value string, n int) {
	for _, p := range list {
		if p.Name != name {
			continue
		}
		if n == 0 {
			value = p.Value
		}
		n++
	}
	return value, n
}

// PartInfo describes one payload (ebMS 3.0 Core §5.2.2.13).
type PartInfo struct {
	// Href says where the payload is: "cid:…" an attachment, "#…" an element of
	// the Body, empty the Body, anything else outside of the message.
	Href        string     `json:"href"`
	Schemas     []Schema   `json:"schemas,omitempty"`
	Description string     `json:"description,omitempty"`
	Properties  []Property `json:"properties,omitempty"`
}

// Schema names a schema that a payload follows.
type Schema struct {
	Location  string `json:"location"`
	Version   string `json:"version,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}
