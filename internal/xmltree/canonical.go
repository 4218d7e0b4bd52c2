package xmltree

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/beevik/etree"
)

// ErrCanonical is what Canonical and CanonicalDocument give for a tree that has no
// canonical form: a namespace name declared in it that is a relative URI (Canonical
// XML 1.0 §1.3), an undeclared prefix, a token that Parse does not make; or one
// whose form is many times as large as itself.
var ErrCanonical = errors.New("the XML has no canonical form")

// maxDeclared bounds what a form declares, in bytes. The exclusive one declares a
// namespace anew on each element that uses it while none around it does: one
// declaration in a document can stand in its form as often as there are elements.
const maxDeclared = 64 << 20

// Canonical writes the canonical form of e and all below it, as if the rest of its
// document were left out: the namespaces in scope come from the elements around e,
// and with Canonical XML 1.0 their xml: attributes too (§2.4). It writes in pieces;
// what it has written when it fails is of no use.
func Canonical(w io.Writer, e *etree.Element, m Method) error {
	c := newCanonicaliser(w, m)
	defer c.release()
	if err := c.subtree(e); err != nil {
		return err
	}
	return c.w.Flush()
}

// CanonicalDocument writes the canonical form of a whole document, comments before
// and behind the root element included if the method keeps them.
func CanonicalDocument(w io.Writer, d *etree.Document, m Method) error {
	c := newCanonicaliser(w, m)
	defer c.release()
	root := d.Root()
	if root == nil {
		return fmt.Errorf("%w: there is no root element", ErrCanonical)
	}
	behind := false
	for _, t := range d.Child {
		switch t := t.(type) {
		case *etree.Element:
			behind = true
			if err := c.subtree(t); err != nil {
				return err
			}
		case *etree.Comment:
			c.outerComment(t, behind)
		case *etree.CharData: // white space, which is not part of the form
		default:
			return fmt.Errorf("%w: the document holds a %T", ErrCanonical, t)
		}
	}
	return c.w.Flush()
}

type canonicaliser struct {
	w        *bufio.Writer // keeps its first error until Flush
	m        Method
	listed   map[string]bool // prefixes of the PrefixList
	scope    *bindings       // namespaces of the document at this element
	rendered *bindings       // namespaces of the output at this element
	visible  []string        // prefixes that this element may have to render
	attrs    []attribute     // of this element
	looked   int             // prefixes looked at so far, for the test of cost
	declared int             // bytes of declarations so far
}

type attribute struct {
	space string
	*etree.Attr
}

// canonicalisers are those that nobody uses at the moment: each has a buffer and
// maps that are worth more than the form of a small element.
var canonicalisers = sync.Pool{New: func() any {
	return &canonicaliser{w: bufio.NewWriter(nil), listed: map[string]bool{}, scope: newBindings(), rendered: newBindings()}
}}

// newCanonicaliser gives one that release takes back.
func newCanonicaliser(w io.Writer, m Method) *canonicaliser {
	c := canonicalisers.Get().(*canonicaliser)
	c.w.Reset(w)
	c.m, c.looked, c.declared = m, 0, 0
	for _, prefix := range m.Prefixes {
		if prefix == "#default" {
			prefix = ""
		}
		c.listed[prefix] = true
	}
	return c
}

// release ends the use of c. Nothing of a document stays with it.
func (c *canonicaliser) release() {
	c.w.Reset(nil)
	c.m = Method{}
	clear(c.listed)
	c.scope.clear()
	c.rendered.clear()
	clear(c.visible[:cap(c.visible)])
	clear(c.attrs[:cap(c.attrs)])
	c.visible, c.attrs = c.visible[:0], c.attrs[:0]
	if cap(c.visible)+cap(c.attrs)+len(c.listed) > usualScope {
		c.visible, c.attrs, c.listed = nil, nil, map[string]bool{}
	}
	canonicalisers.Put(c)
}

// subtree writes e and all below it.
func (c *canonicaliser) subtree(e *etree.Element) error {
	c.inherit(e)
	type level struct {
		step
		rendered int
	}
	for path := []level{{step: step{element: e}}}; len(path) > 0; {
		top := &path[len(path)-1]
		if top.next == 0 {
			top.mark, top.rendered = c.scope.mark(), c.rendered.mark()
			if err := c.startTag(top.element); err != nil {
				return err
			}
		}
		child, err := c.content(&top.step)
		if err != nil {
			return err
		}
		if child != nil {
			path = append(path, level{step: step{element: child}})
			continue
		}
		c.write("</")
		c.name(top.element.Space, top.element.Tag)
		c.write(">")
		c.scope.back(top.mark)
		c.rendered.back(top.rendered)
		path = path[:len(path)-1]
	}
	return nil
}

// inherit prepares for the first element of the output: what the elements around
// it have in scope counts as if it were declared there.
func (c *canonicaliser) inherit(e *etree.Element) {
	c.attrs, c.visible = c.attrs[:0], c.visible[:0]
	var around []*etree.Element
	for p := e.Parent(); p != nil; p = p.Parent() {
		around = append(around, p)
	}
	for _, p := range slices.Backward(around) {
		c.scope.declare(p)
	}
	for prefix := range c.scope.now {
		if c.m.Inclusive || c.listed[prefix] {
			c.visible = append(c.visible, prefix)
		}
	}
	if c.m.Inclusive {
		c.inheritAttributes(e, around)
	}
}

