package edi

import (
	"bytes"
	"strings"
)

var (
	// levelA are the delimiters without UNA (ISO 9735, service characters).
	levelA = delimiters{component: ':', element: '+', release: '?', terminator: '\''}
	// levelB are those of the syntax level UNOB, versions 1 to 3, which nobody
	// can type.
	levelB = delimiters{component: 0x1f, element: 0x1d, terminator: 0x1c}
)

// unaSize is the fixed length of the service string advice.
const unaSize = 9

// edifactNumbers says what the document number (BGM, 1004) of a message type is.
var edifactNumbers = map[string]string{
	"INVOIC": "invoice", "ORDERS": "order", "ORDCHG": "order", "ORDRSP": "order-response", "DESADV": "shipment",
}

// edifact reads interchanges of EDIFACT.
type edifact struct {
	envelope
	seg segmenter
	typ []byte // type of the current message

	head    []byte // UNA or the first bytes of UNB, while not inside an interchange
	inside  bool   // between UNB and UNZ
	advised bool   // UNA gave the delimiters
	lost    bool   // nothing that follows can be told apart
}

func newEDIFACT(r *Report) *edifact {
	r.Kind = EDIFACT
	return &edifact{
		envelope: envelope{report: r, groupOptional: true, levels: [3]level{
			{header: "UNB", trailer: "UNZ", countName: "UNZ 0036", controlName: "UNZ 0020", headerName: "UNB 0020"},
			{header: "UNG", trailer: "UNE", countName: "UNE 0060", controlName: "UNE 0048", headerName: "UNG 0048"},
			{header: "UNH", trailer: "UNT", countName: "UNT 0074", controlName: "UNT 0062", headerName: "UNH 0062"},
		}},
	}
}

func (x *edifact) write(p []byte) {
	for len(p) > 0 && !x.lost {
		n, _ := x.step(p)
		p = p[n:]
	}
}

// step takes bytes of p, at least one, up to the end of UNA or of a segment at
// most, and reports whether it is complete.
func (x *edifact) step(p []byte) (int, bool) {
	if !x.inside {
		advised := x.advised
		x.between(p[0])
		return 1, x.advised && !advised
	}
	n, complete := x.seg.next(p)
	if complete {
		x.take()
		x.seg.reset()
	}
	return n, complete
}

// between takes a byte of UNA, of the first four of UNB, or of the padding in
// front of them.
func (x *edifact) between(c byte) {
	if len(x.head) == 0 && (isBlank(c) || c == 0 || c == 0x1a) {
		return
	}
	x.head = append(x.head, c)
	isUNA := !x.advised && bytes.HasPrefix(x.head, []byte("UNA"))
	switch n := len(x.head); {
	case n <= 2 && c != "UN"[n-1], n == 3 && c != 'B' && !isUNA:
		x.lose()
	case isUNA && n == unaSize:
		x.advise()
	case !isUNA && n == headSize:
		x.begin()
	}
}

// lose gives up on what is no interchange. Nothing but a UNA may come before
// the first one.
func (x *edifact) lose() {
	x.lost = true
	if x.report.Interchanges > 0 {
		x.trailing("UNB")
		return
	}
	x.report.fault(Problem{
		Segment: "UNB", Position: 1, Expected: "UNB", Found: "other content",
		Text: "UNA is not followed by UNB (segment 1)",
	})
}

// advise takes a complete UNA (ISO 9735, service string advice).
func (x *edifact) advise() {
	una := x.head
	x.head = x.head[:0]
	d := delimiters{component: una[3], element: una[4], release: una[6], terminator: una[8]}
	if d.release == ' ' {
		d.release = 0
	}
	distinct := d.component != d.element && d.component != d.terminator && d.element != d.terminator &&
		d.release != d.component && d.release != d.element && d.release != d.terminator
	if !distinct || !isDelimiter(d.component) || !isDelimiter(d.element) || !isDelimiter(d.terminator) {
		x.lost = true
		if x.report.Interchanges == 0 {
			x.report.Kind = Unknown // a text that begins with UNA by chance
			return
		}
		x.trailing("UNB")
		return
	}
	x.advised = true
	x.seg.use(d)
}

