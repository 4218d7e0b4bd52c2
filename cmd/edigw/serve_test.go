package main

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edigw/queue"
)

// TestServeOncePerFolder: a second gateway on the same data names the first.
func TestServeOncePerFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.start()
	code, text := s.run("serve")
	if code != exitFailed || !strings.Contains(text, strconv.Itoa(s.process.Process.Pid)) {
		t.Errorf("exit code %d, want %d and the pid %d in: %s", code, exitFailed, s.process.Process.Pid, text)
	}
	s.get("/partners", nil, new(any)) // the first one is not disturbed
}

// TestServeSaysWhichPort: an address in use is told with its key.
func TestServeSaysWhichPort(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	l, err := net.Listen("tcp", s.receive)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, text := s.run("serve")
	if code != exitFailed || !strings.Contains(text, "listen.partners") || !strings.Contains(text, s.receive) || !strings.Contains(text, "in use") {
		t.Errorf("exit code %d, want %d and what is in use in: %s", code, exitFailed, text)
	}
	l.Close()
	s.start() // nothing of the failed start stands in the way
}

// TestRow34StopDrains: SIGTERM lets an exchange end, refuses what is new, and the
// process ends well.
func TestRow34StopDrains(t *testing.T) {
	t.Parallel()
	s := newSite(t, "stop_timeout: 20s\n")
	c := newCounterpart(s, "", "lane: {concurrency: 1}\n")
	reached, goOn := make(chan struct{}), make(chan struct{})
	c.play(func(v *visit) {
		if v.n == 1 {
			close(reached)
			<-goOn
		}
		v.serve()
	})
	s.start()
	first := s.sent("northwind", "INV-1", []byte("an invoice"))
	second := s.sent("northwind", "INV-2", []byte("another invoice"))
	<-reached
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await("new documents are refused", func() bool {
		_, err := s.send("northwind", "INV-3", []byte("a third invoice"))
		p := problemOf(err)
		return p != nil && p.Status == 503
	})
	close(goOn)
	select {
	case err := <-s.ended:
		if err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the gateway does not end")
	}
	s.process = nil
	if n := len(c.booked()); n != 1 {
		t.Errorf("%d documents were booked before the end, want the one that was on its way", n)
	}
	s.start()
	for _, m := range s.settled() {
		if m.State != string(queue.Delivered) || m.Uncertain || told(s.message(m.ID), queue.EventCrashed) {
			t.Errorf("%s is %s, uncertain %v", m.Key, m.State, m.Uncertain)
		}
	}
	reckon(s, c, first.ID, second.ID)
}

// TestStopTimeoutCuts: an exchange that does not end is cut after stop_timeout;
// its outcome is unknown, and the attempt does not count.
func TestStopTimeoutCuts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "stop_timeout: 1s\n")
	c := newCounterpart(s, "", "timeout: {response: 5m}\n")
	reached := make(chan struct{})
	c.play(func(v *visit) {
		if v.n > 1 {
			v.serve()
			return
		}
		v.read()
		v.process()
		close(reached)
		v.wait()
	})
	s.start()
	m := s.sent("northwind", "INV-1", []byte("an invoice"))
	<-reached
	s.stop() // the partner would keep it for 5 minutes; stop has less patience
	s.start()
	m = s.end(m.ID)
	if m.State != string(queue.Delivered) || c.visited() != 2 {
		t.Errorf("%s after %d requests", m.State, c.visited())
	}
	for _, a := range m.Attempts[:len(m.Attempts)-1] {
		if a.Counted {
			t.Errorf("attempt %d was cut by us and counted", a.N)
		}
	}
	reckon(s, c, m.ID)
}
