package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"edigw/queue"
)

// TestFullDiskRefuses gives the gateway a disk on which no file grows beyond a
// bound: what does not fit is refused with 507 before it is accepted, the rest
// goes on, and with room again everything does.
func TestFullDiskRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	large := bytes.Repeat([]byte("a line of an invoice\r\n"), 100_000)
	s.env = []string{largestFile + "=" + strconv.Itoa(1<<20)}
	s.start()
	small := s.sent("northwind", "INV-1", []byte("an invoice"))
	_, err := s.send("northwind", "INV-2", large)
	if p := problemOf(err); p == nil || p.Status != http.StatusInsufficientStorage || p.Slug() != "disk-full" {
		t.Errorf("a document that does not fit: %v; want 507 disk-full", err)
	}
	if m := s.end(small.ID); m.State != string(queue.Delivered) {
		t.Errorf("the one that fits is %s", m.State)
	}
	s.kill()
	s.env = nil
	s.start()
	again := s.sent("northwind", "INV-2", large)
	s.settled()
	reckon(s, c, small.ID, again.ID)
}

// TestFullDiskOfTheLedger fills the database itself: documents are refused with
// 507 at some point, none that was accepted is lost, and after a restart with
// room all of them are delivered once.
func TestFullDiskOfTheLedger(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	s.kill()
	s.env = []string{largestFile + "=" + strconv.Itoa(1536<<10)}
	s.start()
	var accepted []string
	full := false
	for n := range 2000 {
		m, err := s.send("northwind", fmt.Sprint("INV-", n), fmt.Appendf(nil, "invoice %d", n))
		if err == nil {
			accepted = append(accepted, m.ID)
			continue
		}
		if p := problemOf(err); p == nil || p.Status != http.StatusInsufficientStorage {
			t.Fatalf("document %d: %v; want 507", n, err)
		}
		full = true
		break
	}
	if !full {
		t.Fatalf("%d documents were accepted and the disk is not full", len(accepted))
	}
	s.get("/messages/"+accepted[0], nil, new(any)) // it still answers
	s.kill()
	s.env = nil
	s.start()
	s.settled()
	t.Logf("%d documents were accepted before the disk was full", len(accepted))
	reckon(s, c, accepted...)
}