// begin takes UNB with its first separator.
func (x *edifact) begin() {
	mark := x.head[3]
	switch {
	case x.advised:
	case mark == levelB.element:
		x.seg.use(levelB)
	default:
		x.seg.use(levelA)
	}
	if mark != x.seg.element {
		x.lose()
		return
	}
	x.seg.segment = append(x.seg.segment, x.head...)
	x.head, x.inside, x.advised = x.head[:0], true, false
	x.position = 0
}

// take reads a complete segment.
func (x *edifact) take() {
	if len(x.seg.segment) == 0 {
		return
	}
	x.segment()
	element := func(n int) []byte { return x.seg.elementOf(x.seg.segment, n) }
	tag := x.seg.componentOf(element(0), 0)
	if x.seg.long {
		x.tooLong(tagOf(tag))
	}
	switch string(tag) {
	case "UNB":
		x.takeUNB()
	case "UNG":
		x.enter(group, element(5))
		x.report.addReference("group", x.seg.text(element(5)))
	case "UNE":
		x.leave(group, element(1), element(2))
	case "UNH":
		x.enter(message, element(1))
		x.typ = append(x.typ[:0], x.seg.componentOf(element(2), 0)...)
		if x.report.Type == "" {
			x.report.Type = clean(x.typ)
		}
	case "UNT":
		x.leave(message, element(1), element(2))
	case "UNZ":
		x.leave(interchange, element(1), element(2))
		x.inside = false
	default:
		if !x.levels[message].open {
			x.misplaced(tagOf(tag), "UNH")
		}
		x.references(tag)
	}
}

// takeUNB reads the interchange header: UNB+S001+S002+S003+S004+0020+…+0035.
func (x *edifact) takeUNB() {
	element := func(n int) []byte { return x.seg.elementOf(x.seg.segment, n) }
	x.enter(interchange, element(5))
	x.report.Interchanges++
	x.report.Identity = nil
	test := x.seg.text(element(11))
	x.report.Test = x.report.Test || test == "1"
	x.report.Production = x.report.Production || test != "1"
	control := x.seg.text(element(5))
	x.report.addReference("interchange", control)
	x.report.addReference("sender", x.seg.text(x.seg.componentOf(element(2), 0)))
	x.report.addReference("receiver", x.seg.text(x.seg.componentOf(element(3), 0)))
	if x.report.Interchanges == 1 && control != "" {
		x.report.Identity = []string{
			x.composite(element(2)), x.composite(element(3)), x.composite(element(4)), control, test,
		}
	}
}

// composite returns the components of an element as one text, the same whatever
// the delimiters are.
func (x *edifact) composite(element []byte) string {
	var text [3]string // S002 and S003 have three components, S004 two
	for n := range text {
		text[n] = x.seg.text(x.seg.componentOf(element, n))
	}
	return strings.TrimRight(strings.Join(text[:], ":"), ":")
}

// references notes the references of a segment inside a message.
func (x *edifact) references(tag []byte) {
	element := func(n int) []byte { return x.seg.elementOf(x.seg.segment, n) }
	switch string(tag) {
	case "BGM":
		name, ok := edifactNumbers[string(x.typ)]
		if !ok {
			name = "document"
		}
		x.report.addReference(name, x.seg.text(x.seg.componentOf(element(2), 0)))
	case "RFF":
		reference := element(1)
		if string(x.seg.componentOf(reference, 0)) == "ON" { // 1153: order number (buyer)
			x.report.addReference("order", x.seg.text(x.seg.componentOf(reference, 1)))
		}
	case "UCI":
		x.report.addReference("acknowledged", x.seg.text(element(1)))
	}
}

func (x *edifact) close() {
	switch {
	case x.lost:
	case x.inside && len(x.seg.segment) > 0:
		x.cutOff(tagOf(x.seg.elementOf(x.seg.segment, 0)))
	case x.inside:
		x.missing(interchange, "")
	case len(x.head) > 0 || x.report.Interchanges == 0:
		x.position = 0
		x.cutOff("UNB")
	}
}
