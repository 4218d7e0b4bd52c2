package ebms

import (
	"errors"

	"github.com/beevik/etree"
)

// Faults of a receipt. None of them says that the message did not arrive.
var (
	// ErrReceipt says that a receipt cannot be read.
	ErrReceipt = errors.New("the receipt is malformed")
	// ErrContent says that a receipt is for other content than was sent.
	ErrContent = errors.New("the receipt is for other content")
)

// Receipt says that a UserMessage was taken (AS4 §3.4, §5.1.8). One that was
// received may hold anything: References and UserMessage judge.
type Receipt struct {
	Element *etree.Element // eb:Receipt as it stands
}

// Reference is a part of a message with its digest, as a signature or a receipt
// names it.
type Reference struct {
	URI          string `json:"uri"`           // "#id" or "cid:…", as written
	DigestMethod string `json:"digest_method"` // URI of the algorithm
	Value        []byte `json:"value"`
}

// NewReceipt is the receipt for a signed message: it holds a copy of each
// ds:Reference of the signature that was verified, as it stands (AS4 §5.1.8).
// info.RefToMessageID is the message's MessageId.
func NewReceipt(info MessageInfo, references []*etree.Element) *SignalMessage {
	e := newElement("Receipt")
	nri := e.CreateElement("ebbp:NonRepudiationInformation")
	nri.CreateAttr("xmlns:ebbp", EBBP)
	for _, r := range references {
		nri.CreateElement("ebbp:MessagePartNRInformation").AddChild(detach(r))
	}
	return &SignalMessage{MessageInfo: info, Receipt: &Receipt{Element: e}}
}

// NewReceptionReceipt is the receipt for a message that was not signed: it holds
// a copy of its eb:UserMessage (AS4 §5.1.8).
func NewReceptionReceipt(info MessageInfo, userMessage *etree.Element) *SignalMessage {
	e := newElement("Receipt")
	e.AddChild(detach(userMessage))
	return &SignalMessage{MessageInfo: info, Receipt: &Receipt{Element: e}}
}
