package inbox

import (
	"net/http"
	"strings"
	"testing"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/sbdh"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// overAS4 is an accepted message with one payload.
func overAS4(h *house, id, content string) as4.Received {
	party := func(id string) ebms.Party { return ebms.Party{IDs: []ebms.PartyID{{Value: id}}} }
	return as4.Received{
		Partner: "northwind", MessageID: id, At: h.now(), Accepted: true, Signed: true,
		User:     ebms.UserMessage{From: party("POP000001"), To: party("POP000999"), Service: ebms.Service{Value: "urn:p"}, Action: "a"},
		Payloads: []as4.ReceivedPayload{{ContentType: "application/xml", FileName: "order.xml", Size: int64(len(content)), SHA256: digest(content), Content: strings.NewReader(content)}},
		Header:   http.Header{}, Wire: strings.NewReader(content), WireSize: int64(len(content)), WireSHA256: digest(content),
		Answer: &as4.Answer{MessageID: "receipt-" + id, Status: 200, Body: []byte("receipt"), Signal: "receipt"},
	}
}

const wrapped = `<?xml version="1.0"?><StandardBusinessDocument xmlns="` + sbdh.Namespace + `"><StandardBusinessDocumentHeader>` +
	`<Sender><Identifier Authority="iso6523-actorid-upis">0088:1</Identifier></Sender><Receiver><Identifier Authority="iso6523-actorid-upis">0088:2</Identifier></Receiver>` +
	`<DocumentIdentification><InstanceIdentifier>i-1</InstanceIdentifier></DocumentIdentification></StandardBusinessDocumentHeader>` +
	`<Order xmlns="urn:o"><ID>1</ID></Order></StandardBusinessDocument>`

// TestUnwrapped: the document alone lies in the folder, the facts keep what its
// header said; what is none, and what cannot be read, stays as it came.
func TestUnwrapped(t *testing.T) {
	t.Parallel()
	broken := strings.Replace(wrapped, "</StandardBusinessDocument>", "", 1)
	for name, c := range map[string]struct {
		content, want, warning string
		unwrap                 bool
		header                 *Wrapped
	}{
		"unwrapped":        {wrapped, `<Order xmlns="urn:o"><ID>1</ID></Order>`, "", true, &Wrapped{Sender: "iso6523-actorid-upis::0088:1", Receiver: "iso6523-actorid-upis::0088:2", Instance: "i-1"}},
		"kept by settings": {wrapped, wrapped, "", false, nil},
		"another document": {invoiceXML, invoiceXML, "", true, nil},
		"cut off":          {broken, broken, "handed on as it came", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.Unwrap = func(string) bool { return c.unwrap }
			if a, again, err := (ForAS4{h.Inbox}).Receive(t.Context(), overAS4(h, "1@n.example", c.content)); err != nil || again || a != nil {
				t.Fatal(a, again, err)
			}
			h.sweep()
			if got := h.read("2026-12-01/order.xml"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			f := h.facts("2026-12-01/order.xml" + factsSuffix)
			if diff := cmp.Diff(c.header, f.AS4.Wrapped); diff != "" || !strings.Contains(f.Warning, c.warning) || f.SHA256 != digest(c.want) || f.Size != int64(len(c.want)) {
				t.Errorf("facts %+v\n%s", f, diff)
			}
			if m := h.messages(queue.In); len(m) != 1 || m[0].Payload.SHA256 != digest(c.want) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestARepeatOfAWrappedDocumentIsOne: and another document under its id is not.
func TestARepeatOfAWrappedDocumentIsOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.Unwrap = func(string) bool { return true }
	for i, content := range []string{wrapped, strings.Replace(wrapped, "i-1", "i-2", 1), strings.Replace(wrapped, "<ID>1", "<ID>2", 1)} {
		a, again, err := (ForAS4{h.Inbox}).Receive(t.Context(), overAS4(h, "1@n.example", content))
		if (err != nil) != (i == 2) || again != (i > 0) || (a != nil) != (i > 0) {
			t.Errorf("%d: %v, %v, %v", i, a, again, err)
		}
	}
	if got := [2]int{h.events(queue.EventReplayedKey), h.events(queue.EventKeyReused)}; got != [2]int{1, 1} {
		t.Errorf("repeats and reuses: %v", got)
	}
}

// TestARefusedTestIsNeverHandedOn: what was kept of one, before none were kept,
// holds no document.
func TestARefusedTestIsNeverHandedOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]bool{"to the test service": true, "a document": false} {
		h := open(t)
		r := overAS4(h, "1@n.example", "")
		r.Accepted, r.Code, r.Problem, r.Payloads = false, "EBMS:0101", "signed by nobody we know", nil
		if test {
			r.User.Service.Value, r.User.Action = ebms.TestService, ebms.TestAction
		}
		if _, _, err := (ForAS4{h.Inbox}).Receive(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		can, err := h.Processing(t.Context(), h.messages(queue.In)[0].ID)
		if err != nil || !can.Refused || strings.Contains(can.Why, "test service") != test {
			t.Errorf("%s: %+v, %v", name, can, err)
		}
	}
}
