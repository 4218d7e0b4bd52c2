package as2

import (
	"context"
	"io"
	"net/http"
	"time"

	"edigw/fault"
)

// Partners finds the agreement of an inbound message.
type Partners interface {
	// ByNames finds the partner that goes by from towards us as to, both
	// unquoted. It must be safe for concurrent use.
	ByNames(from, to string) (a Agreement, partner string, ok bool)
}

// Inbox keeps what partners send.
type Inbox interface {
	// Receive returns only when the message and r.Answer are durable: the
	// answer goes out after it. After an error the partner is told to try
	// again. It must be safe for concurrent use and may block as long as its
	// disk does.
	//
	// A duplicate has From, To and MessageID of a message that was accepted
	// before, and is accepted again or has the same WireSHA256 (the same bytes
	// need not verify twice: certificates change). Nothing is kept twice then,
	// and the Answer of that time is returned, nil if there was none. A message
	// that was refused before is no duplicate. An Answer with a URL is owed:
	// the inbox has it sent.
	Receive(ctx context.Context, r Received) (stored *Answer, duplicate bool, err error)
}

// Acks takes asynchronous MDNs.
type Acks interface {
	// Acknowledge returns only when a is durable or settled. Nothing in it is
	// verified yet. After an error the partner is told to try again.
	Acknowledge(ctx context.Context, a Ack) error
}

// Received is an inbound message and what is to be answered. Its readers are
// good until Receive returns.
type Received struct {
	Partner     string // as Partners named it; never empty
	From, To    string // AS2 names, unquoted; From is the partner
	MessageID   string // empty if it cannot be one: the message is refused then
	Subject     string
	At          time.Time
	Accepted    bool
	Disposition Disposition
	Reason      fault.Reason // why it is refused
	Problem     string       // the same in one sentence for the operator
	Warning     string       // what is odd about a message that is accepted all the same; empty: nothing

	// The document. Payload is nil if the message was refused.
	ContentType string
	FileName    string // safe to create; may be empty
	Size        int64
	SHA256      string // lower-case hex
	Payload     io.Reader
	Attachments []Attachment // of a multipart/related, which the document then is as a whole
	Root        io.Reader    // what its references stand in: the root part; nil: the document itself

	// What was found out on the way.
	Signed, Encrypted, Compressed bool
	Signer                        string  // fingerprint of the certificate that verified
	Claims                        []Claim // of a message that was refused because nobody on file signed it: who is said to have
	MIC                           MIC

	// The message as it arrived, for evidence.
	Header     http.Header // without credentials
	Wire       io.Reader
	WireSize   int64
	WireSHA256 string // lower-case hex
	Unread     bool   // the message was refused before its body was read: there is none

	// Answer is the MDN that the partner asked for; nil if he asked for none.
	Answer *Answer
}

// Ack is an MDN that came by itself, not believed yet.
type Ack struct {
	Token     string      // of the URL that it was posted to; empty: none
	MessageID string      // that it is about; empty if that cannot be read
	From, To  string      // AS2 names, unquoted; may be empty
	Header    http.Header // for VerifyMDN; without credentials
	Body      []byte      // for VerifyMDN; at most 1 MiB
}
