package wssec

import (
	"errors"
	"strings"
	"testing"
)

// TestAttackParts: attachments that change, move, or are called something else.
// None of what is told of a part outside of its content is signed.
func TestAttackParts(t *testing.T) {
	t.Parallel()
	const order, text, data = "order@northwind.example", "a+b%c@northwind.example", "xml@northwind.example"
	signed := string(sign(t, rsaSigner().signing(RSASHA256, TokenBST), testParts...))
	raw, lines, tree := string(content(t, testParts[0])), string(content(t, testParts[1])), string(content(t, testParts[2]))
	with := func(n int, p Part) []Part {
		parts := append([]Part{}, testParts...)
		parts[n] = p
		return parts
	}
	uri := func(old, new string) string {
		return resigned(t, once(t, signed, old, new), rsaSigner(), RSASHA256)
	}
	for name, c := range map[string]struct {
		text  string
		parts []Part
		want  error
		says  string
	}{
		"as they are":                          {signed, testParts, nil, ""},
		"in another order":                     {signed, []Part{testParts[2], testParts[0], testParts[1]}, nil, ""},
		"none":                                 {signed, nil, ErrSignature, "leads to no part of the message"},
		"one is missing":                       {signed, testParts[:2], ErrSignature, "leads to no part of the message"},
		"one more":                             {signed, append(testParts[:3:3], part("evil@northwind.example", "", "evil")), errUncovered, ""},
		"one twice":                            {signed, append(testParts[:3:3], part(order, "application/gzip", raw)), ErrSignature, "leads to two parts"},
		"one twice, the other is evil":         {signed, append([]Part{part(order, "application/gzip", "evil")}, testParts...), ErrSignature, "leads to two parts"},
		"names changed":                        {signed, []Part{part(text, "text/plain", raw), part(order, "application/gzip", lines), testParts[2]}, ErrSignature, "was changed after"},
		"the name in capitals":                 {signed, with(0, part(strings.ToUpper(order), "application/gzip", raw)), ErrSignature, "leads to no part"},
		"the name in angle brackets":           {signed, with(0, part("<"+order+">", "application/gzip", raw)), ErrSignature, "leads to no part"},
		"the name as it is written in the URI": {signed, with(1, part(strings.TrimPrefix(PartURI(text), "cid:"), "text/plain", lines)), ErrSignature, "leads to no part"},
		"a plus that is a blank":               {signed, with(1, part(strings.Replace(text, "+", " ", 1), "text/plain", lines)), ErrSignature, "leads to no part"},
		"a URI in percent":                     {uri(`URI="cid:order@`, `URI="CiD:%6F%72der%40`), testParts, nil, ""},
		"a URI in percent of percent":          {uri(`URI="cid:order@`, `URI="cid:%256Frder@`), testParts, ErrSignature, "leads to no part"},
		"a URI with a fragment":                {uri(`URI="cid:order@northwind.example"`, `URI="cid:order@northwind.example#a"`), testParts, ErrSignature, "leads to no part"},
		"a URI with a blank":                   {uri(`URI="cid:order@`, `URI=" cid:order@`), testParts, ErrPolicy, "neither to an element"},
		"a URI of the whole with its headers":  {uri(`cid:order@northwind.example"><ds:Transforms><ds:Transform Algorithm="`+transformPart, `cid:order@northwind.example"><ds:Transforms><ds:Transform Algorithm="`+transformWhole), testParts, ErrPolicy, "covers MIME headers"},

		"gzip called text":               {signed, with(0, part(order, "text/plain", raw)), nil, ""}, // the digest over the bytes holds
		"gzip called text, its lines":    {signed, with(0, part(order, "text/plain", strings.ReplaceAll(raw, "\n", "\r\n"))), ErrSignature, "was changed after"},
		"gzip called XML":                {signed, with(0, part(order, "image/svg+xml", raw)), nil, ""},
		"text called gzip":               {signed, with(1, part(text, "application/gzip", lines)), ErrSignature, "was changed after"},
		"text as signed, called gzip":    {signed, with(1, part(text, "application/gzip", "line\r\nline\r\nline\r\n")), nil, ""},
		"text with other line ends":      {signed, with(1, part(text, "TEXT/PLAIN ; charset=utf-8", "line\rline\nline\n")), nil, ""},
		"text with one line end more":    {signed, with(1, part(text, "text/plain", lines+"\n\n")), ErrSignature, "was changed after"},
		"XML called gzip":                {signed, with(2, part(data, "application/gzip", tree)), ErrSignature, "was changed after"},
		"XML called text":                {signed, with(2, part(data, "text/plain", tree)), ErrSignature, "was changed after"},
		"XML with an attribute more":     {signed, with(2, part(data, "text/xml", `<a b="1" a="2" c="3"/>`)), ErrSignature, "was changed after"},
		"XML with a blank in it":         {signed, with(2, part(data, "text/xml", `<a b="1" a="2"> </a>`)), ErrSignature, "was changed after"},
		"XML with a namespace":           {signed, with(2, part(data, "text/xml", `<a xmlns="urn:x" b="1" a="2"/>`)), ErrSignature, "was changed after"},
		"XML with an instruction":        {signed, with(2, part(data, "text/xml", `<?x?><a b="1" a="2"/>`)), ErrSignature, "processing instruction"},
		"XML with a DTD":                 {signed, with(2, part(data, "text/xml", `<!DOCTYPE a [<!ATTLIST a c CDATA "3">]><a b="1" a="2"/>`)), ErrSignature, "DTD"},
		"XML in UTF-16":                  {signed, with(2, part(data, "text/xml", "\xFE\xFF\x00<\x00a\x00/\x00>")), ErrSignature, "not UTF-8"},
		"XML that says it is in Latin-1": {signed, with(2, part(data, "text/xml", `<?xml version="1.0" encoding="ISO-8859-1"?><a b="1" a="2"/>`)), ErrSignature, "only UTF-8"},
		"XML of two documents":           {signed, with(2, part(data, "text/xml", `<a b="1" a="2"/><a b="1" a="2"/>`)), ErrSignature, "second root"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attack{name, func(text string) string { return text }, c.want, c.says}.run(t, rsaSigner().trust(), c.text, c.parts...)
		})
	}
}

