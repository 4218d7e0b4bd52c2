package exchange_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/fault"
	"edigw/internal/exchange"
)

func TestAnswerIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, answering(reply(200, "<html>thanks</html>", "Content-Type: text/html", "Server: IIS", "AS2-Version: 1.2", "Set-Cookie: secret=1")))
	c := client(t, exchange.Settings{})
	res, out := send(t, c, "http://"+p.addr+"/as2", "document")
	if res == nil {
		t.Fatalf("no response: %s", out.Detail)
	}
	wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
	if res.Status != 200 || out.Status != 200 || string(res.Body) != "<html>thanks</html>" || res.Truncated {
		t.Errorf("got %d %d %q truncated %v", res.Status, out.Status, res.Body, res.Truncated)
	}
	want := map[string]string{"Content-Type": "text/html", "Server": "IIS", "As2-Version": "1.2", "Content-Length": "19"}
	if diff := cmp.Diff(want, out.Headers); diff != "" {
		t.Errorf("headers kept (-want +got):\n%s", diff)
	}
	if string(out.Head) != "<html>thanks</html>" {
		t.Errorf("head: got %q", out.Head)
	}
	if out.Timings.Connect == 0 || out.Timings.Wait == 0 {
		t.Errorf("timings: got %+v, want connect and wait", out.Timings)
	}
	if _, out = send(t, c, "http://"+p.addr+"/as2", "second"); out.Timings.Connect != 0 {
		t.Errorf("second exchange reports connecting in %v over a kept connection", out.Timings.Connect)
	}
	if got := p.conns.Load(); got != 1 {
		t.Errorf("connections: got %d, want 1 kept alive", got)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, answering(reply(307, "", "Location: http://user:pw@127.0.0.1:1/elsewhere?token=x")))
	res, out := send(t, client(t, exchange.Settings{}), "http://"+p.addr, "document")
	if res == nil || res.Status != 307 {
		t.Fatalf("got %+v (%s), want status 307", res, out.Detail)
	}
	if got := out.Headers["Location"]; got != "http://127.0.0.1:1/elsewhere" {
		t.Errorf("Location kept: got %q, want it without login and query", got)
	}
}

func TestConnectionThatNeverWas(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()

	_, out := send(t, client(t, exchange.Settings{}), "http://"+closed, "document")
	wantOutcome(t, out, fault.PhaseConnect, fault.CauseRefused, "refused by "+closed)
	if out.Suspect != closed {
		t.Errorf("suspect: got %q, want %q", out.Suspect, closed)
	}

	_, out = send(t, client(t, exchange.Settings{Resolver: noNames()}), "http://nx.invalid/as2", "document")
	wantOutcome(t, out, fault.PhaseResolve, fault.CauseDNS, "nx.invalid")
	if out.Phase.Reached() {
		t.Error("a name that was not resolved counts as reached")
	}
}

func TestNameLookupTimeOutIsDNS(t *testing.T) {
	t.Parallel()
	slow := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	_, out := send(t, client(t, exchange.Settings{Resolver: slow, Connect: short}), "http://as2.northwind.example", "x")
	wantOutcome(t, out, fault.PhaseResolve, fault.CauseDNS)
}

func TestRetryAfterBothForms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		headers []string
		want    time.Duration
		has     bool
	}{
		"seconds":                    {[]string{"Retry-After: 30"}, 30 * time.Second, true},
		"date against their clock":   {[]string{"Date: Mon, 30 Nov 2026 02:00:00 GMT", "Retry-After: Mon, 30 Nov 2026 02:05:00 GMT"}, 5 * time.Minute, true},
		"date in the past":           {[]string{"Date: Mon, 30 Nov 2026 02:00:00 GMT", "Retry-After: Sun, 29 Nov 2026 02:05:00 GMT"}, 0, true},
		"more seconds than a year":   {[]string{"Retry-After: 99999999999999999999999"}, 366 * 24 * time.Hour, true},
		"negative seconds":           {[]string{"Retry-After: -5"}, 0, false},
		"words":                      {[]string{"Retry-After: soon"}, 0, false},
		"none":                       {nil, 0, false},
		"date against our own clock": {[]string{"Retry-After: Mon, 30 Nov 2026 02:01:00 GMT"}, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := listen(t, nil, answering(reply(429, "", tc.headers...)))
			l := limits()
			l.Now = func() time.Time { return time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC) }
			_, out := exchange.Do(t.Context(), client(t, exchange.Settings{}), post(t, "http://"+p.addr, strings.NewReader("x"), 1), l)
			if out.Status != 429 || out.RetryAfter != tc.want || out.HasRetry != tc.has {
				t.Errorf("got %d %v %v, want 429 %v %v", out.Status, out.RetryAfter, out.HasRetry, tc.want, tc.has)
			}
		})
	}
}

func TestResponseCutOffKeepsItsStatus(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"content-length":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"chunk":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf",
		"last chunk":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"announced, empty": "HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
				readRequest(r)
				io.WriteString(c, text)
			})
			res, out := send(t, client(t, exchange.Settings{}), "http://"+p.addr, "document")
			if res == nil || !res.Truncated {
				t.Fatalf("got %+v (%s), want a truncated response", res, out.Detail)
			}
			wantOutcome(t, out, fault.PhaseResponse, fault.CauseReset, "before the end of its answer")
			if out.Status != res.Status || out.Status == 0 {
				t.Errorf("status: got %d and %d", out.Status, res.Status)
			}
		})
	}
}

func TestResponseIsBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		size      int
		truncated bool
	}{"at the limit": {1 << 16, false}, "one byte more": {1<<16 + 1, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := listen(t, nil, answering(reply(200, strings.Repeat("x", tc.size))))
			res, out := send(t, client(t, exchange.Settings{}), "http://"+p.addr, "document")
			if res == nil || len(res.Body) != 1<<16 || res.Truncated != tc.truncated {
				t.Fatalf("got %d bytes, truncated %v (%s), want %d, %v", len(res.Body), res.Truncated, out.Detail, 1<<16, tc.truncated)
			}
			if len(out.Head) != 4<<10 {
				t.Errorf("head: got %d bytes, want 4 KiB", len(out.Head))
			}
			wantPhase := fault.PhaseDone
			if tc.truncated {
				wantPhase = fault.PhaseResponse
			}
			wantOutcome(t, out, wantPhase, fault.CauseNone)
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, answering(reply(200, "", "X-Long: "+strings.Repeat("x", 100<<10))))
	res, out := send(t, client(t, exchange.Settings{}), "http://"+p.addr, "document")
	if res != nil {
		t.Fatal("a response with 100 KiB of headers was accepted")
	}
	wantOutcome(t, out, fault.PhaseSent, fault.CauseReset)
}

func TestAnswerThatIsNotHTTP(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, answering("220 mail.northwind.example ESMTP\r\n"))
	_, out := send(t, client(t, exchange.Settings{}), "http://"+p.addr, "document")
	wantOutcome(t, out, fault.PhaseSent, fault.CauseReset, "not HTTP")
}

// gate is a body whose first read waits, so that the other side can act first.
type gate struct {
	asked chan struct{} // closed by the first read: the connection is in use
	open  chan struct{}
	rest  io.Reader
	once  sync.Once
}

func (g *gate) Read(p []byte) (int, error) {
	g.once.Do(func() { close(g.asked) })
	<-g.open
	return g.rest.Read(p)
}

func TestResetBeforeTheFirstBodyByte(t *testing.T) {
	t.Parallel()
	body := &gate{asked: make(chan struct{}), open: make(chan struct{}), rest: strings.NewReader("document")}
	p := listen(t, nil, func(c net.Conn, _ *bufio.Reader) {
		<-body.asked
		reset(c)
		close(body.open)
	})
	_, out := exchange.Do(t.Context(), client(t, exchange.Settings{}), post(t, "http://"+p.addr, body, 8), limits())
	wantOutcome(t, out, fault.PhaseRequest, fault.CauseReset, "before anything was sent")
}

func TestResetInTheMiddleOfTheBody(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		readHeader(r)
		io.ReadFull(r, make([]byte, 1000))
		reset(c)
	})
	size := int64(64 << 20) // more than the kernel takes
	_, out := exchange.Do(t.Context(), client(t, exchange.Settings{}), post(t, "http://"+p.addr, zeros{}, size), limits())
	wantOutcome(t, out, fault.PhaseBody, fault.CauseReset, "while the document was being sent")
	if got := p.conns.Load(); got != 1 {
		t.Errorf("connections: got %d, want 1", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestResetAfterTheBody(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		readRequest(r)
		reset(c)
	})
	_, out := send(t, client(t, exchange.Settings{}), "http://"+p.addr, "document")
	wantOutcome(t, out, fault.PhaseSent, fault.CauseReset, "after everything was sent")
	if got := p.conns.Load(); got != 1 {
		t.Errorf("connections: got %d, want 1", got)
	}
}

func TestEarlyAnswerKeepsItsStatus(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(net.Conn){
		"closed at once": func(c net.Conn) { c.Close() }, // unread bytes: the kernel sends RST
		"reset":          reset,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
				readHeader(r)
				io.WriteString(c, reply(413, "too large", "Connection: close"))
				end(c)
			})
			body := &tracked{Reader: io.LimitReader(zeros{}, 64<<20)}
			req := post(t, "http://"+p.addr, body, 64<<20)
			req.Body = body
			res, out := exchange.Do(t.Context(), client(t, exchange.Settings{}), req, limits())
			// A reset may overtake the answer in the kernel; what was read counts.
			if name == "reset" && res == nil {
				wantOutcome(t, out, fault.PhaseBody, fault.CauseReset)
			} else if res == nil || res.Status != 413 || out.Status != 413 {
				t.Fatalf("got %+v %+v, want status 413", res, out)
			}
			if !body.closed {
				t.Error("the body was not closed")
			}
		})
	}
}

// tracked fails if it is read after it was closed.
type tracked struct {
	io.Reader
	closed bool
}

func (b *tracked) Close() error { b.closed = true; return nil }

func TestUnreadablePayloadIsOurFault(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, answering(reply(200, "")))
	broken := io.MultiReader(strings.NewReader("half"), errReader{})
	_, out := exchange.Do(t.Context(), client(t, exchange.Settings{}), post(t, "http://"+p.addr, broken, 100), limits())
	if out.Cause != fault.CausePayload || out.Status != 0 {
		t.Errorf("got cause %q status %d (%s), want payload", out.Cause, out.Status, out.Detail)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("disk read failed") }

func TestHeadersThatInviteReplayAreStripped(t *testing.T) {
	t.Parallel()
	heads := make(chan http.Header, 1)
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		heads <- req.Header
		reset(c)
	})
	req, err := http.NewRequest(http.MethodPost, "http://"+p.addr, bytes.NewReader([]byte("document"))) // has GetBody
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "k")
	req.Header["x-idempotency-key"] = []string{"k"}
	req.Header.Set("Expect", "100-continue")
	exchange.Do(t.Context(), client(t, exchange.Settings{}), req, limits())
	h := <-heads
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key", "Expect", "Accept-Encoding"} {
		if v, ok := h[name]; ok {
			t.Errorf("%s went out: %q", name, v)
		}
	}
	if got := p.conns.Load(); got != 1 {
		t.Errorf("connections: got %d, want 1", got)
	}
}
