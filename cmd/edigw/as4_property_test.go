package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/queue"
	"edigw/web"

	"github.com/google/go-cmp/cmp"
)

// ownNumbers are lines of a partner file under which each document brings a
// property of the message and one of its payloads.
var ownNumbers = []string{
	`properties: {region: west, tracking: {type: "urn:example:t", required: true}}`,
	"part_properties: {DocumentNo: {required: true}}",
	"file_name_property: FileName",
}

// sendWith hands a document in for north by the API; properties are header and
// value in turn.
func (s *site) sendWith(key string, document string, properties ...string) (m messageView, err error) {
	s.Helper()
	header := http.Header{"Idempotency-Key": {key}, "Content-Disposition": {"attachment; filename=order.txt"}}
	for i := 0; i < len(properties); i += 2 {
		header.Add(properties[i], properties[i+1])
	}
	_, err = s.api.Send(context.Background(), "/partners/north/messages", header, bytes.NewReader([]byte(document)), &m)
	return m, err
}

// bears holds the message that came in for one that was sent against the properties
// that its document was handed in with. Those of the only payload stand behind
// those of the message.
func (s *site) bears(sent messageView, tracking, number string) {
	s.Helper()
	want := []web.Typed{{Name: "region", Value: "west"}, {Name: "tracking", Value: tracking}, {Name: "DocumentNo", Value: number}, {Name: "FileName", Value: "order.txt"}}
	var got *web.Header
	s.await("message "+sent.MessageID+" was taken", func() bool {
		for _, m := range everything[messageView](s, "/messages", query("direction", "in")) {
			if m.MessageID == sent.MessageID && m.State == string(queue.Delivered) {
				got = s.message(m.ID).AS4
				return true
			}
		}
		return false
	})
	if got == nil {
		s.Fatalf("message %s has no header", sent.MessageID)
	}
	if diff := cmp.Diff(want, got.Properties); diff != "" {
		s.Errorf("message %s (-want +got):\n%s", sent.MessageID, diff)
	}
}

