package demo

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// reopening bounds how long a partner tries to get its port back.
const reopening = 5 * time.Second

// premises is where a scripted partner answers: a port on loopback that goes
// down and comes back. It is safe for concurrent use.
type premises struct {
	id      string
	address string       // host and port
	server  http.Handler // set before it is opened

	mu     sync.Mutex
	listen net.Listener // nil while it is down
	http   *http.Server
}

// premisesAt is where the partner of a settings file is sent to.
func premisesAt(id, address string) (*premises, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	return &premises{id: id, address: u.Host}, nil
}

// open listens at the partner's address and serves.
func (p *premises) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listen != nil {
		return nil
	}
	l, err := listen(p.address)
	if err != nil {
		return fmt.Errorf("demo: %s: %w", p.id, err)
	}
	server := &http.Server{Handler: p.server, ReadHeaderTimeout: 10 * time.Second}
	p.listen, p.http = l, server
	go func() { _ = server.Serve(l) }() // ends when both are closed
	return nil
}

// listen waits for a port that was given up a moment ago, or that a program which
// is being started still holds: it has copies of our sockets until it runs.
func listen(address string) (net.Listener, error) {
	for end := time.Now().Add(reopening); ; {
		l, err := net.Listen("tcp", address)
		if err == nil || time.Now().After(end) {
			return l, err
		}
		<-time.After(50 * time.Millisecond)
	}
}

// close goes down: connections are refused, running exchanges cut.
func (p *premises) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listen != nil {
		p.listen.Close()
		_ = p.http.Close() // whoever was in the middle of an exchange is cut off
		p.listen, p.http = nil, nil
	}
}
