package wire

import (
	"net/http"
	"sync"
	"time"

	"edigw/internal/exchange"
	"edigw/partner"
)

// idle is how long a partner's client is kept without use: its connections are
// closed by then anyway.
const idle = 5 * time.Minute

// clients holds one HTTP client for each partner in use, so that no partner
// takes another's connections.
type clients struct {
	now  func() time.Time
	mu   sync.Mutex
	held map[string]*client
	next time.Time // when idle ones are looked for
}

type client struct {
	key  string // partner.Snapshot.TransportKey that it was made from
	http *http.Client
	used time.Time
}

// Client gives the HTTP client for a partner under the settings in force, and
// the bounds of an exchange. The error is that of partner.Snapshot.Transport.
func (d *Desk) Client(snapshot *partner.Snapshot, id string) (*http.Client, exchange.Limits, error) {
	now := d.now()
	key := snapshot.TransportKey(id, now)
	p, _ := snapshot.Partner(id)
	limits := exchange.Limits{Now: d.now}
	if p != nil {
		limits.Send, limits.Response = p.Timeout.Send, p.Timeout.Response
	}
	if c := d.clients.get(id, key); c != nil {
		return c, limits, nil
	}
	settings, err := snapshot.Transport(id, d.now)
	if err != nil {
		return nil, limits, err
	}
	c, err := exchange.NewClient(settings)
	if err != nil {
		return nil, limits, err
	}
	return d.clients.put(id, key, c), limits, nil
}

// get gives the held client if it was made from key.
func (h *clients) get(id, key string) *http.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.held[id]
	if c == nil || c.key != key {
		return nil
	}
	c.used = h.now()
	return c.http
}

// put holds a new client, unless somebody else was faster, and forgets those
// that nobody used for a while. Exchanges that run with them end undisturbed.
func (h *clients) put(id, key string, c *http.Client) *http.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if old := h.held[id]; old != nil {
		if old.key == key {
			return old.http
		}
		old.http.CloseIdleConnections()
	}
	h.held[id] = &client{key: key, http: c, used: now}
	if now.After(h.next) {
		h.next = now.Add(idle)
		for other, c := range h.held {
			if now.Sub(c.used) > idle {
				c.http.CloseIdleConnections()
				delete(h.held, other)
			}
		}
	}
	return c
}
