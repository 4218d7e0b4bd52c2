package as4

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
)

// TestHeader holds the header to what P-Mode and document say.
func TestHeader(t *testing.T) {
	t.Parallel()
	p, by := toNorthwind(), fromAcme()
	p.MPC = "urn:example:mpc"
	p.PartProperties = []ebms.Property{{Name: "DocumentType", Value: "order"}, {Name: "MimeType", Value: "made/up"}}
	d := orderDocument(payload("application/EDI-X12", "order.edi", []byte("ISA~")))
	d.RefToMessageID = "first@northwind.example"
	p.Properties = Merged(p.Properties, []ebms.Property{{Name: "finalRecipient", Value: "store 7"}, {Name: "tracking", Value: "t-1"}})
	p.PartProperties = Merged(p.PartProperties, []ebms.Property{{Name: "DocumentType", Value: "change"}, {Name: "CompressionType", Value: "none"}})
	r, wire := mustBuild(t, p, d)
	u := open(t, r.ContentType, wire, by).env.User
	part := u.Parts[0].Href
	want := &ebms.UserMessage{
		MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: d.MessageID, RefToMessageID: "first@northwind.example"},
		MPC:         "urn:example:mpc", From: acmeParty, To: northParty,
		Agreement: &ebms.AgreementRef{Value: "https://agreements.example/1"}, Service: orders.Service, Action: "Deliver",
		ConversationID: d.MessageID,
		Properties: []ebms.Property{
			{Name: "originalSender", Value: "acme"}, {Name: "finalRecipient", Value: "store 7", Type: "urn:example:ids"}, {Name: "tracking", Value: "t-1"},
		},
		Parts: []ebms.PartInfo{{Href: part, Properties: []ebms.Property{
			{Name: "DocumentType", Value: "change"}, {Name: "FileName", Value: "order.edi"},
			{Name: "MimeType", Value: "application/EDI-X12"}, {Name: "CompressionType", Value: "application/gzip"},
		}}},
	}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(part, "cid:part1-") || strings.Trim(part[4:], "abcdefghijklmnopqrstuvwxyz0123456789.-@") != "" || strings.Count(part, "@") != 1 {
		t.Errorf("href %s", part)
	}
}

// TestConversation: as the P-Mode says, or as the document does; ENTSOG wants
// none, which is an empty element.
func TestConversation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pattern, given, want string }{
		{"{message}", "", "order-20931@edi.acme.example"}, {"c-{message}-{message}", "", "c-order-20931@edi.acme.example-order-20931@edi.acme.example"},
		{"1", "", "1"}, {"", "", ""}, {"1", "c-7", "c-7"},
	} {
		p, d := toNorthwind(), orderDocument()
		p.Conversation, d.ConversationID = tc.pattern, tc.given
		_, wire := mustBuild(t, p, d)
		if !bytes.Contains(wire, []byte("<eb:ConversationId>"+tc.want+"</eb:ConversationId>")) && !(tc.want == "" && bytes.Contains(wire, []byte("<eb:ConversationId/>"))) {
			t.Errorf("%+v: %s", tc, wire)
		}
	}
}

// TestMPC: the default one goes without saying.
func TestMPC(t *testing.T) {
	t.Parallel()
	for mpc, want := range map[string]string{"": "<eb:UserMessage>", ebms.DefaultMPC: "<eb:UserMessage>", "urn:x": `<eb:UserMessage mpc="urn:x">`} {
		p := toNorthwind()
		p.MPC = mpc
		if _, wire := mustBuild(t, p, orderDocument()); !bytes.Contains(wire, []byte(want)) {
			t.Errorf("%q: %s", mpc, wire)
		}
	}
}

// TestRow35Names: an odd MessageId gives no odd Content-ID, and no wsu:Id that is
// no NCName.
func TestRow35Names(t *testing.T) {
	t.Parallel()
	for id, domain := range map[string]string{
		"a@b.example": "b.example", "a@b+c": "edigw", "a@[10.0.0.1]": "edigw", "a@b%c": "edigw", "a@b": "b",
	} {
		n := namesOf(id)
		for _, cid := range []string{n.root(), n.part(1), n.part(500)} {
			left, right, _ := strings.Cut(cid, "@")
			if right != domain || !plainDomain(left) || wssec.PartURI(cid) != "cid:"+cid {
				t.Errorf("%s: %s", id, cid)
			}
		}
	}
	for _, id := range []string{"1@b", "9f8c@b", "-@b"} {
		if e := namesOf(id).element("body"); e[0] != 'b' || strings.Trim(e, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("%s: wsu:Id %s", id, e)
		}
	}
	if slices.Equal([]byte(namesOf("a@b").tag), []byte(namesOf("A@b").tag)) {
		t.Error("two messages have the same names")
	}
}

// TestTimestamp: a retry has that of the first attempt.
func TestTimestamp(t *testing.T) {
	t.Parallel()
	d := orderDocument()
	d.Timestamp = time.Date(2026, 3, 1, 23, 59, 59, 120e6, time.FixedZone("", 3600))
	_, wire := mustBuild(t, toNorthwind(), d)
	if !bytes.Contains(wire, []byte("<eb:Timestamp>2026-03-01T22:59:59.120Z</eb:Timestamp>")) {
		t.Errorf("%s", wire)
	}
}
