package queue

import (
	"encoding/json"
	"fmt"
	"time"
)

// Origin says where a received document came from. It is the Record of the
// build of a KindWebhook message, so that whoever carries the document on need
// not read what the inbox keeps.
type Origin struct {
	Message   string    `json:"message"` // ours: the id of the inbound message
	MessageID string    `json:"message_id"`
	From      string    `json:"from"`
	To        string    `json:"to"`
	Subject   string    `json:"subject,omitempty"`
	Received  time.Time `json:"received"`
}

// ReadOrigin reads the origin from a build of a KindWebhook message.
func ReadOrigin(b Build) (o Origin, err error) {
	if err := json.Unmarshal(b.Record, &o); err != nil {
		return o, fmt.Errorf("build %d of message %s cannot be read back: %w", b.N, b.Message, err)
	}
	return o, nil
}
