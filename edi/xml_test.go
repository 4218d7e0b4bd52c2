package edi

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestXMLWellFormed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"<a/>",
		"<?xml version='1.0'?>\n<!-- c --><a b=\"1\" c='2>' >text<b x:y = '&lt;&#10;&#xe4;'/> > ]] ]&gt; </a >\n<!----><?p?>\n",
		"<a><![CDATA[<&]]]]><![CDATA[>]]></a>",
		"<a><![CDATA[]]></a>",
		"<ä ö='ü'>\u00a0\U0001F600</ä>",
		"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe4</a>",
		"<?xml-stylesheet href='a'?><a/>",
		strings.Repeat("<a>", maxDepth) + strings.Repeat("</a>", maxDepth),
		"<a><?p <&?? ?></a>",
		"<a>\r\n\t</a>\r\n",
	} {
		r := scan(text)
		if r.Kind != XML || r.Problem != nil || r.Type == "" {
			t.Errorf("%.60q: kind %s, type %q, problem %+v", text, r.Kind, r.Type, r.Problem)
		}
	}
}

func TestXMLFaults(t *testing.T) {
	t.Parallel()
	var attributes strings.Builder
	for i := range maxAttributes + 1 {
		attributes.WriteString(" a" + strings.Repeat("b", i/10) + string(rune('0'+i%10)) + "=''")
	}
	for text, want := range map[string]string{
		"<a>\n<b></a>":                           "</a> stands where <b> should end (line 2)",
		"<a>\n<b>":                               "</b> is missing: the file ends (line 2)",
		"<a><b":                                  "</a> is missing: the file ends (line 1)",
		"<a></b>":                                "</b> stands where <a> should end (line 1)",
		"<a/></a>":                               "</a> stands where <> should end (line 1)",
		"<a/>\n<b/>":                             "a second root element begins (line 2)",
		"<a/>text":                               "text stands outside the root element (line 1)",
		"<!-- a":                                 "",
		"<?xml version='1.0'?>":                  "the file ends inside the markup (line 1)",
		"<?xml version='1.0'?>\nx":               "text stands outside the root element (line 2)",
		"<a/><!-- ":                              "the file ends inside the markup (line 1)",
		"<!DOCTYPE a><a/>":                       "a document type declaration (DOCTYPE) is refused (line 1)",
		"<?xml version='1.0'?>\n<!DOCTYPE a [":   "a document type declaration (DOCTYPE) is refused (line 2)",
		"<a>&nbsp;</a>":                          "the entity &nbsp; is unknown (line 1)",
		"<a>&#0;</a>":                            "the entity &#0; is unknown (line 1)",
		"<a>&#xD800;</a>":                        "the entity &#xD800; is unknown (line 1)",
		"<a>R & D</a>":                           "'&' begins no known entity (line 1)",
		"<a>1 < 2</a>":                           "'<' is not followed by a name (line 1)",
		"<a>]]></a>":                             "]]> is not allowed in text (line 1)",
		"<a><!-- -- --></a>":                     "a comment holds -- (line 1)",
		"<a><!b></a>":                            "'<!' begins nothing that may stand here (line 1)",
		"<a/><![CDATA[]]>":                       "'<!' begins nothing that may stand here (line 1)",
		"<a><?xml version='1.0'?></a>":           "the XML declaration is not at the start (line 1)",
		"<a><? p?></a>":                          "'<?' is not followed by a name (line 1)",
		"<a><b c></b></a>":                       "attribute c of <b> has no quoted value (line 1)",
		"<a><b c=1></b></a>":                     "attribute c of <b> has no quoted value (line 1)",
		"<a><b c='1'd='2'/></a>":                 "the tag of <b> is malformed (line 1)",
		"<a><b c='1' c='2'/></a>":                "<b> has the attribute c twice (line 1)",
		"<a><b c='<'/></a>":                      "an attribute of <b> holds '<' (line 1)",
		"<a><b / ></a>":                          "the tag of <b> is malformed (line 1)",
		"<a><b></b x></a>":                       "the end tag of <b> is malformed (line 1)",
		"<a>\x01</a>":                            "a control character is not allowed (line 1)",
		"<a>\xe4</a>":                            "the text is not UTF-8 (line 1)",
		"<a>\xed\xa0\x80</a>":                    "the text is not UTF-8 (line 1)",
		"<a>\xc3</a>":                            "the text is not UTF-8 (line 1)",
		strings.Repeat("<a>", maxDepth+1):        "elements are nested deeper than 256 (line 1)",
		"<a><" + strings.Repeat("b", maxName+1):  "a name is longer than 256 bytes (line 1)",
		"<a><b" + attributes.String() + "/></a>": "<b> has more than 256 attributes (line 1)",
	} {
		r := scan(text)
		if want == "" {
			if r.Kind != Unknown || r.Problem != nil {
				t.Errorf("%.60q: kind %s, problem %+v", text, r.Kind, r.Problem)
			}
			continue
		}
		if r.Kind != XML || r.Problem == nil || r.Problem.Text != want {
			t.Errorf("%.60q: kind %s, problem %+v, want %q", text, r.Kind, r.Problem, want)
		}
	}
}

