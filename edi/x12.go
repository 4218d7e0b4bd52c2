package edi

import (
	"bytes"
	"fmt"
)

// isaSize is the fixed length of ISA with its terminator (X12.5).
const isaSize = 106

// isaSeparators are the offsets of the element separators in ISA.
var isaSeparators = [16]int{3, 6, 17, 20, 31, 34, 50, 53, 69, 76, 81, 83, 89, 99, 101, 103}

// x12References says which element of which segment of which transaction set is
// which reference.
var x12References = []struct {
	set, segment string
	element      int
	name         string
}{
	{"810", "BIG", 2, "invoice"},
	{"810", "BIG", 4, "order"},
	{"850", "BEG", 3, "order"},
	{"855", "BAK", 3, "order"},
	{"856", "BSN", 2, "shipment"},
	{"860", "BCH", 3, "order"},
	{"997", "AK1", 2, "acknowledged"},
	{"999", "AK1", 2, "acknowledged"},
}

// x12 reads interchanges of X12.
type x12 struct {
	envelope
	seg segmenter
	set []byte // type of the current transaction set

	isa  []byte // ISA of the next interchange, nil inside one
	lost bool   // nothing that follows can be told apart
}

func newX12(r *Report) *x12 {
	return &x12{
		envelope: envelope{report: r, levels: [3]level{
			{header: "ISA", trailer: "IEA", countName: "IEA01", controlName: "IEA02", headerName: "ISA13", numeric: true},
			{header: "GS", trailer: "GE", countName: "GE01", controlName: "GE02", headerName: "GS06", numeric: true},
			{header: "ST", trailer: "SE", countName: "SE01", controlName: "SE02", headerName: "ST02"},
		}},
		seg: segmenter{binary: true},
		isa: make([]byte, 0, isaSize),
	}
}

func (x *x12) write(p []byte) {
	for len(p) > 0 && !x.lost {
		n, _ := x.step(p)
		p = p[n:]
	}
}

// step takes bytes of p, at least one, up to the end of a segment at most, and
// reports whether one is complete.
func (x *x12) step(p []byte) (int, bool) {
	if x.isa != nil {
		x.between(p[0])
		return 1, x.isa == nil
	}
	n, complete := x.seg.next(p)
	if complete {
		x.take()
		x.seg.reset()
	}
	return n, complete
}

// between takes a byte of the next ISA or of the padding in front of it.
func (x *x12) between(c byte) {
	// QUIRK(DOS, mainframes): files end with Ctrl-Z or are filled with NUL.
	if len(x.isa) == 0 && (isBlank(c) || c == 0 || c == 0x1a) {
		return
	}
	x.isa = append(x.isa, c)
	switch n := len(x.isa); {
	case n <= 3 && x.isa[n-1] != "ISA"[n-1]:
		x.lost = true
		x.trailing("ISA")
	case n == 7 && x.report.Interchanges == 0:
		if x.isa[6] != x.isa[3] {
			x.lost = true // a text that begins with ISA by chance
			return
		}
		x.report.Kind = X12
	case n == isaSize:
		x.begin()
	}
}

// begin takes a complete ISA.
func (x *x12) begin() {
	isa := x.isa
	x.isa = nil
	x.report.Interchanges++
	x.report.Identity = nil
	x.seg.use(delimiters{component: isa[104], element: isa[3], terminator: isa[105]})
	isa = isa[:isaSize-1]
	x.enter(interchange, x.seg.elementOf(isa, 13))
	if !x.checkISA(isa) {
		x.lost = true
		return
	}

	value := func(n int) string { return x.seg.text(x.seg.elementOf(isa, n)) }
	x.report.addReference("interchange", value(13))
	x.report.addReference("sender", value(6))
	x.report.addReference("receiver", value(8))
	x.report.Production = x.report.Production || value(15) == "P"
	x.report.Test = x.report.Test || value(15) == "T"
	if x.report.Interchanges == 1 && value(13) != "" {
		x.report.Identity = []string{
			value(5), value(6), value(7), value(8), value(9), value(10), value(13), value(15),
		}
	}
}

// checkISA checks the fixed form of ISA, from which the delimiters come.
func (x *x12) checkISA(isa []byte) bool {
	d := x.seg.delimiters
	for i, at := range isaSeparators {
		if isa[at] != d.element {
			x.report.fault(Problem{
				Segment: fmt.Sprintf("ISA%02d", i), Position: 1,
				Expected: fmt.Sprintf("separator at byte %d", at+1), Found: "another character",
				Text: fmt.Sprintf("ISA%02d has a wrong length: no separator at byte %d of ISA (segment 1)", i, at+1),
			})
			return false
		}
	}
	distinct := d.element != d.component && d.element != d.terminator && d.component != d.terminator
	if !distinct || !isDelimiter(d.component) || !isDelimiter(d.terminator) {
		x.report.fault(Problem{
			Segment: "ISA16", Position: 1, Expected: "three different delimiters", Found: "letters, digits or equal ones",
			Text: "ISA16 and the segment terminator are no usable delimiters (segment 1)",
		})
		return false
	}
	return true
}

// take reads a complete segment of an interchange.
func (x *x12) take() {
	if len(x.seg.segment) == 0 {
		return
	}
	x.segment()
	element := func(n int) []byte { return x.seg.elementOf(x.seg.segment, n) }
	tag := element(0)
	if x.seg.long {
		x.tooLong(tagOf(tag))
	}
	switch string(tag) {
	case "ISA":
		x.nextISA()
	case "GS":
		x.enter(group, element(6))
		x.report.addReference("group", x.seg.text(element(6)))
	case "GE":
		x.leave(group, element(1), element(2))
	case "ST":
		x.enter(message, element(2))
		x.set = append(x.set[:0], element(1)...)
		if x.report.Type == "" {
			x.report.Type = clean(x.set)
		}
	case "SE":
		x.leave(message, element(1), element(2))
	case "IEA":
		x.leave(interchange, element(1), element(2))
		x.isa = make([]byte, 0, isaSize)
	case "TA1": // an acknowledgement that stands in the interchange itself
	default:
		if !x.levels[message].open {
			x.misplaced(tagOf(tag), "ST")
		}
		x.references(tag)
	}
}

// nextISA takes an ISA that came before the IEA of the current interchange.
func (x *x12) nextISA() {
	x.missing(interchange, "ISA")
	x.isa = append(bytes.Clone(x.seg.segment), x.seg.terminator)
	if len(x.isa) != isaSize {
		x.lost, x.report.Identity = true, nil
		return
	}
	x.begin()
}

// references notes the references of a segment inside a transaction set.
func (x *x12) references(tag []byte) {
	for _, r := range x12References {
		if string(tag) == r.segment && string(x.set) == r.set {
			x.report.addReference(r.name, x.seg.text(x.seg.elementOf(x.seg.segment, r.element)))
		}
	}
}

func (x *x12) close() {
	switch {
	case x.lost || x.report.Kind != X12:
	case x.isa == nil && len(x.seg.segment) > 0:
		x.cutOff(tagOf(x.seg.elementOf(x.seg.segment, 0)))
	case x.isa == nil:
		x.missing(interchange, "")
	case len(x.isa) > 0:
		x.position = 0
		x.cutOff("ISA")
	}
}
