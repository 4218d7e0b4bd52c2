package exchange_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/internal/exchange"
)

// ask posts text and lets the partner be asked first.
func ask(t *testing.T, p *partner, settings exchange.Settings, text string) (*exchange.Response, fault.Outcome) {
	t.Helper()
	l := limits()
	l.Expect = true
	return exchange.Do(t.Context(), client(t, settings), post(t, "http://"+p.addr+"/as2", strings.NewReader(text), int64(len(text))), l)
}

// expected reads the header of a request and tells whether it asks.
func expected(t *testing.T, r *bufio.Reader) *http.Request {
	t.Helper()
	req, err := http.ReadRequest(r)
	if err != nil {
		t.Error(err)
		return nil
	}
	if got := req.Header.Get("Expect"); got != "100-continue" {
		t.Errorf("Expect: got %q", got)
	}
	return req
}

func TestBodyFollows100Continue(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		req := expected(t, r)
		if r.Buffered() > 0 {
			t.Error("the body came unasked")
		}
		io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
		body, _ := io.ReadAll(req.Body)
		got <- string(body)
		io.WriteString(c, reply(200, "thanks"))
	})
	res, out := ask(t, p, exchange.Settings{Continue: long}, "document")
	wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
	if res == nil || string(res.Body) != "thanks" || <-got != "document" {
		t.Errorf("answer %+v", res)
	}
}

// TestBodyFollowsSilence: the wait for 100 Continue is bounded.
func TestBodyFollowsSilence(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		if body, err := io.ReadAll(expected(t, r).Body); err != nil || string(body) != "document" {
			t.Errorf("body %q, %v", body, err)
		}
		io.WriteString(c, reply(200, "thanks"))
	})
	res, out := ask(t, p, exchange.Settings{Continue: time.Millisecond}, "document")
	wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
	if res == nil || res.Status != 200 {
		t.Errorf("answer %+v", res)
	}
}

// TestRefusalBeforeTheBody: the answer counts, and no byte of the document goes
// to a partner who refused it, whatever he does with the connection.
func TestRefusalBeforeTheBody(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]string{"keeps the connection": nil, "closes": {"Connection: close"}} {
		for _, status := range []int{401, 413, 417, 503} {
			t.Run(name+" "+http.StatusText(status), func(t *testing.T) {
				t.Parallel()
				rest := make(chan string, 1)
				p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
					expected(t, r)
					io.WriteString(c, reply(status, "no", headers...))
					more, _ := io.ReadAll(r)
					rest <- string(more)
				})
				res, out := ask(t, p, exchange.Settings{Continue: long}, "document")
				wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
				if res == nil || res.Status != status || string(res.Body) != "no" {
					t.Errorf("answer %+v", res)
				}
				if got := <-rest; got != "" {
					t.Errorf("it got %q after its refusal", got)
				}
			})
		}
	}
}

// TestThanksForNothing: a partner who says 200 without having asked for the
// document has not got it, so it must be sent again. What he said can be read.
func TestThanksForNothing(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]string{"keeps the connection": nil, "closes": {"Connection: close"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
				expected(t, r)
				io.WriteString(c, reply(200, "thanks", headers...))
				io.Copy(io.Discard, r)
			})
			res, out := ask(t, p, exchange.Settings{Continue: long}, "document")
			wantOutcome(t, out, fault.PhaseRequest, fault.CauseReset, "without having taken the document")
			if out.Status != 0 || out.Phase.Reached() || string(out.Head) != "thanks" {
				t.Errorf("outcome %+v", out)
			}
			if res == nil || res.Status != 200 || string(res.Body) != "thanks" {
				t.Errorf("answer %+v", res)
			}
		})
	}
}

