package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/as2"
	"edigw/queue"
)

// TestSendWaitInterrupted: --wait that a signal ends says that the document is
// still under way, with exit code 3.
func TestSendWaitInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "timeout: {response: 5m}\n")
	reached := make(chan struct{})
	c.play(func(v *visit) { v.read(); close(reached); v.wait() })
	s.start()
	s.write("doc.txt", "a document")
	cmd := s.command("send", "northwind", "doc.txt", "--wait")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says how it ended
	if code := cmd.ProcessState.ExitCode(); code != exitPartly || !strings.Contains(errs.String(), "still under way; edigw message show") {
		t.Errorf("exit code %d, want %d: %s%s", code, exitPartly, out.String(), errs.String())
	}
}

// TestSendTakesNothingGoodOutOfTheLine: a correction that is dead on arrival
// leaves the document that waits where it is; one that is good replaces it, and
// says so on both sides.
func TestSendTakesNothingGoodOutOfTheLine(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "documents", "x12-810-invoice.edi"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(raw)
	s := newSite(t, "")
	c := newCounterpart(s, "", "check: envelope\n")
	s.start()
	if code, text := s.run("partner", "stop", "northwind", "--reason", "test"); code != exitFine {
		t.Fatalf("stop: exit code %d\n%s", code, text)
	}
	send := func(name, content string, want int) (id, said string) {
		t.Helper()
		s.write(name, content)
		code, said := s.run("send", "northwind", name)
		if code != want {
			t.Fatalf("send %s: exit code %d, want %d\n%s", name, code, want, said)
		}
		id, _, _ = strings.Cut(said, " ")
		return id, said
	}
	first, _ := send("first.edi", good, exitFine)
	bad, _ := send("bad.edi", strings.Replace(good, "SE*24*", "SE*23*", 1), exitPartly)
	if m := s.message(first); m.State != string(queue.Queued) && m.State != string(queue.Waiting) {
		t.Fatalf("the good document is %s after a bad one", m.State)
	}
	err = s.api.Post(context.Background(), "/letters/"+s.message(bad).Letter+"/replay", map[string]any{}, nil)
	if p := problemOf(err); p == nil || p.Status != 428 || !strings.Contains(string(p.Raw), `"changed-content"`) {
		t.Errorf("replay of the bad one: %v", err)
	}
	next, said := send("next.edi", strings.Replace(good, "*EA*12.5*", "*EA*12.75*", 1), exitFine)
	if want := "replaces " + bad + " and " + first + ", which are not sent any more"; !strings.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	for _, id := range []string{first, bad} {
		if _, text := s.run("message", "show", id); !strings.Contains(text, "replaced by edition "+next) {
			t.Errorf("message show %s:\n%s", id, text)
		}
	}
	if code, text := s.run("partner", "start", "northwind"); code != exitFine {
		t.Fatalf("start: exit code %d\n%s", code, text)
	}
	last := s.end(next)
	if n := c.booked(); last.State != string(queue.Delivered) || len(n) != 1 || n[last.MessageID] != 1 {
		t.Errorf("%s, booked %v", last.State, n)
	}
	reckon(s, c, first, bad, next)
}

// TestSendSeveralFiles: --attach makes one message of several files; each arrives
// as it was, the first is the document, and the same files again are the same
// message.
func TestSendSeveralFiles(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "documents", "x12-850-order.edi"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, "")
	c := newCounterpart(s, ", encrypt: none, transfer_encoding: base64, content_type: application/edi-consent", "check: envelope\n")
	c.agreement.Receive = as2.Receive{Signed: true}
	bodies := make(chan string, 2)
	c.play(func(v *visit) {
		v.serve()
		bodies <- string(v.body)
	})
	s.start()
	drawing := "%PDF\x00\r\n--\n\n"
	s.write("order.edi", string(raw))
	s.write("Zeichnung.pdf", drawing)
	s.write("terms", "no known name\n")
	code, said := s.run("send", "northwind", "order.edi", "--attach", "Zeichnung.pdf", "--attach", "terms")
	if code != exitFine {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	id, _, _ := strings.Cut(said, " ")
	if m := s.end(id); m.State != string(queue.Delivered) {
		t.Fatalf("%s: %s", m.State, m.Detail)
	}
	body := <-bodies
	for _, want := range []string{
		"Content-Type: multipart/related; type=\"application/edi-x12\"; boundary=\"",
		"Content-Type: application/edi-x12\r\nContent-Transfer-Encoding: binary\r\nContent-Disposition: attachment; filename=\"order.edi\"\r\n\r\n" + string(raw) + "\r\n--",
		"Content-Type: application/pdf\r\nContent-Transfer-Encoding: binary\r\nContent-Disposition: attachment; filename=\"Zeichnung.pdf\"\r\n\r\n" + drawing + "\r\n--",
		"Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\nContent-Disposition: attachment; filename=\"terms\"\r\n\r\nno known name\n\r\n--",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the message lacks %q", want)
		}
	}
	if code, again := s.run("send", "northwind", "order.edi", "--attach", "Zeichnung.pdf", "--attach", "terms"); code != exitFine || !strings.Contains(again, id+" is here already") {
		t.Errorf("the same again: exit code %d\n%s", code, again)
	}
	if code, text := s.run("send", "northwind", "order.edi", "--attach", "absent.pdf"); code != exitFailed || !strings.Contains(text, "absent.pdf") {
		t.Errorf("without the attachment: exit code %d\n%s", code, text)
	}
	if code, text := s.run("send", "northwind", "order.edi", "--attach", "keys"); code != exitFailed || !strings.Contains(text, "is a folder") {
		t.Errorf("a folder attached: exit code %d\n%s", code, text)
	}
}
