package edi

import (
	"bytes"
	"strings"
)

// shortTag is how long a start tag may be before its attributes get lines of
// their own.
const shortTag = 100

// xml shows a document indented. No entity, no declaration is ever resolved: a
// view shows what stands there. It is false if the content is no XML.
func (v *viewer) xml() bool {
	report, faultAt, sure := judge(v.data, v.whole)
	if !sure {
		return false
	}
	v.view = View{Kind: report.Kind, Type: report.Type, Form: FormXML, Problem: report.Problem}
	w := &xmlWriter{viewer: v, pos: documentStart(v.data), row: 1, sound: len(v.data)}
	if report.Problem != nil {
		w.sound = faultAt
	}
	v.charset, v.breaks = xmlCharset(v.data[w.pos:]), true
	v.view.Charset = v.charset.name
	w.aside(0, w.pos) // a byte order mark, blanks
	for w.pos < len(v.data) && !v.full() && w.token() {
	}
	if w.sound == len(v.data) && w.blankEnd(w.pos) == len(v.data) {
		w.pos = len(v.data)
	}
	if w.pos < len(v.data) {
		v.breaks = false
		v.plain(w.pos, w.row, faultAt)
	} else if report.Problem != nil {
		v.fault(report.Problem)
	}
	return true
}

// judge has the whole document read as it is at the door, and finds the byte
// where its first fault was noticed.
func judge(data []byte, whole bool) (r Report, faultAt int, sure bool) {
	const chunk = 4096
	s := NewScanner()
	read := 0
	for read < len(data) && s.report.Problem == nil {
		n := min(chunk, len(data)-read)
		_, _ = s.Write(data[read : read+n]) // never fails
		read += n
	}
	x, ok := s.format.(*xmlReader)
	sure = ok && x.sure
	r, faultAt = s.report, len(data)
	if r.Problem != nil {
		again := NewScanner()
		from := max(read-chunk, 0)
		_, _ = again.Write(data[:from])
		for faultAt = from; again.report.Problem == nil && faultAt < len(data); faultAt++ {
			_, _ = again.Write(data[faultAt : faultAt+1])
		}
		faultAt-- // the byte itself
	} else if whole {
		r = s.Close()
	}
	return r, faultAt, sure
}

// documentStart skips what may stand in front of a document.
func documentStart(data []byte) int {
	pos := 0
	for pos < len(data) && data[pos] != '<' {
		pos++
	}
	return pos
}

// xmlCharset is the character set of a document, as its declaration names it.
func xmlCharset(document []byte) charset {
	encoding := ""
	if bytes.HasPrefix(document, []byte("<?xml")) {
		declaration, _, _ := bytes.Cut(document[:min(len(document), maxCaptured)], []byte("?>"))
		encoding = clean([]byte(encodingOf(string(declaration))))
	}
	switch {
	case isUTF8(encoding):
		return utf8Charset
	case strings.EqualFold(encoding, latin1Charset.name):
		return latin1Charset
	}
	return otherCharset(encoding)
}

// xmlWriter shows the part of a document that is well-formed.
type xmlWriter struct {
	*viewer
	pos   int // of the next token
	row   int // line of the file, at pos
	depth int
	sound int // the document is well-formed up to here
}

// aside shows what stands in front of the document.
func (w *xmlWriter) aside(from, to int) {
	if from < to {
		w.begin(ViewLine{N: 1, Offset: int64(from)})
		w.add(PartData, from, to)
		w.end()
		w.row += bytes.Count(w.data[from:to], []byte{'\n'})
	}
}

// tokenKind tells the pieces of XML apart.
type tokenKind int

const (
	tokenText tokenKind = iota
	tokenStart
	tokenEmpty
	tokenEnd
	tokenCDATA
	tokenComment
	tokenInstruction
)

// token is a piece of XML between two places.
type token struct {
	kind     tokenKind
	from, to int
}

// next is the token that begins at a place; false if it is not whole or not
// sound.
func (w *xmlWriter) next(from int) (token, bool) {
	rest := w.data[from:w.sound]
	t := token{from: from}
	end := -1
	through := func(kind tokenKind, begin, mark string) {
		t.kind = kind
		if i := bytes.Index(rest[len(begin):], []byte(mark)); i >= 0 {
			end = len(begin) + i + len(mark)
		}
	}
	switch {
	case len(rest) == 0:
		return t, false
	case rest[0] != '<':
		end = bytes.IndexByte(rest, '<')
		if end < 0 && w.sound == len(w.data) {
			end = len(rest)
		}
	case bytes.HasPrefix(rest, []byte("<!--")):
		through(tokenComment, "<!--", "-->")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		through(tokenCDATA, "<![CDATA[", "]]>")
	case bytes.HasPrefix(rest, []byte("<?")):
		through(tokenInstruction, "<?", "?>")
	case bytes.HasPrefix(rest, []byte("</")):
		through(tokenEnd, "</", ">")
	default:
		end = tagEnd(rest)
		t.kind = tokenStart
		if end > 1 && rest[end-2] == '/' {
			t.kind = tokenEmpty
		}
	}
	t.to = from + end
	return t, end > 0
}

