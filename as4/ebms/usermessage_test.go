package ebms

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/internal/xmltree"
)

// TestRoundTrip: what is written is read as it was, and writing what was read
// gives the same bytes.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, u := range map[string]*UserMessage{"everything": order(), "the least": minimal()} {
		if err := u.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		raw := wire(u.Element())
		e, err := parse(t, []byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		u.Timestamp = u.Timestamp.Truncate(time.Millisecond)
		if diff := cmp.Diff(u, e.User); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
		if again := string(Serialise(e.Root)); again != raw {
			t.Errorf("%s: read and written again it is\n%s\nwas\n%s", name, again, raw)
		}
		if e.Messaging.SelectAttrValue("env:mustUnderstand", "") != "true" || e.Payload() != nil || e.UserElement == nil {
			t.Errorf("%s: %s", name, raw)
		}
	}
}

// TestElementIsByTheSchema spells one header out: order, names and spelling are
// those of ebms-header-3_0-200704.xsd.
func TestElementIsByTheSchema(t *testing.T) {
	t.Parallel()
	want := `<eb:UserMessage xmlns:eb="` + EB + `" mpc="urn:northwind:orders">` +
		`<eb:MessageInfo><eb:Timestamp>2026-03-02T10:30:00.250Z</eb:Timestamp><eb:MessageId>order-1@northwind.example</eb:MessageId><eb:RefToMessageId>quote-1@contoso.example</eb:RefToMessageId></eb:MessageInfo>` +
		`<eb:PartyInfo><eb:From><eb:PartyId type="urn:northwind:type">NORTHWIND</eb:PartyId><eb:PartyId>urn:northwind</eb:PartyId><eb:Role>` + EB + `initiator</eb:Role></eb:From>` +
		`<eb:To><eb:PartyId type="urn:northwind:type">CONTOSO</eb:PartyId><eb:Role>` + EB + `responder</eb:Role></eb:To></eb:PartyInfo>` +
		`<eb:CollaborationInfo><eb:AgreementRef type="T1" pmode="orders">urn:northwind:contoso:1</eb:AgreementRef><eb:Service type="urn:northwind:services">Orders</eb:Service><eb:Action>Deliver</eb:Action><eb:ConversationId>c 1</eb:ConversationId></eb:CollaborationInfo>` +
		`<eb:MessageProperties><eb:Property name="originalSender" type="urn:t">urn:a</eb:Property><eb:Property name="finalRecipient">&lt;b&gt; &amp; "c"&#xD;` + "\n\t" + `d</eb:Property></eb:MessageProperties>` +
		`<eb:PayloadInfo><eb:PartInfo href="cid:a%20b+c@northwind.example"><eb:Schema location="urn:s" version="2.1" namespace="urn:n"/><eb:Description xml:lang="en">An order</eb:Description><eb:PartProperties><eb:Property name="MimeType">application/xml</eb:Property><eb:Property name="CompressionType">application/gzip</eb:Property></eb:PartProperties></eb:PartInfo><eb:PartInfo href="#body"/><eb:PartInfo/></eb:PayloadInfo>` +
		`</eb:UserMessage>`
	got := strings.TrimPrefix(string(Serialise(order().Element())), `<?xml version="1.0" encoding="UTF-8"?>`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// headerRules breaks one rule after the other in a header that is right.
var headerRules = []struct{ name, old, new, code string }{
	{"no MessageInfo", "<eb:MessageInfo><eb:Timestamp>2026-03-02T10:30:00.250Z</eb:Timestamp><eb:MessageId>order-1@northwind.example</eb:MessageId><eb:RefToMessageId>quote-1@contoso.example</eb:RefToMessageId></eb:MessageInfo>", "", "EBMS:0009"},
	{"two MessageId", "<eb:MessageId>order-1@northwind.example</eb:MessageId>", "<eb:MessageId>order-1@northwind.example</eb:MessageId><eb:MessageId>order-2@northwind.example</eb:MessageId>", "EBMS:0009"},
	{"MessageId before Timestamp", "<eb:Timestamp>2026-03-02T10:30:00.250Z</eb:Timestamp><eb:MessageId>order-1@northwind.example</eb:MessageId>", "<eb:MessageId>order-1@northwind.example</eb:MessageId><eb:Timestamp>2026-03-02T10:30:00.250Z</eb:Timestamp>", "EBMS:0009"},
	{"MessageId with a blank", "order-1@northwind.example", "order 1@northwind.example", "EBMS:0009"},
	{"MessageId beyond ASCII", "order-1@northwind.example", "örder-1@northwind.example", "EBMS:0009"},
	{"MessageId empty", "order-1@northwind.example", "", "EBMS:0009"},
	{"MessageId with an element", "order-1@northwind.example", "order-1<x/>", "EBMS:0009"},
	{"MessageId of 999 characters", "order-1@northwind.example", strings.Repeat("a", 999), "EBMS:0009"},
	{"RefToMessageId with a line break", "quote-1@contoso.example", "quote-1&#10;@contoso.example", "EBMS:0009"},
	{"Timestamp in words", "2026-03-02T10:30:00.250Z", "yesterday", "EBMS:0009"},
	{"MessageInfo twice", "<eb:PartyInfo>", "<eb:MessageInfo/><eb:PartyInfo>", "EBMS:0009"},
	{"no PartyInfo", "PartyInfo>", "Party>", "EBMS:0009"},
	{"To before From", "eb:From>", "eb:From0>", "EBMS:0009"},
	{"no PartyId", `<eb:PartyId type="urn:northwind:type">CONTOSO</eb:PartyId>`, "", "EBMS:0009"},
	{"PartyId empty", `CONTOSO</eb:PartyId>`, " </eb:PartyId>", "EBMS:0009"},
	{"PartyId without a type is no URI", `<eb:PartyId type="urn:northwind:type">CONTOSO`, "<eb:PartyId>CONTOSO", "EBMS:0003"},
	{"PartyId with an empty type is no URI", `<eb:PartyId type="urn:northwind:type">CONTOSO`, `<eb:PartyId type="">CONTOSO`, "EBMS:0003"},
	{"second PartyId without a type is no URI", "<eb:PartyId>urn:northwind<", "<eb:PartyId>urn: northwind<", "EBMS:0003"},
	{"no Role", "<eb:Role>" + RoleResponder + "</eb:Role>", "", "EBMS:0009"},
	{"Role empty", RoleResponder, "", "EBMS:0009"},
	{"too many PartyIds", `<eb:PartyId type="urn:northwind:type">CONTOSO</eb:PartyId>`, strings.Repeat(`<eb:PartyId type="urn:northwind:type">CONTOSO</eb:PartyId>`, maxPartyIDs+1), "EBMS:0009"},
	{"PartyId behind the Role", "</eb:Role></eb:To>", "</eb:Role><eb:PartyId>urn:x</eb:PartyId></eb:To>", "EBMS:0009"},
	{"no Service", `<eb:Service type="urn:northwind:services">Orders</eb:Service>`, "", "EBMS:0009"},
	{"Service without a type is no URI", `<eb:Service type="urn:northwind:services">Orders`, "<eb:Service>Orders", "EBMS:0003"},
	{"no Action", "<eb:Action>Deliver</eb:Action>", "", "EBMS:0009"},
	{"Action empty", "<eb:Action>Deliver</eb:Action>", "<eb:Action>\n</eb:Action>", "EBMS:0009"},
	{"no ConversationId", "<eb:ConversationId>c 1</eb:ConversationId>", "", "EBMS:0009"},
	{"two AgreementRef", "<eb:Service ", "<eb:AgreementRef>b</eb:AgreementRef><eb:Service ", "EBMS:0009"},
	{"Property without a name", ` name="originalSender"`, "", "EBMS:0009"},
	{"properties behind the payload", "</eb:PayloadInfo>", "</eb:PayloadInfo><eb:MessageProperties/>", "EBMS:0009"},
	{"something else among the properties", "<eb:MessageProperties>", "<eb:MessageProperties><eb:Role/>", "EBMS:0009"},
	{"something foreign in a UserMessage", "<eb:PayloadInfo>", `<x xmlns="urn:x"/><eb:PayloadInfo>`, "EBMS:0009"},
	{"text among the elements", "<eb:PartyInfo>", "hello<eb:PartyInfo>", "EBMS:0009"},
	{"value too long", "Deliver", strings.Repeat("a", maxValue+1), "EBMS:0009"},
	{"type too long", "urn:northwind:services", strings.Repeat("a", maxValue+1), "EBMS:0009"},
	{"cid with a bad escape", "cid:a%20b", "cid:a%2xb", "EBMS:0009"},
	{"cid without a name", `href="cid:a%20b+c@northwind.example"`, `href="cid:"`, "EBMS:0009"},
	{"one part twice", `<eb:PartInfo href="#body"/>`, `<eb:PartInfo href="CID:a b%2Bc@northwind.example"/>`, "EBMS:0009"},
	{"two payloads that are the Body", `<eb:PartInfo href="#body"/>`, `<eb:PartInfo/>`, "EBMS:0009"},
	{"Description behind the properties", "</eb:PartProperties>", `</eb:PartProperties><eb:Description xml:lang="en">x</eb:Description>`, "EBMS:0009"},
	{"two Messaging children of one kind", "</eb:Messaging>", "<eb:UserMessage/></eb:Messaging>", "EBMS:0009"},
	{"something else in Messaging", "</eb:Messaging>", "<eb:Message/></eb:Messaging>", "EBMS:0009"},
	{"text in Messaging", "</eb:Messaging>", "x</eb:Messaging>", "EBMS:0009"},
	{"two payloads in the Body", `"/></env:Envelope>`, `"><a/><b/></env:Body></env:Envelope>`, "EBMS:0009"},
	{"text in the Body", `"/></env:Envelope>`, `">hello<a/></env:Body></env:Envelope>`, "EBMS:0009"},
}

func TestHeaderRules(t *testing.T) {
	t.Parallel()
	raw := wire(order().Element())
	for _, tc := range headerRules {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e, err := parse(t, []byte(replaced(t, raw, tc.old, tc.new)))
			var problem *ProblemError
			if !errors.As(err, &problem) || problem.Code != tc.code || problem.Detail == "" {
				t.Fatalf("got %v, want %s", err, tc.code)
			}
			if e.User == nil || len(problem.Detail) > maxText {
				t.Errorf("%v", problem)
			}
			// The message that is told is one that was read without a doubt.
			if named := problem.MessageID; named != "" && named != "order-1@northwind.example" {
				t.Errorf("about %q", named)
			}
		})
	}
}

