package exchange_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"edigw/fault"
	"edigw/internal/exchange"
)

// short is the limit that must pass; eased is one that must pass, too, but
// leaves a slow machine the steps before; long must not pass.
const (
	short = 50 * time.Millisecond
	eased = 2 * time.Second
	long  = time.Minute
)

func TestRow78TimeOutsByPhase(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limits exchange.Limits
		size   int64
		script func(t *testing.T) func(net.Conn, *bufio.Reader)
		phase  fault.Phase
		status int
		words  string
	}{
		"the partner stops reading": {
			limits: exchange.Limits{Send: short, Response: long}, size: 256 << 20,
			script: func(t *testing.T) func(net.Conn, *bufio.Reader) {
				return func(_ net.Conn, r *bufio.Reader) { readHeader(r); <-t.Context().Done() }
			},
			phase: fault.PhaseBody, words: "no progress in sending",
		},
		"no answer": {
			limits: exchange.Limits{Send: long, Response: short}, size: 10,
			script: func(t *testing.T) func(net.Conn, *bufio.Reader) {
				return func(_ net.Conn, r *bufio.Reader) { readRequest(r); <-t.Context().Done() }
			},
			phase: fault.PhaseSent, words: "no answer within",
		},
		"headers never end": {
			limits: exchange.Limits{Send: long, Response: short}, size: 10,
			script: func(t *testing.T) func(net.Conn, *bufio.Reader) {
				return func(c net.Conn, r *bufio.Reader) {
					readRequest(r)
					io.WriteString(c, "HTTP/1.1 200 OK\r\nServer: x\r\n")
					<-t.Context().Done()
				}
			},
			phase: fault.PhaseSent, words: "no answer within",
		},
		"the answer stalls": {
			limits: exchange.Limits{Send: short, Response: long}, size: 10,
			script: func(t *testing.T) func(net.Conn, *bufio.Reader) {
				return func(c net.Conn, r *bufio.Reader) {
					readRequest(r)
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
					<-t.Context().Done()
				}
			},
			phase: fault.PhaseResponse, status: 200, words: "stopped for 50ms before its end",
		},
		"the answer trickles": {
			limits: exchange.Limits{Send: long, Response: eased}, size: 10,
			script: func(*testing.T) func(net.Conn, *bufio.Reader) {
				return func(c net.Conn, r *bufio.Reader) {
					readRequest(r)
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
					tick := time.NewTicker(time.Millisecond)
					defer tick.Stop()
					for range tick.C {
						if _, err := c.Write([]byte("x")); err != nil {
							return
						}
					}
				}
			},
			phase: fault.PhaseResponse, status: 200, words: "was not complete within",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := listen(t, nil, tc.script(t))
			c := client(t, exchange.Settings{})
			body := io.LimitReader(zeros{}, tc.size)
			ctx, cancel := context.WithTimeout(context.Background(), 2*long)
			defer cancel()
			res, out := exchange.Do(ctx, c, post(t, "http://"+p.addr, body, tc.size), tc.limits)
			wantOutcome(t, out, tc.phase, fault.CauseTimeout, tc.words)
			if out.Status != tc.status {
				t.Errorf("status: got %d, want %d", out.Status, tc.status)
			}
			if tc.status != 0 && (res == nil || !res.Truncated) {
				t.Errorf("response: got %+v, want a truncated one", res)
			}
		})
	}
}

func TestResponseTimeRunsFromTheLastByteSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			io.Copy(io.Discard, req.Body)
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})}
		// Sending takes longer than all the time for the answer.
		slow := &paced{left: 10, pause: 30 * time.Second}
		l := exchange.Limits{Send: time.Minute, Response: 2 * time.Minute}
		began := time.Now()
		_, out := exchange.Do(t.Context(), c, post(t, "http://as2.northwind.example", slow, 10), l)
		wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
		if took := time.Since(began); took != 5*time.Minute {
			t.Errorf("sending took %v, want 5 min", took)
		}
	})
}

// paced gives one byte a pause, in fake time.
type paced struct {
	left  int
	pause time.Duration
}

func (p *paced) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	<-time.After(p.pause)
	p.left--
	b[0] = 'x'
	return 1, nil
}

func TestConnectTimeOut(t *testing.T) {
	t.Parallel()
	// A listener whose queue is full takes no more connections.
	full := fullListener(t)
	_, out := send(t, client(t, exchange.Settings{Connect: short}), "http://"+full, "x")
	wantOutcome(t, out, fault.PhaseConnect, fault.CauseConnectTimeout, "in the time allowed")
}

func TestTLSTimeOut(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, func(net.Conn, *bufio.Reader) { <-t.Context().Done() })
	_, out := send(t, client(t, exchange.Settings{Connect: eased}), "https://"+p.addr, "x")
	wantOutcome(t, out, fault.PhaseTLS, fault.CauseTLSTimeout)
}

func TestStopping(t *testing.T) {
	t.Parallel()
	t.Run("before the first body byte is not reached", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(context.Background())
		p := listen(t, nil, func(net.Conn, *bufio.Reader) {
			cancel(exchange.ErrStopping) // connected, and waiting for a TLS server that says nothing
			<-t.Context().Done()
		})
		_, out := exchange.Do(ctx, client(t, exchange.Settings{}), post(t, "https://"+p.addr, strings.NewReader("x"), 1), limits())
		if out.Cause != fault.CauseStopped || out.Phase.Reached() {
			t.Errorf("got %s %q (%s), want stopped, not reached", out.Phase, out.Cause, out.Detail)
		}
	})
	t.Run("after everything was sent is reached", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(context.Background())
		p := listen(t, nil, func(_ net.Conn, r *bufio.Reader) {
			readRequest(r)
			cancel(exchange.ErrStopping)
			<-t.Context().Done()
		})
		_, out := exchange.Do(ctx, client(t, exchange.Settings{}), post(t, "http://"+p.addr, strings.NewReader("x"), 1), limits())
		wantOutcome(t, out, fault.PhaseSent, fault.CauseStopped, "stopped")
	})
	t.Run("another cancellation does not look like a time-out", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errors.New("operator"))
		_, out := exchange.Do(ctx, client(t, exchange.Settings{}), post(t, "http://127.0.0.1:1", strings.NewReader("x"), 1), limits())
		if out.Cause != fault.CauseStopped || out.Phase.Reached() {
			t.Errorf("got %s %q, want stopped, not reached", out.Phase, out.Cause)
		}
	})
}

// fullListener gives an address whose accept queue is full.
func fullListener(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	const plenty = 1024 // a kernel may round the length of the queue up
	for range plenty {
		c, err := net.DialTimeout("tcp", addr, eased)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatalf("the queue of a listener that never accepts took %d connections", plenty)
	return ""
}
