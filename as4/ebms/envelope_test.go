package ebms

import (
	"errors"
	"strings"
	"testing"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"
)

// TestSOAPStructure: what is no SOAP 1.2 message gets the fault that SOAP has
// for it.
func TestSOAPStructure(t *testing.T) {
	t.Parallel()
	const s12 = `xmlns:S="` + SOAP + `"`
	for name, tc := range map[string]struct {
		raw  string
		code FaultCode
	}{
		"no namespace":            {`<Envelope/>`, VersionMismatch},
		"something else":          {`<html/>`, VersionMismatch},
		"other name":              {`<S:Envelop ` + s12 + `/>`, VersionMismatch},
		"SOAP 1.1":                {`<S:Envelope xmlns:S="` + SOAP11 + `"><S:Body/></S:Envelope>`, VersionMismatch},
		"draft of SOAP 1.2":       {`<S:Envelope xmlns:S="http://www.w3.org/2001/12/soap-envelope"><S:Body/></S:Envelope>`, VersionMismatch},
		"no Body":                 {`<S:Envelope ` + s12 + `><S:Header/></S:Envelope>`, Sender},
		"no Header":               {`<S:Envelope ` + s12 + `><S:Body/></S:Envelope>`, Sender},
		"two Headers":             {`<S:Envelope ` + s12 + `><S:Header/><S:Header/><S:Body/></S:Envelope>`, Sender},
		"two Bodies":              {`<S:Envelope ` + s12 + `><S:Header/><S:Body/><S:Body/></S:Envelope>`, Sender},
		"Header behind Body":      {`<S:Envelope ` + s12 + `><S:Body/><S:Header/></S:Envelope>`, Sender},
		"something behind Body":   {`<S:Envelope ` + s12 + `><S:Header/><S:Body/><x/></S:Envelope>`, Sender},
		"text":                    {`<S:Envelope ` + s12 + `>hello<S:Header/><S:Body/></S:Envelope>`, Sender},
		"Body of another version": {`<S:Envelope ` + s12 + `><S:Header/><B:Body xmlns:B="` + SOAP11 + `"/></S:Envelope>`, Sender},
	} {
		e, err := parse(t, []byte(tc.raw))
		var fault *Fault
		if !errors.As(err, &fault) || fault.Code != tc.code || fault.Reason == "" {
			t.Errorf("%s: got %v, want %s", name, err, tc.code)
		}
		if e.User != nil || e.Signals != nil || e.Root == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
	var fault *Fault
	for _, doc := range []*etree.Document{nil, etree.NewDocument()} {
		if e, err := ParseEnvelope(doc); e == nil || !errors.As(err, &fault) || fault.Code != Sender {
			t.Errorf("nothing: %v", err)
		}
	}
}

// TestMustUnderstand: SOAP 1.2 part 1 §2.6, header by header.
func TestMustUnderstand(t *testing.T) {
	t.Parallel()
	messaging := strings.TrimPrefix(string(Serialise(minimal().Element())), `<?xml version="1.0" encoding="UTF-8"?>`)
	for name, tc := range map[string]struct {
		header string
		want   FaultCode // empty: it passes
	}{
		"unknown":                           {`<x:A xmlns:x="urn:x" S:mustUnderstand="true"/>`, MustUnderstand},
		"unknown, 1":                        {`<x:A xmlns:x="urn:x" S:mustUnderstand=" 1 "/>`, MustUnderstand},
		"unknown, false":                    {`<x:A xmlns:x="urn:x" S:mustUnderstand="false"/>`, ""},
		"unknown, 0":                        {`<x:A xmlns:x="urn:x" S:mustUnderstand="0"/>`, ""},
		"unknown, not said":                 {`<x:A xmlns:x="urn:x"/>`, ""},
		"neither true nor false":            {`<x:A xmlns:x="urn:x" S:mustUnderstand="yes"/>`, Sender},
		"misspelt":                          {`<x:A xmlns:x="urn:x" S:mustUnderStand="true"/>`, ""},
		"attribute without a namespace":     {`<x:A xmlns:x="urn:x" mustUnderstand="true"/>`, ""},
		"attribute of SOAP 1.1":             {`<x:A xmlns:x="urn:x" xmlns:O="` + SOAP11 + `" O:mustUnderstand="1"/>`, ""},
		"for next":                          {`<x:A xmlns:x="urn:x" S:role="` + SOAP + `/role/next" S:mustUnderstand="true"/>`, MustUnderstand},
		"for the ultimate receiver":         {`<x:A xmlns:x="urn:x" S:role="` + SOAP + `/role/ultimateReceiver" S:mustUnderstand="true"/>`, MustUnderstand},
		"for nobody in particular":          {`<x:A xmlns:x="urn:x" S:role="" S:mustUnderstand="true"/>`, MustUnderstand},
		"for an MSH":                        {`<x:A xmlns:x="urn:x" S:role="ebms" S:mustUnderstand="true"/>`, MustUnderstand},
		"for the next MSH":                  {`<x:A xmlns:x="urn:x" S:role="` + nextMSH + `" S:mustUnderstand="true"/>`, MustUnderstand},
		"for none":                          {`<x:A xmlns:x="urn:x" S:role="` + SOAP + `/role/none" S:mustUnderstand="true"/>`, ""},
		"for somebody else":                 {`<x:A xmlns:x="urn:x" S:role="urn:proxy" S:mustUnderstand="true"/>`, ""},
		"Security":                          {`<wsse:Security S:mustUnderstand="true"/>`, ""},
		"Security for an MSH":               {`<wsse:Security S:role="ebms" S:mustUnderstand="true"/>`, ""},
		"Security of another version":       {`<x:Security xmlns:x="urn:wsse" S:mustUnderstand="true"/>`, MustUnderstand},
		"in a Security":                     {`<wsse:Security><x:A xmlns:x="urn:x" S:mustUnderstand="true"/></wsse:Security>`, ""},
		"second Messaging, somebody else's": {`<eb:Messaging S:role="urn:proxy" S:mustUnderstand="true"/>`, ""},
		"without a namespace":               {`<A S:mustUnderstand="true"/>`, MustUnderstand},
	} {
		for _, order := range []string{tc.header + `<eb:Messaging>` + messaging + `</eb:Messaging>`, `<eb:Messaging>` + messaging + `</eb:Messaging>` + tc.header} {
			e, err := parse(t, []byte(enveloped(order, "")))
			var fault *Fault
			switch {
			case tc.want == "":
				if err != nil || e.User == nil {
					t.Errorf("%s: %v", name, err)
				}
			case !errors.As(err, &fault) || fault.Code != tc.want:
				t.Errorf("%s: got %v, want %s", name, err, tc.want)
			case tc.want == MustUnderstand && (len(fault.NotUnderstood) != 1 || e.User != nil):
				t.Errorf("%s: %+v", name, fault)
			}
		}
	}
}

// TestMessagingForUs: exactly one, whatever its id is called.
func TestMessagingForUs(t *testing.T) {
	t.Parallel()
	user := strings.TrimPrefix(string(Serialise(minimal().Element())), `<?xml version="1.0" encoding="UTF-8"?>`)
	for _, id := range []string{``, ` id="a"`, ` Id="a"`, ` ID="a"`, ` xml:id="a"`, ` xmlns:w="` + WSU + `" w:Id="a"`, ` S:role="` + SOAP + `/role/next"`} {
		if e, err := parse(t, []byte(enveloped(`<eb:Messaging`+id+`>`+user+`</eb:Messaging>`, ""))); err != nil || e.User == nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for name, header := range map[string]string{
		"none":                ``,
		"two":                 `<eb:Messaging>` + user + `</eb:Messaging><eb:Messaging>` + user + `</eb:Messaging>`,
		"empty":               `<eb:Messaging/>`,
		"in another header":   `<x><eb:Messaging>` + user + `</eb:Messaging></x>`,
		"for somebody else":   `<eb:Messaging S:role="urn:proxy">` + user + `</eb:Messaging>`,
		"only something else": `<eb:Messaging><x/></eb:Messaging>`,
	} {
		e, err := parse(t, []byte(enveloped(header, "")))
		var problem *ProblemError
		if !errors.As(err, &problem) || problem.Code != "EBMS:0009" || e.User != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestBundles: one user message and one signal of each kind may come together
// (ebMS 3.0 Core §5.2.4).
func TestBundles(t *testing.T) {
	t.Parallel()
	info := MessageInfo{Timestamp: testNow, MessageID: "s@contoso.example", RefToMessageID: "order-1@northwind.example"}
	pull := &SignalMessage{MessageInfo: info, PullRequest: &PullRequest{MPC: "urn:mpc"}}
	receipt := NewReceptionReceipt(info, minimal().Element())
	errs := &SignalMessage{MessageInfo: info, Errors: []Error{NewError("EBMS:0004", "a", ""), NewError("EBMS:0006", "b", "m@x")}}
	raw := wire(minimal().Element(), pull.Element(), receipt.Element(), errs.Element())
	e, err := parse(t, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if e.User == nil || len(e.Signals) != 3 || e.PullRequest().PullRequest.MPC != "urn:mpc" || e.Receipt().Receipt.UserMessage() == nil || len(e.Errors().Errors) != 2 {
		t.Errorf("%+v", e)
	}
	// The schema wants signals first; peers may have them last.
	if strings.Index(raw, "<eb:SignalMessage>") > strings.Index(raw, "<eb:UserMessage>") || strings.Count(raw, "xmlns:eb=") != 2 {
		t.Errorf("not as the schema has it: %s", raw)
	}
	_, after, _ := strings.Cut(raw, "</eb:SignalMessage><eb:UserMessage>")
	user, _, _ := strings.Cut(after, "</eb:Messaging>")
	last := replaced(t, replaced(t, raw, "<eb:UserMessage>"+user, ""), `wsu:Id="`+e.Messaging.SelectAttrValue("wsu:Id", "")+`">`, "><eb:UserMessage>"+user)
	if e, err := parse(t, []byte(last)); err != nil || e.User == nil || len(e.Signals) != 3 {
		t.Errorf("user message first: %v", err)
	}
	for name, units := range map[string][]*etree.Element{
		"two user messages":   {minimal().Element(), minimal().Element()},
		"two pull requests":   {pull.Element(), pull.Element()},
		"two receipts":        {receipt.Element(), receipt.Element()},
		"two sets of errors":  {errs.Element(), errs.Element()},
		"a signal of nothing": {(&SignalMessage{MessageInfo: info}).Element()},
	} {
		_, err := parse(t, []byte(wire(units...)))
		var problem *ProblemError
		if !errors.As(err, &problem) || problem.Code != "EBMS:0009" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	both := replaced(t, wire(pull.Element()), `<eb:PullRequest mpc="urn:mpc"/>`, `<eb:PullRequest/><eb:Receipt/>`)
	if _, err := parse(t, []byte(both)); err == nil || !strings.Contains(err.Error(), "holds 2 of PullRequest, Receipt and Error") {
		t.Errorf("two kinds in one signal: %v", err)
	}
}

// TestBodyOfSignalIsIgnored: whatever stands there (AS4 §2.1.2).
func TestBodyOfSignalIsIgnored(t *testing.T) {
	t.Parallel()
	raw := replaced(t, signalled(`<eb:PullRequest/>`), "<S:Body></S:Body>", "<S:Body>hello<a/><b/></S:Body>")
	e, err := parse(t, []byte(raw))
	if err != nil || e.PullRequest() == nil || e.Payload() != nil {
		t.Errorf("%v, %+v", err, e)
	}
}

// TestEnvelopeOnTheWire spells out a whole answer of ours but for its ids.
func TestEnvelopeOnTheWire(t *testing.T) {
	t.Parallel()
	s := SignalMessage{
		MessageInfo: MessageInfo{Timestamp: testNow, MessageID: "e@contoso.example", RefToMessageID: "order-1@northwind.example"},
		Errors:      []Error{{Code: "EBMS:0101", Severity: Failure, ShortDescription: "FailedAuthentication", Category: "Processing", Origin: "security", Description: "It does not verify.", Detail: "digest of #body", RefToMessageInError: "order-1@northwind.example"}},
	}
	e := NewEnvelope(s.Element())
	e.Messaging.CreateAttr("wsu:Id", "m")
	e.Body.CreateAttr("wsu:Id", "b")
	want := `<?xml version="1.0" encoding="UTF-8"?><env:Envelope xmlns:env="` + SOAP + `"><env:Header><eb:Messaging xmlns:eb="` + EB + `" xmlns:wsu="` + WSU + `" env:mustUnderstand="true" wsu:Id="m">` +
		`<eb:SignalMessage><eb:MessageInfo><eb:Timestamp>2026-03-02T10:30:00.250Z</eb:Timestamp><eb:MessageId>e@contoso.example</eb:MessageId><eb:RefToMessageId>order-1@northwind.example</eb:RefToMessageId></eb:MessageInfo>` +
		`<eb:Error category="Processing" refToMessageInError="order-1@northwind.example" errorCode="EBMS:0101" origin="security" severity="failure" shortDescription="FailedAuthentication"><eb:Description xml:lang="en">It does not verify.</eb:Description><eb:ErrorDetail>digest of #body</eb:ErrorDetail></eb:Error>` +
		`</eb:SignalMessage></eb:Messaging></env:Header><env:Body xmlns:wsu="` + WSU + `" wsu:Id="b"/></env:Envelope>`
	if diff := cmp.Diff(want, string(Serialise(e.Root))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	read, err := parse(t, []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	s.Timestamp = testNow
	if diff := cmp.Diff([]SignalMessage{s}, read.Signals); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}
