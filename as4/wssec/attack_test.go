package wssec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"edigw/internal/xmltree"
)

// errUncovered is what whoever uses a Report makes of a signature that holds and
// leads somewhere else than to what is used.
var errUncovered = errors.New("something that is used is not signed")

// judge does what every user of Verify does: the signature must hold, and cover
// the header, the Body and the parts that are used.
func (m message) judge(t Trust) error {
	r, err := m.verify(t)
	if err != nil {
		return err
	}
	if !r.Covers(m.messaging) || !r.Covers(m.body) {
		return errUncovered
	}
	for _, p := range m.parts {
		if !r.CoversPart(p.ContentID) {
			return errUncovered
		}
	}
	return nil
}

// judgeText judges a message as it came.
func judgeText(text []byte, t Trust, parts ...Part) error {
	m, err := readMessage(text)
	if err != nil {
		return err
	}
	m.parts = parts
	return m.judge(t)
}

// attack is what somebody makes of a message that was really signed.
type attack struct {
	name string
	bend func(text string) string
	want error // nil: a control, which must pass
	says string
}

// pieces of a signed message.
type pieces struct{ security, signature, token, messaging, body string }

func piecesOf(t testing.TB, text string) pieces {
	t.Helper()
	whole := func(from, to string) string { return from + between(t, []byte(text), from, to) + to }
	return pieces{
		security: whole("<wsse:Security ", "</wsse:Security>"), signature: whole("<ds:Signature ", "</ds:Signature>"),
		token: whole("<wsse:BinarySecurityToken ", "</wsse:BinarySecurityToken>"), messaging: whole("<eb:Messaging ", "</eb:Messaging>"),
		body: whole("<env:Body", "/>"),
	}
}

// once replaces what stands there once.
func once(t testing.TB, text, old, new string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q is there %d times in %s", old, n, text)
	}
	return strings.Replace(text, old, new, 1)
}

func (a attack) run(t *testing.T, trust Trust, text string, parts ...Part) {
	t.Helper()
	err := judgeText([]byte(a.bend(text)), trust, parts...)
	if !errors.Is(err, a.want) || err != nil && !strings.Contains(err.Error(), a.says) {
		t.Errorf("got %v, want %v with %q", err, a.want, a.says)
	}
}

const (
	aside    = `<x:aside>`
	asideEnd = `</x:aside>`
	evilBody = `<env:Body><x:evil/></env:Body>`
	wsuID    = ` xmlns:w="` + nsWSU + `" w:Id=`
)