// TestProblemNamesTheMessage: the error can say what it is about when the
// MessageId itself is good.
func TestProblemNamesTheMessage(t *testing.T) {
	t.Parallel()
	raw := wire(order().Element())
	_, err := parse(t, []byte(replaced(t, raw, "<eb:Action>Deliver</eb:Action>", "")))
	var problem *ProblemError
	if !errors.As(err, &problem) || problem.MessageID != "order-1@northwind.example" || !strings.Contains(problem.Detail, "CollaborationInfo has no Action") {
		t.Fatalf("got %+v", err)
	}
	want := Error{Code: "EBMS:0009", Severity: Failure, ShortDescription: "InvalidHeader", Category: "Unpackaging", Origin: "ebMS", Detail: problem.Detail, RefToMessageInError: "order-1@northwind.example"}
	got := problem.Signal()
	got.Description = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = parse(t, []byte(replaced(t, raw, "</eb:MessageId>", "</eb:MessageId><eb:MessageId>b@c</eb:MessageId>")))
	if !errors.As(err, &problem) || problem.MessageID != "" || !strings.Contains(problem.Detail, "MessageInfo holds 2 MessageId") {
		t.Errorf("two MessageIds: %+v", err)
	}
}

// TestTolerances: what peers write and nobody can misread.
func TestTolerances(t *testing.T) {
	t.Parallel()
	raw := wire(order().Element())
	for _, tc := range []struct {
		name, old, new string
		is             func(*UserMessage) bool
	}{
		{"angle brackets", "order-1@northwind.example", "&lt;order-1@northwind.example&gt;", func(u *UserMessage) bool {
			return u.MessageID == "<order-1@northwind.example>" && SameMessageID(u.MessageID, "order-1@northwind.example")
		}},
		{"MessageId without a domain", "order-1@northwind.example", "uuid:1", func(u *UserMessage) bool { return u.MessageID == "uuid:1" }},
		{"RefToMessageId empty", "quote-1@contoso.example", "", func(u *UserMessage) bool { return u.RefToMessageID == "" }},
		{"Timestamp without a zone", "10:30:00.250Z", "10:30:00", func(u *UserMessage) bool { return u.Timestamp.Equal(testNow.Truncate(time.Second)) }},
		{"white space around values", "CONTOSO<", "\r\n\tCONTOSO \n<", func(u *UserMessage) bool { return u.To.IDs[0].Value == "CONTOSO" }},
		{"a comment in a value", "CONTOSO<", "CON<!-- x -->TOSO<", func(u *UserMessage) bool { return u.To.IDs[0].Value == "CONTOSO" }},
		{"CDATA in a value", "CONTOSO<", "<![CDATA[CON]]>TOSO<", func(u *UserMessage) bool { return u.To.IDs[0].Value == "CONTOSO" }},
		{"Property empty", ">urn:a<", "><", func(u *UserMessage) bool { return u.Properties[0].Value == "" }},
		{"Description without a language", ` xml:lang="en"`, "", func(u *UserMessage) bool { return u.Parts[0].Description == "An order" }},
		{"AgreementRef without a type is no URI", `<eb:AgreementRef type="T1" pmode="orders">urn:northwind:contoso:1<`, "<eb:AgreementRef>A1<", func(u *UserMessage) bool { return *u.Agreement == AgreementRef{Value: "A1"} }},
		{"href outside", `href="#body"`, `href="https://northwind.example/a"`, func(u *UserMessage) bool { where, _ := u.Parts[1].Place(); return where == Outside }},
		{"attributes that nobody knows", "<eb:UserMessage ", `<eb:UserMessage foo="bar" `, func(u *UserMessage) bool { return u.Action == "Deliver" }},
		{"something foreign in Messaging", "</eb:Messaging>", `<x xmlns="urn:x"/></eb:Messaging>`, func(u *UserMessage) bool { return u.Action == "Deliver" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e, err := parse(t, []byte(replaced(t, raw, tc.old, tc.new)))
			if err != nil {
				t.Fatal(err)
			}
			if !tc.is(e.User) {
				t.Errorf("got %+v", e.User)
			}
		})
	}
}

