package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of what anybody may ask of the partners' listener, before it is known
// who he is: a slow or silent client costs a little for a little while.
const (
	mostBodies  = 256              // requests at once
	mostFromOne = 64               // of these from one address
	bodyStall   = 60 * time.Second // longest time without a byte
	slowest     = 1 << 10          // bytes a second, on average after the first bodyStall
)

// errSlow ends a request whose body comes too slowly.
var errSlow = errors.New("the body comes too slowly")

// guard stands before the partners' endpoints: it bounds how many requests run
// and how slowly a body may come, and refuses one that announces more than
// limit bytes at once.
type guard struct {
	next  http.Handler
	limit int64

	mu   sync.Mutex
	all  int
	from map[string]int
}

func newGuard(next http.Handler, limit int64) *guard {
	return &guard{next: next, limit: limit, from: map[string]int{}}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > g.limit {
		w.Header().Set("Connection", "close")
		http.Error(w, fmt.Sprintf("The message is larger than %d bytes.", g.limit), http.StatusRequestEntityTooLarge)
		return
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if !g.enter(host) {
		w.Header().Set("Retry-After", "10")
		w.Header().Set("Connection", "close")
		http.Error(w, "Too many requests at once; please try again.", http.StatusServiceUnavailable)
		return
	}
	defer g.leave(host)
	c := http.NewResponseController(w)
	r.Body = &watched{ReadCloser: r.Body, deadline: c.SetReadDeadline, begin: time.Now()}
	g.next.ServeHTTP(w, r)
}

func (g *guard) enter(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= mostBodies || g.from[host] >= mostFromOne {
		return false
	}
	g.all++
	g.from[host]++
	return true
}

func (g *guard) leave(host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.from[host]--; g.from[host] == 0 {
		delete(g.from, host)
	}
}

// watched is a body that must go on. Deadlines of connections are wall clock.
type watched struct {
	io.ReadCloser
	deadline func(time.Time) error
	begin    time.Time
	read     int64
}

// Read fails when nothing comes for bodyStall, or less than slowest on average.
func (b *watched) Read(p []byte) (int, error) {
	if took := time.Since(b.begin); took > bodyStall && b.read < int64(took.Seconds())*slowest {
		return 0, errSlow
	}
	if err := b.deadline(time.Now().Add(bodyStall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil {
		_ = b.deadline(time.Time{}) // the next request on this connection has its own
	}
	return n, err
}
