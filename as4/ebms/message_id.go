package ebms

import (
	"errors"
	"strings"
)

// maxMessageID is the longest MessageId that is taken: a line of RFC 2822
// §2.1.1. The standard sets no bound.
const maxMessageID = 998

// ErrMessageID says that a value cannot be a MessageId.
var ErrMessageID = errors.New("not a MessageId: 1 to 998 printable ASCII characters without blanks")

// CheckMessageID refuses with ErrMessageID what must not be echoed: nothing,
// blanks, control characters, anything beyond ASCII. The domain that RFC 2822
// wants may be missing, and angle brackets may be there, which ebMS forbids
// (ebMS 3.0 Core §5.2.2.1): QUIRK(several).
func CheckMessageID(id string) error {
	if bare(id) == "" || len(id) > maxMessageID {
		return ErrMessageID
	}
	for i := 0; i < len(id); i++ {
		if id[i] <= ' ' || id[i] > '~' {
			return ErrMessageID
		}
	}
	return nil
}

// SameMessageID compares two MessageIds byte for byte, except that one may be in
// angle brackets.
func SameMessageID(a, b string) bool {
	return bare(a) != "" && bare(a) == bare(b)
}

// bare takes off one pair of angle brackets.
func bare(id string) string {
	if inner, ok := strings.CutPrefix(id, "<"); ok {
		if inner, ok = strings.CutSuffix(inner, ">"); ok {
			return inner
		}
	}
	return id
}
