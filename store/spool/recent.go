package spool

import "sync"

// maxRecent bounds what is kept in memory of small bodies, in bytes.
const maxRecent = 4 << 20

// key names a body.
type key struct {
	kind Kind
	name string
}

// soonRead reports whether bodies of a kind are read again at once, to be sent
// or to be put into a folder. A receipt or a whole request is kept to be shown.
func (k Kind) soonRead() bool { return k == Payload || k == Wire }

// recent holds the small bodies that were stored last and are read again soon.
type recent struct {
	mu     sync.Mutex
	bodies map[key][]byte
	order  []key // oldest first; some may be gone
	bytes  int
}

// put keeps a body that is durable; it must not be changed any more.
func (r *recent) put(k key, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.bodies[k]; known {
		return
	}
	r.bodies[k] = body
	r.order = append(r.order, k)
	for r.bytes += cost(body); r.bytes > maxRecent || len(r.order) > maxRecent/least; r.order = r.order[1:] {
		r.forget(r.order[0])
	}
}

// least is what a body costs at least, also an empty one.
const least = 256

func cost(body []byte) int { return cap(body) + least }

// get gives a body if it is still held.
func (r *recent) get(k key) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, ok := r.bodies[k]
	return body, ok
}

// drop forgets bodies that were removed.
func (r *recent) drop(kind Kind, names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		r.forget(key{kind, name})
	}
}

func (r *recent) forget(k key) {
	if body, ok := r.bodies[k]; ok {
		delete(r.bodies, k)
		r.bytes -= cost(body)
	}
}
