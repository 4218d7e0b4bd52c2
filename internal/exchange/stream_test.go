package exchange_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edigw/fault"
	"edigw/internal/exchange"
)

// stream fetches, and gives what take saw.
func stream(t *testing.T, url string, l exchange.Limits, take func(*exchange.Response, io.Reader)) fault.Outcome {
	t.Helper()
	return exchange.Stream(t.Context(), client(t, exchange.Settings{}), post(t, url, strings.NewReader("pull"), 4), l, take)
}

// TestLongAnswerIsStreamed: it is read as it comes and does not lie in memory.
func TestLongAnswerIsStreamed(t *testing.T) {
	const size = 256 << 20
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		readRequest(r)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size)
		for range size / len(chunk) {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var n int64
	var got *exchange.Response
	out := stream(t, "http://"+p.addr, limits(), func(res *exchange.Response, body io.Reader) {
		got = res
		n, _ = io.Copy(io.Discard, body)
	})
	runtime.ReadMemStats(&after)
	wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
	if n != size || got.Status != 200 || got.Body != nil || out.Status != 200 || !bytes.Equal(out.Head, chunk[:4096]) {
		t.Errorf("%d bytes of %d; %+v, head of %d", n, size, out, len(out.Head))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d MiB were allocated for it", used>>20)
	}
}

// TestStreamTellsWhatHappened: take sees what ends an answer early, and so does
// the outcome; whatever the status, the answer is read.
func TestStreamTellsWhatHappened(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer string
		hold   bool // the connection stays open
		limits exchange.Limits
		phase  fault.Phase
		cause  fault.Cause
		words  string
		body   string
		broken bool
	}{
		"whole":           {answer: reply(200, "a message"), phase: fault.PhaseDone, body: "a message"},
		"empty":           {answer: reply(200, ""), phase: fault.PhaseDone},
		"an error status": {answer: reply(503, "busy", "Retry-After: 7"), phase: fault.PhaseDone, body: "busy"},
		"cut off":         {answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", phase: fault.PhaseResponse, cause: fault.CauseReset, words: "before the end of its answer", body: "half", broken: true},
		"it stops":        {answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", hold: true, limits: exchange.Limits{Send: eased, Response: long}, phase: fault.PhaseResponse, cause: fault.CauseTimeout, words: "stopped for 2s", body: "half", broken: true},
		"no status":       {answer: "nonsense\r\n\r\n", phase: fault.PhaseSent, cause: fault.CauseReset, words: "not HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
				readRequest(r)
				io.WriteString(c, tc.answer)
				if tc.hold {
					<-t.Context().Done()
				}
			})
			if tc.limits.Send == 0 {
				tc.limits = limits()
			}
			taken, failed := []string(nil), error(nil)
			out := stream(t, "http://"+p.addr, tc.limits, func(_ *exchange.Response, body io.Reader) {
				b, err := io.ReadAll(body)
				taken, failed = append(taken, string(b)), err
				if _, again := body.Read(make([]byte, 1)); err != nil && !errors.Is(again, err) || err == nil && !errors.Is(again, io.EOF) {
					t.Errorf("then %v, after %v", again, err)
				}
			})
			wantOutcome(t, out, tc.phase, tc.cause, tc.words)
			if name == "no status" {
				if taken != nil {
					t.Errorf("take was called with %q", taken)
				}
				return
			}
			if len(taken) != 1 || taken[0] != tc.body || (failed != nil) != tc.broken || string(out.Head) != tc.body {
				t.Errorf("taken %q, %v; head %q", taken, failed, out.Head)
			}
			if want := strings.Contains(tc.answer, "Retry-After"); out.HasRetry != want || want && out.RetryAfter != 7*time.Second {
				t.Errorf("Retry-After %v %v", out.HasRetry, out.RetryAfter)
			}
		})
	}
}

func TestStreamThatIsNotWanted(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, answering(reply(200, strings.Repeat("x", 1<<20))))
	out := stream(t, "http://"+p.addr, limits(), func(_ *exchange.Response, body io.Reader) { _, _ = io.ReadFull(body, make([]byte, 10)) })
	wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
}

// slowly is a transport whose answers come in fake time.
type slowly struct{ io.Reader }

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Body: io.NopCloser(untilCancelled{r.Context().Done(), s.Reader}), Header: http.Header{}, ContentLength: -1}, err
}

// untilCancelled reads as long as the exchange is not given up, as a connection
// does.
type untilCancelled struct {
	over <-chan struct{}
	io.Reader
}

func (u untilCancelled) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	select {
	case <-u.over:
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

// portions gives so many bytes a pause, in fake time.
type portions struct {
	left, size int
	pause      time.Duration
}

func (p *portions) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	<-time.After(p.pause)
	p.left--
	return min(p.size, len(b)), nil
}

// TestStreamTakesAsLongAsItMoves: a long answer has the time that it needs, one
// that only trickles has not, and what the taker does is his own time.
func TestStreamTakesAsLongAsItMoves(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body  *portions
		every time.Duration // the taker rests so long after each read, and
		end   time.Duration // so long when all is read
		cause fault.Cause
		words string
	}{
		"an hour at 32 KiB/s":       {body: &portions{left: 3600, size: 32 << 10, pause: time.Second}},
		"an hour at 1 KiB/s":        {body: &portions{left: 3600, size: 1 << 10, pause: time.Second}, cause: fault.CauseTimeout, words: "was not complete within 5m"},
		"a stop":                    {body: &portions{left: 2, size: 1 << 20, pause: 61 * time.Second}, cause: fault.CauseTimeout, words: "stopped for 1m0s"},
		"a taker who needs time":    {body: &portions{left: 100, size: 2 << 20, pause: time.Second}, every: 100 * time.Second},
		"who needs it when it ends": {body: &portions{left: 1, size: 1, pause: time.Second}, end: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				want := int64(tc.body.left) * int64(tc.body.size)
				c := &http.Client{Transport: slowly{tc.body}}
				var n int64
				out := exchange.Stream(t.Context(), c, post(t, "http://partner.example", strings.NewReader("x"), 1), exchange.Limits{Send: time.Minute, Response: 5 * time.Minute},
					func(_ *exchange.Response, body io.Reader) {
						buf := make([]byte, 4<<20)
						for err := error(nil); err == nil; {
							var k int
							k, err = body.Read(buf)
							n += int64(k)
							<-time.After(tc.every)
						}
						<-time.After(tc.end)
					})
				if out.Cause != tc.cause || !strings.Contains(out.Detail, tc.words) {
					t.Errorf("%q: %s", out.Cause, out.Detail)
				}
				if tc.cause == "" && n != want {
					t.Errorf("%d bytes, want %d", n, want)
				}
			})
		})
	}
}

// TestStreamIsStopped: the process ends while an answer comes.
func TestStreamIsStopped(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		readRequest(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		<-begun
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	sum := sha256.New()
	out := exchange.Stream(ctx, client(t, exchange.Settings{}), post(t, "http://"+p.addr, strings.NewReader("x"), 1), limits(), func(_ *exchange.Response, body io.Reader) {
		_, _ = io.CopyN(sum, body, 4)
		cancel(exchange.ErrStopping)
		if _, err := io.Copy(sum, body); err == nil {
			t.Error("it was read to its end")
		}
		close(begun)
	})
	if out.Cause != fault.CauseStopped || out.Status != 200 {
		t.Errorf("%+v", out)
	}
}
