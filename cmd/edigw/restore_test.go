package main

import (
	"os"
	"testing"

	"edigw/queue"
)

// TestRestoreOfOldBackup goes back to a backup that was made while a document
// waited; since then it was delivered. It becomes uncertain, its lane stays
// stopped until an operator starts it, and then the partner gets the same
// Message-ID and books nothing twice.
func TestRestoreOfOldBackup(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	before := s.sent("northwind", "INV-1", []byte("an invoice"))
	s.end(before.ID)
	s.post("/partners/northwind/stop", map[string]string{"reason": "test"}, nil)
	waits := s.sent("northwind", "INV-2", []byte("another invoice"))
	if code, text := s.run("backup", "old.tar"); code != exitFine {
		t.Fatalf("backup: exit code %d: %s", code, text)
	}
	s.post("/partners/northwind/start", nil, nil)
	if m := s.end(waits.ID); m.State != string(queue.Delivered) {
		t.Fatalf("the document is %s before the disaster", m.State)
	}
	after := s.sent("northwind", "INV-3", []byte("a third invoice"))
	s.end(after.ID)
	s.kill()

	if code, text := s.run("restore", "old.tar"); code != exitFailed {
		t.Errorf("a restore over data: exit code %d: %s", code, text)
	}
	if err := os.Rename(s.path("data"), s.path("data.broken")); err != nil {
		t.Fatal(err)
	}
	if code, text := s.run("restore", "old.tar"); code != exitFine {
		t.Fatalf("restore: exit code %d: %s", code, text)
	}
	s.start()
	m := s.message(waits.ID)
	var p partnerView
	s.get("/partners/northwind", nil, &p)
	if !m.Uncertain || m.done() || p.State != string(queue.LaneStopped) {
		t.Errorf("after the restore: %s, uncertain %v, lane %s; want uncertain and stopped", m.State, m.Uncertain, p.State)
	}
	if n := len(c.arrived(m.MessageID)); n != 1 {
		t.Errorf("%d bodies arrived before an operator started the lane, want the first alone", n)
	}
	if code, text := s.run("partner", "start", "--all-partners"); code != exitFine {
		t.Fatalf("start: exit code %d: %s", code, text)
	}
	again := s.sent("northwind", "INV-3", []byte("a third invoice")) // its ERP sends it again
	for _, m := range s.settled() {
		if m.State != string(queue.Delivered) {
			t.Errorf("%s is %s", m.Key, m.State)
		}
	}
	if again.MessageID != after.MessageID {
		t.Errorf("Message-ID %s, before the restore %s", again.MessageID, after.MessageID)
	}
	for id, n := range c.booked() {
		if n != 1 {
			t.Errorf("%s was booked %d times", id, n)
		}
	}
	if n := len(c.booked()); n != 3 {
		t.Errorf("%d documents were booked, want 3", n)
	}
}
