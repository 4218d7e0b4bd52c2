package as4

import (
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"

	"github.com/beevik/etree"
)

// NewSignalID makes the MessageId of a signal of ours: it cannot be guessed and
// does not repeat. domain is its right side.
func NewSignalID(domain string) string { return strings.ToLower(rand.Text()) + "@" + domain }

// NewReceipt makes the receipt that a message is owed, under the MessageId id:
// with the ds:Reference elements of its verified signature, or, where those are
// none or P-Mode does not settle non-repudiation, with a copy of its
// eb:UserMessage (AS4 §5.1.8). It is nil if p settles that there is none, and
// has the P-Mode's URL if it is not to go into the response.
//
// It is signed as p.Receive.Receipt says, with the keys and algorithms of the
// same P-Mode, and covers eb:Messaging and the empty Body: never a part of the
// message that it is for. The error is a *fault.SettingError.
func NewReceipt(p PMode, id string, u *ebms.UserMessage, userMessage *etree.Element, references []*etree.Element, now time.Time) (*Answer, error) {
	asked := p.Receive.Receipt
	if asked.Mode == ReceiptNone || asked.Mode == "" {
		return nil, nil
	}
	info := ebms.MessageInfo{Timestamp: now, MessageID: id, RefToMessageID: u.MessageID}
	signal := ebms.NewReceptionReceipt(info, userMessage)
	if asked.NonRepudiation && len(references) > 0 {
		signal = ebms.NewReceipt(info, references)
	}
	a, err := p.answer(signal, asked.Signed, now)
	if err != nil {
		return nil, err
	}
	a.Signal = "receipt"
	if asked.Mode == ReceiptAsync {
		a.URL, a.Status = p.URL, 0
	}
	return a, nil
}

// NewError makes the signal that a message is refused with, under the MessageId
// id; refTo is the message's, empty if it cannot be told. It is signed whenever
// p signs (ebMS 3.0 Core §6.6): partners drop what is not. The zero PMode is a
// stranger's, who gets nothing signed.
//
// It goes into the response, with status 200: peers take any other for a fault
// of the transport and do not read on. The error is a *fault.SettingError.
func NewError(p PMode, id string, errs []ebms.Error, refTo string, now time.Time) (*Answer, error) {
	signal := &ebms.SignalMessage{
		MessageInfo: ebms.MessageInfo{Timestamp: now, MessageID: id, RefToMessageID: refTo},
		Errors:      errs,
	}
	a, err := p.answer(signal, p.Sign.Algorithm != "", now)
	if err != nil {
		return nil, err
	}
	a.Signal = errs[0].Code
	return a, nil
}

// NewFault makes a bare SOAP fault, with the status that its code has in HTTP
// (SOAP 1.2 part 2 §7.5.2.2). It is never signed: what it answers was no message.
func NewFault(f *ebms.Fault) *Answer {
	return &Answer{
		ContentType: f.ContentType(), Status: f.Status(), Body: ebms.Serialise(f.Envelope().Root), Signal: "env:" + string(f.Code),
	}
}

// answer wraps a signal of ours.
func (p PMode) answer(signal *ebms.SignalMessage, signed bool, now time.Time) (*Answer, error) {
	env := ebms.NewEnvelope(signal.Element())
	if signed {
		if err := checkSigning(p, now); err != nil {
			return nil, err
		}
		security := wssec.NewSecurity()
		env.Header.InsertChildAt(0, security)
		if _, err := sign(security, wssec.Covered{Elements: []*etree.Element{env.Messaging, env.Body}}, p.Sign); err != nil {
			return nil, err
		}
	}
	return &Answer{MessageID: signal.MessageID, ContentType: envelopeType, Status: http.StatusOK, Body: ebms.Serialise(env.Root)}, nil
}

// sign signs what is covered. What goes wrong there is our own side's fault.
func sign(security *etree.Element, c wssec.Covered, s wssec.Signing) ([]wssec.Reference, error) {
	references, err := wssec.Sign(security, c, s)
	if err != nil {
		return nil, badKey("as4.security.sign", "%v", err)
	}
	return references, nil
}
