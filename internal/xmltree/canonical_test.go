package xmltree

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"
)

// element finds the first element of a local name.
func element(t testing.TB, d *etree.Document, local string) *etree.Element {
	t.Helper()
	all := Find(d.Root(), func(e *etree.Element) bool { return e.Tag == local })
	if len(all) == 0 {
		t.Fatalf("no element %s", local)
	}
	return all[0]
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	exclusive, inclusive := Method{}, Method{Inclusive: true}
	for name, test := range map[string]struct {
		text string // the element "it" is taken
		m    Method
		want string
	}{
		"prefixes where they are used": {`<r xmlns:p="urn:p" xmlns:q="urn:q"><it><p:a/><q:b><q:c/></q:b><q:d/></it></r>`, exclusive,
			`<it><p:a xmlns:p="urn:p"></p:a><q:b xmlns:q="urn:q"><q:c></q:c></q:b><q:d xmlns:q="urn:q"></q:d></it>`},
		"prefixes of attributes": {`<r xmlns:p="urn:p" xmlns:q="urn:q" xmlns="urn:d"><it q:b="1"/></r>`, exclusive,
			`<it xmlns="urn:d" xmlns:q="urn:q" q:b="1"></it>`},
		"all that is in scope": {`<r xmlns:p="urn:p" xmlns:q="urn:q" xmlns="urn:d" xml:lang="en"><it xmlns:q="urn:r"/></r>`, inclusive,
			`<it xmlns="urn:d" xmlns:p="urn:p" xmlns:q="urn:r" xml:lang="en"></it>`},
		"the nearest xml: attribute": {`<r xml:lang="en" xml:space="default"><s xml:lang="de" xml:id="i"><it xml:space="preserve" a="1"/></s></r>`, inclusive,
			`<it a="1" xml:id="i" xml:lang="de" xml:space="preserve"></it>`},
		"xml: attributes stay outside": {`<r xml:lang="en"><it xml:space="preserve"/></r>`, exclusive,
			`<it xml:space="preserve"></it>`},
		"default namespace taken back": {`<r xmlns="urn:d"><it><a xmlns=""><b xmlns="urn:d"/></a></it></r>`, exclusive,
			`<it xmlns="urn:d"><a xmlns=""><b xmlns="urn:d"></b></a></it>`},
		"nothing to take back": {`<r xmlns="urn:d"><it xmlns=""><a xmlns=""/></it></r>`, inclusive,
			`<it><a></a></it>`},
		"not taken back by what has a prefix": {`<r xmlns:p="urn:p"><it xmlns="urn:d"><p:a xmlns=""><b/></p:a></it></r>`, exclusive,
			`<it xmlns="urn:d"><p:a xmlns:p="urn:p"><b xmlns=""></b></p:a></it>`},
		"default namespace on the list": {`<r xmlns:p="urn:p"><it xmlns="urn:d"><p:a xmlns=""><b/></p:a></it></r>`, Method{Prefixes: []string{"#default"}},
			`<it xmlns="urn:d"><p:a xmlns="" xmlns:p="urn:p"><b></b></p:a></it>`},
		"prefixes on the list": {`<r xmlns:p="urn:p" xmlns:q="urn:q"><it xmlns="urn:d"><a xmlns:q="urn:r"/></it></r>`, Method{Prefixes: []string{"q", "unheard", "xml", "xmlns"}},
			`<it xmlns="urn:d" xmlns:q="urn:q"><a xmlns:q="urn:r"></a></it>`},
		"a list means nothing to Canonical XML": {`<it xmlns:p="urn:p"/>`, Method{Inclusive: true, Prefixes: []string{"q"}},
			`<it xmlns:p="urn:p"></it>`},
		"attributes by namespace, then name": {`<r xmlns:a="urn:z" xmlns:z="urn:a"><it b="1" a:b="2" z:c="3" z:a="4" a="5" xml:lang="6"/></r>`, exclusive,
			`<it xmlns:a="urn:z" xmlns:z="urn:a" a="5" b="1" xml:lang="6" z:a="4" z:c="3" a:b="2"></it>`},
		"one namespace under two prefixes": {`<it xmlns:p="urn:p" xmlns:q="urn:p" q:a="1" p:b="2"/>`, exclusive,
			`<it xmlns:p="urn:p" xmlns:q="urn:p" q:a="1" p:b="2"></it>`},
		"a prefix rebound inside and back": {`<it xmlns:p="urn:1"><p:a xmlns:p="urn:2"><p:b xmlns:p="urn:1"/></p:a><p:c/></it>`, exclusive,
			`<it><p:a xmlns:p="urn:2"><p:b xmlns:p="urn:1"></p:b></p:a><p:c xmlns:p="urn:1"></p:c></it>`},
		"comments left out": {`<it>PAR<!-- - -->TNER</it>`, exclusive, `<it>PARTNER</it>`},
		"comments kept":     {`<it>PAR<!-- - -->TNER</it>`, Method{Comments: true}, `<it>PAR<!-- - -->TNER</it>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := Canonical(&b, element(t, parse(t, test.text), "it"), test.m); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCanonicalDocumentOfComments(t *testing.T) {
	t.Parallel()
	d := parse(t, "<!--1-->\n<!--2--><a/>\n<!--3--><!--4-->\n")
	for comments, want := range map[bool]string{true: "<!--1-->\n<!--2-->\n<a></a>\n<!--3-->\n<!--4-->", false: "<a></a>"} {
		if got := form(t, d, Method{Comments: comments}); got != want {
			t.Errorf("comments %v: %q; want %q", comments, got, want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	built := func(change func(root *etree.Element)) *etree.Document {
		d := etree.NewDocumentWithRoot(etree.NewElement("a"))
		change(d.Root())
		return d
	}
	for name, test := range map[string]struct {
		d    *etree.Document
		says string
	}{
		"relative namespace":         {parse(t, `<a><b xmlns:p="../x"/></a>`), `<b>: namespace "../x" is a relative URI`},
		"relative default namespace": {parse(t, `<a xmlns="x"/>`), "relative"},
		"no root":                    {etree.NewDocument(), "no root"},
		"undeclared prefix":          {built(func(e *etree.Element) { e.CreateElement("p:b") }), `prefix "p"`},
		"undeclared attribute":       {built(func(e *etree.Element) { e.CreateAttr("p:b", "") }), `prefix "p"`},
		"prefix bound to nothing":    {built(func(e *etree.Element) { e.CreateAttr("xmlns:p", "") }), "no namespace"},
		"instruction":                {built(func(e *etree.Element) { e.CreateProcInst("x", "y") }), "ProcInst"},
		"directive outside": {built(func(e *etree.Element) {
			e.Parent().InsertChildAt(0, etree.NewDirective("DOCTYPE a"))
		}), "Directive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := CanonicalDocument(io.Discard, test.d, Method{}); !errors.Is(err, ErrCanonical) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v; want %q", err, test.says)
			}
		})
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestCanonicalGivesTheErrorOfItsWriter(t *testing.T) {
	t.Parallel()
	d := parse(t, "<a>"+strings.Repeat("<b/>", 10_000)+"</a>")
	if err := CanonicalDocument(brokenWriter{}, d, Method{}); !errors.Is(err, errBroken) {
		t.Errorf("document: %v", err)
	}
	if err := Canonical(brokenWriter{}, d.Root(), Method{}); !errors.Is(err, errBroken) {
		t.Errorf("element: %v", err)
	}
}

// TestCanonicalOfOneDocumentLeavesNothingBehind: what was in scope, rendered or
// listed for one, also if it failed midway, is not so for the next.
func TestCanonicalOfOneDocumentLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	const text = `<p:a xmlns:p="urn:p" p:x="1"><p:b></p:b></p:a>`
	good := parse(t, text)
	broken := parse(t, `<p:a xmlns:p="urn:p" xmlns="urn:d"><c/><p:b p:y="2"/></p:a>`)
	broken.Root().ChildElements()[1].CreateAttr("q:z", "") // undeclared, found inside
	for range 200 {
		if err := CanonicalDocument(io.Discard, broken, Method{Prefixes: []string{"p", "#default"}}); !errors.Is(err, ErrCanonical) {
			t.Fatal(err)
		}
		if got := form(t, good, Method{}); got != text {
			t.Fatalf("afterwards %s", got)
		}
	}
}

// pieces counts how a writer is written to.
type pieces struct{ count, largest, total int }

func (p *pieces) Write(b []byte) (int, error) {
	p.count++
	p.largest, p.total = max(p.largest, len(b)), p.total+len(b)
	return len(b), nil
}

func TestCanonicalWritesInPieces(t *testing.T) {
	t.Parallel()
	d := parse(t, "<a>"+strings.Repeat("<b c='&lt;'>text</b>", 20_000-1)+"</a>")
	var p pieces
	if err := Canonical(&p, d.Root(), Method{}); err != nil {
		t.Fatal(err)
	}
	if p.count < 50 || p.largest > 4096 {
		t.Errorf("%d pieces, the largest of %d bytes", p.count, p.largest)
	}
}

// TestCostOfNamespaces: what is looked at grows with the names in the document,
// not with depth times the namespaces in scope.
func TestCostOfNamespaces(t *testing.T) {
	t.Parallel()
	const depth, declared = 99, 199
	var open, end strings.Builder
	m := Method{}
	for level := range depth {
		fmt.Fprintf(&open, "<p%d_0:a", level)
		for n := range declared {
			fmt.Fprintf(&open, " xmlns:p%d_%d='urn:%d:%d'", level, n, level, n)
			m.Prefixes = append(m.Prefixes, fmt.Sprintf("p%d_%d", level, n))
		}
		open.WriteString(">")
		fmt.Fprintf(&end, "</p%d_0:a>", depth-1-level)
	}
	leaves := strings.Repeat("<p0_0:b p1_1:c=''/>", 10_000)
	d, err := Parse([]byte(open.String()+leaves+end.String()), Limits{Scope: depth*declared + 10})
	if err != nil {
		t.Fatal(err)
	}
	names := depth*(declared+1) + 10_000*2
	for name, m := range map[string]Method{"exclusive": {}, "inclusive": {Inclusive: true}, "with a list": m} {
		c := newCanonicaliser(io.Discard, m)
		if err := c.subtree(d.Root()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d names, %d looks", name, names, c.looked)
		if c.looked > names+10 {
			t.Errorf("%s: %d looks at prefixes for %d names", name, c.looked, names)
		}
	}
}

// TestFormsThatGrow: a form that declares the same namespaces again and again,
// hundreds of times what the document has, is given up; so is one that nobody
// takes any more.
func TestFormsThatGrow(t *testing.T) {
	t.Parallel()
	const declared, elements = 190, 500
	var b strings.Builder
	b.WriteString("<a")
	for n := range declared {
		fmt.Fprintf(&b, " xmlns:p%d='urn:%d:%s'", n, n, strings.Repeat("x", 900))
	}
	b.WriteString(">")
	for range elements {
		b.WriteString("<b")
		for n := range declared {
			fmt.Fprintf(&b, " p%d:c=''", n)
		}
		b.WriteString("/>")
	}
	b.WriteString("</a>")
	d := parse(t, b.String())
	var p pieces
	if err := Canonical(&p, d.Root(), Method{}); !errors.Is(err, ErrCanonical) {
		t.Errorf("a form of %d bytes of a document of %d: %v", p.total, b.Len(), err)
	}
	if p.total > maxDeclared+maxDeclared/4 {
		t.Errorf("%d bytes were written of a form that is refused", p.total)
	}
	full := errors.New("full")
	c := newCanonicaliser(refusing{full}, Method{})
	if err := c.subtree(d.Root()); !errors.Is(err, full) || c.looked > 10*declared {
		t.Errorf("after an error of the writer %d prefixes were looked at: %v", c.looked, err)
	}
}

// refusing takes nothing.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }
