package inbox

import (
	"crypto/sha256"
	"encoding/hex"

	"edigw/as4"
	"edigw/as4/ebms"
)

// AS4 is what an AS4 message says besides what every message does (ebMS 3.0
// Core §5.2.2).
type AS4 struct {
	FromType       string      `json:"from_type,omitempty"` // types of the party ids
	ToType         string      `json:"to_type,omitempty"`
	FromRole       string      `json:"from_role,omitempty"`
	ToRole         string      `json:"to_role,omitempty"`
	Agreement      string      `json:"agreement,omitempty"`
	Service        string      `json:"service,omitempty"`
	ServiceType    string      `json:"service_type,omitempty"`
	Action         string      `json:"action,omitempty"`
	ConversationID string      `json:"conversation_id,omitempty"`
	RefToMessageID string      `json:"ref_to_message_id,omitempty"`
	MPC            string      `json:"mpc,omitempty"`
	Pulled         bool        `json:"pulled,omitempty"` // we fetched it
	Properties     []Reference `json:"properties,omitempty"`
	Wrapped        *Wrapped    `json:"standard_business_document,omitempty"` // that the document was taken out of
	Report         []string    `json:"report,omitempty"`                     // of a signature that did not hold: one line a reference
}

// test reports whether the message is to the test service (ebMS 3.0 Core
// §5.2.2): nothing of it is handed on.
func (a *AS4) test() bool {
	return a != nil && (&ebms.UserMessage{Service: ebms.Service{Value: a.Service}, Action: a.Action}).Test()
}

// emptySHA256 is the digest of no bytes.
var emptySHA256 = hexDigest(nil)

func hexDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// factsOfAS4 are those that the protocol found out.
func factsOfAS4(r as4.Received) Facts {
	u := r.User
	f := Facts{
		Partner: r.Partner, Protocol: "as4", MessageID: r.MessageID, From: partyOf(u.From), To: partyOf(u.To), Received: r.At.UTC(),
		Signed: r.Signed, Encrypted: r.Encrypted, Compressed: r.Compressed, Signer: r.Signer,
		Problem: r.Problem, Warning: r.Warning,
		AS4: &AS4{
			FromType: typeOfParty(u.From), ToType: typeOfParty(u.To), FromRole: u.From.Role, ToRole: u.To.Role,
			Service: u.Service.Value, ServiceType: u.Service.Type, Action: u.Action,
			ConversationID: u.ConversationID, RefToMessageID: u.RefToMessageID, MPC: u.MPC, Pulled: r.Pulled,
			Properties: references(u.Properties),
		},
	}
	if u.Agreement != nil {
		f.AS4.Agreement = u.Agreement.Value
	}
	if !r.Accepted {
		f.AS4.Report = r.Report
		f.Disposition = r.Code
	}
	if r.Answer != nil {
		f.Disposition = r.Answer.Signal
	}
	for _, p := range r.Payloads {
		f.Attachments = append(f.Attachments, Attachment{Name: p.FileName, ContentType: p.ContentType, Size: p.Size, SHA256: p.SHA256, Properties: references(p.Properties)})
	}
	return f
}

// document adds what the document as a whole is. One payload is the document
// itself and no attachment of it.
func (f *Facts) document(in incoming) {
	f.FileName, f.ContentType, f.Size, f.SHA256 = in.FileName, in.ContentType, in.Size, in.SHA256
	if len(f.Attachments) == 1 {
		f.AS4.Properties = append(f.AS4.Properties, f.Attachments[0].Properties...)
		f.Attachments = nil
	}
}

// partyOf is how a party is told: its first id.
func partyOf(p ebms.Party) string {
	if len(p.IDs) == 0 {
		return ""
	}
	return p.IDs[0].Value
}

func typeOfParty(p ebms.Party) string {
	if len(p.IDs) == 0 {
		return ""
	}
	return p.IDs[0].Type
}

func references(properties []ebms.Property) (out []Reference) {
	for _, p := range properties {
		out = append(out, Reference{Name: p.Name, Value: p.Value})
	}
	return out
}
