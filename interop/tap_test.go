package interop

import (
	"bytes"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// tap stands before a program as a proxy does, keeps what passes, and can do
// something to the next exchange.
type tap struct {
	address string
	behind  string // host:port of the program

	mu     sync.Mutex
	passed []passed
	next   map[string]foul // by path
}

// foul is what a tap does to one exchange.
type foul struct {
	request func([]byte) []byte // what is passed on instead
	answer  func(*passed)       // changes what was answered
	lose    bool                // the answer, after the peer gave it
}

func newTap(t *testing.T, behind string) *tap {
	t.Helper()
	p := &tap{address: freeAddress(), behind: behind, next: map[string]foul{}}
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(l) }) // until it is closed
	t.Cleanup(func() {
		server.Close()
		work.Wait()
	})
	return p
}

// ServeHTTP passes a request on. What fails here looks to edigw like a cut
// connection, which is what it is.
func (p *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f := p.foulFor(r.URL.Path, len(body) == 0)
	if f.request != nil {
		body = f.request(body)
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+p.behind+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header = r.Header.Clone()
	reply, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer reply.Body.Close()
	answer, err := io.ReadAll(reply.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	reply.Header.Del("Content-Length") // it may be another one now
	one := passed{path: r.URL.Path, header: r.Header, request: body, status: reply.StatusCode, replied: reply.Header, answer: answer}
	if f.answer != nil {
		f.answer(&one)
	}
	p.keep(one)
	if f.lose {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), one.replied)
	w.WriteHeader(one.status)
	_, _ = w.Write(one.answer) // whether it arrives, edigw sees
}

// foulFor takes what is to be done to an exchange; nothing where it is only a look
// whether anybody is there.
func (p *tap) foulFor(path string, look bool) (f foul) {
	if look {
		return f
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f = p.next[path]
	delete(p.next, path)
	return f
}

// keep notes an exchange.
func (p *tap) keep(one passed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(one.request) > 0 { // else it was a look
		p.passed = append(p.passed, one)
	}
}

// spoil has something done to the next exchange of a path.
func (p *tap) spoil(path string, f foul) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next[path] = f
}

// of gives what passed for a path.
func (p *tap) of(path string) (all []passed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.passed {
		if one.path == path {
			all = append(all, one)
		}
	}
	return all
}