// TestPrefixes: names count, not their prefixes.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	raw := wire(order().Element())
	other := strings.NewReplacer("xmlns:eb=", "xmlns=", "<eb:", "<", "</eb:", "</", "env:", "soapenv:", ":env=", ":soapenv=").Replace(raw)
	a, err := parse(t, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	b, err := parse(t, []byte(other))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.User, b.User); diff != "" {
		t.Error(diff)
	}
	_, err = parse(t, []byte(replaced(t, raw, `xmlns:eb="`+EB, `xmlns:eb="urn:other`)))
	var fault *Fault
	if !errors.As(err, &fault) || fault.Code != MustUnderstand {
		t.Errorf("Messaging of another namespace: %v", err)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		href, id string
		where    Place
	}{
		{"cid:order@northwind.example", "order@northwind.example", Attached},
		{"CID:a+b%25c%40d", "a+b%c@d", Attached}, // RFC 2392: a plus sign is one
		{"cid:%253C", "%3C", Attached},           // decoded once
		{"", "", InBody},
		{"#id-1", "id-1", InBody},
		{"https://northwind.example/cid:a", "https://northwind.example/cid:a", Outside},
		{"ci", "ci", Outside},
	} {
		if where, id := (PartInfo{Href: tc.href}).Place(); where != tc.where || id != tc.id {
			t.Errorf("%q: got %v %q, want %v %q", tc.href, where, id, tc.where, tc.id)
		}
	}
}

