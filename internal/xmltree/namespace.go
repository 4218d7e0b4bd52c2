package xmltree

import (
	"fmt"
	"slices"

	"github.com/beevik/etree"
)

// The two names that Namespaces in XML 1.0 §3 reserves.
const (
	spaceXML   = "http://www.w3.org/XML/1998/namespace"
	spaceXMLNS = "http://www.w3.org/2000/xmlns/"
)

// declaration gives the prefix that an attribute declares a namespace for, empty
// for the default namespace.
func declaration(a *etree.Attr) (prefix string, is bool) {
	switch {
	case a.Space == "xmlns":
		return a.Key, true
	case a.Space == "" && a.Key == "xmlns":
		return "", true
	}
	return "", false
}

// bindings are prefixes with their namespaces on the way from the root to an
// element. A prefix without a namespace gives "". Going down costs what an
// element itself declares, whatever stands above it.
type bindings struct {
	now  map[string]string
	past []binding // what set has overwritten, for back
}

type binding struct{ prefix, space string }

func newBindings() *bindings { return &bindings{now: map[string]string{"xml": spaceXML}} }

// usualScope is how many prefixes a document has at most that is not out of the
// ordinary.
const usualScope = 64

// clear forgets everything. What was large is not kept for what is small.
func (b *bindings) clear() {
	if len(b.now) > usualScope || cap(b.past) > usualScope {
		*b = *newBindings()
		return
	}
	clear(b.past[:cap(b.past)])
	b.past = b.past[:0]
	clear(b.now)
	b.now["xml"] = spaceXML
}

func (b *bindings) set(prefix, space string) {
	b.past = append(b.past, binding{prefix, b.now[prefix]})
	b.now[prefix] = space
}

// mark gives what back takes to undo all that is set afterwards.
func (b *bindings) mark() int { return len(b.past) }

func (b *bindings) back(mark int) {
	for i := len(b.past) - 1; i >= mark; i-- {
		b.now[b.past[i].prefix] = b.past[i].space
	}
	b.past = b.past[:mark]
}

// scopeAround is what is in scope of e from the elements that it stands in.
func scopeAround(e *etree.Element) *bindings {
	b := newBindings()
	var around []*etree.Element
	for p := e.Parent(); p != nil; p = p.Parent() {
		around = append(around, p)
	}
	for _, p := range slices.Backward(around) {
		b.declare(p)
	}
	return b
}

// declare puts what e declares into scope.
func (b *bindings) declare(e *etree.Element) {
	for i := range e.Attr {
		if prefix, is := declaration(&e.Attr[i]); is {
			b.set(prefix, e.Attr[i].Value)
		}
	}
}

// step is an element on the way from a root to where a walk is. Walks keep their
// way in a slice: how deep a document nests must not decide how deep we recurse.
type step struct {
	element *etree.Element
	next    int // child to visit
	mark    int // of the bindings outside the element
}

// nextElement gives the next child element to visit, nil when there is none.
func (s *step) nextElement() *etree.Element {
	for s.next < len(s.element.Child) {
		s.next++
		if e, is := s.element.Child[s.next-1].(*etree.Element); is {
			return e
		}
	}
	return nil
}

// checkNamespaces holds a tree to Namespaces in XML 1.0: every prefix is declared,
// the reserved ones are left alone, no attribute occurs twice by its expanded name.
func checkNamespaces(root *etree.Element) error {
	scope := newBindings()
	for path := []step{{element: root}}; len(path) > 0; {
		top := &path[len(path)-1]
		if top.next == 0 {
			top.mark = scope.mark()
			if err := checkElement(top.element, scope); err != nil {
				return err
			}
		}
		if child := top.nextElement(); child != nil {
			path = append(path, step{element: child})
			continue
		}
		scope.back(top.mark)
		path = path[:len(path)-1]
	}
	return nil
}

// checkElement checks one element and puts what it declares into scope.
func checkElement(e *etree.Element, scope *bindings) error {
	for i := range e.Attr {
		prefix, is := declaration(&e.Attr[i])
		if !is {
			continue
		}
		if err := checkDeclaration(prefix, e.Attr[i].Value); err != nil {
			return fmt.Errorf("<%.80s>: %w", e.FullTag(), err)
		}
		scope.set(prefix, e.Attr[i].Value)
	}
	return checkNames(e, scope)
}

// checkDeclaration holds one declaration to Namespaces in XML 1.0 §2.2 and §3.
func checkDeclaration(prefix, space string) error {
	switch {
	case prefix == "xmlns":
		return fmt.Errorf("prefix xmlns is reserved")
	case (prefix == "xml") != (space == spaceXML):
		return fmt.Errorf("prefix %.80q bound to %.80q: xml and %s belong together", prefix, space, spaceXML)
	case space == spaceXMLNS:
		return fmt.Errorf("prefix %.80q bound to %s, which is reserved", prefix, space)
	case prefix != "" && space == "":
		return fmt.Errorf("prefix %.80q bound to no namespace", prefix)
	}
	return nil
}

func checkNames(e *etree.Element, scope *bindings) error {
	if e.Space != "" && scope.now[e.Space] == "" {
		return fmt.Errorf("prefix %.80q of <%.80s> is not declared", e.Space, e.FullTag())
	}
	if len(e.Attr) == 0 {
		return nil
	}
	var seen names
	for i := range e.Attr {
		a := &e.Attr[i]
		n := expandedName{"", a.Key}
		switch _, is := declaration(a); {
		case is:
			n.space = spaceXMLNS // also of xmlns alone
		case a.Space != "":
			if n.space = scope.now[a.Space]; n.space == "" {
				return fmt.Errorf("<%.80s>: prefix %.80q of attribute %.80s is not declared", e.FullTag(), a.Space, a.FullKey())
			}
		}
		if !seen.add(n) {
			return fmt.Errorf("<%.80s>: attribute %.80s occurs twice", e.FullTag(), a.FullKey())
		}
	}
	return nil
}

// expandedName is a name with the namespace that its prefix stands for.
type expandedName struct{ space, local string }

// names is a set of expanded names. The first ones, mostly all, are compared one
// by one.
type names struct {
	first [8]expandedName
	n     int
	more  map[expandedName]bool
}

// add reports whether a name was not there yet.
func (s *names) add(name expandedName) bool {
	switch {
	case slices.Contains(s.first[:s.n], name) || s.more[name]:
		return false
	case s.n < len(s.first):
		s.first[s.n] = name
		s.n++
	case s.more == nil:
		s.more = map[expandedName]bool{name: true}
	default:
		s.more[name] = true
	}
	return true
}
