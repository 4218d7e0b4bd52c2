package xmltree

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// guard refuses what must not reach a parser and gives the document as the
// parser shall see it.
func guard(data []byte, l Limits) ([]byte, error) {
	if len(data) > l.Bytes {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrLimit, len(data), l.Bytes)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if err := checkCharacters(data); err != nil {
		return nil, err
	}
	data = normaliseLineEnds(data)
	declaration, err := declarationOf(data)
	if err != nil {
		return nil, err
	}
	s := &scanner{data: data[len(declaration):], first: 1 + bytes.Count(declaration, []byte("\n")), limits: l}
	// Line numbers in errors of encoding/xml shall be those of the document.
	s.out = append(make([]byte, 0, len(data)), bytes.Repeat([]byte("\n"), s.first-1)...)
	if err := s.document(); err != nil {
		return nil, err
	}
	return s.out, nil
}

// checkCharacters refuses bytes that are not UTF-8, and characters that XML does
// not have (XML 1.0 §2.2). encoding/xml does not look into comments and tags.
func checkCharacters(data []byte) error {
	for i := 0; i < len(data); {
		if c := data[i]; 0x20 <= c && c < utf8.RuneSelf { // as nearly all are
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return fmt.Errorf("%w: line %d: byte %#02x is not UTF-8", ErrSyntax, lineAt(data, i), data[i])
		case !isCharacter(r):
			return fmt.Errorf("%w: line %d: character %U is not allowed", ErrSyntax, lineAt(data, i), r)
		}
		i += size
	}
	return nil
}

func isCharacter(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || 0x20 <= r && r <= 0xD7FF || 0xE000 <= r && r <= 0xFFFD || 0x10000 <= r && r <= 0x10FFFF
}

// normaliseLineEnds makes every line end one LF (XML 1.0 §2.11). encoding/xml
// does so in text only, not in comments.
func normaliseLineEnds(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}

// lineAt counts a CR that ends no CRLF as a line end too, since it looks at
// documents before and after normalising.
func lineAt(data []byte, at int) int {
	before := data[:at]
	return 1 + bytes.Count(before, []byte("\n")) + bytes.Count(before, []byte("\r")) - bytes.Count(before, []byte("\r\n"))
}

// declared is the XML declaration (XML 1.0 §2.8) with version, encoding and
// standalone in their quotes.
var declared = regexp.MustCompile(`^<\?xml\s+version\s*=\s*("[^"]*"|'[^']*')(?:\s+encoding\s*=\s*("[^"]*"|'[^']*'))?(?:\s+standalone\s*=\s*(?:"yes"|"no"|'yes'|'no'))?\s*\?>`)

// declarationOf gives the XML declaration that data begins with, empty if there is none.
func declarationOf(data []byte) ([]byte, error) {
	if rest, found := bytes.CutPrefix(data, []byte("<?xml")); !found || len(rest) == 0 || !isSpace(rest[0]) {
		return nil, nil
	}
	m := declared.FindSubmatch(data)
	if m == nil {
		return nil, fmt.Errorf("%w: line 1: the XML declaration is malformed", ErrSyntax)
	}
	if version := strings.Trim(string(m[1]), `"'`); version != "1.0" {
		return nil, fmt.Errorf("%w: line 1: XML version %.40q; only 1.0 is read", ErrSyntax, version)
	}
	if encoding := strings.Trim(string(m[2]), `"'`); m[2] != nil && !strings.EqualFold(encoding, "utf-8") {
		return nil, fmt.Errorf("%w: line 1: encoding %.40q; only UTF-8 is read", ErrSyntax, encoding)
	}
	return m[0], nil
}
