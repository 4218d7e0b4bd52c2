package as4

import (
	"time"

	"edigw/as4/ebms"
)

// Ping is a message for the partner's test service: it is answered like any
// other, and never delivered (ebMS 3.0 Core §5.2.2, AS4 §2.1.4). It has no
// payload, which every peer takes, and is signed and sent as documents are.
func Ping(messageID string, now time.Time) Document {
	return Document{MessageID: messageID, Timestamp: now, Test: true}
}

// testCollaboration is what a message to the test service is about: the
// agreement stays, so that the partner finds the P-Mode.
func testCollaboration(c Collaboration) Collaboration {
	c.Service, c.Action = ebms.Service{Value: ebms.TestService}, ebms.TestAction
	return c
}
