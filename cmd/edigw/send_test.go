package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
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
