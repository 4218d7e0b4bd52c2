package ebms

import (
	"strings"

	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// signalMessage reads eb:SignalMessage. A signal of errors is read as far as
// there is something to read: what a peer says of our message is worth more than
// how it says it.
func (r *reading) signalMessage(e *etree.Element) SignalMessage {
	if len(xmltree.Children(e, EB, "Error")) > 0 && len(xmltree.Children(e, EB, "PullRequest"))+len(xmltree.Children(e, EB, "Receipt")) == 0 {
		return errorSignal(e)
	}
	var s SignalMessage
	c := r.within(e)
	s.MessageInfo = r.messageInfo(c.required("MessageInfo"))
	kinds := 0
	if p := c.optional("PullRequest"); p != nil {
		s.PullRequest = &PullRequest{MPC: r.attribute(p, "mpc")}
		kinds++
	}
	if p := c.optional("Receipt"); p != nil {
		s.Receipt = &Receipt{Element: p}
		kinds++
	}
	if list := c.many("Error"); len(list) > 0 {
		s.Errors = readErrors(list)
		kinds++
	}
	c.end(true)
	if kinds != 1 {
		r.fail(invalidHeader, "SignalMessage holds %d of PullRequest, Receipt and Error, not one", kinds)
	}
	return s
}

// errorSignal reads a signal of errors without a complaint.
func errorSignal(e *etree.Element) SignalMessage {
	var lenient reading
	s := SignalMessage{Errors: readErrors(xmltree.Children(e, EB, "Error"))}
	if info := xmltree.Children(e, EB, "MessageInfo"); len(info) > 0 {
		s.MessageInfo = lenient.messageInfo(info[0])
	}
	return s
}

// maxErrors bounds the errors of a signal: the rest is left out.
const maxErrors = 100

func readErrors(list []*etree.Element) (errors []Error) {
	for _, e := range list[:min(len(list), maxErrors)] {
		errors = append(errors, readError(e))
	}
	return errors
}

// readError reads eb:Error. No attribute is missed: some peers leave out what
// the schema requires, or spell a severity in their own way (ebMS 3.0 Core
// itself prints "error" and "fatal").
func readError(e *etree.Element) Error {
	attribute := func(local string) string {
		v, _ := xmltree.Attr(e, "", local)
		return clean(v, maxName)
	}
	ref, _ := xmltree.Attr(e, "", "refToMessageInError")
	x := Error{
		Code: attribute("errorCode"), Severity: Failure, ShortDescription: attribute("shortDescription"),
		Category: attribute("category"), Origin: attribute("origin"), RefToMessageInError: clean(ref, maxMessageID),
		Description: wording(e, "Description"), Detail: wording(e, "ErrorDetail"),
	}
	if strings.EqualFold(attribute("severity"), string(Warning)) {
		x.Severity = Warning
	}
	return x
}

// wording is all text in the first child of a name.
func wording(e *etree.Element, local string) string {
	list := xmltree.Children(e, EB, local)
	if len(list) == 0 {
		return ""
	}
	return clean(allText(list[0]), maxText)
}

// allText is the text of an element and of those within it, with blanks between
// them; of more than can be shown only the beginning.
func allText(e *etree.Element) string {
	var b strings.Builder
	var walk func(*etree.Element)
	walk = func(e *etree.Element) {
		for _, child := range e.Child {
			if b.Len() > 4*maxText {
				return
			}
			switch child := child.(type) {
			case *etree.CharData:
				b.WriteString(child.Data)
			case *etree.Element:
				b.WriteByte(' ')
				walk(child)
				b.WriteByte(' ')
			}
		}
	}
	walk(e)
	return strings.Join(strings.Fields(b.String()), " ")
}
