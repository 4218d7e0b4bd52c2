package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edigw/partner"
)

// doorway is a server behind a limited listener.
type doorway struct {
	t    *testing.T
	l    *limitedListener
	log  *lines
	busy chan struct{} // requests for /busy stay until it is closed
}

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newDoorway(t *testing.T, most places) *doorway {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &doorway{t: t, log: &lines{}, busy: make(chan struct{})}
	d.l = newLimitedListener(tcp, "test", most, slog.New(slog.NewTextHandler(d.log, nil)), func(error) {})
	server := &http.Server{ConnState: d.l.state, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-d.busy
		}
	})}
	go server.Serve(d.l)
	t.Cleanup(func() { close(d.busy); server.Close() })
	return d
}

// connect opens a connection from an address of loopback; with a path it asks
// and reads the head of the answer.
func (d *doorway) connect(from, path string) net.Conn {
	d.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	c, err := dialer.Dial("tcp", d.l.Addr().String())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if path != "" && !d.asks(c, path) {
		d.t.Fatalf("no answer to %s from %s", path, from)
	}
	return c
}

func (d *doorway) asks(c net.Conn, path string) bool {
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	line, err := bufio.NewReaderSize(c, 16).ReadString(' ')
	return err == nil && line == "HTTP/1.1 "
}

// closed reports whether the other side ended the connection.
func closed(c net.Conn) bool {
	_, err := io.Copy(io.Discard, c)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func TestOneAddressHoldsOnlySoMany(t *testing.T) {
	t.Parallel()
	d := newDoorway(t, places{all: 100, one: 5})
	for range 5 {
		d.connect("127.0.0.2", "/busy")
	}
	for range 20 {
		if !closed(d.connect("127.0.0.2", "")) {
			t.Fatal("a connection beyond the bound is open")
		}
	}
	d.connect("127.0.0.3", "/")
	if n := strings.Count(d.log.String(), "too many connections"); n != 1 {
		t.Errorf("the log tells it %d times:\n%s", n, d.log)
	}
}

// TestIdleConnectionsMakeRoom: who only holds connections gives way to who
// asks, and work is not cut.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	d := newDoorway(t, places{all: 8, one: 4})
	work := d.connect("127.0.0.9", "/busy")
	idle := []net.Conn{d.connect("127.0.0.2", "/")}
	for i := range 6 {
		idle = append(idle, d.connect(fmt.Sprintf("127.0.0.%d", 2+i%3), ""))
	}
	for i := range 4 {
		d.connect(fmt.Sprintf("127.0.1.%d", i+1), "/busy")
	}
	for i, c := range idle[:2] {
		if !closed(c) {
			t.Errorf("idle connection %d is still open", i)
		}
	}
	d.l.mu.Lock()
	n, from := len(d.l.open), len(d.l.from)
	d.l.mu.Unlock()
	if n > 8 || from > n {
		t.Errorf("%d connections from %d addresses", n, from)
	}
	_ = work.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if closed(work) {
		t.Error("a request at work was cut")
	}
}

func TestPlacesAreFreeAgain(t *testing.T) {
	t.Parallel()
	d := newDoorway(t, places{all: 2, one: 1})
	for range 50 {
		c := d.connect("127.0.0.2", "/")
		c.Close()
		for deadline := time.Now().Add(10 * time.Second); ; {
			d.l.mu.Lock()
			n := len(d.l.open) + len(d.l.from)
			d.l.mu.Unlock()
			if n == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d places are held", n)
			}
		}
	}
}

// failing is a listener without descriptors.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	if err != nil {
		return nil, err
	}
	c, _ := net.Pipe()
	return c, nil
}

func TestFailuresToAcceptAreToldOnceAStretch(t *testing.T) {
	t.Parallel()
	none := &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	f := &failing{errs: []error{none, none, none, nil, none, none, net.ErrClosed}}
	log, starved := &lines{}, 0
	l := newLimitedListener(f, "partners", places{10, 10}, slog.New(slog.NewTextHandler(log, nil)), func(error) { starved++ })
	for len(f.errs) > 0 {
		_, _ = l.Accept()
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 2 || starved != 2 || strings.Count(log.String(), "accepted again") != 1 {
		t.Errorf("told %d times, starved %d times:\n%s", n, starved, log)
	}
}

func TestAddressesThatCountAsOne(t *testing.T) {
	t.Parallel()
	for a, b := range map[string]string{
		"192.0.2.1:1": "192.0.2.1:2", "[2001:db8::1]:1": "[2001:db8::ffff:2]:2", "[::ffff:192.0.2.1]:1": "192.0.2.1:9", "[fe80::1%eth0]:1": "[fe80::2]:1",
	} {
		if originOf(a) != originOf(b) {
			t.Errorf("%s and %s are two", a, b)
		}
	}
	for a, b := range map[string]string{"192.0.2.1:1": "192.0.2.2:1", "[2001:db8::1]:1": "[2001:db8:0:1::1]:1"} {
		if originOf(a) == originOf(b) {
			t.Errorf("%s and %s are one", a, b)
		}
	}
}

// TestListenersLeaveDescriptors: what both may open, with what exchanges and
// the store need, is within the limit.
func TestListenersLeaveDescriptors(t *testing.T) {
	t.Parallel()
	for _, sockets := range []int{10, 400, 2000, 50000} {
		g := &partner.Gateway{Limits: partner.Limits{Sockets: sockets}}
		least := uint64(g.Descriptors())
		for _, limit := range []uint64{least, least + 1, 2 * least, 1 << 16, 1 << 20, 1<<64 - 1} {
			if limit < least {
				continue
			}
			p, c := share(g, limit)
			if p.all < 64 || c.all < 32 || p.one < 8 || c.one < 8 || p.one > p.all/2 || c.one > c.all/2 || p.all > mostPartners || c.all > mostConsole {
				t.Errorf("%d sockets, limit %d: partners %+v, console %+v", sockets, limit, p, c)
			}
			if need := uint64(p.all*partnersFiles + c.all*consoleFiles + 2*sockets + 200); need > limit {
				t.Errorf("%d sockets: partners %+v and console %+v need %d of %d", sockets, p, c, need, limit)
			}
		}
		if p, c := share(g, 1<<20); sockets == 2000 && (p.all != mostPartners || c.all != mostConsole) {
			t.Errorf("where there is room: partners %+v, console %+v", p, c)
		}
	}
}
