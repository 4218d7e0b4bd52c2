package xmltree

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// scanner walks the markup of a document and writes it out for encoding/xml, the
// attribute values normalised, everything else as it stands.
type scanner struct {
	data     []byte // without byte order mark and declaration, line ends normalised
	at       int    // of the next byte in data
	first    int    // number of the line that data begins on
	limits   Limits
	out      []byte
	open     []openElement
	scope    int // attributes of all open elements
	elements int
}

type openElement struct {
	name       []byte // in data
	at         int    // of its tag; the line is worked out for errors only
	attributes int
}

func (s *scanner) document() error {
	for s.at < len(s.data) {
		n := bytes.IndexByte(s.data[s.at:], '<')
		if n < 0 {
			n = len(s.data) - s.at
		}
		if err := s.text(s.data[s.at : s.at+n]); err != nil {
			return err
		}
		if s.at == len(s.data) {
			break
		}
		if err := s.markup(); err != nil {
			return err
		}
	}
	switch {
	case len(s.open) > 0:
		top := s.open[len(s.open)-1]
		return s.syntax("the document ends inside <%.80s> of line %d", top.name, s.lineOf(top.at))
	case s.elements == 0:
		return s.syntax("there is no element")
	}
	return nil
}

func (s *scanner) text(b []byte) error {
	if len(s.open) == 0 && len(bytes.Trim(b, " \t\n")) > 0 {
		return s.syntax("text outside the root element")
	}
	if err := s.references(b); err != nil {
		return err
	}
	s.copy(len(b))
	return nil
}

// markup reads one construct that begins with "<".
func (s *scanner) markup() error {
	rest := s.data[s.at:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		return s.comment()
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return s.cdata()
	case len(rest) >= 9 && bytes.EqualFold(rest[:9], []byte("<!DOCTYPE")):
		return fmt.Errorf("%w: line %d", ErrDTD, s.line())
	case bytes.HasPrefix(rest, []byte("<!")):
		return s.syntax("unknown markup %.12q", rest)
	case bytes.HasPrefix(rest, []byte("<?xml ")):
		return s.syntax("the XML declaration is not the first thing in the document")
	case bytes.HasPrefix(rest, []byte("<?")):
		return fmt.Errorf("%w: line %d", ErrInstruction, s.line())
	case bytes.HasPrefix(rest, []byte("</")):
		return s.endTag()
	}
	return s.startTag()
}

func (s *scanner) comment() error {
	body := s.data[s.at+len("<!--"):]
	end := bytes.Index(body, []byte("--"))
	if end < 0 || end+2 == len(body) {
		return s.syntax("the document ends inside a comment")
	}
	if body[end+2] != '>' {
		return s.syntax(`"--" inside a comment`)
	}
	s.copy(len("<!--") + end + len("-->"))
	return nil
}

func (s *scanner) cdata() error {
	if len(s.open) == 0 {
		return s.syntax("a CDATA section outside the root element")
	}
	end := bytes.Index(s.data[s.at:], []byte("]]>"))
	if end < 0 {
		return s.syntax("the document ends inside a CDATA section")
	}
	s.copy(end + len("]]>"))
	return nil
}

func (s *scanner) endTag() error {
	at := s.at
	s.copy(len("</"))
	name, err := s.name()
	if err != nil {
		return err
	}
	s.space()
	if s.peek() != '>' {
		return s.syntax("the end tag </%.80s> is not closed", name)
	}
	s.copy(1)
	if len(s.open) == 0 {
		return s.syntax("</%.80s> closes no element", name)
	}
	top := s.open[len(s.open)-1]
	if !bytes.Equal(top.name, name) {
		s.at = at
		return s.syntax("</%.80s> where </%.80s> must stand, for the element of line %d", name, top.name, s.lineOf(top.at))
	}
	s.close()
	return nil
}

func (s *scanner) close() {
	s.scope -= s.open[len(s.open)-1].attributes
	s.open = s.open[:len(s.open)-1]
}

func (s *scanner) startTag() error {
	at := s.at
	s.copy(len("<"))
	name, err := s.name()
	if err != nil {
		return err
	}
	if len(s.open) == 0 && s.elements > 0 {
		return s.syntax("<%.80s> is a second root element", name)
	}
	s.elements++
	s.open = append(s.open, openElement{name: name, at: at})
	if len(s.open) > s.limits.Depth {
		return fmt.Errorf("%w: line %d: elements nested deeper than the nesting limit of %d", ErrLimit, s.line(), s.limits.Depth)
	}
	if s.elements > s.limits.Elements {
		return fmt.Errorf("%w: line %d: more than %d elements", ErrLimit, s.line(), s.limits.Elements)
	}
	for {
		separated := s.space()
		switch {
		case s.peek() == '>':
			s.copy(1)
			return nil
		case bytes.HasPrefix(s.data[s.at:], []byte("/>")):
			s.copy(2)
			s.close()
			return nil
		case s.at == len(s.data):
			return s.syntax("the document ends inside the tag of <%.80s>", name)
		case !separated:
			return s.syntax("<%.80s>: a blank, \"/>\" or \">\" must follow %q", name, s.data[s.at-1])
		}
		if err := s.attribute(); err != nil {
			return err
		}
	}
}

