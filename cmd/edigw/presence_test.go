package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/queue"
	"edigw/store/sqlite"
)

// TestLostEndOfTheLedger kills the gateway and takes away the log of its
// database, in which the last results lie: it does not start as if they had
// never been. With the log back all is as it was; without it a backup of what
// is left becomes a restored installation, whose partners are not sent to until
// an operator says so.
func TestLostEndOfTheLedger(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	m := s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
	s.kill()
	log := s.path("data", sqlite.FileName+"-wal")
	if info, err := os.Stat(log); err != nil || info.Size() == 0 {
		t.Fatalf("the kill left no log: %v", err)
	}
	if err := os.Rename(log, s.path("kept-wal")); err != nil {
		t.Fatal(err)
	}
	if code, text := s.run("serve"); code != exitFailed || !strings.Contains(text, "edigw.db lacks what was committed at 20") || !strings.Contains(text, "edigw.db-wal") {
		t.Fatalf("without its log: exit code %d: %s", code, text)
	}
	if code, text := s.run("backup", "rest.tar"); code != exitFine || !strings.Contains(text, "lacks what was committed last") {
		t.Errorf("backup of the rest: exit code %d: %s", code, text)
	}
	if err := os.Rename(s.path("kept-wal"), log); err != nil {
		t.Fatal(err)
	}
	s.start()
	if again := s.message(m.ID); again.State != string(queue.Delivered) {
		t.Errorf("with its log back: %s", again.State)
	}
	s.kill()

	if err := os.Rename(s.path("data"), s.path("data.broken")); err != nil {
		t.Fatal(err)
	}
	if code, text := s.run("restore", "rest.tar"); code != exitFine {
		t.Fatalf("restore: exit code %d: %s", code, text)
	}
	s.start()
	var p partnerView
	s.get("/partners/northwind", nil, &p)
	if p.State != string(queue.LaneStopped) {
		t.Errorf("after the restore the lane is %s", p.State)
	}
	if n := len(c.arrived(m.MessageID)); n != 1 {
		t.Errorf("%d bodies arrived, want the first alone", n)
	}
}

// TestSecondGatewayStaysOut: a data folder has one gateway, whatever somebody
// removes in it; and its database is missed.
func TestSecondGatewayStaysOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	s.start()
	s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
	if err := os.Remove(s.path("data", sqlite.LockName)); err != nil {
		t.Fatal(err)
	}
	if code, text := s.run("serve"); code != exitFailed || !strings.Contains(text, "edigw already runs here: process ") {
		t.Errorf("beside another: exit code %d: %s", code, text)
	}
	s.stop()

	files, err := filepath.Glob(s.path("data", sqlite.FileName+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Rename(f, s.path(filepath.Base(f))); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"serve"}, {"backup", "nothing.tar"}} {
		if code, text := s.run(args...); code != exitFailed || !strings.Contains(text, "edigw.db is missing, but the folder was in use") {
			t.Errorf("%v without a database: exit code %d: %s", args, code, text)
		}
	}
	for _, f := range files {
		if err := os.Rename(s.path(filepath.Base(f)), f); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	s.settled()
}

// TestDomainIsFixed: check names another identity.domain, and serve refuses it,
// also where the file that remembers it is gone.
func TestDomainIsFixed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	s.start()
	s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
	s.stop()
	good, err := os.ReadFile(s.path("edigw.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("edigw.yaml", strings.Replace(string(good), "edi.acme.example", "other.example", 1))
	if code, text := s.run("check"); code != exitFailed || !strings.Contains(text, "edigw.yaml:1: identity.domain: was edi.acme.example, is other.example") {
		t.Errorf("check: exit code %d: %s", code, text)
	}
	for _, why := range []string{"remembers it", "has it"} {
		if code, text := s.run("serve"); code != exitFailed || !strings.Contains(text, "identity.domain is other.example, but documents were sent with edi.acme.example") || !strings.Contains(text, why) {
			t.Errorf("serve: exit code %d: %s", code, text)
		}
		if err := os.Remove(s.path("data", domainName)); err != nil && why != "has it" {
			t.Fatal(err)
		}
	}
	s.write("edigw.yaml", string(good))
	if code, text := s.run("check"); code != exitFine {
		t.Errorf("check, set back: exit code %d: %s", code, text)
	}
	s.start()
	s.settled()
}
