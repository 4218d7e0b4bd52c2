package ebms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on what a header may hold.
const (
	maxText  = 4 << 10 // of a text for people: more is cut off
	maxValue = 4 << 10 // of a value that is matched or handed on: more is refused
	maxName  = 200     // of a name in one of our texts
)

// blanks are the white space of XML.
const blanks = " \t\r\n"

// trim takes off the white space around a value: peers put their headers on
// lines of their own.
func trim(s string) string { return strings.Trim(s, blanks) }

// token is the value of an xsd:token: one blank for each white space in it.
func token(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(blanks, r) }), " ")
}

// clean makes one line of a text that a peer wrote: no control characters, no
// marks that turn the direction of writing, valid UTF-8, at most n bytes.
func clean(s string, n int) string {
	s = clip(s, 4*n) // before it is copied
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', unicode.Is(unicode.Bidi_Control, r), !allowed(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.TrimSpace(clip(strings.TrimSpace(s), n))
}

// clip cuts s to n bytes, between two characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// allowed reports whether XML can carry a character (XML 1.0 §2.2).
func allowed(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xd7ff ||
		r >= 0xe000 && r <= 0xfffd || r >= 0x10000 && r <= unicode.MaxRune
}

// carried is s without what XML cannot carry.
func carried(s string) string {
	return strings.Map(func(r rune) rune {
		if !allowed(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}
