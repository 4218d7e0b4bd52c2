package ebms

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests here play what other products are known to have failed on; the
// numbers are those of the collection of AS4 faults.

// TestFault18EmptyElements: an empty MessageProperties or PartProperties is
// against the schema. None is written; one that is read says no more than that
// there are none. An empty ConversationId is right, and is written.
func TestFault18EmptyElements(t *testing.T) {
	t.Parallel()
	u := minimal()
	u.Properties, u.Parts = []Property{}, []PartInfo{{Href: "cid:a@b", Properties: []Property{}}}
	raw := wire(u.Element())
	if strings.Contains(raw, "Properties") || !strings.Contains(raw, "<eb:ConversationId/>") {
		t.Errorf("written: %s", raw)
	}
	if u.Parts = nil; strings.Contains(wire(u.Element()), "PayloadInfo") {
		t.Error("an empty PayloadInfo is written")
	}
	read, err := parse(t, []byte(replaced(t, replaced(t, raw, "<eb:PayloadInfo>", "<eb:MessageProperties> </eb:MessageProperties><eb:PayloadInfo>"),
		`<eb:PartInfo href="cid:a@b"/>`, `<eb:PartInfo href="cid:a@b"><eb:PartProperties/></eb:PartInfo>`)))
	if err != nil {
		t.Fatal(err)
	}
	if read.User.Properties != nil || len(read.User.Parts) != 1 || read.User.Parts[0].Properties != nil || read.User.ConversationID != "" {
		t.Errorf("read: %+v", read.User)
	}
	none, err := parse(t, []byte(replaced(t, raw, `<eb:PartInfo href="cid:a@b"/>`, "")))
	if err != nil || none.User.Parts != nil {
		t.Errorf("empty PayloadInfo: %v", err)
	}
}

// TestFault33SeverityInAnyCase: and whatever else it says is a failure.
func TestFault33SeverityInAnyCase(t *testing.T) {
	t.Parallel()
	for severity, want := range map[string]Severity{
		"failure": Failure, "Failure": Failure, "FAILURE": Failure, "warning": Warning, "Warning": Warning, " WARNING ": Warning,
		"error": Failure, "fatal": Failure, "": Failure, "warnings": Failure,
	} {
		e, err := parse(t, []byte(signalled(`<eb:Error errorCode="EBMS:0004" severity="`+severity+`"/>`)))
		if err != nil || e.Errors().Errors[0].Severity != want {
			t.Errorf("%q: %v, %+v", severity, err, e.Errors())
		}
	}
	// We write one of the two that the standard has.
	s := SignalMessage{MessageInfo: MessageInfo{Timestamp: testNow, MessageID: "s@x"}, Errors: []Error{{Code: "EBMS:0004", Severity: "FATAL"}, {Code: "EBMS:0006", Severity: Warning}}}
	if raw := wire(s.Element()); !strings.Contains(raw, `errorCode="EBMS:0004" severity="failure"`) || !strings.Contains(raw, `errorCode="EBMS:0006" severity="warning"`) {
		t.Error(raw)
	}
}