// TestAttackWrapping: what was signed moves, and something else stands in its
// place.
func TestAttackWrapping(t *testing.T) {
	t.Parallel()
	text := string(sign(t, rsaSigner().signing(RSASHA256, TokenBST)))
	p := piecesOf(t, text)
	bodyID := between(t, []byte(p.body), `Id="`, `"`)
	evil := func(e string) string { // the same, unsigned, with another content
		e = strings.Replace(e, "GOOD-1@", "EVIL-1@", 1)
		return strings.Replace(e, ` wsu:Id="`+between(t, []byte(e), ` wsu:Id="`, `"`)+`"`, "", 1)
	}
	evilMessaging := evil(p.messaging)
	move := func(what, place, to string) func(string) string {
		return func(text string) string {
			return strings.Replace(once(t, text, what, place), to, aside+what+asideEnd+to, 1)
		}
	}
	for _, a := range []attack{
		{"as it is", func(text string) string { return text }, nil, ""},
		{"Body into the header", move(p.body, evilBody, "</env:Header>"), errUncovered, ""},
		{"Body into the new Body", func(text string) string {
			return once(t, text, p.body, "<env:Body>"+p.body+"</env:Body>")
		}, errUncovered, ""},
		{"Body into the security header", move(p.body, evilBody, "</wsse:Security>"), errUncovered, ""},
		{"Body into the token", func(text string) string {
			return once(t, once(t, text, p.body, evilBody), "</wsse:BinarySecurityToken>", p.body+"</wsse:BinarySecurityToken>")
		}, ErrMalformed, "holds elements"},
		{"Body into the signature value", func(text string) string {
			return once(t, once(t, text, p.body, evilBody), "</ds:SignatureValue>", p.body+"</ds:SignatureValue>")
		}, ErrMalformed, "holds elements"},
		{"Body into an Object of the signature", func(text string) string {
			return once(t, once(t, text, p.body, evilBody), "</ds:Signature>", "<ds:Object>"+p.body+"</ds:Object></ds:Signature>")
		}, ErrMalformed, "holds 4 elements"},
		{"Body into a header that is signed", move(p.body, evilBody, "</eb:Messaging>"), ErrSignature, "was changed after it was signed"},
		{"a second Body behind the first", func(text string) string { return once(t, text, p.body, p.body+evilBody) }, errUncovered, ""},
		{"Messaging behind the Body", move(p.messaging, evilMessaging, "</env:Envelope>"), errUncovered, ""},
		{"Messaging into the new Messaging", func(text string) string {
			return once(t, text, p.messaging, strings.Replace(evilMessaging, "</eb:Messaging>", p.messaging+"</eb:Messaging>", 1))
		}, errUncovered, ""},
		{"the whole envelope aside", func(text string) string {
			inner := once(t, text, p.security, "")
			return `<env:Envelope xmlns:env="` + nsSOAP + `" xmlns:x="urn:x"><env:Header>` + p.security + evilMessaging + aside + inner + asideEnd + "</env:Header>" + evilBody + "</env:Envelope>"
		}, errUncovered, ""},
		{"the id of the Body by ID", func(text string) string {
			return strings.Replace(move(p.body, "\x01", "</env:Header>")(text), "\x01", `<env:Body ID="`+bodyID+`"><x:evil/></env:Body>`, 1)
		}, ErrSignature, "occurs twice"},
		{"the id of the Body by xml:id", func(text string) string {
			return strings.Replace(move(p.body, "\x01", "</env:Header>")(text), "\x01", `<env:Body xml:id="`+bodyID+`"><x:evil/></env:Body>`, 1)
		}, ErrSignature, "occurs twice"},
		{"the id of the Body by a prefix of our own", func(text string) string {
			return strings.Replace(move(p.body, "\x01", "</env:Header>")(text), "\x01", `<env:Body`+wsuID+`"`+bodyID+`"><x:evil/></env:Body>`, 1)
		}, ErrSignature, "occurs twice"},
		{"the id of the Body on the envelope", func(text string) string {
			return once(t, text, "<env:Envelope ", `<env:Envelope Id="`+bodyID+`" `)
		}, ErrSignature, "occurs twice"},
		{"the id of the Body on the token", func(text string) string {
			return once(t, text, "<wsse:BinarySecurityToken ", `<wsse:BinarySecurityToken Id="`+bodyID+`" `)
		}, ErrSignature, "occurs twice"},
		{"the id of the Body in an attribute that is no id", func(text string) string {
			return once(t, text, "<env:Envelope ", `<env:Envelope x:Id="`+bodyID+`" x:id="`+bodyID+`" `)
		}, nil, ""},
		{"an id of nothing, twice", func(text string) string {
			return once(t, text, "</env:Header>", `<x:a Id=""/><x:a Id=""/></env:Header>`)
		}, nil, ""},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.run(t, rsaSigner().trust(), text)
		})
	}
}