// tagEnd is the length of the start tag that rest begins with, -1 if it does
// not end. A value may hold the closing bracket.
func tagEnd(rest []byte) int {
	var quote byte
	for i, c := range rest {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return -1
}

// token shows the next token, or an element of nothing but text at once. It is
// false where the document stops being sound.
func (w *xmlWriter) token() bool {
	t, ok := w.next(w.pos)
	if !ok {
		return false
	}
	switch t.kind {
	case tokenText:
		w.text(t)
	case tokenStart:
		w.element(t)
		return true
	case tokenEmpty:
		w.begin(w.head(t))
		w.startTag(t)
		w.end()
	case tokenEnd:
		w.depth--
		w.begin(ViewLine{N: w.row, Offset: int64(t.from), Depth: w.depth})
		w.endTag(t)
		w.end()
	default:
		w.begin(ViewLine{N: w.row, Offset: int64(t.from), Depth: w.depth})
		w.piece(t)
		w.end()
	}
	w.goTo(t.to)
	return true
}

// goTo moves on in the document.
func (w *xmlWriter) goTo(pos int) {
	w.row += bytes.Count(w.data[w.pos:pos], []byte{'\n'})
	w.pos = pos
}

// text shows text that stands beside elements, without the white space around
// it; nothing if it is nothing else.
func (w *xmlWriter) text(t token) {
	row := w.row
	for t.from < t.to && isBlank(w.data[t.from]) {
		if w.data[t.from] == '\n' {
			row++
		}
		t.from++
	}
	for t.from < t.to && isBlank(w.data[t.to-1]) {
		t.to--
	}
	if t.from < t.to {
		w.begin(ViewLine{N: row, Offset: int64(t.from), Depth: w.depth})
		w.add(PartData, t.from, t.to)
		w.end()
	}
}

// element shows a start tag, and the whole element if it holds only text.
func (w *xmlWriter) element(start token) {
	leaf := []token{start}
	for pos := start.to; ; {
		t, ok := w.next(pos)
		if !ok || t.kind != tokenText && t.kind != tokenCDATA && t.kind != tokenEnd {
			break
		}
		leaf = append(leaf, t)
		pos = t.to
		if t.kind == tokenEnd {
			w.begin(w.head(start))
			for _, t := range leaf {
				w.piece(t)
			}
			w.end()
			w.goTo(pos)
			return
		}
	}
	w.begin(w.head(start))
	w.piece(start)
	w.end()
	w.depth++
	w.goTo(start.to)
}

// head is the line of a start tag.
func (w *xmlWriter) head(t token) ViewLine {
	return ViewLine{N: w.row, Offset: int64(t.from), Depth: w.depth, Tag: clean(w.data[t.from+1 : w.nameEnd(t.from+1)])}
}

// piece adds a token to the line.
func (w *xmlWriter) piece(t token) {
	switch t.kind {
	case tokenText:
		w.add(PartData, t.from, t.to)
	case tokenStart, tokenEmpty:
		w.startTag(t)
	case tokenEnd:
		w.endTag(t)
	case tokenCDATA:
		w.add(PartMarkup, t.from, t.from+len("<![CDATA["))
		w.add(PartData, t.from+len("<![CDATA["), t.to-len("]]>"))
		w.add(PartMarkup, t.to-len("]]>"), t.to)
	case tokenComment:
		w.add(PartComment, t.from, t.to)
	case tokenInstruction:
		w.add(PartMarkup, t.from, t.to)
	}
}

func (w *xmlWriter) endTag(t token) {
	name := t.from + len("</")
	w.add(PartMarkup, t.from, name)
	w.add(PartTag, name, w.nameEnd(name))
	w.literal(PartMarkup, ">")
}

// startTag adds a tag with its attributes. White space between them is not
// shown as it is.
func (w *xmlWriter) startTag(t token) {
	pos := t.from + 1
	end := w.nameEnd(pos)
	w.add(PartMarkup, t.from, pos)
	w.add(PartTag, pos, end)
	long := t.to-t.from > shortTag && bytes.Count(w.data[t.from:t.to], []byte{'='}) > 1
	for pos = w.blankEnd(end); pos < t.to && isNameStart(w.data[pos]); pos = w.blankEnd(pos) {
		if long {
			w.wrap(pos)
			w.current.Depth = min(w.depth+2, maxDepth)
		} else {
			w.literal(PartMarkup, " ")
		}
		pos = w.attribute(pos)
	}
	w.add(PartMarkup, pos, t.to)
}

// attribute adds an attribute and gives its end.
func (w *xmlWriter) attribute(pos int) int {
	end := w.nameEnd(pos)
	w.add(PartAttribute, pos, end)
	w.literal(PartMarkup, "=")
	quote := end
	for w.data[quote] != '"' && w.data[quote] != '\'' {
		quote++
	}
	closing := quote + 1 + bytes.IndexByte(w.data[quote+1:], w.data[quote])
	w.add(PartMarkup, quote, quote+1)
	w.add(PartData, quote+1, closing)
	w.add(PartMarkup, closing, closing+1)
	return closing + 1
}

func (w *xmlWriter) nameEnd(pos int) int {
	for pos < len(w.data) && isNameByte(w.data[pos]) {
		pos++
	}
	return pos
}

func (w *xmlWriter) blankEnd(pos int) int {
	for pos < len(w.data) && isBlank(w.data[pos]) {
		pos++
	}
	return pos
}