func (s *scanner) attribute() error {
	top := &s.open[len(s.open)-1]
	top.attributes++
	s.scope++
	if top.attributes > s.limits.Attributes {
		return fmt.Errorf("%w: line %d: <%.80s> has more than %d attributes", ErrLimit, s.line(), top.name, s.limits.Attributes)
	}
	if s.scope > s.limits.Scope {
		return fmt.Errorf("%w: line %d: <%.80s> and the elements around it have more than %d attributes", ErrLimit, s.line(), top.name, s.limits.Scope)
	}
	name, err := s.name()
	if err != nil {
		return err
	}
	s.space()
	if s.peek() != '=' {
		return s.syntax("<%.80s>: attribute %.80s has no value", top.name, name)
	}
	s.copy(1)
	s.space()
	quote := s.peek()
	if quote != '"' && quote != '\'' {
		return s.syntax("<%.80s>: the value of attribute %.80s is not in quotes", top.name, name)
	}
	end := bytes.IndexByte(s.data[s.at+1:], quote)
	if end < 0 {
		return s.syntax("<%.80s>: the value of attribute %.80s has no closing quote", top.name, name)
	}
	// The name of a namespace belongs to each name that it qualifies: it is
	// compared as often, and written out as often in canonical forms.
	if (string(name) == "xmlns" || bytes.HasPrefix(name, []byte("xmlns:"))) && end > s.limits.Namespace {
		return fmt.Errorf("%w: line %d: <%.80s>: the name of a namespace has more than %d bytes", ErrLimit, s.line(), top.name, s.limits.Namespace)
	}
	return s.value(end + 2)
}

// value copies an attribute value of n bytes, quotes included. White space that
// stands there literally becomes blanks; what references stand for stays (XML 1.0
// §3.3.3). The line ends that vanish are put behind the value, where they mean
// nothing, so that encoding/xml counts lines as we do.
func (s *scanner) value(n int) error {
	b := s.data[s.at : s.at+n]
	if bytes.IndexByte(b, '<') >= 0 {
		return s.syntax("\"<\" in an attribute value")
	}
	if err := s.references(b); err != nil {
		return err
	}
	for _, c := range b {
		if c == '\n' || c == '\t' {
			c = ' '
		}
		s.out = append(s.out, c)
	}
	for range bytes.Count(b, []byte("\n")) {
		s.out = append(s.out, '\n')
	}
	s.at += n
	return nil
}

// references checks character references, of which encoding/xml takes those of
// surrogates. Names are its own matter: it knows the five of XML 1.0 §4.6 only.
func (s *scanner) references(b []byte) error {
	for rest := b; ; {
		_, after, found := bytes.Cut(rest, []byte("&"))
		if !found {
			return nil
		}
		rest = after
		digits, numeric := bytes.CutPrefix(after, []byte("#"))
		if !numeric {
			continue
		}
		digits, _, closed := bytes.Cut(digits, []byte(";"))
		base := 10
		if hex, found := bytes.CutPrefix(digits, []byte("x")); found {
			digits, base = hex, 16
		}
		code, err := strconv.ParseUint(string(digits), base, 31)
		if !closed || err != nil || !isCharacter(rune(code)) {
			s.at += len(b) - len(after)
			return s.syntax("character reference &%s names no character of XML", after[:min(len(after), 12)])
		}
	}
}

// name copies a QName and gives it. The characters are left to encoding/xml, but
// for the first one behind a colon, which must be able to begin a name
// (Namespaces in XML 1.0 §4).
func (s *scanner) name() ([]byte, error) {
	n := bytes.IndexAny(s.data[s.at:], " \t\n/>=\"'<&")
	if n < 0 {
		n = len(s.data) - s.at
	}
	name := s.data[s.at : s.at+n]
	prefix, local, colon := bytes.Cut(name, []byte(":"))
	if colon && len(prefix) > 0 {
		r, _ := utf8.DecodeRune(local)
		colon = bytes.IndexByte(local, ':') >= 0 || r != '_' && !unicode.In(r, unicode.L, unicode.Nl)
	}
	if len(name) == 0 || colon {
		return nil, s.syntax("%.80q is no name that XML with namespaces allows", name)
	}
	s.copy(n)
	return name, nil
}

// space copies white space and reports whether there was any.
func (s *scanner) space() bool {
	n := 0
	for s.at+n < len(s.data) && isSpace(s.data[s.at+n]) {
		n++
	}
	s.copy(n)
	return n > 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// peek gives the next byte, zero at the end: no document holds a zero.
func (s *scanner) peek() byte {
	if s.at == len(s.data) {
		return 0
	}
	return s.data[s.at]
}

func (s *scanner) copy(n int) {
	s.out = append(s.out, s.data[s.at:s.at+n]...)
	s.at += n
}

func (s *scanner) line() int { return s.lineOf(s.at) }

func (s *scanner) lineOf(at int) int { return s.first - 1 + lineAt(s.data, at) }

func (s *scanner) syntax(format string, arguments ...any) error {
	return fmt.Errorf("%w: line %d: "+format, append([]any{ErrSyntax, s.line()}, arguments...)...)
}