// TestConnectionBreaksAroundTheQuestion: before 100 Continue nothing of the
// document left; after it, that is not known.
func TestConnectionBreaksAroundTheQuestion(t *testing.T) {
	t.Parallel()
	t.Run("instead of it", func(t *testing.T) {
		t.Parallel()
		p := listen(t, nil, func(_ net.Conn, r *bufio.Reader) { expected(t, r) })
		_, out := ask(t, p, exchange.Settings{Continue: long}, "document")
		wantOutcome(t, out, fault.PhaseRequest, fault.CauseReset, "before anything was sent")
	})
	t.Run("instead of it, with another transport", func(t *testing.T) {
		t.Parallel()
		p := listen(t, nil, func(_ net.Conn, r *bufio.Reader) { expected(t, r) })
		transport := &http.Transport{ExpectContinueTimeout: long}
		t.Cleanup(transport.CloseIdleConnections)
		l := limits()
		l.Expect = true
		_, out := exchange.Do(t.Context(), &http.Client{Transport: transport}, post(t, "http://"+p.addr, strings.NewReader("document"), 8), l)
		wantOutcome(t, out, fault.PhaseRequest, fault.CauseReset, "before anything was sent")
	})
	t.Run("after the body", func(t *testing.T) {
		t.Parallel()
		p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
			req := expected(t, r)
			io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
			io.Copy(io.Discard, req.Body)
		})
		_, out := ask(t, p, exchange.Settings{Continue: long}, "document")
		wantOutcome(t, out, fault.PhaseSent, fault.CauseReset, "after everything was sent")
	})
	t.Run("within the answer's headers", func(t *testing.T) {
		t.Parallel()
		p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
			expected(t, r)
			io.WriteString(c, "HTTP/1.1 401 Unau")
		})
		_, out := ask(t, p, exchange.Settings{Continue: time.Millisecond}, "document")
		if out.Status != 0 || out.Cause != fault.CauseReset {
			t.Errorf("outcome %+v", out)
		}
	})
}

// TestSilenceForeverIsATimeOut: the question does not switch the bounds off.
func TestSilenceForeverIsATimeOut(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, func(_ net.Conn, r *bufio.Reader) { io.Copy(io.Discard, r) })
	l := limits()
	l.Expect, l.Response = true, short
	_, out := exchange.Do(t.Context(), client(t, exchange.Settings{Continue: time.Millisecond}), post(t, "http://"+p.addr, strings.NewReader("document"), 8), l)
	wantOutcome(t, out, fault.PhaseSent, fault.CauseTimeout)
}

// TestNobodyIsAskedUnbidden: a caller's own Expect does not get through, and an
// empty body asks nothing.
func TestNobodyIsAskedUnbidden(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if got := req.Header.Get("Expect"); got != "" {
				t.Errorf("Expect: %q", got)
			}
			io.Copy(io.Discard, req.Body)
			io.WriteString(c, reply(200, ""))
		}
	})
	c := client(t, exchange.Settings{})
	req := post(t, "http://"+p.addr, strings.NewReader("x"), 1)
	req.Header.Set("Expect", "100-continue")
	if _, out := exchange.Do(t.Context(), c, req, limits()); out.Status != 200 {
		t.Error(out.Detail)
	}
	l := limits()
	l.Expect = true
	req = post(t, "http://"+p.addr, strings.NewReader(""), 0)
	req.Body = http.NoBody
	if _, out := exchange.Do(t.Context(), c, req, l); out.Status != 200 {
		t.Error(out.Detail)
	}
}

// TestWaitIsNoStall: the partner may say nothing for as long as we wait, however
// short the time without progress is that the settings allow.
func TestWaitIsNoStall(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		io.Copy(io.Discard, expected(t, r).Body)
		io.WriteString(c, reply(200, "thanks"))
	})
	l := limits()
	l.Expect, l.Send = true, 10*short // a busy machine makes pauses, too
	_, out := exchange.Do(t.Context(), client(t, exchange.Settings{Continue: 3 * l.Send}), post(t, "http://"+p.addr, strings.NewReader("document"), 8), l)
	wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
}
