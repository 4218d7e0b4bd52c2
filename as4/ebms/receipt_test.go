package ebms

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"

	"edigw/internal/xmltree"
)

const (
	sha256URI = "http://www.w3.org/2001/04/xmlenc#sha256"
	excC14N   = "http://www.w3.org/2001/10/xml-exc-c14n#"
)

// signature is a SignedInfo as a peer sends it: its prefixes are declared far
// out, and one of them stands only in a list.
const signature = `<S:Envelope xmlns:S="` + SOAP + `" xmlns:d="` + DS + `" xmlns:ec="` + excC14N + `" xmlns:eb3="urn:in-a-list" xmlns:unused="urn:unused"><d:SignedInfo>` +
	`<d:Reference URI="#msg"><d:Transforms><d:Transform Algorithm="` + excC14N + `"><ec:InclusiveNamespaces PrefixList="eb3 S"/></d:Transform></d:Transforms><d:DigestMethod Algorithm="` + sha256URI + `"/><d:DigestValue>AAEC</d:DigestValue></d:Reference>` +
	`<Reference xmlns="` + DS + `" URI="cid:a%20b@x"><DigestMethod Algorithm="` + sha256URI + `"></DigestMethod><DigestValue>AwQF</DigestValue></Reference>` +
	`</d:SignedInfo></S:Envelope>`

