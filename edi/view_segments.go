package edi

import "strings"

// segmented is a reader of X12 or EDIFACT as a view drives it: the same that
// checks documents at the door.
type segmented interface {
	// step takes bytes of p, at least one, up to the end of a segment at most,
	// and reports whether one is complete.
	step(p []byte) (n int, complete bool)
	// standing tells whether the reader is outside of an interchange, and
	// whether it cannot tell apart what follows.
	standing() (outside, lost bool)
	number() int            // of the newest segment in its interchange
	depthOf(tag string) int // envelopes open around the newest segment
	// dialect is how segments are written from a service segment on.
	dialect(tag string, raw []byte, was syntax) syntax
}

// syntax is how the segments of an interchange are written.
type syntax struct {
	delimiters
	repetition byte // 0: none
	advised    bool // repetition comes from a UNA whose UNB is still to come
	charset    charset
}

// number is the number of the newest segment.
func (e *envelope) number() int { return e.position }

// depthOf counts the levels that are open around the newest segment, which has
// this tag.
func (e *envelope) depthOf(tag string) int {
	n := 0
	for _, l := range e.levels {
		if l.open && l.header != tag {
			n++
		}
	}
	return n
}

// segments shows X12 or EDIFACT. s, whose format is x, has taken the bytes up to
// pos. It is false if the content turns out to be something else.
func (v *viewer) segments(x segmented, s *Scanner, pos int, names map[string]string) bool {
	_, isX12 := x.(*x12)
	w := &segmentWriter{viewer: v, x: x, names: names, binary: isX12}
	w.syntax.charset, v.charset, v.view.Form = utf8Charset, utf8Charset, FormSegments
	start := pos - headSize
	w.aside(0, start) // a byte order mark, blanks
	for pos < len(v.data) {
		before := s.report.Problem
		n, complete := x.step(v.data[pos:])
		pos += n
		outside, lost := x.standing()
		if lost {
			if s.report.Kind == Unknown {
				return false
			}
			w.lost(start, before, s.report.Problem)
			start = len(v.data)
			break
		}
		if !complete {
			continue
		}
		start = w.segment(start, pos)
		if p := s.report.Problem; p != before {
			v.fault(p)
		}
		if outside {
			start = w.padding(start)
		}
		pos = start
	}
	return w.finish(s, start)
}

// segmentWriter shows segments, one a line.
type segmentWriter struct {
	*viewer
	x      segmented
	syntax syntax
	names  map[string]string
	binary bool // BIN and BDS hold data in which nothing is a separator
	nested nesting
}

// finish shows what the document ends with: a segment that it cuts off.
func (w *segmentWriter) finish(s *Scanner, start int) bool {
	v := w.viewer
	if start < len(v.data) {
		w.line(start, len(v.data), false)
	}
	before, report := s.report.Problem, s.report
	if v.whole {
		report = s.Close()
	}
	if report.Kind == Unknown {
		return false
	}
	if report.Problem != before {
		v.fault(report.Problem)
	}
	v.view.Kind, v.view.Type = report.Kind, report.Type
	if v.view.Charset == "" {
		v.view.Charset = w.syntax.charset.name
	}
	return true
}

// lost shows as text what stands where segments should, from start on.
func (w *segmentWriter) lost(start int, before, now *Problem) {
	faultAt := -1
	if now != before {
		w.view.Problem, faultAt = now, start
	}
	w.plain(start, 0, faultAt)
}

// aside shows bytes that belong to no segment.
func (w *segmentWriter) aside(from, to int) {
	if from < to {
		w.begin(ViewLine{Offset: int64(from)})
		w.add(PartData, from, to)
		w.end()
	}
}

// padding shows what fills a file behind an interchange, and gives its end.
func (w *segmentWriter) padding(from int) int {
	to := from
	for to < len(w.data) && (isBlank(w.data[to]) || w.data[to] == 0 || w.data[to] == 0x1a) {
		to++
	}
	w.aside(from, to)
	return to
}

