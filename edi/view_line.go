package edi

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// maxText is the longest text of a line; a longer one goes on in the next.
const maxText = 4096

// begin starts a line with what is known of it.
func (v *viewer) begin(l ViewLine) {
	l.Depth = min(l.Depth, maxDepth)
	v.current, v.shown, v.marked, v.broken = l, v.shown[:0], v.marked[:0], false
}

// writer builds the lines of a view, one after the other.
type writer struct {
	charset charset
	breaks  bool // a line feed inside a part ends the line
	current ViewLine
	shown   []byte // text of the line so far
	marked  []mark
	parts   int  // of the lines so far and of this one, but for one a line
	broken  bool // the line is to be continued in another before more is added
}

// add appends a piece of the document to the line.
func (v *viewer) add(kind PartKind, from, to int) {
	for pos := from; pos < to; {
		if v.broken || len(v.shown) >= maxText {
			v.wrap(pos)
		}
		if v.full() {
			v.view.Truncated = true
			return
		}
		before := len(v.shown)
		var size int
		var symbol bool
		v.shown, size, symbol = v.charset.show(v.shown, v.data[pos:to])
		k := kind
		if symbol && !keepsKind(kind) {
			k = PartSymbol
		}
		v.mark(k, before)
		v.broken = v.breaks && v.data[pos] == '\n'
		pos += size
	}
}

// keepsKind reports whether a part stays what it is even if its bytes cannot
// be shown as they are: a separator may be a control character.
func keepsKind(k PartKind) bool { return k >= PartElement && k <= PartLineEnd }

// literal appends text that does not stand in the document as it is.
func (v *viewer) literal(kind PartKind, text string) {
	before := len(v.shown)
	v.shown = append(v.shown, text...)
	v.mark(kind, before)
}

// mark says what the text behind a place of the line is.
func (v *viewer) mark(kind PartKind, before int) {
	if before == len(v.shown) {
		return
	}
	end := uint16(len(v.shown)) //nolint:gosec // at most maxText and one character
	if n := len(v.marked); n > 0 && v.marked[n-1].kind == kind {
		v.marked[n-1].end = end
		return
	}
	if len(v.marked) > 0 {
		if v.parts >= maxParts {
			v.view.Coarse = true
			v.marked[len(v.marked)-1] = mark{PartData, end}
			return
		}
		v.parts++
	}
	v.marked = append(v.marked, mark{kind, end})
}

// wrap goes on in another line.
func (v *viewer) wrap(offset int) {
	l := ViewLine{N: v.current.N, Offset: int64(offset), Depth: v.current.Depth, Continued: true}
	v.end()
	v.begin(l)
}

// end completes the line.
func (v *viewer) end() {
	if v.full() {
		v.view.Truncated = true
		return
	}
	v.current.Text, v.current.marks = string(v.shown), slices.Clone(v.marked)
	v.view.Lines = append(v.view.Lines, v.current)
}

// full reports whether no more lines are wanted.
func (v *viewer) full() bool { return len(v.view.Lines) >= v.most }

// fault puts the view's problem on the newest line, where that begins.
func (v *viewer) fault(p *Problem) {
	v.view.Problem = p
	i := len(v.view.Lines) - 1
	if i < 0 || v.view.Truncated {
		return
	}
	for i > 0 && v.view.Lines[i].Continued {
		i--
	}
	v.view.Lines[i].Fault = p.Text
}

// charset is how bytes become characters.
type charset struct {
	name   string
	decode func(p []byte) (r rune, size int) // size 0: the first byte is no character
}

var utf8Charset = charset{"UTF-8", func(p []byte) (rune, int) {
	r, size := utf8.DecodeRune(p)
	if r == utf8.RuneError && size == 1 {
		return 0, 0
	}
	return r, size
}}

var latin1Charset = charset{"ISO-8859-1", func(p []byte) (rune, int) { return rune(p[0]), 1 }}

// otherCharset shows nothing but ASCII of a character set of that name.
func otherCharset(name string) charset {
	return charset{name, func(p []byte) (rune, int) {
		if p[0] < utf8.RuneSelf {
			return rune(p[0]), 1
		}
		return 0, 0
	}}
}

// show appends the first character of p such that a person sees which it is,
// and tells how many bytes it has. A symbol stands for a character that cannot
// be shown as it is: ␍ for a control character, else an escape. What could be
// taken for one of them is escaped too.
func (c charset) show(text, p []byte) (shown []byte, size int, symbol bool) {
	const pictures, deleted = '␀', '␡'
	r, size := c.decode(p)
	switch {
	case size == 0:
		return escapeByte(text, p[0]), 1, true
	case r < ' ':
		return utf8.AppendRune(text, pictures+r), size, true
	case r == 0x7f:
		return utf8.AppendRune(text, deleted), size, true
	case r == '\\' && len(p) > 1 && (p[1] == 'x' || p[1] == 'u' || p[1] == 'U'):
		return escapeByte(text, p[0]), size, true
	case size == 1 && r >= utf8.RuneSelf && !visible(r):
		return escapeByte(text, p[0]), size, true
	case !visible(r), pictures <= r && r <= deleted+5:
		return escapeRune(text, r), size, true
	}
	return utf8.AppendRune(text, r), size, false
}

// visible reports whether a character leaves a mark of its own where it stands
// and moves nothing around it.
func visible(r rune) bool {
	const blankBraille = 0x2800
	return unicode.IsPrint(r) && r != blankBraille && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const hexDigits = "0123456789abcdef"

func escapeByte(text []byte, c byte) []byte {
	return append(text, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
}

func escapeRune(text []byte, r rune) []byte {
	letter, digits := byte('u'), 4
	if r > 0xffff {
		letter, digits = 'U', 8
	}
	text = append(text, '\\', letter)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		text = append(text, hexDigits[r>>shift&15])
	}
	return text
}
