// Package ebms reads and writes the SOAP envelope and the eb:Messaging header of
// ebMS 3.0 as AS4 uses them: user messages, pull requests, receipts and errors,
// and SOAP faults (ebMS 3.0 Core §5.2, §6; AS4 §3, §5.1.8).
//
// It holds a header to the schema and to the rules of the two standards, and
// says of whatever breaks one which error goes back. It believes nothing: no
// signature is checked here, no partner is known, no P-Mode matched. It works on
// trees that were parsed once; what a signature covers is these very elements.
package ebms

// Namespaces of an envelope.
const (
	SOAP   = "http://www.w3.org/2003/05/soap-envelope"
	SOAP11 = "http://schemas.xmlsoap.org/soap/envelope/" // only to say that we do not speak it
	EB     = "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/"
	EBBP   = "http://docs.oasis-open.org/ebxml-bp/ebbp-signals-2.0"
	WSSE   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	WSU    = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
	DS     = "http://www.w3.org/2000/09/xmldsig#"
)

// Values that the standards give names to (ebMS 3.0 Core §5.2.2, App. D; AS4
// §5.2.5).
const (
	DefaultMPC    = EB + "defaultMPC"
	RoleInitiator = EB + "initiator"
	RoleResponder = EB + "responder"

	DefaultService = "http://docs.oasis-open.org/ebxml-msg/as4/200902/service"
	DefaultAction  = "http://docs.oasis-open.org/ebxml-msg/as4/200902/action"
	TestService    = EB + "service" // with TestAction: answered, never delivered
	TestAction     = EB + "test"

	OneWay      = EB + "oneWay"
	TwoWay      = EB + "twoWay"
	Push        = EB + "push"
	Pull        = EB + "pull"
	PushAndPush = EB + "pushAndPush"
	PushAndPull = EB + "pushAndPull"
	PullAndPush = EB + "pullAndPush"
	Sync        = EB + "sync"
)

// Properties of a part that belong to the MSH, not to the business (AS4 §3.1,
// §5.1.1).
const (
	MimeType        = "MimeType"
	CharacterSet    = "CharacterSet"
	CompressionType = "CompressionType"
)

// Partition names the message partition channel that an mpc attribute means:
// without one it is the default (ebMS 3.0 Core §5.2.2.1).
func Partition(mpc string) string {
	if mpc == "" {
		return DefaultMPC
	}
	return mpc
}
