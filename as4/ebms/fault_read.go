package ebms

import (
	"strings"

	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// readFault reads a SOAP fault of either version, or of a stack that mixes the
// two: by local names, in any order, without a complaint.
func readFault(e *etree.Element) *Fault {
	f := &Fault{SOAP11: xmltree.Space(e) == SOAP11}
	for _, child := range e.ChildElements() {
		switch child.Tag {
		case "Code":
			f.Code, f.Subcode = readCode(child)
		case "faultcode":
			code, sub, _ := strings.Cut(local(allText(child)), ".") // SOAP 1.1 §4.4.1
			f.Code, f.Subcode = FaultCode(code), sub
		case "Reason", "faultstring":
			f.Reason = clean(allText(child), maxText)
		case "Detail", "detail":
			f.Detail = clean(allText(child), maxText)
		}
	}
	if code, ok := codes11[f.Code]; ok {
		f.Code = code
	}
	return f
}

// readCode reads Code{Value, Subcode{Value, Subcode…}}; a Code without a Value
// is taken for one.
func readCode(e *etree.Element) (code FaultCode, subcode string) {
	first := true
	for at := e; at != nil; {
		var value string
		var deeper *etree.Element
		for _, child := range at.ChildElements() {
			switch child.Tag {
			case "Value":
				value = local(allText(child))
			case "Subcode":
				deeper = child
			}
		}
		switch {
		case first && value == "":
			code = FaultCode(local(xmltree.Text(at)))
		case first:
			code = FaultCode(value)
		case value != "":
			subcode = value
		}
		at, first = deeper, false
	}
	return code, subcode
}

// local is a QName without its prefix.
func local(qname string) string {
	qname = clean(qname, maxName)
	if i := strings.LastIndexByte(qname, ':'); i >= 0 {
		qname = qname[i+1:]
	}
	return qname
}
