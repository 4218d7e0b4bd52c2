package edi

import "bytes"

// format reads one family of formats: it takes the bytes in pieces of any size
// and writes what it finds into the Report it was made with.
type format interface {
	write(p []byte)
	close()
}

// Scanner recognises the document that is written to it. It holds at most about
// 200 KiB, never fails on content, and is not safe for concurrent use.
type Scanner struct {
	report Report
	head   []byte // the first bytes, until they tell the format
	format format
	closed bool
}

// NewScanner returns a Scanner of one document or file.
func NewScanner() *Scanner {
	return &Scanner{report: Report{Kind: Unknown}}
}

// headSize is the number of bytes that tell the format.
const headSize = 4

// utf8BOM may stand in front of any of the formats.
var utf8BOM = []byte{0xef, 0xbb, 0xbf}

// Write takes the next bytes of the document. It keeps no part of p, and always
// returns len(p) and nil. It never blocks.
func (s *Scanner) Write(p []byte) (int, error) {
	n := len(p)
	if s.closed {
		return n, nil
	}
	for s.format == nil && len(p) > 0 {
		s.head = append(s.head, p[0])
		p = p[1:]
		s.detect()
	}
	if len(p) > 0 {
		s.format.write(p)
	}
	return n, nil
}

// Close ends the document and returns the report. Bytes written afterwards are
// ignored, and a second Close returns the same report.
func (s *Scanner) Close() Report {
	if !s.closed {
		s.closed = true
		if s.format != nil {
			s.format.close()
		}
		s.format, s.head = nil, nil
	}
	return s.report
}

// detect chooses the format once the head is complete. A byte order mark and
// white space in front of a document are skipped.
func (s *Scanner) detect() {
	if bytes.Equal(s.head, utf8BOM) || len(s.head) == 1 && isBlank(s.head[0]) {
		s.head = s.head[:0]
		return
	}
	if len(s.head) < headSize {
		return
	}
	mark := s.head[3]
	switch {
	case bytes.HasPrefix(s.head, []byte("ISA")) && isDelimiter(mark):
		s.format = newX12(&s.report)
	case bytes.HasPrefix(s.head, []byte("UNA")) && isDelimiter(mark),
		bytes.HasPrefix(s.head, []byte("UNB")) && (mark == '+' || mark == levelB.element):
		s.format = newEDIFACT(&s.report)
	case s.head[0] == '<' && (s.head[1] == '?' || s.head[1] == '!' || isNameStart(s.head[1])):
		s.format = newXML(&s.report)
	default:
		s.format = unknown{}
	}
	s.format.write(s.head)
	s.head = nil
}

// unknown takes content of no known format.
type unknown struct{}

func (unknown) write([]byte) {}
func (unknown) close()       {}

// isBlank tells white space that may stand around segments and documents.
func isBlank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n'
}

// isDelimiter tells whether c may be a delimiter of X12 or EDIFACT.
func isDelimiter(c byte) bool {
	return c != ' ' && !('0' <= c && c <= '9') && !('A' <= c && c <= 'Z') && !('a' <= c && c <= 'z')
}