// TestAttackPlaces: signatures and security headers where none belong.
func TestAttackPlaces(t *testing.T) {
	t.Parallel()
	text := string(sign(t, rsaSigner().signing(RSASHA256, TokenBST)))
	p := piecesOf(t, text)
	theirs := piecesOf(t, string(sign(t, stranger().signing(RSASHA256, TokenBST))))
	empty := func(attribute string) string {
		return `<s:Security xmlns:s="` + nsWSSE + `" ` + attribute + `/>`
	}
	before := func(what string) func(string) string {
		return func(text string) string { return once(t, text, p.security, what+p.security) }
	}
	for _, a := range []attack{
		{"Signature beside the security header", func(text string) string {
			return once(t, once(t, text, p.signature, ""), "</env:Header>", `<x:aside xmlns:wsse="`+nsWSSE+`">`+p.signature+asideEnd+"</env:Header>")
		}, ErrUnsigned, ""},
		{"Signature in something in the security header", func(text string) string {
			return once(t, text, p.signature, aside+p.signature+asideEnd)
		}, ErrUnsigned, ""},
		{"security header in a security header", func(text string) string {
			return once(t, text, p.security, strings.Replace(empty(""), "/>", ">"+p.security+"</s:Security>", 1))
		}, ErrUnsigned, ""},
		{"security header in the Body", func(text string) string {
			return once(t, once(t, text, p.security, ""), p.body, "<env:Body>"+p.security+"</env:Body>")
		}, ErrUnsigned, ""},
		{"for everybody on the way", func(text string) string {
			return once(t, text, "<wsse:Security ", `<wsse:Security env:role="`+nsSOAP+`/role/next" `)
		}, ErrUnsigned, ""},
		{"for nobody", func(text string) string {
			return once(t, text, "<wsse:Security ", `<wsse:Security env:role="`+nsSOAP+`/role/none" `)
		}, ErrUnsigned, ""},
		{"a second header for an actor of SOAP 1.1", before(empty(`xmlns:s11="http://schemas.xmlsoap.org/soap/envelope/" s11:actor="urn:x"`)), ErrMalformed, "two wsse:Security"},
		{"a second header with a role in no namespace", before(empty(`role="urn:x"`)), ErrMalformed, "two wsse:Security"},
		{"a second header with an empty role", before(empty(`xmlns:e="` + nsSOAP + `" e:role=""`)), ErrMalformed, "two wsse:Security"},
		{"a second header with blanks around its role", before(empty(`xmlns:e="` + nsSOAP + `" e:role=" &#10;"`)), ErrMalformed, "two wsse:Security"},
		{"a stranger's header for another role", before(strings.Replace(theirs.security, "<wsse:Security ", `<wsse:Security env:role="urn:x" `, 1)), nil, ""},
		{"a stranger's signature first", func(text string) string {
			return once(t, text, p.signature, theirs.token+theirs.signature+p.signature)
		}, ErrMalformed, "2 signatures"},
		{"a stranger's signature behind", func(text string) string {
			return once(t, text, p.signature, p.signature+theirs.token+theirs.signature)
		}, ErrMalformed, "2 signatures"},
		{"a stranger's token beside ours", func(text string) string { return once(t, text, p.token, theirs.token+p.token) }, nil, ""},
		{"a stranger's signature with our token", func(text string) string {
			key := func(signature string) string { return between(t, []byte(signature), "<ds:KeyInfo>", "</ds:KeyInfo>") }
			return once(t, text, p.signature, once(t, theirs.signature, key(theirs.signature), key(p.signature)))
		}, ErrSignature, "no element has this id"},
		{"a stranger's message, whole", func(string) string { return string(sign(t, stranger().signing(RSASHA256, TokenBST))) }, ErrSigner, "signed by the certificate of CN=stranger.example"},
		{"SignedInfo of another namespace in front", func(text string) string {
			return once(t, text, "<ds:SignedInfo>", `<x:SignedInfo/><ds:SignedInfo>`)
		}, ErrMalformed, "holds 4 elements"},
		{"a Manifest", func(text string) string {
			return once(t, text, "</ds:Signature>", `<ds:Object><ds:Manifest Id="m"/></ds:Object></ds:Signature>`)
		}, ErrMalformed, "holds 4 elements"},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.run(t, rsaSigner().trust(), text)
		})
	}
}

