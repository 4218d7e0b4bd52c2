package ebms

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// testNow is when everything in these tests happens.
var testNow = time.Date(2026, 3, 2, 10, 30, 0, 250e6, time.UTC)

// parse reads a whole envelope that is well-formed.
func parse(t testing.TB, raw []byte) (*Envelope, error) {
	t.Helper()
	doc, err := xmltree.Parse(raw, xmltree.Limits{})
	if err != nil {
		t.Fatalf("%v\n%.500s", err, raw)
	}
	e, err := ParseEnvelope(doc)
	if e == nil {
		t.Fatal("no envelope")
	}
	return e, err
}

// order is a message with everything that a header can hold.
func order() *UserMessage {
	return &UserMessage{
		MessageInfo: MessageInfo{Timestamp: testNow, MessageID: "order-1@northwind.example", RefToMessageID: "quote-1@contoso.example"},
		MPC:         "urn:northwind:orders",
		From:        Party{IDs: []PartyID{{"NORTHWIND", "urn:northwind:type"}, {"urn:northwind", ""}}, Role: RoleInitiator},
		To:          Party{IDs: []PartyID{{"CONTOSO", "urn:northwind:type"}}, Role: RoleResponder},
		Agreement:   &AgreementRef{Value: "urn:northwind:contoso:1", Type: "T1", PMode: "orders"},
		Service:     Service{"Orders", "urn:northwind:services"}, Action: "Deliver", ConversationID: "c 1",
		Properties: []Property{{"originalSender", "urn:t", "urn:a"}, {"finalRecipient", "", "<b> & \"c\"\r\n\td"}},
		Parts: []PartInfo{
			{Href: "cid:a%20b+c@northwind.example", Schemas: []Schema{{"urn:s", "2.1", "urn:n"}}, Description: "An order", Properties: []Property{{MimeType, "", "application/xml"}, {CompressionType, "", "application/gzip"}}},
			{Href: "#body"}, {},
		},
	}
}

// minimal is the least that a header may hold.
func minimal() *UserMessage {
	return &UserMessage{
		MessageInfo: MessageInfo{Timestamp: testNow, MessageID: "m@northwind.example"},
		From:        Party{IDs: []PartyID{{"urn:northwind", ""}}, Role: RoleInitiator},
		To:          Party{IDs: []PartyID{{"urn:contoso", ""}}, Role: RoleResponder},
		Service:     Service{DefaultService, ""}, Action: DefaultAction,
	}
}

// wire is what goes out with the given units.
func wire(messages ...*etree.Element) string {
	return string(Serialise(NewEnvelope(messages...).Root))
}

// replaced changes every place of old, of which there must be one at least.
func replaced(t testing.TB, s, old, new string) string {
	t.Helper()
	if !strings.Contains(s, old) {
		t.Fatalf("%q is not in %s", old, s)
	}
	return strings.ReplaceAll(s, old, new)
}

// enveloped puts header blocks and the content of a Body into an envelope.
func enveloped(header, body string) string {
	return `<S:Envelope xmlns:S="` + SOAP + `" xmlns:eb="` + EB + `" xmlns:wsse="` + WSSE + `" xmlns:ds="` + DS + `"><S:Header>` + header + `</S:Header><S:Body>` + body + `</S:Body></S:Envelope>`
}

func signalled(content string) string {
	return enveloped(`<eb:Messaging><eb:SignalMessage><eb:MessageInfo><eb:Timestamp>2026-03-02T10:30:00Z</eb:Timestamp><eb:MessageId>s@contoso.example</eb:MessageId><eb:RefToMessageId>order-1@northwind.example</eb:RefToMessageId></eb:MessageInfo>`+content+`</eb:SignalMessage></eb:Messaging>`, "")
}

// body is what follows the header lines.
func body(t *testing.T, raw []byte) []byte {
	t.Helper()
	for _, end := range []string{"\r\n\r\n", "\n\n"} {
		if _, after, ok := bytes.Cut(raw, []byte(end)); ok {
			return after
		}
	}
	t.Fatal("there is no empty line")
	return nil
}