// segment shows a complete segment with the white space behind it, and gives
// the end of that.
func (w *segmentWriter) segment(from, to int) int {
	tag := w.tag(from, to)
	raw := w.data[from:to]
	if tag != "UNA" {
		raw = raw[:len(raw)-1]
	}
	w.syntax = w.x.dialect(tag, raw, w.syntax)
	w.charset = w.syntax.charset
	if tag == "UNB" || tag == "ISA" {
		if w.view.Charset == "" {
			w.view.Charset = w.charset.name
		}
	}
	return w.line(from, to, true)
}

// line shows the segment between two places; a complete one ends with its
// terminator. It gives the end of the white space behind it.
func (w *segmentWriter) line(from, to int, complete bool) int {
	tag := w.tag(from, to)
	depth := w.x.depthOf(tag) + w.nested.depth(tag, func(n int) string {
		return w.syntax.text(w.syntax.elementOf(w.data[from:to], n))
	})
	next := to
	for next < len(w.data) && isBlank(w.data[next]) {
		next++
	}
	n := w.x.number()
	outside, _ := w.x.standing()
	switch {
	case !complete && outside:
		n = 1
	case !complete:
		n++
	case tag == "UNA", tag == "":
		n = 0
	}
	w.begin(ViewLine{N: n, Offset: int64(from), Depth: depth, Tag: tag, Name: w.names[tag]})
	w.parts(tag, from, to, complete)
	w.add(PartLineEnd, to, next)
	w.end()
	return next
}

// tag is the tag of the segment between two places.
func (w *segmentWriter) tag(from, to int) string {
	const longest = 16 // of what may be anything in a broken file
	end := from
	for end < min(to, from+longest) && !isDelimiter(w.data[end]) && w.data[end] != ' ' {
		end++
	}
	return string(w.data[from:end])
}

// parts adds the pieces of a segment.
func (w *segmentWriter) parts(tag string, from, to int, complete bool) {
	d, end, opaque := w.syntax, to, -1
	switch {
	case tag == "UNA": // its data are the separators themselves
		w.add(PartTag, from, from+3)
		w.add(PartData, from+3, to)
		return
	case tag == "ISA":
		d.component, d.repetition = 0, 0
	case w.binary && tag == "BIN":
		opaque = 2
	case w.binary && tag == "BDS":
		opaque = 3
	}
	if complete {
		end--
	}
	kind, begin, elements := PartTag, from, 0
	for i := from; i < end && elements != opaque; i++ {
		c := w.data[i]
		if c == d.release && d.release != 0 {
			w.add(kind, begin, i)
			w.add(PartRelease, i, i+1)
			begin = i + 1
			i++
			continue
		}
		k, separates := d.separator(c)
		if !separates {
			continue
		}
		w.add(kind, begin, i)
		w.add(k, i, i+1)
		kind, begin = PartData, i+1
		if k == PartElement {
			elements++
		}
	}
	w.add(kind, begin, end)
	w.add(PartTerminator, end, to)
}

// separator tells what separates at c.
func (s syntax) separator(c byte) (PartKind, bool) {
	switch {
	case c == s.element:
		return PartElement, true
	case c == s.component && s.component != 0:
		return PartComponent, true
	case c == s.repetition && s.repetition != 0:
		return PartRepetition, true
	}
	return PartData, false
}

// nesting is what segments of a message say about their own order: loops
// between LS and LE, and the levels of X12's HL and EDIFACT's CPS, each of which
// names itself and its parent. Nothing else is known without a guideline.
type nesting struct {
	loops  int            // LS without their LE
	level  int            // of what follows the newest HL or CPS
	levels map[string]int // of each HL or CPS of the message
}

// depth is the depth of a segment inside its message; element gives its
// elements.
func (n *nesting) depth(tag string, element func(int) string) int {
	switch tag {
	case "ISA", "GS", "ST", "SE", "UNB", "UNG", "UNH", "UNT":
		*n = nesting{}
	case "LS":
		n.loops++
		return n.loops - 1 + n.level
	case "LE":
		n.loops = max(n.loops-1, 0)
	case "HL", "CPS":
		own := 0
		if above, known := n.levels[element(2)]; known {
			own = above + 1
		}
		if n.levels == nil {
			n.levels = map[string]int{}
		}
		n.levels[strings.Clone(element(1))] = own
		n.level = own + 1
		return n.loops + own
	case "CTT", "CNT", "AUT": // the summary, behind all levels
		n.level = 0
	}
	return n.loops + n.level
}