// TestAttackText: what is the same text in XML verifies, what is not does not,
// whatever it looks like.
func TestAttackText(t *testing.T) {
	t.Parallel()
	text := string(sign(t, rsaSigner().signing(RSASHA256, TokenBST)))
	digest := between(t, []byte(text), "<ds:DigestValue>", "</ds:DigestValue>")
	value := between(t, []byte(text), "<ds:SignatureValue>", "</ds:SignatureValue>")
	swapped := func(old, new string) func(string) string {
		return func(text string) string { return once(t, text, old, new) }
	}
	for _, a := range []attack{
		{"a comment in the id", swapped("GOOD-1@", "GOOD<!-- -->-1@"), nil, ""},
		{"CDATA in the id", swapped("GOOD-1@", "G<![CDATA[OO]]>D-1@"), nil, ""},
		{"references in the id", swapped("GOOD-1@", "GO&#79;D-&#x31;@"), nil, ""},
		{"a comment in a digest", swapped(digest, digest[:7]+"<!-- x -->"+digest[7:]), nil, ""},
		{"CDATA in a digest", swapped(digest, digest[:7]+"<![CDATA["+digest[7:]+"]]>"), nil, ""},
		{"a line end in a digest", swapped(digest, digest[:7]+"\n"+digest[7:]), ErrSignature, "over this SignedInfo"},
		{"lines in the value", swapped(value, value[:7]+"\r\n \t"+value[7:]), nil, ""},
		{"a blank beyond ASCII in the value", swapped(value, value[:7]+"\u00a0"+value[7:]), ErrMalformed, "not base64"},
		{"letters of base64url in the value", swapped(value, "-_"+value[2:]), ErrMalformed, "not base64"},
		{"the value without its padding", swapped(value, strings.TrimRight(value, "=")), ErrMalformed, "not base64"},
		{"padding inside the value", swapped(value, value[:4]+"AA=="+value[4:]), ErrMalformed, "not base64"},
		{"zeros in front of the value", swapped(value, "AAAA"+value), ErrSignature, "over this SignedInfo"},
		{"a line end of Windows", swapped("&lt;äö&gt;\n", "&lt;äö&gt;\r\n"), nil, ""},
		{"a line end of old", swapped("&lt;äö&gt;\n", "&lt;äö&gt;\r"), nil, ""},
		{"a carriage return that is one", swapped("&lt;äö&gt;\n", "&lt;äö&gt;&#13;\n"), ErrSignature, "was changed"},
		{"a letter of two code points", swapped("äö", "a\u0308ö"), ErrSignature, "was changed"},
		{"a line end in an attribute", swapped(`a="2"`, "a=\"2\n\""), ErrSignature, "was changed"},
		{"attributes in another order", swapped(`x:b="1" a="2"`, "a='2'\n x:b='&#49;'"), nil, ""},
		{"a prefix stands for something else", swapped(`xmlns:x="urn:x"`, `xmlns:x="urn:y"`), ErrSignature, "was changed"},
		{"a prefix is declared again, the same", swapped("<eb:Text ", `<eb:Text xmlns:x="urn:x" `), nil, ""},
		{"a prefix is declared again, another", swapped("<eb:Text ", `<eb:Text xmlns:x="urn:y" `), ErrSignature, "was changed"},
		{"a default namespace above", swapped("<env:Envelope ", `<env:Envelope xmlns="urn:y" xml:lang="en" xml:space="preserve" `), nil, ""},
		{"a default namespace above, taken back", swapped("<eb:Text ", `<eb:Text xmlns="" `), nil, ""},
		{"a language inside", swapped("<eb:Text ", `<eb:Text xml:lang="en" `), ErrSignature, "was changed"},
		{"a prefix for nothing", swapped("<eb:Text ", `<eb:Text xmlns:x="" `), xmltree.ErrSyntax, "no namespace"},
		{"an attribute twice by two prefixes", swapped("<eb:Text ", `<eb:Text xmlns:y="urn:x" y:b="2" `), xmltree.ErrSyntax, "twice"},
		{"a processing instruction", swapped("GOOD-1@", "GOOD<?x?>-1@"), xmltree.ErrInstruction, ""},
		{"an entity", swapped("GOOD-1@", "GOOD&x;-1@"), xmltree.ErrSyntax, ""},
		{"a default attribute of a DTD", func(text string) string {
			return `<!DOCTYPE e [<!ATTLIST x Id CDATA "y">]>` + text
		}, xmltree.ErrDTD, ""},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.run(t, rsaSigner().trust(), text)
		})
	}
}

// TestAttackTextAsXMLSecJudgesIt: xmlsec1 says the same of each text that it can
// read.
func TestAttackTextAsXMLSecJudgesIt(t *testing.T) {
	t.Parallel()
	o := newTool(t, "xmlsec1")
	cert, _ := o.signer("signer", rsaSigner())
	args := append([]string{"--verify", "--pubkey-cert-pem", cert}, xmlsecIDs...)
	text := sign(t, rsaSigner().signing(RSASHA256, TokenBST))
	for i, c := range []struct{ old, new string }{
		{"", ""}, {"GOOD-1@", "GOOD<!-- -->-1@"}, {"GOOD-1@", "G<![CDATA[OO]]>D-1@"}, {"GOOD-1@", "GO&#79;D-&#x31;@"}, {"GOOD-1@", "GOOD- 1@"},
		{"&lt;äö&gt;\n", "&lt;äö&gt;\r\n"}, {"&lt;äö&gt;\n", "&lt;äö&gt;\r"}, {"&lt;äö&gt;\n", "&lt;äö&gt;&#13;\n"}, {"äö", "a\u0308ö"},
		{`a="2"`, "a=\"2\n\""}, {`x:b="1" a="2"`, "a='2'\n x:b='&#49;'"}, {`xmlns:x="urn:x"`, `xmlns:x="urn:y"`},
		{"<eb:Text ", `<eb:Text xmlns:x="urn:x" `}, {"<eb:Text ", `<eb:Text xmlns:x="urn:y" `}, {"<eb:Text ", `<eb:Text xmlns="" `}, {"<eb:Text ", `<eb:Text xml:lang="en" `},
		{"<env:Envelope ", `<env:Envelope xmlns="urn:y" xml:lang="en" xml:space="preserve" `},
	} {
		changed := bytes.Replace(text, []byte(c.old), []byte(c.new), 1)
		n, says := o.verified(append(args, o.write("message.xml", changed))...)
		if err := judgeText(changed, rsaSigner().trust()); (err == nil) != (n == 1) {
			t.Errorf("%d: %q for %q: we say %v, xmlsec1 says %s", i, c.new, c.old, err, says)
		}
	}
}
