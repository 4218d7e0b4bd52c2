package queue

import (
	"time"

	"edigw/fault"
)

// Build is one set of wire bytes of a message. It is built once and repeated
// byte for byte (delivery.md §2); the bytes lie in the spool.
type Build struct {
	Message   string // message id
	N         int    // 1, 2, … within the message
	MessageID string
	SHA256    string // of the wire bytes, lower-case hex; also their name in the spool
	Size      int64
	AckAsked  fault.AckTiming
	Token     string // of the asynchronous receipt's URL; secret towards strangers
	Agreement string // fingerprint of the agreement it was built from
	Record    []byte // the protocol's own description: headers, digests, covered entity; opaque here, never credentials
	Why       string // why it was built anew; empty for the first
	Sent      bool   // an exchange of it was begun
	Created   time.Time
}
