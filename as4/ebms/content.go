package ebms

import (
	"fmt"

	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// reading is one message unit that is read: its first problem, and whom it is
// about.
type reading struct {
	problem   *ProblemError
	messageID string
}

const invalidHeader, valueInconsistent = "EBMS:0009", "EBMS:0003"

// fail records a problem; the first one counts.
func (r *reading) fail(code, format string, args ...any) {
	if r.problem == nil {
		r.problem = &ProblemError{Code: code, Detail: clean(fmt.Sprintf(format, args...), maxText)}
	}
}

// err is the problem, with the message unit it is about.
func (r *reading) err() error {
	if r.problem == nil {
		return nil
	}
	r.problem.MessageID = r.messageID
	return r.problem
}

// content is what stands in an element of the eb namespace, read in the order of
// the schema.
type content struct {
	*reading
	of   *etree.Element
	rest []*etree.Element
}

// within begins to read an element that holds elements only.
func (r *reading) within(e *etree.Element) *content {
	if text := stray(e); text != "" {
		r.fail(invalidHeader, "%s holds text between its elements: %.40q", name(e), text)
	}
	return &content{reading: r, of: e, rest: e.ChildElements()}
}

// optional takes the next element if it is the named one.
func (c *content) optional(local string) *etree.Element {
	if len(c.rest) == 0 || !xmltree.Is(c.rest[0], EB, local) {
		return nil
	}
	e := c.rest[0]
	c.rest = c.rest[1:]
	return e
}

// many takes the next elements as long as they are the named ones.
func (c *content) many(local string) (list []*etree.Element) {
	for e := c.optional(local); e != nil; e = c.optional(local) {
		list = append(list, e)
	}
	return list
}

// required takes the next element, which must be the named one.
func (c *content) required(local string) *etree.Element {
	e := c.optional(local)
	switch {
	case e != nil:
		return e
	case len(xmltree.Children(c.of, EB, local)) > 0:
		c.fail(invalidHeader, "%s: %s is out of place", name(c.of), local)
	default:
		c.fail(invalidHeader, "%s has no %s", name(c.of), local)
	}
	return newElement(local) // reads as empty
}

// end refuses what is left; elements of other namespaces may be where the schema
// lets a profile extend it.
func (c *content) end(extensible bool) {
	for _, e := range c.rest {
		known := xmltree.Space(e) == EB
		if !known && extensible {
			continue
		}
		if n := len(xmltree.Children(c.of, EB, e.Tag)); known && n > 1 {
			c.fail(invalidHeader, "%s holds %d %s, more than are allowed or in two places", name(c.of), n, name(e))
		}
		c.fail(invalidHeader, "%s: %s must not stand there", name(c.of), name(e))
		return
	}
}

// text is the value of an element without the white space around it.
func (r *reading) text(e *etree.Element) string {
	if len(e.ChildElements()) > 0 {
		r.fail(invalidHeader, "%s holds elements instead of a value", name(e))
		return ""
	}
	return r.bounded(name(e), trim(xmltree.Text(e)))
}

// value is a text that must not be empty.
func (r *reading) value(e *etree.Element) string {
	text := r.text(e)
	if text == "" {
		r.fail(invalidHeader, "%s is empty", name(e))
	}
	return text
}

// attribute is the value of an attribute without the white space around it;
// empty if there is none.
func (r *reading) attribute(e *etree.Element, local string) string {
	v, _ := xmltree.Attr(e, "", local)
	return r.bounded(name(e)+"/@"+local, trim(v))
}

func (r *reading) bounded(what, value string) string {
	if len(value) > maxValue {
		r.fail(invalidHeader, "%s has %d bytes, at most %d are taken", what, len(value), maxValue)
		return ""
	}
	return value
}

// stray is the text of an element that should hold elements only.
func stray(e *etree.Element) string {
	return trim(xmltree.Text(e))
}

// name is the local name of an element for our texts.
func name(e *etree.Element) string { return clip(e.Tag, maxName) }
