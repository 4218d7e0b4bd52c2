package edi

import (
	"fmt"
	"io"
)

// Form is the way in which a View shows a document.
type Form string

// The forms of a View.
const (
	FormSegments Form = "segments" // X12 and EDIFACT, one segment a line
	FormXML      Form = "xml"      // indented, one element or leaf a line
	FormText     Form = "text"     // as the lines stand in the document
	FormHex      Form = "hex"      // binary content, 16 bytes a line
)

// View is a document made readable for people. It shows what is there, also
// where the document is broken, and never what a reader could take for
// something else: line ends, control, invisible and bidirectional characters
// appear as symbols or escapes, so that different content looks different.
// Only white space between the elements of XML is left out.
type View struct {
	Kind Kind
	Type string // as in Report
	Form Form
	// Charset is the declared one, or UTF-8. Bytes beyond ASCII are shown as
	// \xNN unless it is UTF-8 or ISO-8859-1. Empty in FormHex.
	Charset string
	Lines   []ViewLine
	// Truncated tells that the document has more than Lines show.
	Truncated bool
	// Coarse tells that the document has more pieces than are told apart: from
	// some line on the rest of each line is one piece of data.
	Coarse bool
	// Problem is the first fault in what was read, nil if there is none. The
	// line where it was noticed has it as Fault, if that line is shown.
	Problem *Problem
}

// ViewLine is one line of a View. Text and the Parts of it hold content of
// strangers: it is printable, but a page must still escape it, and should
// isolate the direction of each part, for letters that run from right to left
// would reorder the separators around them.
type ViewLine struct {
	// N numbers as problems do: the segment in its interchange, ISA or UNB
	// being 1 (0: outside of one, or UNA), the line of the file in XML and
	// text, the row in hex.
	N         int
	Offset    int64  // of the first byte in the document
	Depth     int    // of envelopes, elements and what states its parent; at most 256
	Tag       string // of the segment or element that begins here, else empty
	Name      string // the segment's name in the standard's directory, empty if it is not known
	Text      string // the whole line, at most some 4 KiB
	Continued bool   // belongs to the line before, which was too long or holds a line end
	Fault     string // what is wrong here, one sentence; from here on it may make no sense

	marks []mark
}

// Part is a piece of a line that is of one kind.
type Part struct {
	Kind PartKind
	Text string
}

// PartKind says what a piece of a line is. Its String is a word fit for the
// class of an HTML element.
type PartKind uint8

// The kinds of parts.
const (
	PartData       PartKind = iota // values and text; in hex the bytes
	PartTag                        // of a segment or element
	PartElement                    // separator of elements
	PartComponent                  // separator of components
	PartRepetition                 // separator of repetitions
	PartRelease                    // takes its meaning from the next character
	PartTerminator                 // of a segment
	PartLineEnd                    // line ends and blanks behind a segment or line
	PartSymbol                     // stands for bytes that cannot be shown as they are
	PartMarkup                     // of XML: brackets, quotes, instructions
	PartAttribute                  // name of an attribute
	PartComment                    // comment; in hex the characters beside the bytes
)

var partKinds = [...]string{
	"data", "tag", "element", "component", "repetition", "release", "terminator", "line-end", "symbol", "markup", "attribute", "comment",
}

// String is the kind in one word.
func (k PartKind) String() string {
	if int(k) < len(partKinds) {
		return partKinds[k]
	}
	return "unknown"
}

// mark ends a part inside the text of a line.
type mark struct {
	kind PartKind
	end  uint16
}

// Parts cuts Text into its pieces, in order; together they are the whole text.
func (l ViewLine) Parts() []Part {
	parts := make([]Part, 0, len(l.marks))
	begin := 0
	for _, m := range l.marks {
		parts = append(parts, Part{m.kind, l.Text[begin:m.end]})
		begin = int(m.end)
	}
	return parts
}

// maxParts bounds the pieces of a View beyond one a line: each costs a page some
// fifty bytes, and a document of nothing but separators would have one for each
// byte. What comes later is not taken apart any more.
const maxParts = 20_000

// ReadView makes a document readable. It reads at most limit bytes and one more,
// shows at most so many lines, and holds some ten bytes for each byte that it
// read and 200 for each line. Documents of any content and state are shown; the
// error is the reader's.
func ReadView(r io.Reader, limit int64, lines int) (View, error) {
	limit = max(limit, 0)
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return View{}, fmt.Errorf("edi: read the document to be shown: %w", err)
	}
	whole := int64(len(data)) <= limit
	v := &viewer{data: data[:min(int64(len(data)), limit)], whole: whole, most: max(lines, 0)}
	v.read()
	v.view.Truncated = v.view.Truncated || !whole
	return v.view, nil
}

// viewer makes one View.
type viewer struct {
	view  View
	data  []byte
	whole bool // data is the whole document
	most  int  // lines
	writer
}

// read chooses the form that the content has, as a Scanner recognises it. One
// that turns out to be something else is begun again as text or binary.
func (v *viewer) read() {
	s := NewScanner()
	pos := 0
	for pos < len(v.data) && s.format == nil {
		_, _ = s.Write(v.data[pos : pos+1]) // never fails
		pos++
	}
	shown := false
	switch f := s.format.(type) {
	case *x12:
		shown = v.segments(f, s, pos, x12Names)
	case *edifact:
		shown = v.segments(f, s, pos, edifactNames)
	case *xmlReader:
		shown = v.xml()
	}
	if shown {
		return
	}
	v.view, v.writer = View{Kind: Unknown}, writer{}
	if isText(v.data) {
		v.text()
	} else {
		v.hex()
	}
}

// text shows the lines of the document as they are.
func (v *viewer) text() {
	v.view.Form, v.charset = FormText, utf8Charset
	v.view.Charset = v.charset.name
	v.plain(0, 1, -1)
}

// plain shows everything from a place on as lines of text, the first of which
// is number n of the file or 0 for lines without a number. The fault of the
// view, if one is to be shown, was noticed at the byte faultAt.
func (v *viewer) plain(from, n, faultAt int) {
	for from < len(v.data) && !v.full() {
		to := lineEnd(v.data, from)
		end := to
		for end > from && (v.data[end-1] == '\n' || v.data[end-1] == '\r') {
			end--
		}
		l := ViewLine{N: n, Offset: int64(from)}
		if v.view.Problem != nil && from <= faultAt && (faultAt < to || to == len(v.data)) {
			l.Fault = v.view.Problem.Text
		}
		v.begin(l)
		v.add(PartData, from, end)
		v.add(PartLineEnd, end, to)
		v.end()
		from = to
		if n > 0 {
			n++
		}
	}
	v.view.Truncated = v.view.Truncated || from < len(v.data)
}

// lineEnd is where the line that begins at from ends, behind its line feed.
func lineEnd(data []byte, from int) int {
	for i := from; i < len(data); i++ {
		if data[i] == '\n' {
			return i + 1
		}
	}
	return len(data)
}
