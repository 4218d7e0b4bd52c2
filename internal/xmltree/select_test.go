package xmltree

import (
	"testing"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"
)

const selected = `<r xmlns="urn:d" xmlns:p="urn:p" xmlns:wsu="` + spaceWSU + `">
<a p:x="1" x="2" xml:lang="en" xmlns:x="urn:x">PAR<!-- no -->T<![CDATA[N]]>E<b>inside</b>R</a>
<p:a xmlns="" xmlns:p="urn:q"><a/><p:a/></p:a>
<a xmlns="urn:d"/>
</r>`

func TestSpace(t *testing.T) {
	t.Parallel()
	var got []string
	d := parse(t, selected)
	for _, e := range Find(d.Root(), func(*etree.Element) bool { return true }) {
		got = append(got, Space(e)+" "+e.Tag)
	}
	want := []string{"urn:d r", "urn:d a", "urn:d b", "urn:q a", " a", "urn:q a", "urn:d a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Space(etree.NewElement("p:a")); got != "" {
		t.Errorf("undeclared: %q", got)
	}
	if got := Space(etree.NewElement("xml:a")); got != spaceXML {
		t.Errorf("xml: %q", got)
	}
}

func TestIsAndChildren(t *testing.T) {
	t.Parallel()
	root := parse(t, selected).Root()
	if all := Children(root, "urn:d", "a"); len(all) != 2 || !Is(all[0], "urn:d", "a") || Is(all[0], "", "a") || Is(all[0], "urn:d", "b") {
		t.Errorf("%d children", len(all))
	}
	inner := Children(root, "urn:q", "a")
	if len(inner) != 1 || len(Children(inner[0], "", "a")) != 1 || len(Children(inner[0], "urn:d", "a")) != 0 {
		t.Errorf("%d children", len(inner))
	}
	if none := Children(root, "urn:p", "a"); none != nil {
		t.Errorf("%d children", len(none))
	}
}

func TestAttr(t *testing.T) {
	t.Parallel()
	root := parse(t, selected).Root()
	e := Children(root, "urn:d", "a")[0]
	for _, test := range []struct {
		space, local, want string
		is                 bool
	}{
		{"urn:p", "x", "1", true}, {"", "x", "2", true}, {spaceXML, "lang", "en", true},
		{"urn:d", "x", "", false}, {"", "lang", "", false}, {spaceXMLNS, "x", "", false}, {"urn:x", "x", "", false}, {"", "none", "", false},
	} {
		if got, is := Attr(e, test.space, test.local); got != test.want || is != test.is {
			t.Errorf("%q %q: %q, %v", test.space, test.local, got, is)
		}
	}
	if got, is := Attr(root, "", "xmlns"); is {
		t.Errorf("a declaration is an attribute: %q", got)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	root := parse(t, selected).Root()
	if got := Text(Children(root, "urn:d", "a")[0]); got != "PARTNER" {
		t.Errorf("%q", got)
	}
	if got := Text(Children(root, "urn:d", "a")[1]); got != "" {
		t.Errorf("%q", got)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, duplicate string
		ids             map[string]string
	}{
		"every form": {`<a wsu:Id="1"><b Id="2"/><c ID="3"/><d id="4"/><e xml:id="5"/></a>`, "",
			map[string]string{"1": "a", "2": "b", "3": "c", "4": "d", "5": "e"}},
		"no identifiers":      {`<a p:Id="1" wsu:ID="2" wsu:id="3" xmlns:Id="urn:x" iD="4" p:id="5" Id=""/>`, "", map[string]string{}},
		"twice":               {`<a><b wsu:Id="m"/><c wsu:Id="m"/></a>`, "m", map[string]string{"m": "b"}},
		"in two forms":        {`<a><b id="m"><c xml:id="m"/></b></a>`, "m", map[string]string{"m": "b"}},
		"one element":         {`<a wsu:Id="m" Id="m" id="n"/>`, "", map[string]string{"m": "a", "n": "a"}},
		"prefix of the parts": {`<b xmlns:wsu="urn:p"><c wsu:Id="m"/></b><b wsu:Id="n" xmlns:q="` + spaceWSU + `"><c q:Id="n"/></b>`, "n", map[string]string{"n": "b"}},
		"the first of duplicates": {`<a><b Id="1"/><b Id="2"/><b Id="2"/><b Id="1"/></a>`, "2",
			map[string]string{"1": "b", "2": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := `<r xmlns:wsu="` + spaceWSU + `" xmlns:p="urn:p">` + test.text + "</r>"
			ids, duplicate := IDs(parse(t, text).Root())
			got := map[string]string{}
			for id, e := range ids {
				got[id] = e.Tag
			}
			if diff := cmp.Diff(test.ids, got); diff != "" || duplicate != test.duplicate {
				t.Errorf("duplicate %q\n%s", duplicate, diff)
			}
		})
	}
}

// TestIDsBelowAnElement: what the elements around the first one declare counts.
func TestIDsBelowAnElement(t *testing.T) {
	t.Parallel()
	d := parse(t, `<r xmlns:wsu="`+spaceWSU+`" wsu:Id="1"><a xmlns:p="urn:p"><b wsu:Id="2" p:Id="3"/></a></r>`)
	a := Children(d.Root(), "", "a")[0]
	if ids, _ := IDs(a); len(ids) != 1 || ids["2"] == nil {
		t.Errorf("%d identifiers", len(ids))
	}
}

func TestFindGoesThroughTheWholeTree(t *testing.T) {
	t.Parallel()
	d := parse(t, `<a><!-- --><b><c/>x</b><d><e/></d></a>`)
	var visited []string
	found := Find(d.Root(), func(e *etree.Element) bool {
		visited = append(visited, e.Tag)
		return e.Tag == "c" || e.Tag == "e"
	})
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, visited); diff != "" || len(found) != 2 || found[0].Tag != "c" || found[1].Tag != "e" {
		t.Errorf("%d found\n%s", len(found), diff)
	}
}
