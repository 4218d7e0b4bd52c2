// Package exchange performs one HTTP exchange with a partner and reports how
// far it came: the phase reached, the status, what the partner said, why it
// broke.
//
// It owns the transport: trust, client certificates, our proxy, time-outs by
// phase, bounds on what a partner may send back. It refuses to decide
// anything: nothing is retried, no redirect is followed, no request is sent
// twice, and whether an outcome is good or bad is the business of package
// retry. It reads no protocol content.
package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"edigw/fault"
)

// ErrStopping is the cause (context.WithCancelCause) with which the owner of
// an exchange cancels it when the process stops.
var ErrStopping = errors.New("the gateway is stopping")

// headSize bounds the part of a response body that an Outcome keeps.
const headSize = 4 << 10

// Limits bounds one exchange. A zero field takes the value named at it.
type Limits struct {
	Body     int64            // bytes of the response body kept: 1 MiB
	Send     time.Duration    // longest time without progress, sending and receiving: 60 s
	Expect   bool             // ask before the body is sent: Expect: 100-continue (RFC 9110 §10.1.1)
	Response time.Duration    // from the last byte sent to the headers, and again from there to the end of the body: 300 s
	Now      func() time.Time // wall clock, to read a Retry-After date: time.Now
}

func (l Limits) filled() Limits {
	if l.Body <= 0 {
		l.Body = 1 << 20
	}
	if l.Send <= 0 {
		l.Send = time.Minute
	}
	if l.Response <= 0 {
		l.Response = 5 * time.Minute
	}
	if l.Now == nil {
		l.Now = time.Now
	}
	return l
}

// Response is an answer whose status and headers were read.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte // at most Limits.Body bytes
	Truncated bool   // the body ended before its announced end, or went on beyond Limits.Body
}

// Do sends req once and reads the answer. The Response is nil if no status
// was read; the Outcome is always filled, with Ack, AckAsked and Protocol left
// to the caller. A status that was read counts even if the connection breaks
// later or the answer came before everything was sent.
//
// With l.Expect the body waits for 100 Continue, at most Settings.Continue. A
// partner who gives his final answer instead gets nothing of it; if that answer
// is a 2xx, the Outcome is that of a connection that broke before the body, with
// Status 0, since there is nothing that he could have accepted. The Response
// has what he said: a refusal in the words of the protocol may be in it.
//
// Do takes req over: it strips what would let net/http send it again or wait
// unasked, and closes the body. After Do returned nobody reads the
// body any more. Credentials in the URL are not used. It blocks at most for
// the connection (Settings.Connect), the progress and the answer that l
// allows; while all connections of c are taken it waits for a free one.
func Do(ctx context.Context, c *http.Client, req *http.Request, l Limits) (*Response, fault.Outcome) {
	l = l.filled()
	var response *Response
	out := perform(ctx, c, req, l, func(rec *recorder, res *http.Response) (head []byte, truncated bool, err error) {
		response = &Response{Status: res.StatusCode, Header: res.Header}
		response.Body, response.Truncated, err = readBody(rec, res.Body, res.ContentLength, l.Body)
		return response.Body[:min(len(response.Body), headSize)], response.Truncated, err
	})
	return response, out
}

// perform sends req once; read reads the answer, and says how its body begins,
// whether not all of it was read, and what ended it early. l is filled.
func perform(ctx context.Context, c *http.Client, req *http.Request, l Limits, read func(*recorder, *http.Response) (head []byte, truncated bool, err error)) fault.Outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	rec := newRecorder(req, l, continueWait(c), cancel)
	defer rec.watch.stop()

	res, err := roundTripper(c).RoundTrip(rec.prepare(ctx, req))
	defer rec.release()
	if err != nil {
		return rec.failure(ctx, err)
	}
	defer res.Body.Close()
	rec.headersRead()
	out := rec.answer(res, l.Now())
	if rec.withheld() && res.StatusCode >= 200 && res.StatusCode < 300 {
		out = rec.unasked(out)
	}
	head, truncated, err := read(rec, res)
	out.Head = head
	rec.finish(ctx, &out, truncated, err, l.Body)
	return out
}

// continueWait is how long the client waits for 100 Continue.
func continueWait(c *http.Client) time.Duration {
	if t, ok := roundTripper(c).(*http.Transport); ok {
		return t.ExpectContinueTimeout
	}
	return 0
}

func roundTripper(c *http.Client) http.RoundTripper {
	if c == nil || c.Transport == nil {
		return http.DefaultTransport
	}
	return c.Transport
}

// readBody keeps at most limit bytes of about as many as are announced. The error
// is what ended the body early; it is nil for a body that is merely too long.
func readBody(rec *recorder, r io.Reader, announced, limit int64) (body []byte, truncated bool, err error) {
	kept := bytes.NewBuffer(make([]byte, 0, min(max(announced, 0), usualBody)+bytes.MinRead))
	_, err = kept.ReadFrom(io.LimitReader(progressReader{r, rec}, limit))
	body = kept.Bytes()
	if err != nil {
		return body, true, err
	}
	if int64(len(body)) < limit {
		return body, false, nil
	}
	// The limit may have been met exactly: only one byte more tells.
	n, err := io.ReadFull(r, make([]byte, 1))
	switch {
	case n > 0:
		return body, true, nil
	case errors.Is(err, io.EOF):
		return body, false, nil
	}
	return body, true, err
}

// usualBody is what an announcement alone may make us take of memory.
const usualBody = 16 << 10

// progressReader moves the watch with every byte of the response.
type progressReader struct {
	io.Reader
	rec *recorder
}

func (p progressReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if n > 0 {
		p.rec.received()
	}
	return n, err
}

// finish completes the outcome of an exchange whose status was read.
func (r *recorder) finish(ctx context.Context, out *fault.Outcome, truncated bool, err error, limit int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out.Timings = r.timings
	out.Timings.Receive = time.Since(r.headersAt)
	switch {
	case err != nil && out.Cause == fault.CauseNone:
		out.Cause, out.Detail = r.brokenAnswer(ctx, err)
	case truncated && out.Cause == fault.CauseNone:
		out.Detail = fmt.Sprintf("The answer (status %d) is longer than %d bytes, the rest was not read", out.Status, limit)
	case out.Phase == fault.PhaseResponse:
		out.Phase = fault.PhaseDone
	}
}
