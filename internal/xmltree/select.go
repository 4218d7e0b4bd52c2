package xmltree

import (
	"strings"

	"github.com/beevik/etree"
)

// spaceWSU is the namespace of wsu:Id (WSS SOAP Message Security §4).
const spaceWSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"

// Space gives the namespace of an element's name, empty if it is in none. It
// costs a look at the attributes of the elements around e; Limits.Scope bounds it.
func Space(e *etree.Element) string { return lookup(e, e.Space) }

// lookup finds the namespace that prefix stands for at e.
func lookup(e *etree.Element, prefix string) string {
	if prefix == "xml" {
		return spaceXML
	}
	for ; e != nil; e = e.Parent() {
		for i := range e.Attr {
			if p, is := declaration(&e.Attr[i]); is && p == prefix {
				return e.Attr[i].Value
			}
		}
	}
	return ""
}

// Is reports whether an element has this expanded name.
func Is(e *etree.Element, space, local string) bool { return e.Tag == local && Space(e) == space }

// Attr gives the value of the attribute with this expanded name and whether there
// is one. Space "" means attributes without a prefix, which are in no namespace.
// Namespace declarations are no attributes.
func Attr(e *etree.Element, space, local string) (string, bool) {
	for i := range e.Attr {
		a := &e.Attr[i]
		if a.Key != local {
			continue
		}
		if _, is := declaration(a); !is && attributeSpace(e, a) == space {
			return a.Value, true
		}
	}
	return "", false
}

func attributeSpace(e *etree.Element, a *etree.Attr) string {
	if a.Space == "" {
		return ""
	}
	return lookup(e, a.Space)
}

// Children gives the children of e with this expanded name, in order.
func Children(e *etree.Element, space, local string) []*etree.Element {
	var all []*etree.Element
	for _, t := range e.Child {
		if child, is := t.(*etree.Element); is && Is(child, space, local) {
			all = append(all, child)
		}
	}
	return all
}

// Find gives root and the elements below it that f holds for, in document order.
func Find(root *etree.Element, f func(*etree.Element) bool) []*etree.Element {
	var all []*etree.Element
	for path := []step{{element: root}}; len(path) > 0; {
		top := &path[len(path)-1]
		if top.next == 0 && f(top.element) {
			all = append(all, top.element)
		}
		if child := top.nextElement(); child != nil {
			path = append(path, step{element: child})
			continue
		}
		path = path[:len(path)-1]
	}
	return all
}

// Text gives the text and CDATA that stand directly in e, as if comments were not
// there: "PAR<!-- -->TNER" is PARTNER, which is what a signature over it says too.
// Text inside child elements is not part of it.
func Text(e *etree.Element) string {
	var b strings.Builder
	for _, t := range e.Child {
		if text, is := t.(*etree.CharData); is {
			b.WriteString(text.Data)
		}
	}
	return b.String()
}

// IDs gives the elements from root down by their identifiers: attributes wsu:Id,
// xml:id, and Id, ID and id without a prefix. An element that has one identifier
// in two of them has it once. The first identifier that two elements have is
// given as duplicate, empty if there is none; the map then holds its first element.
func IDs(root *etree.Element) (ids map[string]*etree.Element, duplicate string) {
	ids = map[string]*etree.Element{}
	scope := scopeAround(root)
	for path := []step{{element: root}}; len(path) > 0; {
		top := &path[len(path)-1]
		if top.next == 0 {
			top.mark = scope.mark()
			for _, id := range idsOf(top.element, scope) {
				first, taken := ids[id]
				switch {
				case !taken:
					ids[id] = top.element
				case first != top.element && duplicate == "":
					duplicate = id
				}
			}
		}
		if child := top.nextElement(); child != nil {
			path = append(path, step{element: child})
			continue
		}
		scope.back(top.mark)
		path = path[:len(path)-1]
	}
	return ids, duplicate
}

// idsOf gives the identifiers of an element, and puts what it declares into
// scope. It looks at each attribute once, whatever stands around it: anybody can
// make a document of nothing but wsu:Id.
func idsOf(e *etree.Element, scope *bindings) (ids []string) {
	scope.declare(e)
	for i := range e.Attr {
		if a := &e.Attr[i]; a.Value != "" && isID(a, scope) {
			ids = append(ids, a.Value)
		}
	}
	return ids
}

func isID(a *etree.Attr, scope *bindings) bool {
	if _, is := declaration(a); is {
		return false
	}
	switch a.Key {
	case "Id":
		return a.Space == "" || scope.now[a.Space] == spaceWSU
	case "ID":
		return a.Space == ""
	case "id":
		return a.Space == "" || a.Space == "xml"
	}
	return false
}
