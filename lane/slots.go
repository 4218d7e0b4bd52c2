package lane

import "sync"

// quantum is what a waiting lane may start more with each round, in bytes.
const quantum = 16 << 20

// slots shares the gateway's capacity to start among the lanes that want to,
// fair by bytes: deficit round robin, so that one lane's large files do not
// crowd out another's small ones (delivery.md §7).
type slots struct {
	wake func(*line) // called without the lock

	mu      sync.Mutex
	starts  int     // free places between choosing and the commit of `sending`
	sockets int     // free places for exchanges
	ring    []*line // lanes that want to start; next first
}

// claim is a lane's standing in the ring; guarded by slots.mu.
type claim struct {
	waiting bool
	granted bool  // places are set aside for the lane's next turn
	cost    int64 // bytes that it wants to start
	deficit int64 // bytes that it may start
}

// take asks for a start of cost bytes. If there is no room the lane is noted,
// and woken when its turn has come; places are then set aside for it.
func (q *slots) take(l *line, cost int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &l.claim
	switch {
	case c.granted:
		c.granted = false
		return true
	case q.starts > 0 && q.sockets > 0 && len(q.ring) == 0:
		q.starts--
		q.sockets--
		return true
	case !c.waiting:
		c.waiting, c.cost = true, cost
		q.ring = append(q.ring, l)
	}
	return false
}

// granted reports whether places are set aside for a lane.
func (q *slots) granted(l *line) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return l.claim.granted
}

// unused gives back what was set aside for a lane that did not want it.
func (q *slots) unused(l *line) {
	q.mu.Lock()
	granted := l.claim.granted
	l.claim.granted = false
	q.mu.Unlock()
	if granted {
		q.free(1, 1)
	}
}

// free gives places back and wakes the lanes that they go to.
func (q *slots) free(starts, sockets int) {
	q.mu.Lock()
	q.starts += starts
	q.sockets += sockets
	var lucky []*line
	for q.starts > 0 && q.sockets > 0 && len(q.ring) > 0 {
		l := q.next()
		l.claim.waiting, l.claim.granted = false, true
		q.starts--
		q.sockets--
		lucky = append(lucky, l)
	}
	q.mu.Unlock()
	for _, l := range lucky {
		q.wake(l)
	}
}

// next takes the lane whose turn it is out of the ring.
func (q *slots) next() *line {
	for {
		l := q.ring[0]
		q.ring = q.ring[1:]
		if c := &l.claim; c.cost > c.deficit+quantum && len(q.ring) > 0 {
			c.deficit += quantum
			q.ring = append(q.ring, l)
			continue
		}
		l.claim.deficit = max(0, l.claim.deficit+quantum-l.claim.cost)
		l.claim.deficit = min(l.claim.deficit, quantum)
		return l
	}
}

// asks reports whether the lane stands in the ring or has places set aside.
func (q *slots) asks(l *line) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return l.claim.waiting || l.claim.granted
}