func TestXMLProblemNamesElementAndLine(t *testing.T) {
	t.Parallel()
	text := strings.Replace(sample(t, "ubl-invoice.xml"), "</cbc:ID>", "</cbc:Id>", 1)
	want := &Problem{
		Segment: "cbc:ID", Position: 7, Expected: "</cbc:ID>", Found: "</cbc:Id>",
		Text: "</cbc:Id> stands where <cbc:ID> should end (line 7)",
	}
	r := scan(text)
	if diff := cmp.Diff(want, r.Problem); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	if r.Kind != UBL || r.Type != "Invoice" {
		t.Errorf("kind %s, type %q", r.Kind, r.Type)
	}
}

func TestDocumentsInStandardBusinessDocument(t *testing.T) {
	t.Parallel()
	_, invoice, _ := strings.Cut(sample(t, "ubl-invoice.xml"), "?>")
	wrap := func(inside string) string {
		return `<sh:StandardBusinessDocument xmlns:sh="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader">` +
			"<sh:StandardBusinessDocumentHeader><ID>no</ID></sh:StandardBusinessDocumentHeader>" + inside + "</sh:StandardBusinessDocument>"
	}
	if diff := cmp.Diff(samples["ubl-invoice.xml"], scan(wrap(invoice))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if r := scan(wrap(invoice + invoice)); r.Kind != UBL || r.Identity != nil || r.Problem != nil {
		t.Errorf("two documents: kind %s, identity %q, problem %+v", r.Kind, r.Identity, r.Problem)
	}
	if r := scan(wrap("<a/>")); r.Kind != XML || r.Type != "StandardBusinessDocument" {
		t.Errorf("no document: kind %s, type %q", r.Kind, r.Type)
	}
}

func TestDocumentsAreToldByTheNamespaceOfTheirRoot(t *testing.T) {
	t.Parallel()
	const space = ublNamespace + "Order-2"
	for text, want := range map[string]Report{
		`<x:Order xmlns:x="` + space + `"><ID>PO-1</ID></x:Order>`:            {Kind: UBL, Type: "Order", References: []Reference{{"order", "PO-1"}}},
		`<Order xmlns="` + space + `"><a:ID>PO<!-- -->-1 </a:ID></Order>`:     {Kind: UBL, Type: "Order", References: []Reference{{"order", "PO-1"}}},
		`<Order xmlns="` + space + `"><ID><![CDATA[A&]]>&amp;</ID></Order>`:   {Kind: UBL, Type: "Order", References: []Reference{{"order", "A&&"}}},
		`<Order xmlns="` + space + `"><b><ID>no</ID></b></Order>`:             {Kind: UBL, Type: "Order"},
		`<Order xmlns:x="` + space + `"><ID>PO-1</ID></Order>`:                {Kind: XML, Type: "Order"},
		`<Order xmlns="urn:other"><ID>PO-1</ID></Order>`:                      {Kind: XML, Type: "Order"},
		`<a><Order xmlns="` + space + `"><ID>PO-1</ID></Order></a>`:           {Kind: XML, Type: "a"},
		`<Waybill xmlns="` + ublNamespace + `Waybill-2"><ID>1</ID></Waybill>`: {Kind: UBL, Type: "Waybill", References: []Reference{{"document", "1"}}},
	} {
		if want.Kind == UBL {
			want.Route = &Route{Namespace: ublNamespace + want.Type + "-2", Root: want.Type}
		}
		if diff := cmp.Diff(want, scan(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// The standard library's decoder is the second opinion: what it refuses must be
// refused here. (It accepts more: duplicate attributes, DTDs, several roots.)
func FuzzXMLAgainstStandardLibrary(f *testing.F) {
	f.Add("<a b='&#65;'><![CDATA[x]]]]><!-- - --><?p?></a>")
	f.Add("<a:b xmlns:a='x' c=\"d\">&lt;</a:b>\n")
	f.Add("<?xml version='1.0' encoding='utf-8'?><a>ä</a>")
	f.Fuzz(func(t *testing.T, text string) {
		r := scan(text)
		if r.Kind == Unknown || r.Problem != nil || !plainNames(text) {
			return
		}
		d := xml.NewDecoder(strings.NewReader(strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")))
		d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
		for {
			_, err := d.RawToken()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("%q is accepted, encoding/xml says %v", text, err)
			}
		}
	})
}

// plainNames tells whether text is ASCII without what this package is known to
// be laxer about: the XML declaration's own form, and colons in odd places.
func plainNames(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= 0x80 || text[i] == ':' || text[i] == 0x7f {
			return false
		}
	}
	return !strings.Contains(strings.ToLower(text), "<?xml")
}
