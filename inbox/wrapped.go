package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"edigw/as4"
	"edigw/as4/sbdh"
)

// Wrapped is what the Standard Business Document says in which a document came
// (Peppol Business Message Envelope).
type Wrapped struct {
	Sender       string `json:"sender,omitempty"` // scheme::value, like the next three
	Receiver     string `json:"receiver,omitempty"`
	DocumentType string `json:"document_type,omitempty"`
	Process      string `json:"process,omitempty"`
	Country      string `json:"country,omitempty"` // of the sender
	Instance     string `json:"instance,omitempty"`
}

// takenAS4 is an AS4 message as its partner's settings want it handed on.
func (b *Inbox) takenAS4(r as4.Received) (incoming, error) {
	in, err := incomingAS4(r)
	if err != nil || !r.Accepted || len(r.Payloads) != 1 || b.Unwrap == nil || !b.Unwrap(r.Partner) {
		return in, err
	}
	return in, in.unwrap(r.Payloads[0])
}

// unwrap takes the document out of its Standard Business Document. One that
// cannot be read is kept as it came: the partner has our receipt for it.
func (in *incoming) unwrap(p as4.ReceivedPayload) error {
	found, err := sbdh.Read(p.Content)
	var inside io.ReadSeeker
	size := int64(0)
	if found != nil && err == nil {
		inside, size, err = found.Inside(p.Content, p.Size)
	}
	if _, seek := p.Content.Seek(0, io.SeekStart); seek != nil {
		return seek
	}
	switch {
	case errors.Is(err, sbdh.ErrHeader):
		in.warn(fmt.Sprintf("handed on as it came: %v", err))
		return nil
	case err != nil:
		return fmt.Errorf("inbox: unwrap %s: %w", in.MessageID, err)
	case found == nil: // something else
		return nil
	}
	sum := sha256.New() // known beforehand, to tell a repeat from another document
	if _, err := io.Copy(sum, inside); err != nil {
		return fmt.Errorf("inbox: unwrap %s: %w", in.MessageID, err)
	}
	if _, err := inside.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := found.Header
	in.Size, in.SHA256 = size, hex.EncodeToString(sum.Sum(nil))
	in.Write = func(w, references io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, references), inside)
		return err
	}
	in.facts.document(*in)
	in.facts.AS4.Wrapped = &Wrapped{h.Sender.String(), h.Receiver.String(), h.Document.String(), h.Process.String(), h.Country, h.Instance}
	return nil
}

func (in *incoming) warn(text string) {
	if in.Warning != "" {
		text = in.Warning + "; " + text
	}
	in.Warning, in.facts.Warning = text, text
}
