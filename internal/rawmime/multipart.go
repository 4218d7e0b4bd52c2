package rawmime

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// maxBoundary is far above the 70 characters of RFC 2046 §5.1.1.
	maxBoundary = 200
	// maxPadding bounds the blanks that may follow a boundary on its line.
	maxPadding = 128
	// The buffer must hold a delimiter line with its padding. What is in memory
	// already, or passes through a buffer, needs no larger one.
	multipartBuffer = 32 << 10
	smallBuffer     = 4 << 10
)

// Multipart splits a multipart body at its delimiter lines and at nothing else,
// so a part may hold any bytes. It holds at most 32 KiB.
type Multipart struct {
	br       *bufio.Reader
	needle   []byte // LF "--" boundary
	maxParts int

	parts     int
	lineStart bool  // nothing of the current part (or preamble) was taken yet
	inPart    bool  // the current part's end was not reached
	taken     int64 // of the body so far, delimiters included
	end       int64 // where the last part ended
	err       error
}

// NewMultipart returns a splitter of r, which starts behind the header block
// that named the boundary. The boundary must have 1 to 200 bytes and no line
// end. Next gives at most maxParts parts.
func NewMultipart(r io.Reader, boundary string, maxParts int) *Multipart {
	size := multipartBuffer
	switch r.(type) {
	case *bytes.Reader, *bufio.Reader: // what has a buffer already shares it
		size = smallBuffer
	}
	m := &Multipart{
		br:        bufio.NewReaderSize(r, size),
		needle:    []byte("\n--" + boundary),
		maxParts:  maxParts,
		lineStart: true,
		inPart:    true, // the preamble is a part that nobody reads
	}
	switch {
	case boundary == "" || bytes.ContainsAny([]byte(boundary), "\r\n"):
		m.err = fmt.Errorf("%w: boundary is empty or holds a line end", ErrSyntax)
	case len(boundary) > maxBoundary:
		m.err = fmt.Errorf("%w: boundary is longer than %d bytes", ErrLimit, maxBoundary)
	}
	return m
}

// Next skips what is left of the current part (before the first: the preamble)
// and returns the next one: its bytes exactly as sent, from its first header
// byte up to the line end that belongs to the delimiter (RFC 2046 §5.1.1). The
// reader ends with io.EOF and is good until the following call of Next.
//
// After the closing delimiter Next returns io.EOF and leaves the epilogue
// alone. When the stream ends without a closing delimiter, the part's reader
// and Next return io.ErrUnexpectedEOF; one part more than allowed is ErrLimit.
func (m *Multipart) Next() (io.Reader, error) {
	if m.inPart {
		if _, err := io.Copy(io.Discard, &part{m: m, number: m.parts}); err != nil {
			return nil, err
		}
	}
	if m.err != nil {
		return nil, m.err
	}
	if m.parts >= m.maxParts {
		m.err = fmt.Errorf("%w: more than %d parts", ErrLimit, m.maxParts)
		return nil, m.err
	}
	m.parts++
	m.inPart, m.lineStart = true, true
	return &part{m: m, number: m.parts}, nil
}

// End is where in the body the part ended that was read to its end last: the
// offset of the line end that belongs to its delimiter.
func (m *Multipart) End() int64 { return m.end }

// part reads one part of its Multipart.
type part struct {
	m      *Multipart
	number int
}

// Read implements io.Reader.
func (p *part) Read(b []byte) (int, error) {
	m := p.m
	if p.number != m.parts || !m.inPart {
		return 0, io.EOF
	}
	if len(b) == 0 {
		return 0, nil
	}
	if m.err != nil {
		return 0, m.err
	}
	for want := 1; ; {
		_, readErr := m.br.Peek(want)
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			m.err = readErr
			return 0, m.err
		}
		buf, _ := m.br.Peek(m.br.Buffered())
		data, line, mark := m.scan(buf, readErr != nil)
		if data > 0 {
			n := copy(b, buf[:data])
			_, _ = m.br.Discard(n)
			m.taken += int64(n)
			m.lineStart = false
			return n, nil
		}
		switch {
		case mark == isOpening || mark == isClosing:
			_, _ = m.br.Discard(line)
			m.end = m.taken
			m.taken += int64(line)
			m.inPart = false
			if mark == isClosing {
				m.err = io.EOF
			}
			return 0, io.EOF
		case readErr != nil:
			m.err = fmt.Errorf("multipart without its closing delimiter: %w", io.ErrUnexpectedEOF)
			return 0, m.err
		}
		want = len(buf) + 1
	}
}

// mark says what stands at the front of a line.
type mark int

const (
	isData    mark = iota // no delimiter
	isUnclear             // more bytes are needed to tell
	isOpening             // a delimiter: another part follows
	isClosing             // the closing delimiter
)

// scan looks at the buffered bytes of a part: data bytes at the front are
// certainly content. When data is 0 and a delimiter stands there, line is its
// length together with the line end in front of it and behind it. eof says that
// nothing follows buf.
func (m *Multipart) scan(buf []byte, eof bool) (data, line int, what mark) {
	if m.lineStart {
		if n, what := m.delimiter(buf, eof); what != isData {
			return 0, n, what
		}
	}
	for from := 0; ; {
		i := bytes.Index(buf[from:], m.needle)
		if i < 0 {
			return m.certain(buf, eof), 0, isData
		}
		i += from
		n, what := m.delimiter(buf[i+1:], eof)
		if what != isData {
			start := beforeCR(buf, i)
			return start, i + 1 + n - start, what
		}
		from = i + 1
	}
}

// delimiter tells whether buf, which begins a line, begins with a delimiter
// line, and how long that line is. A line with anything but blanks behind the
// boundary is content: the boundary of an inner multipart may begin with ours.
func (m *Multipart) delimiter(buf []byte, eof bool) (int, mark) {
	dashes := m.needle[1:]
	if len(buf) < len(dashes) {
		if !eof && bytes.HasPrefix(dashes, buf) {
			return 0, isUnclear
		}
		return 0, isData
	}
	if !bytes.HasPrefix(buf, dashes) {
		return 0, isData
	}
	rest, what := buf[len(dashes):], isOpening
	if bytes.HasPrefix(rest, []byte("--")) {
		rest, what = rest[2:], isClosing
	} else if !eof && string(rest) == "-" {
		return 0, isUnclear
	}
	text := bytes.TrimLeft(rest, " \t")
	switch {
	case len(rest)-len(text) > maxPadding:
		return 0, isData
	case bytes.HasPrefix(text, []byte("\n")):
		text = text[1:]
	case bytes.HasPrefix(text, []byte("\r\n")):
		text = text[2:]
	case len(text) == 0 && eof:
	case len(text) == 0 || !eof && string(text) == "\r":
		return 0, isUnclear
	default:
		return 0, isData
	}
	return len(buf) - len(text), what
}

// certain returns how many bytes of buf, in which no delimiter begins, cannot
// belong to one that the following bytes complete.
func (m *Multipart) certain(buf []byte, eof bool) int {
	if eof {
		return len(buf)
	}
	if i := bytes.LastIndexByte(buf, '\n'); i >= 0 && bytes.HasPrefix(m.needle, buf[i:]) {
		return beforeCR(buf, i)
	}
	return beforeCR(buf, len(buf))
}

// beforeCR returns i, or the index of the CR right in front of it.
func beforeCR(buf []byte, i int) int {
	if i > 0 && buf[i-1] == '\r' {
		return i - 1
	}
	return i
}
