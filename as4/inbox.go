package as4

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"edigw/as4/ebms"
	"edigw/fault"
)

// Errors that those who serve a Handler give back.
var (
	// ErrReused says that the MessageId was used before for other content.
	ErrReused = errors.New("the MessageId was used before for other content")
	// ErrEmpty says that nothing waits in a message partition channel.
	ErrEmpty = errors.New("nothing waits in this MPC")
	// ErrNoPMode says that no partner is known by the parties of a message.
	ErrNoPMode = errors.New("there is no P-Mode for this message")
)

// Partners finds the P-Mode of an inbound message. It must be safe for
// concurrent use.
type Partners interface {
	// ByMessage finds the partner by the party ids of u. The error is
	// ErrNoPMode, or a *MismatchError when the partner is known and the rest
	// does not fit: PMode and partner are good then.
	ByMessage(u *ebms.UserMessage) (p PMode, partner string, err error)
	// ByMPC gives the partners that may pull from mpc, in the order of their
	// ids; at most 50.
	ByMPC(mpc string) []Puller
}

// Puller is a partner that may pull.
type Puller struct {
	Partner string
	PMode   PMode
}

// Inbox keeps what partners send.
type Inbox interface {
	// Receive returns only when the message and r.Answer are durable: the
	// answer goes out after it. After an error other than ErrReused the partner
	// is told to try again. It must be safe for concurrent use and may block as
	// long as its disk does.
	//
	// A duplicate has the partner, our party and MessageID of a message that was
	// accepted before, and the same content. Nothing is kept twice then, and the
	// Answer of that time is returned (AS4 §3.2), nil if there was none. A
	// message that was refused before is no duplicate. With other content it is
	// ErrReused. An Answer with a URL is owed: the inbox has it sent.
	Receive(ctx context.Context, r Received) (stored *Answer, duplicate bool, err error)
}

// Acks takes receipts and errors that come by themselves.
type Acks interface {
	// Acknowledge returns only when a is durable or settled. Nothing in it is
	// verified yet. After an error the partner is told to try again.
	Acknowledge(ctx context.Context, a Ack) error
}

// Pulls hands out messages that wait to be pulled.
type Pulls interface {
	// Pull gives the oldest message that waits for the partner in mpc, or
	// ErrEmpty. The message counts as handed out from then on; it comes back
	// when no receipt arrives in time. The caller closes Wire.
	Pull(ctx context.Context, partner, mpc string) (Handed, error)
}

// Handed is a message on its way to a partner that pulled it.
type Handed struct {
	Rendition Rendition
	Wire      io.ReadCloser
	// Cut ends when the response must not be waited for any longer; nil: never.
	Cut context.Context
	// Done is called once, with what became of the response: written whole, or
	// broken off.
	Done func(err error)
}

// Ack is a signal that came by itself, not believed yet.
type Ack struct {
	MessageID string      // that it is about (RefToMessageId); never empty
	Header    http.Header // for VerifySignal; without credentials
	Body      []byte      // for VerifySignal; at most 1 MiB
}

// Kept is a request as it was kept.
type Kept struct {
	Header http.Header
	Body   io.ReaderAt
	Size   int64  // of the body
	SHA256 string // of the body, lower-case hex
}

// Received is an inbound message and what is to be answered. Its readers are
// good until Receive returns.
type Received struct {
	Partner   string // as Partners named it; never empty
	MessageID string // empty if it cannot be one: the message is refused then
	User      ebms.UserMessage
	At        time.Time
	Accepted  bool
	Code      string       // why it is refused, for the partner: "EBMS:0101", or a SOAP fault's code; empty if accepted
	Reason    fault.Reason // the same for us
	Problem   string       // the same in one sentence for the operator
	Warning   string       // what is odd about a message that is accepted all the same; empty: nothing
	Pulled    bool         // we fetched it

	Payloads []ReceivedPayload // in the order of their PartInfo; nil if the message was refused

	// What was found out on the way.
	Signed, Encrypted, Compressed bool
	Signer                        string   // fingerprint of the certificate that verified
	Claims                        []Claim  // who is said to have signed a message that was refused because nobody on file did
	Report                        []string // of the signature: one line a reference, what it says and what we got

	// The message as it arrived, for evidence.
	Header     http.Header // without credentials
	Wire       io.Reader
	WireSize   int64
	WireSHA256 string // lower-case hex
	Unread     bool   // the message was refused before its body was read: there is none

	// Answer is the receipt or error that is due; nil if none is.
	Answer *Answer
}

// ReceivedPayload is one payload, decrypted, verified and decompressed.
type ReceivedPayload struct {
	ContentID   string // of its part; empty: it stood in the Body
	ContentType string
	FileName    string // safe to create; may be empty
	Size        int64
	SHA256      string          // lower-case hex
	Properties  []ebms.Property // without those that belong to the MSH
	Content     io.ReadSeeker
}

// Answer is a signal of ours, complete: it is kept and sent as it is, again for
// a duplicate (AS4 §3.2).
type Answer struct {
	MessageID   string `json:"message_id"` // its own; empty for a bare SOAP fault
	ContentType string `json:"content_type"`
	Status      int    `json:"status"` // of the response; of one that is owed 0
	Body        []byte `json:"body"`
	URL         string `json:"url,omitempty"` // where it is owed; empty: it goes into the response
	Signal      string `json:"signal"`        // "receipt", "EBMS:0101", "env:Sender": for people
}