// inheritAttributes takes over the xml: attributes that e does not have itself,
// each from the nearest element that has it.
func (c *canonicaliser) inheritAttributes(e *etree.Element, around []*etree.Element) {
	taken := map[string]bool{}
	for i, p := range append([]*etree.Element{e}, around...) {
		for j := range p.Attr {
			a := &p.Attr[j]
			if a.Space != "xml" || taken[a.Key] {
				continue
			}
			taken[a.Key] = true
			if i > 0 {
				c.attrs = append(c.attrs, attribute{spaceXML, a})
			}
		}
	}
}

// startTag writes the start tag of e. Before it, c.visible and c.attrs hold what
// inherit has left; after it nothing.
func (c *canonicaliser) startTag(e *etree.Element) error {
	if err := c.declare(e); err != nil {
		return err
	}
	if err := c.resolve(e); err != nil {
		return err
	}
	c.write("<")
	c.name(e.Space, e.Tag)
	c.namespaces()
	if c.declared > maxDeclared {
		return fmt.Errorf("%w: <%.80s>: the namespaces in it have more than %d bytes", ErrCanonical, e.FullTag(), maxDeclared)
	}
	if _, err := c.w.Write(nil); err != nil { // nobody takes the rest
		return err
	}
	slices.SortFunc(c.attrs, func(a, b attribute) int {
		return cmp.Or(strings.Compare(a.space, b.space), strings.Compare(a.Key, b.Key))
	})
	for _, a := range c.attrs {
		c.write(" ")
		c.name(a.Space, a.Key)
		c.write(`="`)
		c.escape(attributeEscapes, a.Value)
		c.write(`"`)
	}
	c.write(">")
	c.attrs, c.visible = c.attrs[:0], c.visible[:0]
	return nil
}

// scheme is what an absolute URI begins with (RFC 3986 §3.1).
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// declare puts the namespaces that e declares into scope.
func (c *canonicaliser) declare(e *etree.Element) error {
	for i := range e.Attr {
		prefix, is := declaration(&e.Attr[i])
		if !is {
			continue
		}
		space := e.Attr[i].Value
		if err := checkDeclaration(prefix, space); err != nil {
			return fmt.Errorf("%w: <%.80s>: %w", ErrCanonical, e.FullTag(), err)
		}
		if space != "" && !scheme.MatchString(space) {
			return fmt.Errorf("%w: <%.80s>: namespace %.80q is a relative URI", ErrCanonical, e.FullTag(), space)
		}
		c.scope.set(prefix, space)
		if c.m.Inclusive || c.listed[prefix] {
			c.visible = append(c.visible, prefix)
		}
	}
	return nil
}

// resolve gathers the attributes of e with their namespaces, and the prefixes that
// e uses visibly (Exclusive XML Canonicalization 1.0 §1.1).
func (c *canonicaliser) resolve(e *etree.Element) error {
	c.visible = append(c.visible, e.Space)
	for i := range e.Attr {
		a := &e.Attr[i]
		if _, is := declaration(a); is {
			continue
		}
		c.attrs = append(c.attrs, attribute{Attr: a})
		if a.Space != "" {
			c.attrs[len(c.attrs)-1].space = c.scope.now[a.Space]
			c.visible = append(c.visible, a.Space)
		}
	}
	for _, prefix := range c.visible {
		if prefix != "" && c.scope.now[prefix] == "" {
			return fmt.Errorf("%w: <%.80s>: prefix %.80q is not declared", ErrCanonical, e.FullTag(), prefix)
		}
	}
	return nil
}

// namespaces writes those of the visible prefixes that the output does not have in
// scope yet. A prefix that nothing has rendered stands for "", therefore xmlns=""
// is written exactly where a default namespace must be taken back. The prefix xml
// never differs.
func (c *canonicaliser) namespaces() {
	slices.Sort(c.visible)
	for _, prefix := range c.visible {
		c.looked++
		space := c.scope.now[prefix]
		if c.rendered.now[prefix] == space {
			continue
		}
		c.rendered.set(prefix, space)
		c.declared += len(prefix) + len(space)
		if prefix == "" {
			c.write(` xmlns="`)
		} else {
			c.write(" xmlns:", prefix, `="`)
		}
		c.escape(attributeEscapes, space)
		c.write(`"`)
	}
}

// content writes what stands between the child elements of an element, up to the
// next one, and gives that.
func (c *canonicaliser) content(s *step) (*etree.Element, error) {
	for s.next < len(s.element.Child) {
		s.next++
		switch t := s.element.Child[s.next-1].(type) {
		case *etree.Element:
			return t, nil
		case *etree.CharData:
			c.escape(textEscapes, t.Data)
		case *etree.Comment:
			if c.m.Comments {
				c.write("<!--", t.Data, "-->")
			}
		default:
			return nil, fmt.Errorf("%w: <%.80s> holds a %T", ErrCanonical, s.element.FullTag(), t)
		}
	}
	return nil, nil
}

// outerComment writes a comment that stands outside the root element, on a line of
// its own (Canonical XML 1.0 §2.3).
func (c *canonicaliser) outerComment(t *etree.Comment, behind bool) {
	switch {
	case !c.m.Comments:
	case behind:
		c.write("\n<!--", t.Data, "-->")
	default:
		c.write("<!--", t.Data, "-->\n")
	}
}

// What text and attribute values must not hold literally (Canonical XML 1.0 §2.3).
var (
	textEscapes      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")
	attributeEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")
)

// write and escape leave errors to Flush, which gives the first one.
func (c *canonicaliser) write(parts ...string) {
	for _, s := range parts {
		_, _ = c.w.WriteString(s)
	}
}

// name writes a QName.
func (c *canonicaliser) name(prefix, local string) {
	if prefix != "" {
		c.write(prefix, ":")
	}
	c.write(local)
}

func (c *canonicaliser) escape(with *strings.Replacer, s string) { _, _ = with.WriteString(c.w, s) }
