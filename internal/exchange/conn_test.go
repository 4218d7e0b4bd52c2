package exchange

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edigw/fault"
)

// deaf is a connection whose end the reader does not notice in time: the
// partner closed it while it was idle, and only the next write finds out.
type deaf struct {
	net.Conn
	dead   atomic.Bool
	closed chan struct{}
}

func (d *deaf) Write(p []byte) (int, error) {
	if d.dead.Load() {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return d.Conn.Write(p)
}

func (d *deaf) Close() error {
	select {
	case <-d.closed:
	default:
		close(d.closed)
	}
	return d.Conn.Close()
}

func TestStaleConnectionIsNotReachedAndNotReplayed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var arrivals atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; arrivals.Add(1) {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			}()
		}
	}()

	var wires []*deaf
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		wires = append(wires, &deaf{Conn: c, closed: make(chan struct{})})
		return newConn(wires[len(wires)-1], ""), nil
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	send := func() fault.Outcome {
		req, err := http.NewRequest(http.MethodPost, "http://"+l.Addr().String(), strings.NewReader("document"))
		if err != nil {
			t.Fatal(err)
		}
		_, out := Do(t.Context(), client, req, Limits{Send: time.Minute, Response: time.Minute})
		return out
	}

	if out := send(); out.Phase != fault.PhaseDone {
		t.Fatalf("first exchange: %s %s", out.Phase, out.Detail)
	}
	wires[0].dead.Store(true)
	out := send()
	if out.Phase != fault.PhaseRequest || out.Cause != fault.CauseReset {
		t.Errorf("got %s %q (%s), want request, reset", out.Phase, out.Cause, out.Detail)
	}
	if len(wires) != 1 || arrivals.Load() != 1 {
		t.Errorf("got %d connections and %d arrivals: the request was sent again", len(wires), arrivals.Load())
	}
	if out := send(); out.Phase != fault.PhaseDone || len(wires) != 2 {
		t.Errorf("afterwards: got %s over %d connections, want done over a new one", out.Phase, len(wires))
	}
}

func TestNoWriteBeginsAfterClose(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer there.Close()
	c := newConn(here, "")
	c.Close()
	if n, err := c.Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("got %d, %v, want a refusal", n, err)
	}
	if w := c.wire(); w.written != 0 || w.writing {
		t.Errorf("got %+v, want nothing written", w)
	}
}
