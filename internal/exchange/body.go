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
	rec   *recorder
	asked chan struct{} // closed when the body may go out
	over  chan struct{} // closed by release
	once  sync.Once     // closes asked

	mu       sync.Mutex
	body     io.ReadCloser
	taken    int64
	err      error // the body itself failed
	released bool
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	if !b.admitted() {
		return 0, errReleased
	}
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

// admitted waits until the body may go out. The transport sends it to a partner
// who gave his final answer instead of 100 Continue, to keep the connection;
// here it is held back until that answer was read.
func (b *sentBody) admitted() bool {
	if !b.wentOut() && b.rec.overdue() {
		b.goOn()
	}
	select {
	case <-b.asked:
		return true
	case <-b.over:
		return false
	}
}

// wentOut reports whether the body was let out.
func (b *sentBody) wentOut() bool {
	select {
	case <-b.asked:
		return true
	default:
		return false
	}
}

func (b *sentBody) goOn() { b.once.Do(func() { close(b.asked) }) }

// Close implements io.Closer; the body is closed by release.
func (b *sentBody) Close() error { return nil }

func (b *sentBody) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.released {
		b.released = true
		close(b.over)
		b.body.Close()
	}
}

func (b *sentBody) state() (taken int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken, b.err
}
