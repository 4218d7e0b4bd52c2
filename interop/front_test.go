package interop

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// front stands before a program as a load balancer does, and hears what passes.
// Closed, it cuts every connection at once.
type front struct {
	recording
	address string
	behind  string
	closed  atomic.Bool
	cut     atomic.Int64 // connections that came while it was closed
	open    sync.Map     // connections that are carried through
}

func newFront(t *testing.T, behind string) *front {
	t.Helper()
	f := &front{address: freeAddress(), behind: behind}
	l, err := net.Listen("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			work.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		f.open.Range(func(conn, _ any) bool {
			conn.(net.Conn).Close()
			return true
		})
		work.Wait()
	})
	return f
}

// serve carries one connection through until either side has said all. Not a
// byte of it is changed.
func (f *front) serve(conn net.Conn) {
	f.open.Store(conn, true)
	defer func() {
		f.open.Delete(conn)
		conn.Close()
	}()
	if f.closed.Load() {
		f.cut.Add(1)
		return
	}
	inner, err := net.Dial("tcp", f.behind)
	if err != nil {
		return // what is behind is down: so is its front
	}
	defer inner.Close()
	asked, answered, end := f.listen()
	defer end()
	var answer sync.WaitGroup
	answer.Go(func() {
		_, _ = io.Copy(conn, io.TeeReader(inner, answered)) // whatever breaks here, the two sides see
		conn.Close()
	})
	_, _ = io.Copy(inner, io.TeeReader(conn, asked))
	if half, ok := inner.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	answer.Wait()
}
