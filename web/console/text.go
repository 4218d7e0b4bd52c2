package console

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain makes text of strangers safe to read in a line: control, invisible and
// bidirectional characters, with which a name could be made to look like
// another one, appear as escapes. It does not escape HTML: templates do.
func plain(s string) string {
	odd := func(r rune) bool {
		return r != ' ' && !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point)
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, odd) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case odd(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case odd(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}
