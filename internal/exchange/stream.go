package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"edigw/fault"
)

// slowest is what a long answer must bring on average, in bytes a second, once
// the time is over that any answer has.
const slowest = 16 << 10

// Stream is Do for an answer that may be long: take reads it while it comes,
// once, and nothing of it is kept but its beginning, for the Outcome. It is
// called with every answer whose status was read, whatever that is; Body and
// Truncated of the Response are not set. A body that take does not read to its
// end is cut off.
//
// The time-outs are those of Do with two differences: what take does between two
// reads is not the partner's lack of progress, and an answer that goes on has more
// time than Limits.Response, as long as it brings 16 KiB a second on average. How
// much it may be is for take to say. Nothing that take does after it has seen the
// end of the body counts.
func Stream(ctx context.Context, c *http.Client, req *http.Request, l Limits, take func(*Response, io.Reader)) fault.Outcome {
	l = l.filled()
	l.Body = 0
	return perform(ctx, c, req, l, func(rec *recorder, res *http.Response) (head []byte, truncated bool, err error) {
		b := &streamed{rec: rec, body: res.Body}
		rec.watch.rest()
		take(&Response{Status: res.StatusCode, Header: res.Header}, b)
		return b.head, false, b.err
	})
}

// streamed is an answer while it is read.
type streamed struct {
	rec  *recorder
	body io.Reader
	head []byte
	over bool
	err  error // what ended it early
}

// Read implements io.Reader.
func (b *streamed) Read(p []byte) (int, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.over:
		return 0, io.EOF
	}
	b.rec.received()
	n, err := b.body.Read(p)
	b.rec.watch.rest()
	if n > 0 {
		b.head = append(b.head, p[:min(n, headSize-len(b.head))]...)
		b.rec.watch.extend(time.Duration(n) * (time.Second / slowest))
	}
	switch {
	case errors.Is(err, io.EOF):
		b.over = true
	case err != nil:
		b.err = err
	}
	return n, err
}
