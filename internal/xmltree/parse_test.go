package xmltree

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"
)

// form is the canonical form of a document, to see what Parse has made of it.
func form(t testing.TB, d *etree.Document, m Method) string {
	t.Helper()
	var b strings.Builder
	if err := CanonicalDocument(&b, d, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parse(t testing.TB, text string) *etree.Document {
	t.Helper()
	d, err := Parse([]byte(text), Limits{})
	if err != nil {
		t.Fatalf("%v\n%.300s", err, text)
	}
	return d
}

func TestParseReadsWhatXMLSays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"byte order mark":                     {"\uFEFF<a/>", `<a></a>`},
		"byte order mark and declaration":     {"\uFEFF<?xml version='1.0'?><a/>", `<a></a>`},
		"encoding in any letter case":         {`<?xml version="1.0" encoding="Utf-8"?><a/>`, `<a></a>`},
		"declaration over lines":              {"<?xml\r\nversion = '1.0'\tencoding='UTF-8' standalone=\"no\"\n?>\n<a/>", `<a></a>`},
		"white space and comments outside":    {"\r\n<!--x-->\t<a/> <!--y-->\n", "<!--x-->\n<a></a>\n<!--y-->"},
		"line ends in text":                   {"<a>1\r\n2\r3\n4\r\r\n5</a>", "<a>1\n2\n3\n4\n\n5</a>"},
		"line ends in comments":               {"<a><!--1\r\n2\r3--></a>", "<a><!--1\n2\n3--></a>"},
		"line ends in CDATA":                  {"<a><![CDATA[1\r\n2\r3]]></a>", "<a>1\n2\n3</a>"},
		"white space in attribute values":     {"<a b='1\r\n2\r3\n4\t5\r\r\n6'/>", `<a b="1 2 3 4 5  6"></a>`},
		"references in attribute values":      {`<a b="&#xD;&#10;&#x9;&#32;&quot;&apos;&lt;&gt;&amp;"/>`, `<a b="&#xD;&#xA;&#x9; &quot;'&lt;>&amp;"></a>`},
		"references in text":                  {`<a>&#xD;&#10;&#x9;&quot;&apos;&lt;&gt;&amp;&#x1F69A;&#0000000000000000000000000000065;</a>`, "<a>&#xD;\n\t\"'&lt;&gt;&amp;\U0001F69AA</a>"},
		"carriage return then line feed":      {"<a>&#13;\n</a>", "<a>&#xD;\n</a>"},
		"namespace with a line break":         {"<p:a xmlns:p='urn:x\r\n y'/>", `<p:a xmlns:p="urn:x  y"></p:a>`},
		"CDATA next to text":                  {"<a>x<![CDATA[<&>]]>y<![CDATA[]]></a>", "<a>x&lt;&amp;&gt;y</a>"},
		"a reference cannot end CDATA":        {"<a><![CDATA[]]&gt;]]></a>", "<a>]]&amp;gt;</a>"},
		"brackets of CDATA in text":           {"<a>]]&gt;]]</a>", "<a>]]&gt;]]</a>"},
		"greater-than in attribute values":    {`<a b=">/>" c='"'/>`, `<a b=">/>" c="&quot;"></a>`},
		"white space in tags":                 {"<a\n\tb = '1'\r\nc\n=\n'2' ></a\t>", `<a b="1" c="2"></a>`},
		"xml declared as what it is":          {`<a xmlns:xml="http://www.w3.org/XML/1998/namespace" xml:lang="en"/>`, `<a xml:lang="en"></a>`},
		"names beyond ASCII":                  {"<größe ключ='1'/>", `<größe ключ="1"></größe>`},
		"one local name in several spaces":    {`<a xmlns:p="urn:p" xmlns:q="urn:q" b="1" p:b="2" q:b="3"/>`, `<a xmlns:p="urn:p" xmlns:q="urn:q" b="1" p:b="2" q:b="3"></a>`},
		"a prefix declared behind its use":    {`<p:a p:b="1" xmlns:p="urn:p"/>`, `<p:a xmlns:p="urn:p" p:b="1"></p:a>`},
		"attribute without the default space": {`<a xmlns="urn:p" xmlns:p="urn:p" b="1" p:b="2"/>`, `<a xmlns="urn:p" xmlns:p="urn:p" b="1" p:b="2"></a>`},
		"declaration of a style in a comment": {"<!--<?xml-stylesheet?><!DOCTYPE a>--><a/>", "<!--<?xml-stylesheet?><!DOCTYPE a>-->\n<a></a>"},
		"DOCTYPE in CDATA":                    {"<a><![CDATA[<!DOCTYPE a>]]></a>", "<a>&lt;!DOCTYPE a&gt;</a>"},
		"empty comment":                       {"<a><!----></a>", "<a><!----></a>"},
		"a comment that begins with >":        {"<a><!--> <b> --></a>", "<a><!--> <b> --></a>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := form(t, parse(t, test.text), Method{Inclusive: true, Comments: true})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want error
		says string
	}{
		"DTD":                             {"<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", ErrDTD, "line 2"},
		"DTD in small letters":            {"<!doctype a><a/>", ErrDTD, "line 1"},
		"DTD that never ends":             {"<!DOCTYPE a [", ErrDTD, "line 1"},
		"DTD behind the root":             {"<a/>\n<!DOCTYPE a>", ErrDTD, "line 2"},
		"DTD inside":                      {"<a><!DOCTYPE a></a>", ErrDTD, "line 1"},
		"entity declaration":              {"<!ENTITY a 'x'><a/>", ErrSyntax, "unknown markup"},
		"processing instruction":          {"<a>\n<?php x?></a>", ErrInstruction, "line 2"},
		"processing instruction before":   {"<?xml-stylesheet href='x'?><a/>", ErrInstruction, "line 1"},
		"processing instruction behind":   {"<a/><?x?>", ErrInstruction, "line 1"},
		"declaration that is not first":   {"\n<?xml version='1.0'?><a/>", ErrSyntax, "not the first"},
		"declaration without version":     {"<?xml encoding='UTF-8'?><a/>", ErrSyntax, "malformed"},
		"declaration without end":         {"<?xml version='1.0'><a/>", ErrSyntax, "malformed"},
		"declaration with more":           {"<?xml version='1.0' x='1'?><a/>", ErrSyntax, "malformed"},
		"XML 1.1":                         {"<?xml version='1.1'?><a/>", ErrSyntax, `version "1.1"`},
		"declared encoding":               {"<?xml version='1.0' encoding='ISO-8859-1'?><a/>", ErrSyntax, `encoding "ISO-8859-1"`},
		"declared encoding, empty":        {"<?xml version='1.0' encoding=''?><a/>", ErrSyntax, `encoding ""`},
		"UTF-16":                          {"\xFF\xFE<\x00a\x00/\x00>\x00", ErrSyntax, "not UTF-8"},
		"UTF-16 without a mark":           {"<\x00a\x00/\x00>\x00", ErrSyntax, "U+0000"},
		"two byte order marks":            {"\uFEFF\uFEFF<a/>", ErrSyntax, "outside the root"},
		"Latin-1 in text":                 {"<a>\n\xE9</a>", ErrSyntax, "line 2: byte 0xe9"},
		"Latin-1 in a comment":            {"<a><!--\xE9--></a>", ErrSyntax, "byte 0xe9"},
		"overlong UTF-8":                  {"<a>\xC0\xBC</a>", ErrSyntax, "byte 0xc0"},
		"surrogate in UTF-8":              {"<a>\xED\xA0\x80</a>", ErrSyntax, "byte 0xed"},
		"control character in a comment":  {"<a><!--\x01--></a>", ErrSyntax, "U+0001"},
		"control character in a value":    {"<a b='\x1F'/>", ErrSyntax, "U+001F"},
		"U+FFFE":                          {"<a>\uFFFE</a>", ErrSyntax, "U+FFFE"},
		"reference to zero":               {"<a>&#0;</a>", ErrSyntax, "&#0;"},
		"reference to a surrogate":        {"<a>&#xD800;</a>", ErrSyntax, "&#xD800;"},
		"reference beyond Unicode":        {"<a>&#x110000;</a>", ErrSyntax, "&#x110000;"},
		"reference of 64 bits":            {"<a>&#x100000041;</a>", ErrSyntax, "&#x100000041"},
		"reference without digits":        {"<a b='&#;'/>", ErrSyntax, "&#;"},
		"reference with a sign":           {"<a>&#+65;</a>", ErrSyntax, "&#+65;"},
		"reference with a capital X":      {"<a>&#X41;</a>", ErrSyntax, "&#X41;"},
		"reference without end":           {"<a>\n&#65</a>", ErrSyntax, "line 2"},
		"unknown entity":                  {"<a b='\n\n'>\n&nbsp;</a>", ErrSyntax, "line 4"},
		"entity without semicolon":        {"<a>&amp</a>", ErrSyntax, "&amp"},
		"ampersand alone":                 {"<a b='x & y'/>", ErrSyntax, "line 1"},
		"end of CDATA in text":            {"<?xml version='1.0'\n?><a>]]></a>", ErrSyntax, "line 2"},
		"CDATA outside":                   {"<a/><![CDATA[ ]]>", ErrSyntax, "outside the root"},
		"CDATA without end":               {"<a><![CDATA[ ]]</a>", ErrSyntax, "inside a CDATA"},
		"comment without end":             {"<a><!-- -></a>", ErrSyntax, "inside a comment"},
		"comment cut":                     {"<a><!-- --", ErrSyntax, "inside a comment"},
		"comment with dashes":             {"<a><!-- -- --></a>", ErrSyntax, `"--" inside`},
		"comment that ends in three":      {"<a><!-- ---></a>", ErrSyntax, `"--" inside`},
		"nothing":                         {"", ErrSyntax, "no element"},
		"comments alone":                  {"<!-- -->\n", ErrSyntax, "no element"},
		"two roots":                       {"<a/>\n<b/>", ErrSyntax, "line 2: <b> is a second root"},
		"text before":                     {"x<a/>", ErrSyntax, "outside the root"},
		"text behind":                     {"<a/>\nx", ErrSyntax, "outside the root"},
		"reference behind":                {"<a/>&#32;", ErrSyntax, "outside the root"},
		"document cut":                    {"<a>\n<b>\n", ErrSyntax, "line 3: the document ends inside <b> of line 2"},
		"tag cut":                         {"<a b='1'", ErrSyntax, "ends inside the tag"},
		"value cut":                       {"<a b='1", ErrSyntax, "no closing quote"},
		"wrong end tag":                   {"<a>\n<b></a></b>", ErrSyntax, "line 2: </a> where </b> must stand"},
		"line behind a long declaration":  {"<?xml version='1.0'\r\n?>\r\n<a>\r<b></a></b>", ErrSyntax, "line 4: </a> where </b> must stand, for the element of line 4"},
		"end tag with another prefix":     {"<p:a xmlns:p='urn:p' xmlns:q='urn:p'></q:a>", ErrSyntax, "</q:a> where </p:a>"},
		"end tag alone":                   {"</a>", ErrSyntax, "closes no element"},
		"end tag with an attribute":       {"<a></a b='1'>", ErrSyntax, "not closed"},
		"attribute without value":         {"<a b/>", ErrSyntax, "has no value"},
		"attribute without quotes":        {"<a b=1/>", ErrSyntax, "not in quotes"},
		"attributes without a blank":      {"<a b='1'c='2'/>", ErrSyntax, "must follow"},
		"less-than in a value":            {"<a b='<'/>", ErrSyntax, `"<" in an attribute`},
		"slash inside a tag":              {"<a / b='1'>", ErrSyntax, "no name"},
		"blank before a name":             {"< a/>", ErrSyntax, "no name"},
		"name of two colons":              {"<a:b:c xmlns:a='urn:a'/>", ErrSyntax, "no name"},
		"name without prefix":             {"<:a/>", ErrSyntax, "no name"},
		"name without local part":         {"<a: xmlns:a='urn:a'/>", ErrSyntax, "no name"},
		"local part of a digit":           {"<a:1 xmlns:a='urn:a'/>", ErrSyntax, "no name"},
		"name of a digit":                 {"<1a/>", ErrSyntax, "1a"},
		"name with a forbidden character": {"<a\u00D7b/>", ErrSyntax, "a\u00D7b"},
		"attribute of two colons":         {"<a xmlns:b:c='urn:a'/>", ErrSyntax, "no name"},
		"undeclared prefix of an element": {"<a><p:b/></a>", ErrSyntax, `prefix "p"`},
		"undeclared prefix of attribute":  {"<a p:b='1'/>", ErrSyntax, `prefix "p"`},
		"prefix declared elsewhere":       {"<a><b xmlns:p='urn:p'/><p:c/></a>", ErrSyntax, `prefix "p"`},
		"prefix bound to nothing":         {"<a xmlns:p=''/>", ErrSyntax, "no namespace"},
		"prefix xmlns declared":           {"<a xmlns:xmlns='urn:x'/>", ErrSyntax, "xmlns is reserved"},
		"prefix xmlns used":               {"<xmlns:a/>", ErrSyntax, `prefix "xmlns"`},
		"prefix xml rebound":              {"<a xmlns:xml='urn:x'/>", ErrSyntax, "belong together"},
		"namespace of xml elsewhere":      {"<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>", ErrSyntax, "belong together"},
		"namespace of xml as default":     {"<a xmlns='http://www.w3.org/XML/1998/namespace'/>", ErrSyntax, "belong together"},
		"namespace of xmlns":              {"<a xmlns:p='http://www.w3.org/2000/xmlns/'/>", ErrSyntax, "reserved"},
		"namespace of xmlns, referenced":  {"<a xmlns='http://www.w3.org/2000/xmlns&#47;'/>", ErrSyntax, "reserved"},
		"attribute twice":                 {"<a b='1' b='1'/>", ErrSyntax, "occurs twice"},
		"attribute twice by its space":    {"<a xmlns:p='urn:p' xmlns:q='urn:&#112;' p:b='1' q:b='2'/>", ErrSyntax, "occurs twice"},
		"declaration twice":               {"<a xmlns:p='urn:p' xmlns:p='urn:p'/>", ErrSyntax, "occurs twice"},
		"default namespace twice":         {"<a xmlns='urn:p' xmlns='urn:q'/>", ErrSyntax, "occurs twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(test.text), Limits{})
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v; want %v with %q", err, test.want, test.says)
			}
		})
	}
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	attributes := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " a%d=''", i)
		}
		return b.String()
	}
	nested := func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }
	wide := func(n int) string { return "<a>" + strings.Repeat("<b/>", n-1) + "</a>" }
	scope := func(n int) string { return nestedWith(n/40, attributes(40)) }
	named := func(declared string) func(int) string {
		return func(n int) string { return "<a " + declared + "='" + strings.Repeat("x", n) + "'/>" }
	}
	padded := func(n int) string { return "<a>" + strings.Repeat("x", n-7) + "</a>" }
	for name, test := range map[string]struct {
		text   func(int) string
		least  int // what is refused
		limits Limits
		says   string
	}{
		"bytes":                {padded, 4<<20 + 1, Limits{}, "4194305 bytes"},
		"bytes, set":           {padded, 101, Limits{Bytes: 100}, "101 bytes"},
		"depth":                {nested, 101, Limits{}, "nesting limit of 100"},
		"depth, set":           {nested, 11, Limits{Depth: 10}, "nesting limit of 10"},
		"depth beyond etree's": {nested, 20_001, Limits{Depth: 20_000, Elements: 30_000}, "nesting limit of 20000"},
		"elements":             {wide, 20_001, Limits{}, "more than 20000 elements"},
		"elements, set":        {wide, 4, Limits{Elements: 3}, "more than 3 elements"},
		"attributes":           {func(n int) string { return "<a" + attributes(n) + "/>" }, 201, Limits{}, "more than 200 attributes"},
		"attributes, set":      {func(n int) string { return "<a" + attributes(n) + "/>" }, 3, Limits{Attributes: 2}, "more than 2 attributes"},
		"namespace":            {named("xmlns:p"), 1_001, Limits{}, "more than 1000 bytes"},
		"default namespace":    {named("xmlns"), 1_001, Limits{}, "more than 1000 bytes"},
		"namespace, set":       {named("xmlns:p"), 11, Limits{Namespace: 10}, "more than 10 bytes"},
		"scope":                {scope, 2_040, Limits{}, "more than 2000 attributes"},
		"scope, set":           {func(n int) string { return "<a b=''><c d=''/><c" + attributes(n-1) + "/></a>" }, 4, Limits{Scope: 3}, "more than 3 attributes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(test.text(test.least)), test.limits)
			if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v; want %q", err, test.says)
			}
			most := test.least - 1
			if name == "scope" {
				most = test.least - 40
			}
			if _, err := Parse([]byte(test.text(most)), test.limits); err != nil {
				t.Errorf("at the limit: %v", err)
			}
		})
	}
}

// nestedWith is n elements inside one another with these attributes each.
func nestedWith(n int, attributes string) string {
	return strings.Repeat("<a"+attributes+">", n) + strings.Repeat("</a>", n)
}
