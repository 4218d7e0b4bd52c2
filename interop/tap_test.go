package interop

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// tap stands before a peer as a proxy does, and keeps what passes. It can lose the
// answer to a request after the peer gave it.
type tap struct {
	address string
	behind  string // host:port of the peer

	mu     sync.Mutex
	passed []passed
	lose   map[string]bool // path: the answer to the next request there
}

// passed is one exchange, as it was on the wire.
type passed struct {
	path    string
	header  http.Header
	request []byte
	status  int
	answer  []byte
}

func newTap(t *testing.T, behind string) *tap {
	t.Helper()
	p := &tap{address: freeAddress(), behind: behind, lose: map[string]bool{}}
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
	if err != nil || p.keep(passed{r.URL.Path, r.Header, body, reply.StatusCode, answer}) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", reply.Header.Get("Content-Type"))
	w.WriteHeader(reply.StatusCode)
	_, _ = w.Write(answer) // whether it arrives, edigw sees
}

// keep notes an exchange, and says whether its answer is to be lost.
func (p *tap) keep(one passed) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(one.request) > 0 { // else it was a look whether anybody is there
		p.passed = append(p.passed, one)
	}
	lost := p.lose[one.path]
	delete(p.lose, one.path)
	return lost
}

// loseNext has the answer to the next request to a path lost.
func (p *tap) loseNext(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose[path] = true
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
