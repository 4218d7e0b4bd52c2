package edi

import "unicode/utf8"

// rowSize is the number of bytes in a row of a hex dump.
const rowSize = 16

// hex shows the bytes of the document.
func (v *viewer) hex() {
	v.view.Form = FormHex
	for from := 0; from < len(v.data); from += rowSize {
		if v.full() {
			v.view.Truncated = true
			return
		}
		row := v.data[from:min(from+rowSize, len(v.data))]
		v.begin(ViewLine{N: from/rowSize + 1, Offset: int64(from)})
		v.literal(PartData, hexBytes(row))
		v.literal(PartComment, "  "+hexText(row))
		v.end()
	}
}

// hexBytes is a row in hex, filled up to its full width.
func hexBytes(row []byte) string {
	text := make([]byte, 0, 3*rowSize+1)
	for i := range rowSize {
		if i > 0 {
			text = append(text, ' ')
		}
		if i == rowSize/2 {
			text = append(text, ' ')
		}
		if i < len(row) {
			text = append(text, hexDigits[row[i]>>4], hexDigits[row[i]&15])
		} else {
			text = append(text, "  "...)
		}
	}
	return string(text)
}

// hexText is what of a row is printable ASCII.
func hexText(row []byte) string {
	text := make([]byte, len(row))
	for i, c := range row {
		text[i] = '.'
		if ' ' <= c && c <= '~' {
			text[i] = c
		}
	}
	return string(text)
}

// isText tells text, maybe with some bytes of another character set in it, from
// binary content: it has no NUL, and at most a tenth of it, and three bytes, is
// no text.
func isText(data []byte) bool {
	const few = 30
	odd := 0
	for i := 0; i < len(data); {
		c := data[i]
		if c == 0 {
			return false
		}
		if c < utf8.RuneSelf {
			if c < ' ' && !isBlank(c) && c != '\f' || c == 0x7f {
				odd++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			odd++
		}
		i += size
	}
	return odd*10 <= len(data)+few
}
