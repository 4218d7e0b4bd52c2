package main

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"edigw/fault"
	"edigw/partner"
)

// Bounds of the connections of a listener, if the descriptors allow that many.
const (
	mostPartners = 4096
	mostConsole  = 2048
	quietFor     = time.Minute // between two lines in the log about refused connections
)

// What a connection costs: its socket and the files that a request may have
// open meanwhile.
const (
	partnersFiles = 4
	consoleFiles  = 2
)

// places is how many connections a listener may hold, and of these from one
// address.
type places struct{ all, one int }

// share divides the descriptors that exchanges and the store do not need among
// the listeners, half to partners and a quarter to the console: whatever
// strangers open, lanes, database and the other listener have theirs.
func share(g *partner.Gateway, limit uint64) (partners, console places) {
	const most = partnersFiles * mostPartners * 2
	own := uint64(g.Descriptors() - partner.DoorDescriptors) //nolint:gosec // a small number
	spare := partner.DoorDescriptors
	if limit > own {
		spare = max(spare, int(min(limit-own, most))) //nolint:gosec // at most most
	}
	p := min(mostPartners, spare/2/partnersFiles)
	c := min(mostConsole, spare/4/consoleFiles)
	return places{p, max(8, p/8)}, places{c, c / 2}
}

// limitedListener is one that holds only so many connections, in all and from
// one address, an IPv6 network of 64 bits being one. A newcomer beyond the
// first bound takes the place of the one that has waited longest without a
// request; beyond the second it is closed at once.
type limitedListener struct {
	net.Listener
	name    string
	places  places
	log     *slog.Logger
	starved func(error) // told when the system gives no descriptor, once a stretch

	mu      sync.Mutex
	open    map[*guest]struct{}
	from    map[netip.Addr]int
	told    time.Time // when a refusal was last logged
	failing bool
}

func newLimitedListener(l net.Listener, name string, most places, log *slog.Logger, starved func(error)) *limitedListener {
	return &limitedListener{Listener: l, name: name, places: most, log: log, starved: starved, open: map[*guest]struct{}{}, from: map[netip.Addr]int{}}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		l.accepted(err)
		if err != nil {
			return nil, err
		}
		if g := l.admit(c); g != nil {
			return g, nil
		}
		_ = c.Close()
	}
}

// accepted tells of a stretch of failures when it begins and when it ends.
// net/http goes on after each.
func (l *limitedListener) accepted(err error) {
	l.mu.Lock()
	began, ended := err != nil && !l.failing && !errors.Is(err, net.ErrClosed), err == nil && l.failing
	l.failing = l.failing && !ended || began
	l.mu.Unlock()
	switch {
	case began:
		l.log.Error("no connection can be accepted", "door", l.name, "err", err)
		if fault.OutOfFiles(err) {
			l.starved(err)
		}
	case ended:
		l.log.Warn("connections are accepted again", "door", l.name)
	}
}

// admit gives a connection its place, or nil if there is none.
func (l *limitedListener) admit(c net.Conn) *guest {
	g := &guest{Conn: c, list: l, origin: originOf(c.RemoteAddr().String()), since: time.Now()}
	l.mu.Lock()
	var out *guest
	ok := l.from[g.origin] < l.places.one
	if ok && len(l.open) >= l.places.all {
		out = l.longestWaiting()
		ok = out != nil
	}
	if out != nil {
		l.forget(out)
	}
	if ok {
		l.open[g] = struct{}{}
		l.from[g.origin]++
	}
	tell := (!ok || out != nil) && g.since.Sub(l.told) >= quietFor
	if tell {
		l.told = g.since
	}
	l.mu.Unlock()
	if tell {
		l.log.Warn("too many connections at once: some are closed", "door", l.name, "from", g.origin.String(), "most", l.places.all, "most_from_one", l.places.one)
	}
	if out != nil {
		_ = out.Conn.Close()
	}
	if !ok {
		return nil
	}
	return g
}

// longestWaiting is the connection that has been without a request for the
// longest time; nil if all are at work. The caller holds l.mu.
func (l *limitedListener) longestWaiting() *guest {
	var oldest *guest
	for g := range l.open {
		if !g.busy && (oldest == nil || g.since.Before(oldest.since)) {
			oldest = g
		}
	}
	return oldest
}

// forget frees the place of a connection, once. The caller holds l.mu.
func (l *limitedListener) forget(g *guest) {
	if _, there := l.open[g]; !there {
		return
	}
	delete(l.open, g)
	if l.from[g.origin]--; l.from[g.origin] == 0 {
		delete(l.from, g.origin)
	}
}

// state is http.Server.ConnState: it notes which connections are at work.
func (l *limitedListener) state(c net.Conn, s http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	g, ok := c.(*guest)
	if !ok || s == http.StateNew { // it waits since it was accepted
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g.busy, g.since = s == http.StateActive, time.Now()
}

// guest is a connection that has a place.
type guest struct {
	net.Conn
	list   *limitedListener
	origin netip.Addr
	since  time.Time // of its newest state
	busy   bool      // a request runs
}

// Close implements net.Conn; it frees the place.
func (g *guest) Close() error {
	g.list.mu.Lock()
	g.list.forget(g)
	g.list.mu.Unlock()
	return g.Conn.Close()
}

// CloseWrite lets net/http end an answer while the client still sends.
func (g *guest) CloseWrite() error {
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return g.Conn.Close()
}

// ReadFrom lets net/http hand files to the kernel.
func (g *guest) ReadFrom(r io.Reader) (int64, error) {
	if to, ok := g.Conn.(io.ReaderFrom); ok {
		return to.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{g.Conn}, r)
}

// originOf is what counts as one address: an IPv4 address, or the network of
// an IPv6 one, since a customer has that to himself.
func originOf(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() {
		return netip.PrefixFrom(a, 64).Masked().Addr()
	}
	return a
}

// openFiles is the limit on open files of this process, 0 if it is not known.
func openFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Cur
}
