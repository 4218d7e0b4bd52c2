package as4

import (
	"errors"
	"strings"

	"edigw/as4/ebms"
)

// errOwnMessageID is stricter than what is taken from others.
var errOwnMessageID = errors.New("not a MessageId of ours: printable ASCII as in left@right, without blanks and angle brackets")

// checkMessageID refuses a MessageId that we must not send: it is a message id
// of RFC 2822 §3.6.4 without the angle brackets (ebMS 3.0 Core §5.2.2.1).
func checkMessageID(id string) error {
	left, right, _ := strings.Cut(id, "@")
	if ebms.CheckMessageID(id) != nil || left == "" || right == "" || strings.ContainsAny(id, "<>") || strings.Contains(right, "@") {
		return errOwnMessageID
	}
	return nil
}
