package edi

import (
	"bytes"
	"strings"
)

// declaration is what follows '<!'.
func (x *xmlReader) declaration(c byte) {
	x.keep(c)
	const comment, cdata, doctype = "--", "[CDATA[", "DOCTYPE"
	switch seen := string(x.token); {
	case seen == comment:
		x.goTo((*xmlReader).comment)
	case seen == cdata && len(x.starts) > 0:
		x.goTo((*xmlReader).cdata)
	case seen == doctype:
		x.sure = true
		x.fault("an element", "DOCTYPE", "a document type declaration (DOCTYPE) is refused")
	case strings.HasPrefix(comment, seen), strings.HasPrefix(cdata, seen) && seen != cdata, strings.HasPrefix(doctype, seen):
	default:
		x.fault("a comment or CDATA", "another character", "'<!' begins nothing that may stand here")
	}
}

// comment is the inside of a comment.
func (x *xmlReader) comment(c byte) {
	switch {
	case x.run == 2 && c == '>':
		x.toContent()
	case x.run == 2:
		x.fault("'>'", "another character", "a comment holds --") // XML 1.0 §2.5
	case c == '-':
		x.run++
	default:
		x.run = 0
	}
}

// cdata is the inside of a CDATA section.
func (x *xmlReader) cdata(c byte) {
	switch {
	case x.run == 2 && c == '>':
		x.toContent()
	case x.run < 2 && c == ']':
		x.run++
	case c == ']':
		x.doc.text([]byte{c})
	default:
		x.doc.text([]byte("]]")[:x.run])
		x.doc.text([]byte{c})
		x.run = 0
	}
}

// instruction is a processing instruction or the XML declaration.
func (x *xmlReader) instruction(c byte) {
	switch {
	case x.run == 1 && c == '>':
		x.endInstruction()
	case c == '?':
		x.run = 1
	default:
		x.run = 0
		x.keep(c)
	}
}

// endInstruction looks at a complete instruction in token.
func (x *xmlReader) endInstruction() {
	target, rest := x.token, []byte(nil)
	if i := bytes.IndexAny(x.token, " \t\r\n"); i >= 0 {
		target, rest = x.token[:i], x.token[i:]
	}
	for i, c := range target {
		if !isNameByte(c) || i == 0 && !isNameStart(c) {
			target = nil
			break
		}
	}
	switch {
	case len(target) == 0:
		x.fault("a name", "another character", "'<?' is not followed by a name")
		return
	case bytes.EqualFold(target, []byte("xml")) && x.began:
		x.fault("an element", "XML declaration", "the XML declaration is not at the start")
		return
	case bytes.EqualFold(target, []byte("xml")):
		x.sure = true
		x.utf8.off = !isUTF8(encodingOf(string(rest)))
	}
	x.toContent()
}

// encodingOf returns the encoding that an XML declaration names, "" if none.
func encodingOf(declaration string) string {
	_, after, _ := strings.Cut(declaration, "encoding")
	after = strings.TrimLeft(after, " \t\r\n")
	after = strings.TrimLeft(strings.TrimPrefix(after, "="), " \t\r\n")
	if after == "" || after[0] != '"' && after[0] != '\'' {
		return ""
	}
	encoding, _, _ := strings.Cut(after[1:], after[:1])
	return encoding
}

// isUTF8 tells whether text in the encoding is UTF-8 too.
func isUTF8(encoding string) bool {
	return encoding == "" || strings.EqualFold(encoding, "utf-8") || strings.EqualFold(encoding, "us-ascii")
}

// utf8Check checks UTF-8 byte by byte (Unicode 15.0, table 3-7).
type utf8Check struct {
	rest   int  // bytes of the current character still to come
	lo, hi byte // bounds of the next one
	off    bool // the encoding is another one
}

// next takes a byte and tells whether it may stand there.
func (u *utf8Check) next(c byte) bool {
	switch {
	case u.off:
		return true
	case u.rest > 0:
		ok := u.lo <= c && c <= u.hi
		u.rest--
		u.lo, u.hi = 0x80, 0xbf
		return ok
	case c < 0x80:
		return true
	case c < 0xc2 || c > 0xf4:
		return false
	}
	u.lo, u.hi = 0x80, 0xbf
	switch {
	case c < 0xe0:
		u.rest = 1
	case c < 0xf0:
		u.rest = 2
		if c == 0xe0 {
			u.lo = 0xa0
		} else if c == 0xed {
			u.hi = 0x9f
		}
	default:
		u.rest = 3
		if c == 0xf0 {
			u.lo = 0x90
		} else if c == 0xf4 {
			u.hi = 0x8f
		}
	}
	return true
}

// isNameStart and isNameByte take every byte beyond ASCII: which letters XML 1.0
// §2.3 leaves out is of no use here.
func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == ':' || c >= 0x80
}

func isNameByte(c byte) bool {
	return isNameStart(c) || '0' <= c && c <= '9' || c == '-' || c == '.'
}

// isPlain tells the bytes of character data that have no meaning of their own.
func isPlain(c byte) bool {
	return ' ' <= c && c <= '~' && c != '<' && c != '&' && c != ']' && c != '>'
}
