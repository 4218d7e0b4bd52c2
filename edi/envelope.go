package edi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// level is one level of an envelope: interchange, group or message.
type level struct {
	header, trailer string // tags: ST, SE
	countName       string // element of the trailer that counts: SE01
	controlName     string // element of the trailer that repeats the reference: SE02
	headerName      string // element of the header that holds it: ST02
	numeric         bool   // the reference is a number: 1 and 0001 are the same

	open    bool
	control []byte
	count   int // of a message: segments, else what stands directly inside
}

// The levels of an envelope, outermost first.
const (
	interchange = iota
	group
	message
)

// envelope checks that headers and trailers of X12 or EDIFACT fit together. Both
// have the same three levels; in EDIFACT the group may be missing.
type envelope struct {
	report        *Report
	levels        [3]level
	groupOptional bool
	position      int // number of the current segment in its interchange
}

// segment counts the next segment.
func (e *envelope) segment() {
	e.position++
	if e.levels[message].open {
		e.levels[message].count++
	}
}

// enter takes the header of a level with its reference.
func (e *envelope) enter(at int, control []byte) {
	l := &e.levels[at]
	e.missing(at, l.header)
	if at == interchange {
		e.position = 1
	} else {
		e.countIn(at)
	}
	l.open = true
	l.control = append(l.control[:0], control...)
	l.count = 0
	if at == message {
		l.count = 1
	}
}

// countIn counts a group or message in the level around it.
func (e *envelope) countIn(at int) {
	around := &e.levels[at-1]
	if at == message && !around.open {
		if !e.groupOptional {
			e.misplaced(e.levels[at].header, around.header)
			return
		}
		around = &e.levels[interchange]
	}
	around.count++
}

// leave takes the trailer of a level: the count and the reference it states.
func (e *envelope) leave(at int, count, control []byte) {
	l := &e.levels[at]
	e.missing(at+1, l.trailer)
	if !l.open {
		e.misplaced(l.trailer, l.header)
		return
	}
	l.open = false
	said := clean(count)
	if n, err := strconv.Atoi(said); err != nil || n != l.count {
		e.mismatch(l.countName, "counted", strconv.Itoa(l.count), said)
		return
	}
	if !sameControl(l.control, control, l.numeric) {
		e.mismatch(l.controlName, l.headerName+" says", clean(l.control), clean(control))
	}
}

// missing reports the trailers that should have come before the segment found,
// innermost first, and closes their levels, from the innermost up to at.
func (e *envelope) missing(at int, found string) {
	for i := message; i >= at; i-- {
		l := &e.levels[i]
		if !l.open {
			continue
		}
		l.open = false
		text := fmt.Sprintf("%s is missing: found %s (segment %d)", l.trailer, found, e.position)
		if found == "" {
			found = "end of file"
			text = fmt.Sprintf("%s is missing: the file ends after segment %d", l.trailer, e.position)
		}
		e.report.fault(Problem{Segment: l.trailer, Position: e.position, Expected: l.trailer, Found: found, Text: text})
	}
}

// misplaced reports a segment that stands outside what must be around it.
func (e *envelope) misplaced(found, around string) {
	e.report.fault(Problem{
		Segment: found, Position: e.position, Expected: around, Found: found,
		Text: fmt.Sprintf("%s without %s before it (segment %d)", found, around, e.position),
	})
}

// mismatch reports an element that states another value than it should.
func (e *envelope) mismatch(name, origin, expected, found string) {
	e.report.fault(Problem{
		Segment: name, Position: e.position, Expected: expected, Found: found,
		Text: fmt.Sprintf("%s says %s, %s %s (segment %d)", name, orNothing(found), origin, orNothing(expected), e.position),
	})
}

// tooLong reports a segment of more than 64 KiB.
func (e *envelope) tooLong(tag string) {
	e.report.fault(Problem{
		Segment: tag, Position: e.position, Expected: "at most 65536 bytes", Found: "more",
		Text: fmt.Sprintf("%s is longer than 64 KiB (segment %d)", tag, e.position),
	})
}

// cutOff reports a segment that the end of the file cuts off.
func (e *envelope) cutOff(tag string) {
	e.report.fault(Problem{
		Segment: tag, Position: e.position + 1, Expected: "segment terminator", Found: "end of file",
		Text: fmt.Sprintf("the file ends inside %s, its terminator is missing (segment %d)", tag, e.position+1),
	})
}

// trailing reports content behind an interchange that begins no other one. It
// may be an interchange all the same, so the first alone identifies nothing.
func (e *envelope) trailing(header string) {
	e.report.Identity = nil
	l := e.levels[interchange]
	e.report.fault(Problem{
		Segment: l.trailer, Position: e.position, Expected: header + " or end of file", Found: "other content",
		Text: fmt.Sprintf("content that is no %s follows %s (segment %d)", header, l.trailer, e.position),
	})
}

// sameControl compares the references of a header and its trailer.
func sameControl(a, b []byte, numeric bool) bool {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if numeric && len(a) > 0 && len(b) > 0 {
		a, b = bytes.TrimLeft(a, "0"), bytes.TrimLeft(b, "0")
	}
	return bytes.Equal(a, b)
}

// orNothing names an empty value.
func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return strings.ToValidUTF8(s, "")
}

// tagOf shortens a segment's tag, which may be anything in a broken file, to
// what a sentence can show.
func tagOf(raw []byte) string {
	if len(raw) > 3 {
		raw = raw[:3]
	}
	tag := clean(raw)
	if tag == "" {
		return "segment"
	}
	return tag
}
