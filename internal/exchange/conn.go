package exchange

import (
	"net"
	"sync"
	"time"
)

// answerGrace is how long a failed write is held back for an answer that the
// partner sent before it closed.
const answerGrace = time.Second

// conn is a connection ready for requests, above TLS where there is any. It
// knows whether bytes left.
//
// Partners that refuse early (413, 503, a client certificate) answer and close
// at once; the transport would drop their answer for the write error, so a
// failed write waits until the reading side came to its end.
type conn struct {
	net.Conn
	proxy string // our proxy's host:port if it is who reads our requests

	mu     sync.Mutex
	state  wire
	closed bool

	readEnd chan struct{} // closed when nothing more can be read
	once    sync.Once
}

// wire is what is known of the bytes on a connection.
type wire struct {
	written  int64 // of requests, before encryption
	writing  bool  // a write is under way: its bytes may have left
	writeErr error // the first, unless reading broke before
	readErr  error // the first
}

func newConn(c net.Conn, proxy string) *conn {
	return &conn{Conn: c, proxy: proxy, readEnd: make(chan struct{})}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.mu.Lock()
		if c.state.readErr == nil && !c.closed {
			c.state.readErr = err
		}
		c.mu.Unlock()
		c.once.Do(func() { close(c.readEnd) })
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	c.state.writing = true
	c.mu.Unlock()

	n, err := c.Conn.Write(p)

	c.mu.Lock()
	c.state.writing = false
	c.state.written += int64(n)
	if err != nil && c.state.writeErr == nil && c.state.readErr == nil {
		c.state.writeErr = err
	}
	c.mu.Unlock()
	if err != nil {
		grace := time.NewTimer(answerGrace)
		defer grace.Stop()
		select {
		case <-c.readEnd:
		case <-grace.C:
		}
	}
	return n, err
}

// Close implements net.Conn. No write begins after it.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.once.Do(func() { close(c.readEnd) })
	return c.Conn.Close()
}

func (c *conn) wire() wire {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}
