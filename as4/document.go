package as4

import (
	"io"
	"time"

	"edigw/as4/ebms"
	"edigw/fault"
)

// Document is the business content of one message.
type Document struct {
	MessageID      string // without angle brackets (ebMS 3.0 Core §5.2.2.1)
	RefToMessageID string // of the message that this one answers (two-way); empty: none
	ConversationID string // empty: as the PMode says
	Timestamp      time.Time
	Payloads       []Payload
	Test           bool // for the test service (ebMS 3.0 Core §5.2.2, AS4 ping): no business effect
}

// Payload is one payload part.
type Payload struct {
	ContentType string // MIME type, with charset if it is known
	FileName    string // empty: none
	Size        int64  // exact
	Content     io.ReadSeeker
}

// Rendition is one build of a message: all that must be kept beside its wire
// bytes to send them, any number of times, and to verify what comes back. It
// holds no credentials.
type Rendition struct {
	MessageID   string            `json:"message_id"`
	ContentType string            `json:"content_type"` // of the HTTP request or, pulled, response
	Size        int64             `json:"size"`         // of the wire bytes
	SHA256      string            `json:"sha256"`       // of the wire bytes, lower-case hex
	User        *ebms.UserMessage `json:"user"`         // its header as it was built; nil: of a message that is not known to have one
	References  []ebms.Reference  `json:"references"`   // of our signature: what a receipt must name; empty: not signed
	Ack         fault.AckTiming   `json:"ack"`
	Agreement   string            `json:"agreement"` // fingerprint of the PMode that it was built from
}

// Reply is what a partner answered in the same exchange. The zero Reply is
// none.
type Reply struct {
	Status    int
	Header    map[string][]string // http.Header
	Body      []byte              // at most 1 MiB
	Truncated bool                // the body ended before its end, or is longer
}