// TestCheck: what a peer would refuse, or read other than it was meant, is told
// before it is sent.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*UserMessage)
		code   string
	}{
		"no time":                 {func(u *UserMessage) { u.Timestamp = time.Time{} }, "EBMS:0009"},
		"no MessageId":            {func(u *UserMessage) { u.MessageID = "" }, "EBMS:0009"},
		"angle brackets":          {func(u *UserMessage) { u.MessageID = "<a@b>" }, "EBMS:0009"},
		"angle brackets of a ref": {func(u *UserMessage) { u.RefToMessageID = "<a@b>" }, "EBMS:0009"},
		"no party":                {func(u *UserMessage) { u.To.IDs = nil }, "EBMS:0009"},
		"party without a type":    {func(u *UserMessage) { u.To.IDs[0].Type = "" }, "EBMS:0003"},
		"party with a line break": {func(u *UserMessage) { u.From.IDs[0].Value = "A\nB" }, "EBMS:0009"},
		"no role":                 {func(u *UserMessage) { u.From.Role = "" }, "EBMS:0009"},
		"no service":              {func(u *UserMessage) { u.Service = Service{} }, "EBMS:0009"},
		"service without a type":  {func(u *UserMessage) { u.Service.Type = "" }, "EBMS:0003"},
		"no action":               {func(u *UserMessage) { u.Action = "" }, "EBMS:0009"},
		"action with two blanks":  {func(u *UserMessage) { u.Action = "a  b" }, "EBMS:0009"},
		"blank before a value":    {func(u *UserMessage) { u.Agreement.Value = " a" }, "EBMS:0009"},
		"empty agreement":         {func(u *UserMessage) { u.Agreement.Value = "" }, "EBMS:0009"},
		"property without a name": {func(u *UserMessage) { u.Properties[0].Name = "" }, "EBMS:0009"},
		"empty property":          {func(u *UserMessage) { u.Properties[1].Value = "" }, "EBMS:0009"},
		"blank behind a property": {func(u *UserMessage) { u.Parts[0].Properties[0].Value = "a " }, "EBMS:0009"},
		"NUL in a property":       {func(u *UserMessage) { u.Properties[0].Value = "a\x00" }, "EBMS:0009"},
		"bytes that are no UTF-8": {func(u *UserMessage) { u.ConversationID = "\xff" }, "EBMS:0009"},
		"schema without location": {func(u *UserMessage) { u.Parts[0].Schemas[0].Location = "" }, "EBMS:0009"},
		"part twice":              {func(u *UserMessage) { u.Parts[1].Href = u.Parts[0].Href }, "EBMS:0009"},
		"value too long":          {func(u *UserMessage) { u.Properties[0].Value = strings.Repeat("é", maxValue/2+1) }, "EBMS:0009"},
	} {
		u := order()
		tc.change(u)
		var problem *ProblemError
		if err := u.Check(); !errors.As(err, &problem) || problem.Code != tc.code {
			t.Errorf("%s: got %v, want %s", name, err, tc.code)
		}
		// Whatever it is, what is written is well-formed.
		if _, err := xmltree.Parse([]byte(wire(u.Element())), xmltree.Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	list := []Property{{"a", "", "1"}, {"b", "", "2"}, {"a", "", "3"}}
	for name, want := range map[string]struct {
		value string
		n     int
	}{"a": {"1", 2}, "b": {"2", 1}, "A": {"", 0}} {
		if value, n := Lookup(list, name); value != want.value || n != want.n {
			t.Errorf("%s: %q, %d", name, value, n)
		}
	}
	test := minimal()
	test.Service.Value, test.Action = TestService, TestAction
	if !test.Test() || minimal().Test() || Partition("") != DefaultMPC || Partition("urn:a") != "urn:a" {
		t.Error("test service or partition")
	}
}
