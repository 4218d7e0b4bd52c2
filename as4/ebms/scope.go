package ebms

import (
	"slices"
	"strings"

	"github.com/beevik/etree"
)

// detach copies an element so that it can stand anywhere else: the prefixes that
// it uses and that were declared further out are declared on the copy.
func detach(e *etree.Element) *etree.Element {
	c := e.Copy()
	used := map[string]bool{}
	prefixes(c, used)
	var missing []string
	for prefix := range used {
		if _, ok := declared(c, prefix); !ok {
			missing = append(missing, prefix)
		}
	}
	slices.Sort(missing)
	for _, prefix := range missing {
		uri, ok := inScope(e.Parent(), prefix)
		switch {
		case !ok:
		case prefix == "":
			c.CreateAttr("xmlns", uri)
		default:
			c.CreateAttr("xmlns:"+prefix, uri)
		}
	}
	return c
}

// prefixes collects what an element and those below it use, also in the lists of
// prefixes of a canonicalization.
func prefixes(e *etree.Element, used map[string]bool) {
	used[e.Space] = true
	for _, a := range e.Attr {
		switch {
		case a.Space == "" && a.Key == "PrefixList":
			for _, prefix := range strings.Fields(a.Value) {
				used[prefix] = true
			}
		case a.Space != "" && a.Space != "xmlns":
			used[a.Space] = true
		}
	}
	for _, child := range e.ChildElements() {
		prefixes(child, used)
	}
	delete(used, "xml")
}

// declared is the namespace that an element itself declares for a prefix.
func declared(e *etree.Element, prefix string) (string, bool) {
	for _, a := range e.Attr {
		if a.Space == "xmlns" && a.Key == prefix || prefix == "" && a.Space == "" && a.Key == "xmlns" {
			return a.Value, true
		}
	}
	return "", false
}

// inScope is the namespace that a prefix means at an element.
func inScope(e *etree.Element, prefix string) (string, bool) {
	for ; e != nil; e = e.Parent() {
		if uri, ok := declared(e, prefix); ok {
			return uri, true
		}
	}
	return "", false
}
