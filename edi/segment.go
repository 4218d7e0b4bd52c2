package edi

import (
	"bytes"
	"strconv"
)

// maxSegment is the longest segment that is held; the rest of a longer one is
// counted as nothing and reported.
const maxSegment = 64 << 10

// delimiters are the separators of an interchange. A zero release or component
// means that there is none.
type delimiters struct {
	component, element, release, terminator byte
}

// elementOf returns the nth element of a segment, the segment's own tag being
// number 0, as it stands there; nil if there is none.
func (d delimiters) elementOf(segment []byte, n int) []byte {
	return d.piece(segment, d.element, n)
}

// componentOf returns the nth component of an element, the first being 0.
func (d delimiters) componentOf(element []byte, n int) []byte {
	return d.piece(element, d.component, n)
}

// piece returns the nth piece of data between unreleased separators.
func (d delimiters) piece(data []byte, separator byte, n int) []byte {
	start := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case d.release != 0 && c == d.release:
			i++
		case c == separator && n == 0:
			return data[start:i]
		case c == separator:
			n--
			start = i + 1
		}
	}
	if n > 0 {
		return nil
	}
	return data[start:]
}

// text returns an element or component as clean text, release characters taken
// off.
func (d delimiters) text(raw []byte) string {
	if d.release == 0 || bytes.IndexByte(raw, d.release) < 0 {
		return clean(raw)
	}
	plain := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == d.release && i+1 < len(raw) {
			i++
		}
		plain = append(plain, raw[i])
	}
	return clean(plain)
}

// segmenter cuts a stream into segments. Line ends (unless they are the
// terminator) are dropped wherever they stand, for some senders wrap lines at
// 80 columns; white space between segments is skipped.
type segmenter struct {
	delimiters
	binary   bool   // X12: BIN and BDS hold data of a stated length
	segment  []byte // the current segment, without its terminator
	long     bool   // segment is only the first 64 KiB
	released bool   // the next byte is data whatever it is
	skip     int64  // bytes of binary data still to come

	special [256]bool // bytes that are not simply data inside a segment
}

// use begins an interchange with its own delimiters.
func (s *segmenter) use(d delimiters) {
	s.delimiters = d
	s.special = [256]bool{'\r': true, '\n': true}
	s.special[d.terminator] = true
	if d.release != 0 {
		s.special[d.release] = true
	}
	s.reset()
}

// next takes bytes of p up to the end of the current segment. It returns how
// many it took and whether the segment is complete; then the caller reads
// segment and long, and calls reset.
func (s *segmenter) next(p []byte) (int, bool) {
	for i := 0; i < len(p); i++ {
		if s.skip > 0 {
			n := min(s.skip, int64(len(p)-i))
			s.skip -= n
			i += int(n) - 1
			continue
		}
		if n := s.run(p[i:]); n > 0 {
			i += n - 1
			continue
		}
		c := p[i]
		switch {
		case c == '\r' || c == '\n':
			if c == s.terminator && !s.released {
				return i + 1, true
			}
			continue
		case s.released:
			s.released = false
		case c == s.terminator:
			return i + 1, true
		case s.release != 0 && c == s.release:
			s.released = true
		case len(s.segment) == 0 && (c == ' ' || c == '\t'):
			continue
		}
		s.add(c)
	}
	return len(p), false
}

// run takes the plain data at the front of p and returns how much it was. It
// only makes next faster: most bytes are plain.
func (s *segmenter) run(p []byte) int {
	if s.released || len(s.segment) == 0 || s.binary && s.segment[0] == 'B' {
		return 0
	}
	n := 0
	for n < len(p) && !s.special[p[n]] {
		n++
	}
	room := min(n, maxSegment-len(s.segment))
	s.segment = append(s.segment, p[:room]...)
	s.long = s.long || room < n
	return n
}

// add appends a byte to the segment up to its bound.
func (s *segmenter) add(c byte) {
	if len(s.segment) == maxSegment {
		s.long = true
		return
	}
	s.segment = append(s.segment, c)
	if s.binary && c == s.element && s.segment[0] == 'B' {
		s.skip = s.binaryLength()
	}
}

// binaryLength returns how many bytes of data follow the separator just read:
// BIN*length*data, BDS*filter*length*data.
func (s *segmenter) binaryLength() int64 {
	const longest = 40 // tag, filter and length; counting further would cost too much
	before := 2
	switch {
	case len(s.segment) > longest:
		return 0
	case bytes.HasPrefix(s.segment, []byte("BIN")):
	case bytes.HasPrefix(s.segment, []byte("BDS")):
		before = 3
	default:
		return 0
	}
	if bytes.Count(s.segment, []byte{s.element}) != before {
		return 0
	}
	length, err := strconv.ParseInt(string(s.elementOf(s.segment, before-1)), 10, 64)
	if err != nil {
		return 0
	}
	return max(length, 0)
}

// reset makes room for the next segment.
func (s *segmenter) reset() {
	s.segment, s.long, s.released, s.skip = s.segment[:0], false, false, 0
}
