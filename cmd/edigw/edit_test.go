package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/queue"
)

// TestAnEditedLetterIsDelivered: a document that failed the check at the door
// is corrected, and what was answered with 202 survives a power cut.
func TestAnEditedLetterIsDelivered(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "documents", "x12-810-invoice.edi"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(raw)
	bad := strings.Replace(good, "SE*24*", "SE*23*", 1)
	s := newSite(t, "")
	c := newCounterpart(s, "", "check: envelope\n")
	s.start()
	first := s.end(s.sent("northwind", "INV-1", []byte(bad)).ID)
	var l letterView
	s.get("/letters/"+first.Letter, nil, &l)
	if l.Reason != fault.ReasonFormat || c.visited() != 0 {
		t.Fatalf("reason %s after %d requests", l.Reason, c.visited())
	}

	edit := func(content string) (sends string, err error) {
		var out struct{ Sends string }
		err = s.api.Post(context.Background(), "/letters/"+first.Letter+"/edit", map[string]any{"content": []byte(content), "reason": "SE counted anew"}, &out)
		return out.Sends, err
	}
	if _, err := edit(strings.Replace(good, "SE*24*", "SE*25*", 1)); problemOf(err) == nil || !strings.Contains(problemOf(err).Detail, "SE01 says 25, counted 24") {
		t.Fatalf("a document that is still wrong: %v", err)
	}
	sends, err := edit(good)
	if err != nil {
		t.Fatal(err)
	}
	s.kill()
	s.start()
	next, old := s.end(sends), s.message(first.ID)
	if next.State != string(queue.Delivered) || next.Proof != string(queue.ProofReceipt) || next.Key != "INV-1" || next.MessageID == first.MessageID {
		t.Errorf("the edition is %s, proof %q, key %s", next.State, next.Proof, next.Key)
	}
	if n := c.booked(); n[next.MessageID] != 1 || n[first.MessageID] != 0 || old.State != string(queue.Superseded) {
		t.Errorf("the partner booked %v; the first is %s", n, old.State)
	}
	var sent bytes.Buffer
	if err := s.api.Download(context.Background(), "/messages/"+sends+"/payload", &sent); err != nil || sent.String() != good {
		t.Errorf("%d bytes of payload, %v", sent.Len(), err)
	}
	if _, err := edit(good); problemOf(err) == nil || problemOf(err).Status != 409 {
		t.Errorf("the second click: %v", err)
	}
	reckon(s, c, first.ID, sends)
}
