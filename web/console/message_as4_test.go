package console

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/queue"
	"edigw/web"
)

// kept are signals made by hand.
type kept struct{ signal *as4.Signal }

func (k kept) Signal(context.Context, queue.Message, []queue.Build, queue.Attempt) (*as4.Signal, error) {
	return k.signal, nil
}

const northwindAS4 = `name: Northwind Retail DE
protocol: as4
zone: Europe/Berlin
as4:
  to: {party: "urn:example:ids:northwind"}
  from: {party: "urn:example:ids:acme"}
  url: "https://as4.northwind.example/msh"
  service: {value: Orders, type: "urn:example:services"}
  action: Deliver
  security: {sign: none, encrypt: none}
  receipt: {signed: false, non_repudiation: false}
`

// deskAS4 is a desk whose northwind speaks AS4, and whose kept answers say that.
func deskAS4(t *testing.T, s *as4.Signal) *desk {
	t.Helper()
	d := newDesk(t, func(o *Options) { o.Signals = kept{s} })
	if err := os.WriteFile(filepath.Join(d.settings.Current().Dir(), "partners", "northwind.yaml"), []byte(northwindAS4), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, problems := d.settings.Reload(); len(problems) > 0 {
		for _, p := range problems {
			if !p.Warning {
				t.Fatal(p)
			}
		}
	}
	return d
}

const sha256URI = "http://www.w3.org/2001/04/xmlenc#sha256"

// built is what a build of AS4 keeps of itself.
var built = as4.Rendition{
	MessageID: "order-1@edi.acme.example", ContentType: "multipart/related",
	References: []ebms.Reference{{URI: "#messaging", DigestMethod: sha256URI, Value: []byte("header")}, {URI: "cid:part1", DigestMethod: sha256URI, Value: []byte("payload")}},
	User: &ebms.UserMessage{
		MessageInfo: ebms.MessageInfo{MessageID: "order-1@edi.acme.example", RefToMessageID: "asked-1@northwind.example"},
		From:        ebms.Party{IDs: []ebms.PartyID{{Value: "ACME", Type: "urn:example:ids"}}, Role: ebms.RoleInitiator}, To: ebms.Party{IDs: []ebms.PartyID{{Value: "NORTHWIND", Type: "urn:example:ids"}}, Role: ebms.RoleResponder},
		Service: ebms.Service{Value: "Orders", Type: "urn:example:services"}, Action: "Deliver", ConversationID: "conversation-1",
		Properties: []ebms.Property{{Name: "originalSender", Value: "<script>c1"}}, Parts: []ebms.PartInfo{{Href: "cid:part1", Properties: []ebms.Property{{Name: "MimeType", Value: "application/edifact"}}}},
	},
}

func as4Message(m *queue.Message) { m.Protocol = "as4" }

// TestAnAS4DeliveryIsProven: digests on both sides, part by part, and the header.
func TestAnAS4DeliveryIsProven(t *testing.T) {
	t.Parallel()
	d := deskAS4(t, &as4.Signal{Kind: as4.KindReceipt, MessageID: "receipt-1@northwind.example", References: built.References, Signed: true})
	m := d.sentAs(d.accept("northwind", "a", as4Message), built, "kept", receipt(fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Signer: "9A:1C", Digest: "#messaging aGVhZGVy, cid:part1 cGF5bG9hZA=="}))
	page := d.get(viewer, "/messages/"+m.ID).want(http.StatusOK).says(
		"receipt signed by Northwind Retail DE, digest matches.", "It is a receipt", "Its own MessageId receipt-1@northwind.example", "Digests equal: they have what we sent",
		"cid:part1 equal: cGF5bG9hZA== SHA-256", "From ACME (urn:example:ids)", "Service Orders (urn:example:services)", "Action Deliver", "Conversation conversation-1", "Answers asked-1@northwind.example",
		"Property originalSender <script>c1", "Payload 1 cid:part1 · MimeType application/edifact", "Channel (MPC) the default one",
	)
	page.lacks("<script>c1").hides("AS2", "MDN", "Digest expected", "It says")
	d.get(viewer, "/partners/northwind").says("P-Mode", "BusinessInfo.Service Orders (urn:example:services)", "Responder.Party urn:example:ids:northwind", "MEPBinding push")
	d.get(viewer, "/partners/contoso").hides("P-Mode")
}