// TestCommentsOfAPartAreTold: they are not signed, and may be read by somebody as
// an end of the text before them.
func TestCommentsOfAPartAreTold(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]bool{
		"<a><b>ACME</b></a>": false, "<a><b>AC<!-- -->ME</b></a>": true, "<!-- --><a><b>ACME</b></a>": true, "<a><b>ACME</b></a><!-- -->": true,
		"<a><b>AC<![CDATA[M]]>E</b></a>": false,
	} {
		text := sign(t, p256Signer().signing(ECDSASHA256, ""), part("a@x", "text/xml", "<a><b>ACME</b></a>"))
		r, err := parseMessage(t, text, part("a@x", "text/xml", content)).verify(p256Signer().trust())
		if err != nil || !r.CoversPart("a@x") {
			t.Errorf("%s: %v", content, err)
			continue
		}
		if told := strings.Contains(r.References[2].Tolerated, "comments"); told != want {
			t.Errorf("%s: told is %q", content, r.References[2].Tolerated)
		}
	}
}

// TestDigestedElementsHaveABound: one element under many references is digested as
// often, and its form may be hundreds of times as large as itself.
func TestDigestedElementsHaveABound(t *testing.T) {
	t.Parallel()
	for elements, want := range map[int]error{1_000: nil, 15_000: ErrSignature} {
		envelope := strings.Replace(envelopeText, "<env:Body/>", `<env:Body Id="a" ID="b" id="c" xml:id="d">`+strings.Repeat("<n:a/>", elements)+"</env:Body>", 1)
		envelope = strings.Replace(envelope, "<env:Envelope ", `<env:Envelope xmlns:n="urn:`+strings.Repeat("n", 950)+`" `, 1)
		text, err := signText(t, envelope, p256Signer().signing(ECDSASHA256, ""))
		if err != nil {
			t.Fatal(err)
		}
		first := between(t, text, `<ds:Reference URI="`, "</ds:Reference>")
		var all strings.Builder
		for _, id := range []string{"a", "b", "c", "d"} {
			all.WriteString(`#` + id + first[strings.Index(first, `"`):] + `</ds:Reference><ds:Reference URI="`)
		}
		err = judgeText([]byte(resigned(t, strings.Replace(string(text), first, all.String()+first, 1), p256Signer(), ECDSASHA256)), p256Signer().trust())
		if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), "more than 64 MiB together") {
			t.Errorf("%d elements: %v", elements, err)
		}
	}
}