// TestAS4PropertiesOfADocument: by the API and by the command they reach the
// partner, are seen while the document waits, and stay with it when it is sent
// again.
func TestAS4PropertiesOfADocument(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settle(p.acme, "http://"+p.north.receive, append(ownNumbers, "action: Unheard")...)
	p.settle(p.north, "http://"+p.acme.receive)
	p.start()

	p.acme.post("/partners/north/stop", map[string]any{"reason": "to look at what waits"}, nil)
	const tracking = "T-1 = ü/100%"
	m, err := p.acme.sendWith("PO-1", "an order", "Message-Property", "tracking=T-1 = %C3%BC/100%25", "Part-Property", "DocumentNo=4711")
	if err != nil {
		t.Fatal(err)
	}
	wantGiven := []web.Typed{{Name: "tracking", Value: tracking}, {Name: "DocumentNo", Value: "4711"}}
	if diff := cmp.Diff(wantGiven, append(m.Properties, m.PartProperties...)); diff != "" {
		t.Errorf("the API tells (-want +got):\n%s", diff)
	}
	p.acme.reads([]string{"tracking: " + tracking, "DocumentNo: 4711"}, nil, "message", "show", m.ID)
	operatorOf(t, p.acme).says(t, "/messages/"+m.ID, "tracking "+tracking, "DocumentNo 4711")
	if _, err := p.acme.sendWith("PO-1", "an order", "Message-Property", "tracking=T-2", "Part-Property", "DocumentNo=4711"); problemOf(err) == nil || problemOf(err).Slug() != "key-reused" || !strings.Contains(problemOf(err).Detail, "the same content, but other properties") {
		t.Errorf("the same key with another property: %v", err)
	}
	p.acme.post("/partners/north/start", nil, nil)

	// They refuse the action, settle it, and the replay takes the properties along.
	if m = p.acme.end(m.ID); m.State != string(queue.Dead) {
		t.Fatalf("the message is %s", m.State)
	}
	p.settle(p.north, "http://"+p.acme.receive, "receive: {collaboration: any}")
	p.north.reads(nil, nil, "reload")
	if code, text := p.acme.run("dlq", "replay", m.Letter, "--wait"); code != exitFine {
		t.Fatalf("replay: %d %s", code, text)
	}
	p.north.bears(m, tracking, "4711")
	sent := []web.Typed{{Name: "region", Value: "west"}, {Name: "tracking", Value: tracking, Type: "urn:example:t"}}
	if diff := cmp.Diff(sent, p.acme.message(m.ID).AS4.Properties); diff != "" {
		t.Errorf("the API tells of what was sent (-want +got):\n%s", diff)
	}

	file := filepath.Join(t.TempDir(), "order.txt")
	if err := os.WriteFile(file, []byte("another order"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := p.acme.run("send", "north", file, "--key", "PO-2", "--property", "tracking="+tracking, "--part-property", "DocumentNo=4712", "--wait"); code != exitFine {
		t.Fatalf("send: %d %s", code, text)
	}
	second := everything[messageView](p.acme, "/messages", query("reference", "PO-2"))[0]
	p.north.bears(second, tracking, "4712")

	var again messageView
	p.acme.post("/messages/"+second.ID+"/again", map[string]any{"reason": "they lost it", "note": "they lost it", "confirm": []string{"PO-2"}}, &again)
	third := everything[messageView](p.acme, "/messages", query("reference", "PO-2"))[0]
	if third.Previous != second.ID || third.MessageID == second.MessageID {
		t.Fatalf("sent again as %+v", third)
	}
	p.acme.end(third.ID)
	p.north.bears(third, tracking, "4712")
}

// TestAS4PropertiesThatAreRefused at every door, with what is wrong and what to do;
// nothing was accepted.
func TestAS4PropertiesThatAreRefused(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settle(p.acme, "http://"+p.north.receive, ownNumbers...)
	p.acme.start()
	const track, number = "tracking=T-1", "DocumentNo=4711"
	for name, c := range map[string]struct {
		properties []string
		status     int
		slug       string
		field      string
	}{
		"none":                   {nil, 422, "missing-property", "Message-Property"},
		"one of the two":         {[]string{"Message-Property", track}, 422, "missing-property", "Part-Property"},
		"of edigw's":             {[]string{"Message-Property", track, "Part-Property", number, "Part-Property", "MimeType=text/plain"}, 422, "reserved-property", "Part-Property"},
		"the file's name":        {[]string{"Message-Property", track, "Part-Property", number, "Part-Property", "FileName=x"}, 422, "reserved-property", "Part-Property"},
		"no equals sign":         {[]string{"Message-Property", "tracking"}, 400, "bad-request", "Message-Property"},
		"a line break":           {[]string{"Message-Property", "tracking=a%0Ab"}, 400, "bad-request", "Message-Property"},
		"a percent sign alone":   {[]string{"Message-Property", track, "Part-Property", "DocumentNo=100%"}, 400, "bad-request", "Part-Property"},
		"twice the same":         {[]string{"Message-Property", track, "Message-Property", track}, 400, "bad-request", "Message-Property"},
		"thirty-three":           {strings.Split(strings.Repeat("Part-Property#a=b#", 33), "#")[:66], 400, "bad-request", "Part-Property"},
		"of nothing but a blank": {[]string{"Message-Property", "tracking=%20"}, 400, "bad-request", "Message-Property"},
	} {
		_, err := p.acme.sendWith("PO-1", "an order", c.properties...)
		if got := problemOf(err); got == nil || got.Status != c.status || got.Slug() != c.slug || got.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := filepath.Join(t.TempDir(), "order.txt")
	if err := os.WriteFile(file, []byte("an order"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"needs the part property DocumentNo with each document": {"--property", track},
		`--property "tracking" is no property`:                  {"--property", "tracking"},
	} {
		if code, text := p.acme.run(append([]string{"send", "north", file}, args...)...); code == exitFine || !strings.Contains(text, want) {
			t.Errorf("send %v: %d %s", args, code, text)
		}
	}
	p.acme.write("outbox/north/order.txt", "an order")
	var notes []string
	p.acme.await("the outbox refuses the file", func() bool {
		notes, _ = filepath.Glob(p.acme.path("outbox", "north", "rejected", "*", "order.txt.error.txt"))
		return len(notes) == 1
	})
	if text, err := os.ReadFile(notes[0]); err != nil || !strings.Contains(string(text), "needs the message property tracking") || !strings.Contains(string(text), "edigw send PARTNER FILE with --property") {
		t.Errorf("%v, the note says:\n%s", err, text)
	}
	for _, m := range everything[messageView](p.acme, "/messages", query("direction", "out")) {
		if m.State != string(queue.Refused) {
			t.Errorf("message %s is %s", m.ID, m.State)
		}
	}
}
