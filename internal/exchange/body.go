package exchange

import (
	"errors"
	"io"
	"sync"
)

var errReleased = errors.New("the exchange is over")

// sentBody hands the request's body to the transport and notes how much of it
// was taken. The transport may go on reading in its own goroutine after the
// exchange ended; release stops that.
type sentBody struct {
	rec *recorder

	mu       sync.Mutex
	body     io.ReadCloser
	taken    int64
	err      error // the body itself failed
	released bool
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released {
		return 0, errReleased
	}
	n, err := b.body.Read(p)
	if n > 0 && b.taken == 0 {
		b.rec.firstBodyByte()
	}
	b.taken += int64(n)
	switch {
	case err == nil:
		b.rec.sending()
	case errors.Is(err, io.EOF):
		b.rec.sent()
	default:
		b.err = err
	}
	return n, err
}

// Close implements io.Closer; the body is closed by release.
func (b *sentBody) Close() error { return nil }

func (b *sentBody) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.released {
		b.released = true
		b.body.Close()
	}
}

func (b *sentBody) state() (taken int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken, b.err
}
