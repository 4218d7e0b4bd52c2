package xmltree

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// maker makes random documents that are rich in what canonical forms turn on:
// prefixes rebound and taken back, one namespace under several prefixes, xml:
// attributes, white space of every kind, references, CDATA, comments.
type maker struct {
	*rand.Rand
	b        strings.Builder
	elements int
}

var (
	madePrefixes = []string{"", "", "a", "b", "c", "ab", "env", "z9", "é"}
	madeSpaces   = []string{
		"urn:one", "urn:two", "urn:THREE", "http://four.example/", "urn:one", "http://five.example/?a=1;b=2",
		"urn:six:&apos;", "urn:seven",
	}
	madeLocals = []string{"x", "y", "z", "Id", "id", "größe", "a-b", "_1", "X"}
	madePieces = []string{
		"text", " ", "\n", "\t", "\r\n", "\r", "&#xD;", "&#13;", "&#xA;", "&#9;", "&lt;", "&amp;", "&gt;", "&quot;", "&apos;",
		">", "é", "\U0001F69A", "\u2028", "\u0085", "&#x1F69A;", "]] ", "]]&gt;", "--", "&#60;", "&#38;", "a=b", "\uFFFD",
	}
)

// madeDocument is the document of a number; the same one every time.
func madeDocument(number uint64) string {
	m := &maker{Rand: rand.New(rand.NewPCG(number, 4))}
	if m.IntN(4) == 0 {
		m.b.WriteString("\uFEFF")
	}
	if m.IntN(3) == 0 {
		m.b.WriteString(m.pick("<?xml version=\"1.0\"?>\n", "<?xml version='1.0' encoding='utf-8'?>\r\n", "<?xml version=\"1.0\" encoding=\"UTF-8\"\tstandalone='yes' ?>"))
	}
	m.outside()
	m.element(0, map[string]string{"": ""})
	m.outside()
	return m.b.String()
}

func (m *maker) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m *maker) outside() {
	for range m.IntN(3) {
		m.b.WriteString(m.pick("\n", "\r\n", "  ", "<!-- outside -->", "<!--\r\nlines\r-->"))
	}
}

// element writes one element; scope is what is declared around it.
func (m *maker) element(depth int, scope map[string]string) {
	m.elements++
	scope = maps.Clone(scope)
	attributes := m.declarations(scope)
	attributes = append(attributes, m.attributes(scope)...)
	m.Shuffle(len(attributes), func(i, j int) { attributes[i], attributes[j] = attributes[j], attributes[i] })
	name := m.qname(m.pick(slices.Sorted(maps.Keys(scope))...))
	m.b.WriteString("<" + name)
	for _, a := range attributes {
		m.b.WriteString(m.pick(" ", " ", "\n", "\r\n\t", "  ") + a)
	}
	m.b.WriteString(m.pick("", "", " ", "\n"))
	if m.IntN(8) == 0 {
		m.b.WriteString("/>")
		return
	}
	m.b.WriteString(">")
	for range m.IntN(5) {
		switch {
		case m.IntN(3) > 0 && depth < 7 && m.elements < 25:
			m.element(depth+1, scope)
		case m.IntN(6) == 0:
			m.b.WriteString("<!--" + m.pick("", " comment ", "two\r\nlines", "<&>\"' é \t- - ") + "-->")
		case m.IntN(4) == 0:
			m.b.WriteString("<![CDATA[" + m.pick("", "&amp; <b> ]] > \"q\"", "CR\r\nLF\rend", "]]]", "\t") + "]]>")
		default:
			m.b.WriteString(m.text(""))
		}
	}
	m.b.WriteString("</" + name + m.pick("", "", " ", "\n") + ">")
}

// declarations gives some namespace declarations, and has them in scope.
func (m *maker) declarations(scope map[string]string) []string {
	var all []string
	done := map[string]bool{}
	for range m.IntN(4) {
		prefix, space := m.pick(madePrefixes...), m.pick(madeSpaces...)
		if prefix == "" && m.IntN(3) == 0 {
			space = ""
		}
		if done[prefix] {
			continue
		}
		done[prefix] = true
		scope[prefix] = space
		all = append(all, strings.TrimSuffix("xmlns:"+prefix, ":")+m.equals()+m.quoted(space))
	}
	if m.IntN(20) == 0 {
		all = append(all, `xmlns:xml="`+spaceXML+`"`)
	}
	return all
}

func (m *maker) attributes(scope map[string]string) []string {
	var all []string
	done := map[string]bool{}
	for range m.IntN(5) {
		prefix, local := m.pick(slices.Sorted(maps.Keys(scope))...), m.pick(madeLocals...)
		space := "prefix " + scope[prefix]
		if prefix == "" {
			space = ""
		}
		if done[space+" "+local] {
			continue
		}
		done[space+" "+local] = true
		all = append(all, strings.TrimPrefix(prefix+":"+local, ":")+m.equals()+m.value())
	}
	if m.IntN(6) == 0 {
		all = append(all, "xml:lang"+m.equals()+m.quoted(m.pick("en", "de", "")))
	}
	if m.IntN(8) == 0 {
		all = append(all, "xml:space"+m.equals()+m.quoted(m.pick("preserve", "default")))
	}
	if m.IntN(12) == 0 {
		all = append(all, "xml:base"+m.equals()+m.quoted("http://base.example/"))
	}
	return all
}

func (m *maker) qname(prefix string) string {
	return strings.TrimPrefix(prefix+":"+m.pick(madeLocals...), ":")
}

func (m *maker) equals() string { return m.pick("=", "=", " = ", "\n=", "=\t") }

func (m *maker) quoted(value string) string { return fmt.Sprintf(`"%s"`, value) }

func (m *maker) value() string {
	quote := m.pick(`"`, "'")
	return quote + m.text(quote) + quote
}

// text gives some pieces of text, without what would end it.
func (m *maker) text(quote string) string {
	var b strings.Builder
	for range m.IntN(6) {
		b.WriteString(m.pick(madePieces...))
		if m.IntN(5) == 0 {
			b.WriteString(map[string]string{"": `"'`, `"`: "'", "'": `"`}[quote])
		}
	}
	return b.String()
}
