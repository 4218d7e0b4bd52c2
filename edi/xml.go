package edi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth      = 256
	maxName       = 256 // bytes of an element's or attribute's name
	maxAttributes = 256
	maxCaptured   = 512 // bytes of a text or namespace that is kept
)

// xmlReader checks that XML 1.0 is well-formed, byte by byte, and tells its
// document what it meets. encoding/xml holds a whole text at once, which an
// embedded attachment makes as long as the file, and pulls its input; this one
// is pushed and holds names only.
//
// It refuses document type declarations: without them there are no entities to
// expand. An encoding other than UTF-8 is taken for one that extends ASCII.
type xmlReader struct {
	report *Report
	doc    document

	state func(*xmlReader, byte) // takes the next byte; nil after a fault
	inRun bool                   // state is content, where plain bytes mean nothing
	line  int
	utf8  utf8Check
	sure  bool // this is XML, not text that begins with '<'
	began bool // something stands in front: no XML declaration any more
	ended bool // the root element is complete

	name   []byte // name being read
	token  []byte // attribute value, processing instruction or entity, cut at maxCaptured
	quote  byte   // around the attribute value being read, else 0
	run    int    // how far a state got: matched bytes of "]]>", "-->" or "?>"
	stack  []byte // names of the open elements
	starts []int  // where each begins in stack
	attrs  [][]byte
	char   [utf8.UTFMax]byte
}

func newXML(r *Report) *xmlReader {
	r.Kind = XML
	return &xmlReader{report: r, doc: document{report: r}, state: (*xmlReader).content, inRun: true, line: 1}
}

func (x *xmlReader) write(p []byte) {
	for len(p) > 0 && x.state != nil {
		if x.inRun && len(x.starts) > 0 && x.utf8.rest == 0 {
			n := 0
			for n < len(p) && isPlain(p[n]) {
				n++
			}
			if n > 0 {
				x.run = 0
				x.doc.text(p[:n])
				p = p[n:]
				continue
			}
		}
		c := p[0]
		p = p[1:]
		switch {
		case c == '\n':
			x.line++
		case c < ' ' && c != '\t' && c != '\r':
			x.fault("a character", "control character", "a control character is not allowed")
			return
		}
		if !x.utf8.next(c) {
			x.fault("UTF-8", "other bytes", "the text is not UTF-8")
			return
		}
		x.state(x, c)
	}
}

func (x *xmlReader) close() {
	if x.state != nil {
		switch {
		case len(x.starts) > 0:
			x.fault("</"+x.open()+">", "end of file", "</%s> is missing: the file ends", x.open())
		case !x.ended || !x.inRun:
			x.fault("an element", "end of file", "the file ends inside the markup")
		}
	}
	x.doc.finish()
	if !x.sure {
		x.report.Kind, x.report.Problem = Unknown, nil
	}
}

// fault reports the first fault and ends reading. The sentence gets its line.
func (x *xmlReader) fault(expected, found, format string, args ...any) {
	x.report.fault(Problem{
		Segment: x.open(), Position: x.line, Expected: expected, Found: found,
		Text: fmt.Sprintf(format, args...) + fmt.Sprintf(" (line %d)", x.line),
	})
	x.state = nil
}

// open returns the name of the innermost open element.
func (x *xmlReader) open() string {
	if len(x.starts) == 0 {
		return ""
	}
	return clean(x.stack[x.starts[len(x.starts)-1]:])
}

// goTo changes the state.
func (x *xmlReader) goTo(state func(*xmlReader, byte)) {
	x.state, x.inRun, x.run = state, false, 0
}

// toContent changes the state to content.
func (x *xmlReader) toContent() {
	x.goTo((*xmlReader).content)
	x.inRun, x.began = true, true
}

// content is character data, or what stands around the root element.
func (x *xmlReader) content(c byte) {
	switch {
	case c == '<':
		x.goTo((*xmlReader).markup)
		return
	case len(x.starts) == 0:
		if !isBlank(c) {
			x.fault("an element", "text", "text stands outside the root element")
		}
		x.began = true
		return
	case c == '&':
		x.reference()
		return
	case c == ']':
		x.run = min(x.run+1, 2)
	case c == '>' && x.run == 2:
		x.fault("text", "]]>", "]]> is not allowed in text")
		return
	default:
		x.run = 0
	}
	x.doc.text([]byte{c})
}

// markup is what follows '<'.
func (x *xmlReader) markup(c byte) {
	x.name, x.token = x.name[:0], x.token[:0]
	switch {
	case c == '/':
		x.goTo((*xmlReader).endName)
	case c == '?':
		x.goTo((*xmlReader).instruction)
	case c == '!':
		x.goTo((*xmlReader).declaration)
	case !isNameStart(c):
		x.fault("a name", "another character", "'<' is not followed by a name")
	case x.ended:
		x.fault("end of file", "another element", "a second root element begins")
	default:
		x.attrs = x.attrs[:0]
		x.name = append(x.name, c)
		x.goTo((*xmlReader).startName)
	}
}

// addToName takes a byte of a name, and tells whether it is one.
func (x *xmlReader) addToName(c byte) bool {
	if !isNameByte(c) || len(x.name) == 0 && !isNameStart(c) {
		return false
	}
	if len(x.name) == maxName {
		x.fault("a name", "a longer one", "a name is longer than %d bytes", maxName)
	}
	x.name = append(x.name, c)
	return true
}

// startName is the name in a start tag.
func (x *xmlReader) startName(c byte) {
	if x.addToName(c) {
		return
	}
	if len(x.starts) == maxDepth {
		x.fault("an end tag", "another element", "elements are nested deeper than %d", maxDepth)
		return
	}
	x.starts = append(x.starts, len(x.stack))
	x.stack = append(x.stack, x.name...)
	x.goTo((*xmlReader).inTag)
	x.tagEnd(c)
}

