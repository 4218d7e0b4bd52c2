package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Bounds of what anybody may ask of the partners' listener, before it is known
// who he is: a slow or silent client costs a little for a little while.
const (
	mostBodies    = 256              // requests at once
	mostStrangers = mostBodies / 4   // of these in names that no partner has
	mostOfPartner = mostBodies / 4   // of these in the names of one partner
	mostFromOne   = 64               // of these from one address,
	strangersOne  = 16               // and so many in names that no partner has
	strangerTime  = 2 * time.Minute  // for the whole body of a stranger
	bodyStall     = 60 * time.Second // longest time without a byte
	slowest       = 1 << 10          // bytes a second, on average after the first bodyStall,
	longBody      = 10 * time.Minute // and after that
	slowestLong   = 8 << 10          // so many
)

// errSlow ends a request whose body comes too slowly.
var errSlow = errors.New("the body comes too slowly")

// guard stands before the partners' endpoints: it bounds how many requests run
// and how slowly a body may come, and refuses one that announces more than
// limit bytes at once. Who uses names that no partner has, has a share of his
// own, so that strangers shut out nobody but strangers; he may use the names of
// a partner if he knows them, and then shuts out that one alone. Over AS4 nobody
// is known before his envelope was read (see identified): until then he is among
// the strangers, and they can shut him out.
type guard struct {
	next  http.Handler
	limit int64
	known func(*http.Request) (partner string, ok bool)

	mu        sync.Mutex
	all       int
	from      map[netip.Addr]int
	partners  map[string]int
	strangers map[netip.Addr]int // addresses of requests in unknown names
	unknown   int                // how many these are
}

func newGuard(next http.Handler, limit int64, known func(*http.Request) (string, bool)) *guard {
	return &guard{next: next, limit: limit, known: known, from: map[netip.Addr]int{}, partners: map[string]int{}, strangers: map[netip.Addr]int{}}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := arriving{from: originOf(r.RemoteAddr)}
	v.partner, v.known = g.known(r)
	if !v.known {
		w.Header().Set("Connection", "close") // idle, he would only take a place
	}
	if r.ContentLength > g.limit {
		w.Header().Set("Connection", "close")
		http.Error(w, fmt.Sprintf("The message is larger than %d bytes.", g.limit), http.StatusRequestEntityTooLarge)
		return
	}
	if !g.enter(v) {
		w.Header().Set("Retry-After", "10")
		w.Header().Set("Connection", "close")
		http.Error(w, "Too many requests at once; please try again.", http.StatusServiceUnavailable)
		return
	}
	defer func() { g.leave(v) }()
	b := &watched{ReadCloser: r.Body, deadline: http.NewResponseController(w).SetReadDeadline, begin: time.Now()}
	if !v.known {
		b.last = b.begin.Add(strangerTime)
	}
	r.Body = b
	inside := &passage{guard: g, who: &v, body: b, w: w}
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, inside)))
}

// passage is a request while it is served.
type passage struct {
	guard *guard
	who   *arriving
	body  *watched
	w     http.ResponseWriter
}

type visitKey struct{}

// identified says whose names a request uses that began as a stranger's: AS4
// names its parties in the envelope, not in the header. It has the share and the
// time of that partner from here on; false if the share is used up. It is for the
// goroutine that serves the request.
func identified(r *http.Request, partner string) bool {
	v, ok := r.Context().Value(visitKey{}).(*passage)
	if !ok || v.who.known {
		return true
	}
	g := v.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.partners[partner] >= mostOfPartner {
		return false
	}
	g.count(*v.who, -1)
	v.who.partner, v.who.known = partner, true
	g.count(*v.who, 1)
	v.body.last = time.Time{}
	v.w.Header().Del("Connection")
	return true
}

// arriving is who asks, as far as he says.
type arriving struct {
	from    netip.Addr
	partner string
	known   bool
}

func (g *guard) enter(v arriving) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	full := g.all >= mostBodies || g.from[v.from] >= mostFromOne
	if v.known {
		full = full || g.partners[v.partner] >= mostOfPartner
	} else {
		full = full || g.unknown >= mostStrangers || g.strangers[v.from] >= strangersOne
	}
	if full {
		return false
	}
	g.count(v, 1)
	return true
}

func (g *guard) leave(v arriving) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(v, -1)
}

// count notes that a request begins (1) or ends (-1). The caller holds g.mu.
func (g *guard) count(v arriving, n int) {
	g.all += n
	add(g.from, v.from, n)
	if v.known {
		add(g.partners, v.partner, n)
		return
	}
	g.unknown += n
	add(g.strangers, v.from, n)
}

// add keeps only what is not 0.
func add[K comparable](m map[K]int, key K, n int) {
	if m[key] += n; m[key] == 0 {
		delete(m, key)
	}
}

// watched is a body that must go on. Deadlines of connections are wall clock.
type watched struct {
	io.ReadCloser
	deadline func(time.Time) error
	begin    time.Time
	last     time.Time // it must have come by then; zero: whenever
	read     int64
}

// Read fails when nothing comes for bodyStall, when less comes than is asked on
// average, or when the time is over.
func (b *watched) Read(p []byte) (int, error) {
	now := time.Now()
	if late := !b.last.IsZero() && !now.Before(b.last); late || b.read < due(now.Sub(b.begin)) {
		return 0, errSlow
	}
	until := now.Add(bodyStall)
	if !b.last.IsZero() && b.last.Before(until) {
		until = b.last
	}
	if err := b.deadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil {
		_ = b.deadline(time.Time{}) // the next request on this connection has its own
	}
	return n, err
}

// due is how much of a body must have come after some time.
func due(took time.Duration) int64 {
	seconds := int64(took / time.Second)
	switch {
	case took <= bodyStall:
		return 0
	case took <= longBody:
		return seconds * slowest
	}
	return int64(longBody/time.Second)*slowest + (seconds-int64(longBody/time.Second))*slowestLong
}
