package rawmime

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"strings"
)

// maxQuotedLine is the longest line of quoted-printable that is decoded;
// RFC 2045 §6.7 asks for 76, partners send whole documents on one.
const maxQuotedLine = 64 << 10

// DecodeTransfer returns a reader of what r holds under the content transfer
// encoding cte, in any case: "", 7bit, 8bit and binary give r itself, base64 and
// quoted-printable a decoder. Base64 may be broken into lines of any length and
// hold blanks; anything else foreign to it, data behind its padding, or an
// incomplete end makes reading fail with ErrSyntax. A line of quoted-printable
// may have 64 KiB, else ErrLimit. An unknown encoding is ErrSyntax at once.
func DecodeTransfer(r io.Reader, cte string) (io.Reader, error) {
	switch strings.ToLower(strings.Trim(cte, " \t;\"")) {
	case "", "7bit", "8bit", "binary":
		return r, nil
	case "base64":
		return &base64Reader{src: r}, nil
	case "quoted-printable":
		src := &source{r: r}
		text := quotedprintable.NewReader(bufio.NewReaderSize(src, maxQuotedLine))
		return &quotedReader{src: src, text: text}, nil
	}
	return nil, fmt.Errorf("%w: content transfer encoding is none of 7bit, 8bit, binary, base64, quoted-printable", ErrSyntax)
}

// base64Reader decodes base64. The decoder of the standard library forgives
// data behind the padding depending on how the input is cut; this one never.
type base64Reader struct {
	src    io.Reader
	in     [4 + 2048]byte // base64 characters not decoded yet, fewer than 4 between reads, then what is read
	held   int            // so many of them
	buf    [1536 + 3]byte
	out    []byte // decoded, not yet returned
	padded bool   // the end was seen
	err    error
}

// Read implements io.Reader.
func (d *base64Reader) Read(p []byte) (int, error) {
	for len(d.out) == 0 && d.err == nil {
		d.fill()
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	if len(d.out) > 0 || d.err == nil {
		return n, nil
	}
	return n, d.err
}

// fill decodes one buffer of input.
func (d *base64Reader) fill() {
	n, err := d.src.Read(d.in[d.held:])
	text := d.in[:d.held]
	for _, c := range d.in[d.held : d.held+n] {
		if c != '\r' && c != '\n' && c != ' ' && c != '\t' {
			text = append(text, c) // in place: never ahead of what is looked at
		}
	}
	if d.padded && len(text) > 0 {
		d.err = fmt.Errorf("%w: data behind the end of base64", ErrSyntax)
		return
	}
	whole := len(text) &^ 3
	got, decodeErr := base64.StdEncoding.Decode(d.buf[:], text[:whole])
	d.padded = d.padded || whole > 0 && text[whole-1] == '='
	d.out = d.buf[:got]
	d.held = copy(d.in[:], text[whole:])
	switch {
	case decodeErr != nil:
		d.err = fmt.Errorf("%w: not base64", ErrSyntax)
	case d.padded && d.held > 0:
		d.err = fmt.Errorf("%w: data behind the end of base64", ErrSyntax)
	case errors.Is(err, io.EOF) && d.held > 0:
		d.err = fmt.Errorf("%w: base64 ends in the middle of a group", ErrSyntax)
	default:
		d.err = err
	}
}

// source remembers the error that its reader ended with.
type source struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// quotedReader gives the errors of the standard library's decoder, which have
// no kind and quote content, a kind and no content.
type quotedReader struct {
	src  *source
	text *quotedprintable.Reader
}

// Read implements io.Reader.
func (q *quotedReader) Read(p []byte) (int, error) {
	n, err := q.text.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	case errors.Is(err, bufio.ErrBufferFull):
		return n, fmt.Errorf("%w: line of quoted-printable is longer than %d bytes", ErrLimit, maxQuotedLine)
	case q.src.err != nil && errors.Is(err, q.src.err):
		return n, q.src.err
	}
	return n, fmt.Errorf("%w: not quoted-printable", ErrSyntax)
}
