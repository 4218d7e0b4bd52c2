// Package rawmime reads MIME without changing a byte of it: a digital
// signature and a MIC cover a part exactly as it arrived, so order, case,
// folding and line ends of the header and every byte of the body survive.
//
// It owns header blocks, media type values, the split of a multipart stream at
// its delimiter lines and the content transfer encodings. It refuses to write
// MIME, to canonicalise, to guess character sets and to know what a part means.
// Everything is streaming and bounded; nothing here is safe for concurrent use.
package rawmime

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The kinds of error that reading MIME ends with, to be told by errors.Is.
// Input that stops too early is io.ErrUnexpectedEOF, errors of the reader
// below are passed on as they are.
var (
	// ErrLimit: more bytes, fields, parameters or parts than allowed.
	ErrLimit = errors.New("MIME limit exceeded")
	// ErrBareCR: a carriage return in a header that no line feed follows.
	ErrBareCR = errors.New("bare CR in a MIME header")
	// ErrSyntax: anything else that is not MIME.
	ErrSyntax = errors.New("malformed MIME")
)

// maxFields is the number of fields that one header block may hold.
const maxFields = 200

// Header is a block of header fields. The zero value is an empty header.
type Header struct {
	// Raw holds the block as it arrived, with the blank line that ends it if
	// there was one.
	// It belongs to the Header: read it, never change it.
	Raw []byte

	fields []field
}

// field is one header field, its value unfolded and trimmed.
type field struct {
	name  string
	value []byte
}

// Get returns the first value of the field called name (in any case),
// unfolded and trimmed, or "" when there is none.
func (h Header) Get(name string) string {
	for _, f := range h.fields {
		if strings.EqualFold(f.name, name) {
			return string(f.value)
		}
	}
	return ""
}

// Values returns all values of the field called name (in any case) in the
// order of arrival, each unfolded and trimmed.
func (h Header) Values(name string) []string {
	var values []string
	for _, f := range h.fields {
		if strings.EqualFold(f.name, name) {
			values = append(values, string(f.value))
		}
	}
	return values
}

// Count returns how often the field called name (in any case) occurs. A field
// that must be unique and is not should be refused, never picked from.
func (h Header) Count(name string) int {
	return len(h.Values(name))
}

// ReadHeader reads a header block from br up to and including its blank line
// and no byte further. A line ends with CRLF or LF; a line that begins with a
// blank or TAB continues the field before it.
//
// The block may have at most limit bytes and 200 fields, else ErrLimit. A CR
// without LF is ErrBareCR (a reader that splits there sees other fields than
// one that does not), a line that is no field is ErrSyntax, and input that ends
// within a line is io.ErrUnexpectedEOF. Input that ends behind a complete line
// ends the block: the blank line belongs to the body, which may be missing
// (RFC 5322 §3.5), and in a multipart to the delimiter of an empty part.
func ReadHeader(br *bufio.Reader, limit int) (Header, error) {
	var h Header
	for {
		start := len(h.Raw)
		if err := h.readLine(br, limit); err != nil {
			return Header{}, err
		}
		line := trimLineEnd(h.Raw[start:])
		if len(line) == 0 {
			for i := range h.fields {
				h.fields[i].value = bytes.Trim(h.fields[i].value, " \t")
			}
			return h, nil
		}
		if err := h.addLine(line); err != nil {
			return Header{}, err
		}
	}
}

// readLine appends one line with its end to h.Raw, or nothing at the end of
// the input.
func (h *Header) readLine(br *bufio.Reader, limit int) error {
	for start := len(h.Raw); ; {
		part, err := br.ReadSlice('\n')
		if len(part) > limit-len(h.Raw) {
			return fmt.Errorf("%w: header block is longer than %d bytes", ErrLimit, limit)
		}
		h.Raw = append(h.Raw, part...)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(h.Raw) == start:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("header block ends within a line: %w", io.ErrUnexpectedEOF)
		default:
			return err
		}
	}
}

// addLine takes a line without its end as a new field or as the continuation
// of the last one.
func (h *Header) addLine(line []byte) error {
	if bytes.IndexByte(line, '\r') >= 0 {
		return fmt.Errorf("%w: after field %d", ErrBareCR, len(h.fields))
	}
	if bytes.IndexByte(line, 0) >= 0 {
		return fmt.Errorf("%w: NUL in the header after field %d", ErrSyntax, len(h.fields))
	}
	if line[0] == ' ' || line[0] == '\t' {
		if len(h.fields) == 0 {
			return fmt.Errorf("%w: header begins with a continuation line", ErrSyntax)
		}
		// RFC 5322 §2.2.3: unfolding removes the line end and nothing else.
		last := &h.fields[len(h.fields)-1]
		last.value = append(last.value, line...)
		return nil
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	// RFC 5322 §4.5.8 lets old senders put blanks before the colon. Taking
	// them off makes such a field count, so it cannot hide a second one.
	name = bytes.TrimRight(name, " \t")
	if !ok || !isToken(string(name)) {
		return fmt.Errorf("%w: line after field %d is not a header field", ErrSyntax, len(h.fields))
	}
	if len(h.fields) == maxFields {
		return fmt.Errorf("%w: more than %d header fields", ErrLimit, maxFields)
	}
	h.fields = append(h.fields, field{name: string(name), value: bytes.Clone(value)})
	return nil
}

// trimLineEnd takes one LF, and one CR in front of it, off a line.
func trimLineEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// isToken tells whether s may name a field or a parameter: not empty, printable
// ASCII, no blank and none of the separators that could end it early.
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || strings.IndexByte(`()<>@,;:\"/[]?=`, s[i]) >= 0 {
			return false
		}
	}
	return s != ""
}