func signedReferences(t *testing.T) []*etree.Element {
	t.Helper()
	doc, err := xmltree.Parse([]byte(signature), xmltree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return xmltree.Find(doc.Root(), func(e *etree.Element) bool { return e.Tag == "Reference" })
}

// TestReceiptHoldsTheReferencesAsTheyStood: the copy means what the original
// meant, also once it was written and read elsewhere.
func TestReceiptHoldsTheReferencesAsTheyStood(t *testing.T) {
	t.Parallel()
	was := signedReferences(t)
	info := MessageInfo{Timestamp: testNow, MessageID: "r@contoso.example", RefToMessageID: "order-1@northwind.example"}
	raw := wire(NewReceipt(info, was).Element())
	e, err := parse(t, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	s := e.Receipt()
	if s.RefToMessageID != "order-1@northwind.example" || !s.Receipt.NonRepudiation() || s.Receipt.UserMessage() != nil {
		t.Errorf("%+v", s)
	}
	got, err := s.Receipt.References()
	want := []Reference{{"#msg", sha256URI, []byte{0, 1, 2}}, {"cid:a%20b@x", sha256URI, []byte{3, 4, 5}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	is := xmltree.Find(e.Messaging, func(e *etree.Element) bool { return e.Tag == "Reference" })
	if len(is) != len(was) {
		t.Fatalf("%d copies", len(is))
	}
	for i := range is {
		listed := [][]string{{"eb3", "S"}, nil}[i]
		a, b := canonical(t, was[i], listed...), canonical(t, is[i], listed...)
		if a != b {
			t.Errorf("copy\n%s\nwas\n%s", b, a)
		}
	}
	if strings.Contains(raw, "unused") {
		t.Errorf("a namespace that nothing uses was copied: %s", raw)
	}
	if again := string(Serialise(e.Root)); again != raw {
		t.Errorf("written again\n%s\nwas\n%s", again, raw)
	}
	// Writing a receipt that was read gives the same receipt.
	if again := wire(s.Element()); signalIn(t, again) != signalIn(t, raw) {
		t.Errorf("written again\n%s\nwas\n%s", again, raw)
	}
}

// signalIn is the SignalMessage in an envelope, byte for byte.
func signalIn(t *testing.T, raw string) string {
	t.Helper()
	_, after, ok := strings.Cut(raw, "<eb:SignalMessage>")
	inner, _, closed := strings.Cut(after, "</eb:SignalMessage>")
	if !ok || !closed {
		t.Fatalf("no SignalMessage in %s", raw)
	}
	return inner
}

func canonical(t *testing.T, e *etree.Element, prefixes ...string) string {
	t.Helper()
	var b bytes.Buffer
	if err := xmltree.Canonical(&b, e, xmltree.Method{Prefixes: prefixes}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReceptionReceipt: a message without a signature is acknowledged with a
// copy of its header (AS4 §5.1.8).
func TestReceptionReceipt(t *testing.T) {
	t.Parallel()
	raw := strings.NewReplacer("xmlns:eb=", "xmlns:b=", "<eb:", "<b:", "</eb:", "</b:").Replace(wire(order().Element()))
	e, err := parse(t, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	info := MessageInfo{Timestamp: testNow, MessageID: "r@contoso.example", RefToMessageID: e.User.MessageID}
	r, err := parse(t, []byte(wire(NewReceptionReceipt(info, e.UserElement).Element())))
	if err != nil {
		t.Fatal(err)
	}
	copied := r.Receipt().Receipt.UserMessage()
	if copied == nil || canonical(t, copied) != canonical(t, e.UserElement) {
		t.Errorf("copied %v", copied)
	}
	if list, err := r.Receipt().Receipt.References(); !errors.Is(err, ErrReceipt) || !strings.Contains(err.Error(), "only a copy of the UserMessage") {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	const reference = `<ds:Reference URI="#a"><ds:DigestMethod Algorithm="` + sha256URI + `"/><ds:DigestValue>AAEC</ds:DigestValue></ds:Reference>`
	part := func(inner string) string {
		return `<b:MessagePartNRInformation>` + inner + `</b:MessagePartNRInformation>`
	}
	nri := func(inner string) string {
		return `<b:NonRepudiationInformation xmlns:b="` + EBBP + `">` + inner + `</b:NonRepudiationInformation>`
	}
	ok := []Reference{{"#a", sha256URI, []byte{0, 1, 2}}}
	for name, tc := range map[string]struct {
		receipt string
		want    []Reference
		err     string
	}{
		"right":                      {nri(part(reference)), ok, ""},
		"white space":                {nri("\n " + part("\n "+strings.Replace(reference, "AAEC", "\n A A\tEC\r\n", 1)+"\n") + "\n"), ok, ""},
		"with transforms":            {nri(part(strings.Replace(reference, "<ds:DigestMethod", `<ds:Transforms><ds:Transform Algorithm="urn:x"/></ds:Transforms><ds:DigestMethod`, 1))), ok, ""},
		"another prefix":             {nri(part(strings.NewReplacer("<ds:", "<", "</ds:", "</", " URI", ` xmlns="`+DS+`" URI`).Replace(reference))), ok, ""},
		"something beside it":        {nri(`<x/>` + part(`<x/>`+reference+`<x/>`)), ok, ""},
		"nothing":                    {``, nil, "it is empty"},
		"something else":             {`<x xmlns="urn:x"/>`, nil, "it holds {urn:x}x"},
		"wrong namespace":            {strings.Replace(nri(part(reference)), EBBP, EBBP+"/", 1), nil, "no NonRepudiationInformation of namespace " + EBBP},
		"no part":                    {nri(``), nil, "names no part"},
		"references without a part":  {nri(reference), nil, "names no part"},
		"an identifier, no digest":   {nri(part(`<b:MessagePartIdentifier>a</b:MessagePartIdentifier>`)), nil, "MessagePartIdentifier"},
		"two references in a part":   {nri(part(reference + reference)), nil, "2 ds:Reference"},
		"two lists":                  {nri(part(reference)) + nri(part(reference)), nil, "2 NonRepudiationInformation"},
		"no URI":                     {nri(part(strings.Replace(reference, ` URI="#a"`, "", 1))), nil, "no URI"},
		"no DigestMethod":            {nri(part(strings.Replace(reference, "DigestMethod", "Method", 1))), nil, "0 DigestMethod"},
		"two digests":                {nri(part(strings.Replace(reference, "</ds:Reference>", "<ds:DigestValue>AAEC</ds:DigestValue></ds:Reference>", 1))), nil, "2 DigestValue"},
		"digest that is no base64":   {nri(part(strings.Replace(reference, "AAEC", "A=AEC", 1))), nil, "no digest that can be read"},
		"empty digest":               {nri(part(strings.Replace(reference, "AAEC", " ", 1))), nil, "no digest that can be read"},
		"method without a name":      {nri(part(strings.Replace(reference, sha256URI, "", 1))), nil, "no digest that can be read"},
		"reference of a namespace":   {nri(part(strings.ReplaceAll(reference, "ds:", "b:"))), nil, "0 ds:Reference"},
		"one good, one bad":          {nri(part(reference) + part(``)), nil, "0 ds:Reference"},
		"a list within another list": {nri(nri(part(reference))), nil, "names no part"},
	} {
		e, err := parse(t, []byte(signalled(`<eb:Receipt>`+tc.receipt+`</eb:Receipt>`)))
		if err != nil || e.Receipt() == nil {
			t.Errorf("%s: %v: a receipt can be read whatever it holds", name, err)
			continue
		}
		got, err := e.Receipt().Receipt.References()
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if tc.err == "" && err != nil || tc.err != "" && (!errors.Is(err, ErrReceipt) || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.err)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	ref := func(uri string, b byte) Reference { return Reference{uri, sha256URI, []byte{b, b, b}} }
	sent := []Reference{ref("#msg", 1), ref("#body", 2), ref("cid:order@x", 3)}
	for name, tc := range map[string]struct {
		sent, got []Reference
		err       []string // in it
	}{
		"the same":            {sent, sent, nil},
		"another order":       {sent, []Reference{sent[2], sent[0], sent[1]}, nil},
		"one twice":           {sent, append([]Reference{sent[1]}, sent...), nil},
		"one missing":         {sent, sent[:2], []string{"it does not name cid:order@x"}},
		"one more":            {sent[:2], sent, []string{"it names cid:order@x, which was not sent"}},
		"another digest":      {sent, []Reference{sent[0], sent[1], ref("cid:order@x", 9)}, []string{"the digest of cid:order@x is CQkJ, sent was AwMD"}},
		"another and the own": {sent, append([]Reference{ref("#body", 9)}, sent...), []string{"it names #body once more, with the digest CQkJ"}},
		"another method":      {sent, []Reference{sent[0], sent[1], {"cid:order@x", "urn:sha1", []byte{3, 3, 3}}}, []string{"the digest of cid:order@x is by urn:sha1, sent was " + sha256URI}},
		"digests exchanged":   {sent, []Reference{ref("#msg", 2), ref("#body", 1), sent[2]}, []string{"of #msg is", "of #body is"}},
		"another case":        {sent, []Reference{ref("#MSG", 1), sent[1], sent[2]}, []string{"does not name #msg", "names #MSG, which was not sent"}},
		"nothing got":         {sent, nil, []string{"it names 0 parts, 3 were signed"}},
		"nothing sent":        {nil, sent, []string{"it names 3 parts, 0 were signed"}},
		"neither":             {nil, nil, []string{"it names 0 parts, 0 were signed"}},
		"many":                {sent, []Reference{ref("#1", 1), ref("#2", 1), ref("#3", 1), ref("#4", 1), ref("#5", 1)}, []string{"and 3 more"}},
		"a long digest":       {sent, []Reference{sent[0], sent[1], {"cid:order@x", sha256URI, make([]byte, 1<<20)}}, []string{"0000000000000000… (1048576 bytes)"}},
	} {
		err := Compare(tc.sent, tc.got)
		if tc.err == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, ErrContent) || len(err.Error()) > 4096 {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		for _, text := range tc.err {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q is not in %v", name, text, err)
			}
		}
	}
}