// inTag is white space in a start tag.
func (x *xmlReader) inTag(c byte) {
	if isNameStart(c) {
		x.name = append(x.name[:0], c)
		x.goTo((*xmlReader).attribute)
		return
	}
	x.tagEnd(c)
}

// tagEnd is what may follow an element's name or an attribute.
func (x *xmlReader) tagEnd(c byte) {
	switch {
	case isBlank(c):
		x.goTo((*xmlReader).inTag)
	case c == '/':
		x.goTo((*xmlReader).emptyTag)
	case c == '>':
		x.sure = true
		x.doc.start(x.stack[x.starts[len(x.starts)-1]:], len(x.starts))
		x.toContent()
	default:
		x.fault("an attribute or '>'", "another character", "the tag of <%s> is malformed", x.open())
	}
}

// emptyTag follows the '/' of an empty element.
func (x *xmlReader) emptyTag(c byte) {
	if c != '>' {
		x.fault("'>'", "another character", "the tag of <%s> is malformed", x.open())
		return
	}
	x.tagEnd(c)
	x.pop()
}

// pop closes the innermost element.
func (x *xmlReader) pop() {
	x.doc.end(len(x.starts))
	last := len(x.starts) - 1
	x.stack, x.starts = x.stack[:x.starts[last]], x.starts[:last]
	x.ended = last == 0
}

// endName is the name in an end tag.
func (x *xmlReader) endName(c byte) {
	if x.addToName(c) {
		return
	}
	if len(x.starts) == 0 || !bytes.Equal(x.name, x.stack[x.starts[len(x.starts)-1]:]) {
		x.fault("</"+x.open()+">", "</"+clean(x.name)+">", "</%s> stands where <%s> should end", clean(x.name), x.open())
		return
	}
	x.goTo((*xmlReader).endTag)
	x.endTag(c)
}

// endTag is white space in an end tag.
func (x *xmlReader) endTag(c byte) {
	switch {
	case isBlank(c):
	case c == '>':
		x.pop()
		x.toContent()
	default:
		x.fault("'>'", "another character", "the end tag of <%s> is malformed", x.open())
	}
}

// attribute is the name of an attribute and what leads to its value.
func (x *xmlReader) attribute(c byte) {
	switch {
	case x.run == 0 && x.addToName(c):
	case c == '=' && x.run < 2:
		x.run = 2
	case isBlank(c):
		x.run = max(x.run, 1)
	case (c == '"' || c == '\'') && x.run == 2:
		for _, known := range x.attrs {
			if bytes.Equal(known, x.name) {
				x.fault("another name", clean(x.name), "<%s> has the attribute %s twice", x.open(), clean(x.name))
				return
			}
		}
		if len(x.attrs) == maxAttributes {
			x.fault("'>'", "another attribute", "<%s> has more than %d attributes", x.open(), maxAttributes)
			return
		}
		x.noteAttribute()
		x.quote, x.token = c, x.token[:0]
		x.goTo((*xmlReader).value)
	default:
		x.fault("a quoted value", "another character", "attribute %s of <%s> has no quoted value", clean(x.name), x.open())
	}
}

// noteAttribute keeps the attribute's name, in memory of an earlier tag if
// there is some.
func (x *xmlReader) noteAttribute() {
	n := len(x.attrs)
	if n == cap(x.attrs) {
		x.attrs = append(x.attrs, nil)
	}
	x.attrs = x.attrs[:n+1]
	x.attrs[n] = append(x.attrs[n][:0], x.name...)
}

// value is a quoted attribute value.
func (x *xmlReader) value(c byte) {
	switch c {
	case x.quote:
		x.doc.attribute(x.attrs[len(x.attrs)-1], x.token, len(x.starts))
		x.quote = 0
		x.goTo((*xmlReader).tagEnd)
	case '<':
		x.fault("a quoted value", "'<'", "an attribute of <%s> holds '<'", x.open())
	case '&':
		x.reference()
	default:
		x.keep(c)
	}
}

// keep appends to token up to its bound.
func (x *xmlReader) keep(c byte) {
	if len(x.token) < maxCaptured {
		x.token = append(x.token, c)
	}
}

// reference begins an entity or character reference.
func (x *xmlReader) reference() {
	x.name = x.name[:0]
	x.goTo((*xmlReader).entity)
}

// entity is a reference up to its ';'.
func (x *xmlReader) entity(c byte) {
	if c != ';' {
		if len(x.name) == 10 || !isNameByte(c) && c != '#' {
			x.fault("an entity", "another character", "'&' begins no known entity")
			return
		}
		x.name = append(x.name, c)
		return
	}
	r, ok := entityOf(string(x.name))
	if !ok {
		x.fault("a known entity", "&"+clean(x.name)+";", "the entity &%s; is unknown", clean(x.name))
		return
	}
	text := utf8.AppendRune(x.char[:0], r)
	if x.quote == 0 {
		x.toContent()
		x.doc.text(text)
		return
	}
	x.goTo((*xmlReader).value)
	for _, c := range text {
		x.keep(c)
	}
}

// entityOf returns the character of a reference (XML 1.0 §4.1, §4.6).
func entityOf(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "apos":
		return '\'', true
	case "quot":
		return '"', true
	}
	digits, base := strings.TrimPrefix(name, "#"), 10
	if digits == name {
		return 0, false
	}
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	r := rune(n)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(r) || r < ' ' && r != '\t' && r != '\n' && r != '\r' {
		return 0, false
	}
	return r, true
}
