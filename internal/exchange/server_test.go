package exchange_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"edigw/fault"
	"edigw/internal/exchange"
)

// partner is a scripted server on loopback.
type partner struct {
	addr  string
	conns atomic.Int32
}

// listen answers every connection with script; the connection closes when the
// script returns. With a config it speaks TLS.
func listen(t *testing.T, config *tls.Config, script func(c net.Conn, r *bufio.Reader)) *partner {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &partner{addr: l.Addr().String()}
	var open sync.Map
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.conns.Add(1)
			open.Store(c, true)
			running.Go(func() {
				defer c.Close()
				if config != nil {
					c = tls.Server(c, config)
				}
				script(c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		running.Wait()
	})
	return p
}

// answering reads whole requests and answers each with the raw text.
func answering(text string) func(net.Conn, *bufio.Reader) {
	return func(c net.Conn, r *bufio.Reader) {
		for readRequest(r) == nil {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

func readRequest(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

func readHeader(r *bufio.Reader) {
	for {
		line, err := r.ReadString('\n')
		if err != nil || strings.TrimSpace(line) == "" {
			return
		}
	}
}

// reset closes a connection with RST.
func reset(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

func reply(status int, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.String()
}

func client(t *testing.T, s exchange.Settings) *http.Client {
	t.Helper()
	if s.Connect == 0 {
		s.Connect = long
	}
	c, err := exchange.NewClient(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func post(t *testing.T, url string, body io.Reader, length int64) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, io.NopCloser(body))
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = length
	return req
}

// send posts text and gives what came of it.
func send(t *testing.T, c *http.Client, url, text string) (*exchange.Response, fault.Outcome) {
	t.Helper()
	return exchange.Do(t.Context(), c, post(t, url, strings.NewReader(text), int64(len(text))), limits())
}

func limits() exchange.Limits {
	return exchange.Limits{Body: 1 << 16, Send: long, Response: long}
}

// noNames is a resolver whose name server cannot be reached.
func noNames() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, io.ErrUnexpectedEOF
	}}
}

func wantOutcome(t *testing.T, got fault.Outcome, phase fault.Phase, cause fault.Cause, words ...string) {
	t.Helper()
	if got.Phase != phase || got.Cause != cause {
		t.Errorf("got phase %s, cause %q (%s), want %s, %q", got.Phase, got.Cause, got.Detail, phase, cause)
	}
	for _, w := range words {
		if !strings.Contains(got.Detail, w) {
			t.Errorf("detail %q does not say %q", got.Detail, w)
		}
	}
}