// TestFault35IDsAreNCNames: a wsu:Id must not begin with a digit.
func TestFault35IDsAreNCNames(t *testing.T) {
	t.Parallel()
	ncName := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9._-]*$`)
	seen := map[string]bool{}
	for range 200 {
		e := NewEnvelope(minimal().Element())
		for _, id := range []string{e.Messaging.SelectAttrValue("wsu:Id", ""), e.Body.SelectAttrValue("wsu:Id", "")} {
			if !ncName.MatchString(id) || seen[id] {
				t.Fatalf("id %q", id)
			}
			seen[id] = true
		}
	}
}

// TestFault37SOAPFaultsAreBuiltRight: element by element as SOAP 1.2 part 1 §5.4
// has it, and alone in the Body.
func TestFault37SOAPFaultsAreBuiltRight(t *testing.T) {
	t.Parallel()
	e, err := parse(t, []byte(enveloped(`<x:A xmlns:x="urn:x" S:mustUnderstand="true"/><B S:mustUnderstand="true"/><eb:Messaging/>`, "")))
	var f *Fault
	if !errors.As(err, &f) || e.Messaging != nil {
		t.Fatal(err)
	}
	answer := f.Envelope()
	answer.Body.CreateAttr("wsu:Id", "b")
	want := `<?xml version="1.0" encoding="UTF-8"?><env:Envelope xmlns:env="` + SOAP + `"><env:Header><env:NotUnderstood qname="n0:A" xmlns:n0="urn:x"/><env:NotUnderstood qname="B"/></env:Header>` +
		`<env:Body xmlns:wsu="` + WSU + `" wsu:Id="b"><env:Fault><env:Code><env:Value>env:MustUnderstand</env:Value></env:Code><env:Reason><env:Text xml:lang="en">` + f.Reason + `</env:Text></env:Reason></env:Fault></env:Body></env:Envelope>`
	want = strings.Replace(want, `qname="n0:A" xmlns:n0="urn:x"`, `xmlns:n0="urn:x" qname="n0:A"`, 1)
	if diff := cmp.Diff(want, string(Serialise(answer.Root))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := parse(t, []byte(want))
	if err != nil || again.Fault.Code != MustUnderstand || again.Fault.Reason != f.Reason || f.Status() != 500 {
		t.Errorf("read again: %v, %+v", err, again.Fault)
	}
}

// TestFault41LongErrorTexts: what is kept of a peer's words is bounded, and cut
// between two characters.
func TestFault41LongErrorTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200_000)
	e, err := parse(t, []byte(signalled(`<eb:Error errorCode="`+long+`" shortDescription="`+long+`" category="`+long+`" origin="`+long+`" refToMessageInError="`+long+`"><eb:ErrorDetail/></eb:Error>`)))
	if err != nil {
		t.Fatal(err)
	}
	x := e.Errors().Errors[0]
	for name, text := range map[string]string{"code": x.Code, "short": x.ShortDescription, "category": x.Category, "origin": x.Origin, "ref": x.RefToMessageInError} {
		if len(text) > maxMessageID || text == "" || strings.Trim(text, "é") != "" {
			t.Errorf("%s has %d bytes, %q at its end", name, len(text), text[max(0, len(text)-4):])
		}
	}
	e, err = parse(t, []byte(signalled(`<eb:Error errorCode="EBMS:0004"><eb:Description>`+long+`</eb:Description><eb:ErrorDetail>`+strings.Repeat("\t<a>é</a>\n", 4000)+`</eb:ErrorDetail></eb:Error>`)))
	if err != nil {
		t.Fatal(err)
	}
	x = e.Errors().Errors[0]
	if n := len(x.Description); n > maxText || n < maxText-4 {
		t.Errorf("Description has %d bytes", n)
	}
	if len(x.Detail) > maxText || strings.ContainsAny(x.Detail, "\t\n\ufffd") {
		t.Errorf("Detail has %d bytes: %.40q", len(x.Detail), x.Detail)
	}
	// What we write ourselves is bounded too.
	if raw := wire((&SignalMessage{Errors: []Error{{Code: "EBMS:0004", Detail: long, Description: long}}}).Element()); len(raw) > 3*maxText {
		t.Errorf("we write %d bytes", len(raw))
	}
}

// TestFault49PropertyTypeIsOptional: read with and without, and written only
// where there is one.
func TestFault49PropertyTypeIsOptional(t *testing.T) {
	t.Parallel()
	u := order()
	u.Properties = []Property{{"a", "", "1"}, {"b", "urn:t", "2"}}
	raw := wire(u.Element())
	if !strings.Contains(raw, `<eb:Property name="a">1</eb:Property><eb:Property name="b" type="urn:t">2</eb:Property>`) {
		t.Error(raw)
	}
	e, err := parse(t, []byte(raw))
	if diff := cmp.Diff(u.Properties, e.User.Properties); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestFault62EmptyAgreementIsNotNone: the two are told apart, so that only a
// P-Mode that says so takes one for the other.
func TestFault62EmptyAgreementIsNotNone(t *testing.T) {
	t.Parallel()
	const agreement = `<eb:AgreementRef type="T1" pmode="orders">urn:northwind:contoso:1</eb:AgreementRef>`
	raw := wire(order().Element())
	for name, tc := range map[string]struct {
		xml  string
		want *AgreementRef
	}{
		"none":          {"", nil},
		"empty":         {"<eb:AgreementRef/>", &AgreementRef{}},
		"blank":         {"<eb:AgreementRef> \n</eb:AgreementRef>", &AgreementRef{}},
		"only its type": {`<eb:AgreementRef type="T1"/>`, &AgreementRef{Type: "T1"}},
		"one":           {"<eb:AgreementRef>\n A1 \n</eb:AgreementRef>", &AgreementRef{Value: "A1"}},
	} {
		e, err := parse(t, []byte(replaced(t, raw, agreement, tc.xml)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, e.User.Agreement); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFault65ReceiptOfItsOwnMaking: one reference with the MessageId as URI and
// without a digest, in a namespace of its own, beside a signature out of place.
// It can be read as a signal, so that it can be told of; it is proof of nothing.
func TestFault65ReceiptOfItsOwnMaking(t *testing.T) {
	t.Parallel()
	for name, namespace := range map[string]string{"namespace of its own": "http://docs.oasis-open.org/ebxml-bp/ebbp-signals-2.0/", "right namespace": EBBP} {
		raw := replaced(t, signalled(`<eb:Receipt><ebbp:NonRepudiationInformation xmlns:ebbp="`+namespace+`"><ebbp:MessagePartNRInformation><ds:Reference URI="order-1@northwind.example"/></ebbp:MessagePartNRInformation></ebbp:NonRepudiationInformation></eb:Receipt>`),
			"</eb:Messaging>", "</eb:Messaging><ds:Signature><ds:SignedInfo/></ds:Signature>")
		e, err := parse(t, []byte(raw))
		if err != nil || e.Receipt() == nil || e.Receipt().RefToMessageID != "order-1@northwind.example" {
			t.Fatalf("%s: %v", name, err)
		}
		if list, err := e.Receipt().Receipt.References(); !errors.Is(err, ErrReceipt) || list != nil {
			t.Errorf("%s: got %v, %v", name, list, err)
		}
	}
}
