package as4

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// writeStall is how long a partner may take nothing of a message that he pulled:
// it holds its lane meanwhile.
const writeStall = time.Minute

// give writes a message as the response.
func (m Handed) give(w http.ResponseWriter) {
	defer m.Wire.Close()
	w.Header().Set("Content-Type", m.Rendition.ContentType)
	w.Header().Set("Content-Length", strconv.FormatInt(m.Rendition.Size, 10))
	w.WriteHeader(http.StatusOK)
	err := m.write(&paced{w: w, conn: http.NewResponseController(w)})
	if m.Done != nil {
		m.Done(err)
	}
}

func (m Handed) write(to *paced) error {
	if m.Cut != nil {
		defer context.AfterFunc(m.Cut, func() { to.cut(context.Cause(m.Cut)) })()
	}
	n, err := copyAll(to, m.Wire)
	switch {
	case err != nil:
		return err
	case n != m.Rendition.Size:
		return fmt.Errorf("the message has %d bytes, its record says %d", n, m.Rendition.Size)
	}
	return to.end()
}

// paced is a response that must go on, and may be cut. Deadlines of connections
// are wall clock.
type paced struct {
	w    io.Writer
	conn *http.ResponseController

	mu  sync.Mutex
	why error // it was cut
}

// Write fails when nothing was taken for writeStall, and when the response is cut.
func (p *paced) Write(b []byte) (int, error) {
	if err := p.until(time.Now().Add(writeStall)); err != nil { //nolint:forbidigo // as above
		return 0, err
	}
	n, err := p.w.Write(b)
	return n, p.told(err)
}

// end has everything go out. The next response on the connection has its own time.
func (p *paced) end() error {
	if err := p.conn.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return p.told(err)
	}
	return p.until(time.Time{})
}

func (p *paced) until(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why != nil {
		return p.why
	}
	if err := p.conn.SetWriteDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// cut ends the response, also a write that is not taken.
func (p *paced) cut(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = why
	_ = p.conn.SetWriteDeadline(time.Unix(1, 0)) // without deadlines the next write fails
}

// told says of a write that failed that it was cut.
func (p *paced) told(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && p.why != nil {
		return p.why
	}
	return err
}
