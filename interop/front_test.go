package interop

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// front stands before edigw as a load balancer does: partners post receipts to
// it. Closed, it cuts every connection at once.
type front struct {
	address string
	behind  string
	closed  atomic.Bool
	cut     atomic.Int64 // connections that came while it was closed
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
		work.Wait()
	})
	return f
}

// serve carries one connection through until either side has said all.
func (f *front) serve(conn net.Conn) {
	defer conn.Close()
	if f.closed.Load() {
		f.cut.Add(1)
		return
	}
	inner, err := net.Dial("tcp", f.behind)
	if err != nil {
		return // edigw is down: so is its front
	}
	defer inner.Close()
	var answer sync.WaitGroup
	answer.Go(func() {
		_, _ = io.Copy(conn, inner) // whatever breaks here, the two sides see
		conn.Close()
	})
	_, _ = io.Copy(inner, conn)
	if half, ok := inner.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	answer.Wait()
}
