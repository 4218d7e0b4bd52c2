package edi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestXMLIsIndented(t *testing.T) {
	t.Parallel()
	for document, want := range map[string][]string{
		"<?xml version='1.0'?><a><b  c='1'\n d=\"2\" >x</b><e/><f></f>\n\n<g><![CDATA[<x>]]>y</g></a>": {
			"<?xml version='1.0'?>", "<a>", "  <b c='1' d=\"2\">x</b>", "  <e/>", "  <f></f>", "  <g><![CDATA[<x>]]>y</g>", "</a>",
		},
		"<a> text <b/>\n more\n lines </a >":          {"<a>", "  text", "  <b/>", "  more␊", "…    lines", "</a>"},
		"<a> \n </a>":                                 {"<a> ␊", "…  </a>"},
		"<!-- one\ntwo --><a/>\n<?p q?>\n":            {"<!-- one␊", "… two -->", "<a/>", "<?p q?>"},
		"<a b='>'>&amp;&#x202e;&lt;</a>":              {"<a b='>'>&amp;&#x202e;&lt;</a>"},
		"<a>\u202e</a>":                               {`<a>\u202e</a>`},
		"\ufeff<a/>":                                  {`\ufeff`, "<a/>"},
		"<a b = '1'/>":                                {"<a b='1'/>"},
		"<?xml version='1.0' encoding='latin1'?><a>ü": {"<?xml version='1.0' encoding='latin1'?>", "<a>", `  \xc3\xbc ! </a> is missing: the file ends (line 1)`},
	} {
		v := viewed(t, document)
		if diff := cmp.Diff(want, texts(v)); diff != "" || v.Form != FormXML {
			t.Errorf("%q as %s (-want +got):\n%s", document, v.Form, diff)
		}
	}
}

func TestLongTagsHaveALineForEachAttribute(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 60)
	v := viewed(t, "<a>\n<b one='"+name+"' two='"+name+"'/></a>")
	want := []string{"<a>", "  <b", "…       one='" + name + "'", "…       two='" + name + "'/>", "</a>"}
	if diff := cmp.Diff(want, texts(v)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if l := v.Lines[1]; l.N != 2 || l.Tag != "b" || l.Offset != 4 {
		t.Errorf("line %+v", l)
	}
}

func TestPartsOfXML(t *testing.T) {
	t.Parallel()
	v := viewed(t, "<x:a b='1'>t</x:a>")
	want := []Part{
		{PartMarkup, "<"}, {PartTag, "x:a"}, {PartMarkup, " "}, {PartAttribute, "b"}, {PartMarkup, "='"}, {PartData, "1"}, {PartMarkup, "'>"},
		{PartData, "t"}, {PartMarkup, "</"}, {PartTag, "x:a"}, {PartMarkup, ">"},
	}
	if diff := cmp.Diff(want, v.Lines[0].Parts()); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestCharacterSetsOfXML(t *testing.T) {
	t.Parallel()
	for encoding, want := range map[string]string{
		"": "<a>ä</a>", "utf-8": "<a>ä</a>", "ISO-8859-1": `<a>Ã¤</a>`, "iso-8859-1": `<a>Ã¤</a>`, "windows-1252": `<a>\xc3\xa4</a>`,
	} {
		document := "<a>\xc3\xa4</a>"
		if encoding != "" {
			document = "<?xml version=\"1.0\" encoding=\"" + encoding + "\"?>" + document
		}
		v := viewed(t, document)
		charset := map[string]string{"ISO-8859-1": "ISO-8859-1", "iso-8859-1": "ISO-8859-1", "windows-1252": "windows-1252"}[encoding]
		if charset == "" {
			charset = "UTF-8"
		}
		if got := v.Lines[len(v.Lines)-1].Text; got != want || v.Charset != charset || v.Problem != nil {
			t.Errorf("%q is %s: %q, want %q; problem %+v", encoding, v.Charset, got, want, v.Problem)
		}
	}
}

// TestXMLIsShownUpToWhereItIsSound: what follows is shown as it stands.
func TestXMLIsShownUpToWhereItIsSound(t *testing.T) {
	t.Parallel()
	for document, want := range map[string][]string{
		"<?xml version='1.0'?>\n<!DOCTYPE a [\n<!ENTITY b SYSTEM 'file:///etc/passwd'>\n]>\n<a>&b;</a>": {
			"<?xml version='1.0'?>", "<!DOCTYPE a [␊ ! a document type declaration (DOCTYPE) is refused (line 2)",
			"<!ENTITY b SYSTEM 'file:///etc/passwd'>␊", "]>␊", "<a>&b;</a>",
		},
		"<a><b>x</b>\n <c>y</d>\n <e/></a>": {"<a>", "  <b>x</b>", "  <c>", "    y", "</d>␊ ! </d> stands where <c> should end (line 2)", " <e/></a>"},
		"<a><b>":                            {"<a>", "  <b> ! </b> is missing: the file ends (line 1)"},
		"<a/><b/>":                          {"<a/>", "<b/> ! a second root element begins (line 1)"},
		"<a><b c='1\n2\n< 3'/></a>":         {"<a>", "<b c='1␊", "2␊", "< 3'/></a> ! an attribute of <b> holds '<' (line 3)"},
	} {
		v := viewed(t, document)
		if diff := cmp.Diff(want, texts(v)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", document, diff)
		}
	}
}

func TestTextThatBeginsLikeXMLIsText(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"<hello world", "<3", "<a b", "<a\x01"} {
		if v := viewed(t, document); v.Form != FormText || v.Problem != nil || v.Kind != Unknown {
			t.Errorf("%q is shown as %s, problem %+v", document, v.Form, v.Problem)
		}
	}
}
