package as2

import (
	"io"

	"edigw/fault"
)

// Field is one HTTP header field, unfolded, spelled as on the wire.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Rendition is one build of a message: all that must be kept beside its wire
// bytes to send them, any number of times, and to verify what comes back. It
// holds no credentials.
type Rendition struct {
	MessageID string          `json:"message_id"`
	Headers   []Field         `json:"headers"` // in the order in which they were composed
	Size      int64           `json:"size"`    // of the wire bytes
	SHA256    string          `json:"sha256"`  // of the wire bytes, lower-case hex
	MICs      []MIC           `json:"mics"`    // the one to expect first, then others that a receiver may rightly return
	Ack       fault.AckTiming `json:"ack"`
	Token     string          `json:"token,omitempty"` // of the asynchronous receipt's URL; secret towards strangers
	Entity    Entity          `json:"entity"`
	Agreement string          `json:"agreement"` // fingerprint of the agreement that it was built from
}

// Entity describes what the first MIC covers, so that it can be written out
// again from the document as evidence.
type Entity struct {
	Header     string           `json:"header,omitempty"`     // of the document's part, with its blank line; empty: the MIC covers content only
	Encoding   TransferEncoding `json:"encoding"`             // of the document in it
	Compressed string           `json:"compressed,omitempty"` // header of the compressed part around it, if the MIC covers that
}

// Write writes the entity around the document, which is read twice at most. A
// compressed entity comes out as it was sent only from the same release of the
// compressor. Errors: fault.ErrPayload, or those of w.
func (e Entity) Write(w io.Writer, payload io.ReadSeeker, size int64) error {
	part := documentBody(e.Encoding, payload, size)
	write := func(w io.Writer) error {
		if _, err := io.WriteString(w, e.Header); err != nil {
			return err
		}
		return part.body(w)
	}
	if e.Compressed == "" {
		return write(w)
	}
	if _, err := io.WriteString(w, e.Compressed); err != nil {
		return err
	}
	return compress(w, write)
}