// TestAnAS4ReceiptOfOtherContent says of each part what was sent and what it names.
func TestAnAS4ReceiptOfOtherContent(t *testing.T) {
	t.Parallel()
	d := deskAS4(t, &as4.Signal{Kind: as4.KindReceipt, Signed: true, Problem: "The receipt is for other content", Report: []string{"#id-1: SHA-256 says AAAA, computed BBBB"},
		References: []ebms.Reference{{URI: "cid:part1", DigestMethod: sha256URI, Value: []byte("another")}, {URI: "cid:<b>other", DigestMethod: sha256URI, Value: []byte("x")}}})
	m := d.sentAs(d.accept("northwind", "a", as4Message), built, "kept", receipt(fault.Acknowledgement{Verdict: fault.AckMICMismatch, Positive: true, Signer: "9A:1C", Digest: "cid:part1 YW5vdGhlcg=="}))
	d.get(operator, "/messages/"+m.ID).says("Unknown: partner may have it.", "Digests differ: they have something else", "#messaging sent aGVhZGVy , the receipt does not name it", "cid:part1 sent cGF5bG9hZA== , the receipt names YW5vdGhlcg==",
		"cid:<b>other not sent, the receipt names eA==", "Its own signature #id-1: SHA-256 says AAAA, computed BBBB", "Problem The receipt is for other content").lacks("<b>other")
}

// TestAnAS4RefusalIsExplained, kept or not.
func TestAnAS4RefusalIsExplained(t *testing.T) {
	t.Parallel()
	k := fault.Acknowledgement{Verdict: fault.AckTrusted, EBMS: "EBMS:0102", Signer: "9A:1C", Detail: "FailedDecryption: no key for serial 4F:22"}
	for name, s := range map[string]*as4.Signal{
		"kept":     {Kind: as4.KindError, Errors: []ebms.Error{{Code: "EBMS:0102", ShortDescription: "FailedDecryption", Severity: ebms.Failure, Detail: "no key for serial 4F:22"}}},
		"not kept": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deskAS4(t, s)
			m := d.sentAs(d.accept("northwind", "a", as4Message), built, "kept", receipt(k))
			d.get(operator, "/messages/"+m.ID).says("Do this: EBMS:0102 FailedDecryption: The receiver could not decrypt the message", "import it; then replay.", "EBMS:0102 FailedDecryption (failure) : “", "no key for serial 4F:22",
				"They refused it, and we believe the refusal", "Signed SHA-256 cGF5bG9hZA== of cid:part1").hides("AS2")
		})
	}
}

// TestARefusedAS4MessageSaysWhy: the code that we answered, what it means, and what
// its signature came to.
func TestARefusedAS4MessageSaysWhy(t *testing.T) {
	t.Parallel()
	d := deskAS4(t, nil)
	m := d.refuse("northwind", fault.ReasonSignature)
	d.lanes.inbound[m.ID] = web.Inbound{
		From: "NORTHWIND", To: "ACME", Signed: true, Problem: "the signature does not verify", Disposition: "EBMS:0101", Asked: true, Request: web.RequestWhole,
		Header: web.HeaderOf(built.User), Report: []string{"cid:part1: SHA-256 says AAAA, computed <b>BBBB"},
	}
	d.lanes.inbound[m.ID].Header.Fetched = true
	d.get(kim, "/messages/"+m.ID).says("We answered EBMS:0101", "EBMS:0101 FailedAuthentication (failure)", "The signature does not verify, or is not by a certificate", "Its signature, reference by reference cid:part1: SHA-256 says AAAA, computed <b>BBBB",
		"Our answer in the response", "Fetched with a pull request of ours", "Its ebMS header", "Action Deliver").hides("From, to", "Digest given", "then replay").lacks("<b>BBBB")
	n := d.refuse("northwind", fault.ReasonRejected)
	d.lanes.inbound[n.ID] = web.Inbound{Disposition: "EBMS:0001", Asked: true, Header: web.HeaderOf(built.User)}
	d.get(kim, "/messages/"+n.ID).says("We refused it: signed by an unknown certificate").hides("Partner refused") // by the words of its problem
	d.get(operator, "/letters").says("Received, and we refused it: not settled with them").hides("Partner refused")
}

// TestAMessageOfAnotherProtocolHasNoHeader.
func TestHeaderIsOfAS4Alone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.sent(d.accept("northwind", "a"), receipt(fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Type: "processed"}))
	if page := d.get(viewer, "/messages/"+m.ID).says("It says processed"); strings.Contains(page.text(), "ebMS") {
		t.Error("an AS2 message has an ebMS header")
	}
}
