// Package tame makes what partners wrote safe to show, to log and to keep: texts
// become one line of bounded length, file names name nothing but a file.
package tame

import (
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes one line of printable text of anything: no control characters, and
// none that end a line or turn the direction of writing.
func Line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}

// Clip cuts s to at most n bytes without splitting a character.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// maxFileName is the longest file name that is sent or taken, in bytes.
const maxFileName = 200

// FileName makes of a partner's file name one that is safe to show and to
// create: RFC 2047 words are decoded, folders of either system are cut off,
// control characters and separators become "_", leading dots go, the length is
// bounded. What leaves nothing usable is "".
func FileName(name string) string {
	// QUIRK(OpenAS2 #382): RFC 2047 words inside the parameter.
	if decoded, err := new(mime.WordDecoder).DecodeHeader(name); err == nil {
		name = decoded
	}
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(name), "."))
	name = Clip(name, maxFileName)
	if strings.Trim(name, "_") == "" {
		return ""
	}
	return name
}
