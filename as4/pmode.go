// Package as4 speaks AS4 (OASIS AS4 1.0 on ebMS 3.0): it builds user messages
// and signals, sends them, verifies the receipt that comes back, and receives
// messages and signals, pushed or pulled.
//
// It knows no YAML, no SQL and no registry of partners. It takes a PMode and
// the time, reports facts as fault.Outcome and decides nothing: whether a
// message is sent again is not its business.
package as4

import (
	"crypto"
	"crypto/x509"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
)

// MEP is a message exchange pattern with its binding (ebMS 3.0 Core §2.2, AS4
// §2.1), as far as the side matters that sends a document.
type MEP string

// Message exchange patterns.
const (
	OneWayPush MEP = "one-way/push"
	OneWayPull MEP = "one-way/pull" // the receiver fetches it
	TwoWayPush MEP = "two-way/push-and-push"
)

// ReceiptMode says how a receipt comes back (PMode[1].Security.SendReceipt.ReplyPattern).
type ReceiptMode string

// Receipt modes.
const (
	ReceiptNone  ReceiptMode = "none"
	ReceiptSync  ReceiptMode = "sync"  // Response
	ReceiptAsync ReceiptMode = "async" // Callback
)

// ReceiptRequest is what we expect of the receiver.
type ReceiptRequest struct {
	Mode           ReceiptMode
	NonRepudiation bool // with the digests of what arrived (AS4 §5.1.8); else a copy of the header
	Signed         bool
}

// Receive is what we demand of messages that the partner sends us, and how we
// answer them.
type Receive struct {
	Signed     bool                       // refuse unsigned: EBMS:0103
	Encrypted  bool                       // refuse unencrypted attachments: EBMS:0103
	Digest     crypto.Hash                // weakest digest accepted in a signature; 0: SHA-256
	Algorithms []wssec.SignatureAlgorithm // accepted; empty: all that the package knows
	Receipt    ReceiptRequest             // as we answer; Mode async: posted to the PMode's URL
	Clients    []*x509.Certificate        // TLS client certificates, one of which must be shown; nil: none is asked for; empty: none will do
	// AnyCollaboration takes every Service, Action and AgreementRef from the
	// partner; else they must be those of the PMode or of Also.
	AnyCollaboration bool
	Also             []Collaboration
}

// Collaboration is what a message is about.
type Collaboration struct {
	Agreement *ebms.AgreementRef // nil: none
	Service   ebms.Service
	Action    string
}

// PMode is everything that two parties settled for AS4 (ebMS 3.0 Core App. D,
// AS4 §5.2.5), with the keys and certificates that are in force at the time of
// use. It is a snapshot: nobody changes one after it was made, and it may be
// shared.
type PMode struct {
	From, To ebms.Party // as we send; a message that we receive has them the other way round, its roles are recorded and not matched
	URL      string     // where messages, and receipts that we owe, go
	MEP      MEP
	MPC      string // empty: the default MPC
	Collaboration
	Conversation     string          // ConversationId; may hold {message}, the MessageId; may be empty
	Properties       []ebms.Property // of each message
	PartProperties   []ebms.Property // of each payload
	FileNameProperty string          // part property that carries the file name; empty: none does
	Compress         bool            // gzip each payload (AS4 §3.1)
	Body             bool            // the payload, which must be XML, stands in the SOAP Body

	Sign    wssec.Signing    // Algorithm empty: not signed
	Encrypt wssec.Encrypting // Cipher empty: not encrypted
	Receipt ReceiptRequest
	Receive Receive

	Verify         []*x509.Certificate // theirs: all that may have signed
	Lapsed         []*x509.Certificate // theirs to verify that are on file but not in force: only to say so
	Authorities    *x509.CertPool      // whose certificates may have signed as well; nil: only Verify
	SubjectIsParty bool                // with Authorities: the certificate's CN must be the PartyId (Peppol)
	Decrypt        []wssec.Opener      // ours: all that may open

	AuthUser     string // HTTP basic, pre-emptive; empty: none
	AuthPassword string
	PullUser     string // UsernameToken of a PullRequest (AS4 §3.3); empty: its signature is what counts
	PullPassword string

	ProductHeader string // User-Agent, "edigw/1.4"; empty: "edigw"
}
