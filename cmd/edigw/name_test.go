package main

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"edigw/queue"
)

// TestNamesWithBlanksQuotesAndBackslashes: AS2 names that must be quoted go
// through the partner's file, the sheet and the headers, and the receipt that
// comes back fits (as2.md §2.1 rule 1).
func TestNamesWithBlanksQuotesAndBackslashes(t *testing.T) {
	t.Parallel()
	const ours, theirs = `ACME "DE" \ Nord`, `North "Wind" C:\AS2`
	s := newSite(t, "")
	settings, err := os.ReadFile(s.path("edigw.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("edigw.yaml", strings.Replace(string(settings), "as2: ACME-AS2", "as2: '"+ours+"'", 1))
	c := idleCounterpart(s)
	c.server = httptest.NewServer(c)
	t.Cleanup(c.close)
	c.agreement.From, c.agreement.To = theirs, ours
	code, said := s.run("partner", "new", "nw", "--name", `The "Wind"`, "--as2-id", theirs, "--address", c.server.URL+"/as2", "--cert", "keys/northwind.crt",
		"--software", "", "--receipt", "sync", "--when-down", "hold", "--owner", "EDI desk")
	if code != exitFine {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	sheet, err := os.ReadFile(s.path("partners", "nw-sheet.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if want := ours + `   (in headers: "ACME \"DE\" \\ Nord")`; !strings.Contains(string(sheet), want) {
		t.Errorf("the sheet lacks %q:\n%s", want, sheet)
	}
	s.start()
	s.write("doc.txt", "a document")
	code, said = s.run("send", "nw", "doc.txt")
	if code != exitFine {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	id, _, _ := strings.Cut(said, " ")
	if m := s.end(id); m.State != string(queue.Delivered) {
		t.Errorf("%s: %s", m.State, m.Detail)
	}
}
