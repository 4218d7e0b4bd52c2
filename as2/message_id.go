package as2

import (
	"errors"
	"strings"
)

// maxMessageID is the longest Message-ID that is taken (RFC 4130 §5.3.3).
const maxMessageID = 998

// ErrMessageID says that a value cannot be a Message-ID.
var ErrMessageID = errors.New("not a Message-ID: 1 to 998 printable ASCII characters without blanks")

// CheckMessageID refuses with ErrMessageID what must not be echoed into a
// receipt: nothing, blanks, control characters, anything beyond ASCII. Angle
// brackets may be missing (QUIRK(Sterling): it sends none).
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

// SameMessageID compares two Message-IDs byte for byte, except that one may
// lack the angle brackets.
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
