package lane

import (
	"slices"
	"sync"
)

// quantum is what a waiting lane may start more with each round, in bytes.
const quantum = 16 << 20

// slots shares the gateway's capacity to start among the lanes that want to,
// fair by bytes: deficit round robin, so that one lane's large files do not
// crowd out another's small ones (delivery.md §7).
//
// A fifth of the sockets is kept for lanes that have nothing in flight, and
// half of that for those of them whose partner answered the last exchange.
// However many exchanges hang, and with however many partners, one that works
// gets its next document (delivery.md §2.4).
type slots struct {
	wake func(*line) // called without the lock

	mu      sync.Mutex
	starts  int             // free places between choosing and the commit of `sending`
	sockets int             // free places for exchanges
	leave   [ranks]int      // sockets that a lane of a rank must leave free
	rings   [ranks][]*line  // lanes that want to start, by ticket
	ticket  uint64          // given out last
	proven  map[string]bool // lanes whose partner answered the last exchange
}

// rank is how strong a lane's right to a socket is.
type rank int

// Ranks, the weakest first.
const (
	busy  rank = iota // has something in flight
	still             // has nothing in flight
	sound             // has nothing in flight, and the partner answered last
	ranks
)

// claim is a lane's standing among those that want to start; guarded by
// slots.mu.
type claim struct {
	held    int // sockets
	waiting bool
	granted bool   // places are set aside for the lane's next turn
	rank    rank   // of the ring that it waits in
	ticket  uint64 // its place; the rings are one line of which each rank may start or not
	cost    int64  // bytes that it wants to start
	deficit int64  // bytes that it may start
}

func (q *slots) init(starts, sockets int, wake func(*line)) {
	kept := min(max(1, sockets/5), sockets-1)
	q.wake, q.starts, q.sockets, q.proven = wake, starts, sockets, map[string]bool{}
	q.leave = [ranks]int{busy: kept, still: (kept + 1) / 2}
}

// take asks for a start of cost bytes. If there is no room the lane is noted,
// and woken when its turn has come; places are then set aside for it.
func (q *slots) take(l *line, cost int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &l.claim
	if c.granted {
		c.granted = false
		return true
	}
	if c.waiting {
		return false
	}
	if r := q.rank(l); q.room(r) && q.front() == nil {
		q.starts--
		q.sockets--
		c.held++
		return true
	}
	c.waiting, c.cost = true, cost
	q.enter(l)
	return false
}

// rank is the lane's now.
func (q *slots) rank(l *line) rank {
	switch {
	case l.claim.held > 0:
		return busy
	case q.proven[l.key]:
		return sound
	}
	return still
}

// room reports whether a lane of a rank may start.
func (q *slots) room(r rank) bool { return q.starts > 0 && q.sockets > q.leave[r] }

// enter puts a lane at the end of the line.
func (q *slots) enter(l *line) {
	q.ticket++
	l.claim.ticket = q.ticket
	q.insert(l)
}

// insert puts a lane at its place in the ring of its rank.
func (q *slots) insert(l *line) {
	c := &l.claim
	c.rank = q.rank(l)
	ring := q.rings[c.rank]
	at, _ := slices.BinarySearchFunc(ring, c.ticket, byTicket)
	q.rings[c.rank] = slices.Insert(ring, at, l)
}

func byTicket(l *line, ticket uint64) int {
	switch c := l.claim.ticket; {
	case c < ticket:
		return -1
	case c > ticket:
		return 1
	}
	return 0
}

// front is the first of the waiting lanes that may start now, nil if none may.
func (q *slots) front() (l *line) {
	for r, ring := range q.rings {
		if len(ring) > 0 && q.room(rank(r)) && (l == nil || ring[0].claim.ticket < l.claim.ticket) {
			l = ring[0]
		}
	}
	return l
}

// answered notes whether a lane's partner answered an exchange.
func (q *slots) answered(l *line, yes bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if yes {
		q.proven[l.key] = true
	} else {
		delete(q.proven, l.key)
	}
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
		q.free(l, 1, 1)
	}
}

// free gives places of a lane back and wakes the lanes that they go to.
func (q *slots) free(l *line, starts, sockets int) {
	q.mu.Lock()
	q.starts += starts
	q.sockets += sockets
	l.claim.held -= sockets
	if c := &l.claim; c.waiting && c.rank != q.rank(l) { // its right is stronger now
		ring := q.rings[c.rank]
		if at, found := slices.BinarySearchFunc(ring, c.ticket, byTicket); found {
			q.rings[c.rank] = slices.Delete(ring, at, at+1)
		}
		q.insert(l)
	}
	var lucky []*line
	for l := q.next(); l != nil; l = q.next() {
		l.claim.waiting, l.claim.granted = false, true
		l.claim.held++
		q.starts--
		q.sockets--
		lucky = append(lucky, l)
	}
	q.mu.Unlock()
	for _, l := range lucky {
		q.wake(l)
	}
}

// next takes the lane whose turn it is out of the line, nil if none may start.
func (q *slots) next() *line {
	for {
		l := q.front()
		if l == nil {
			return nil
		}
		c := &l.claim
		q.rings[c.rank] = q.rings[c.rank][1:]
		if c.cost > c.deficit+quantum && q.front() != nil {
			c.deficit += quantum
			q.enter(l)
			continue
		}
		c.deficit = min(max(0, c.deficit+quantum-c.cost), quantum)
		return l
	}
}

// asks reports whether the lane waits for places or has some set aside.
func (q *slots) asks(l *line) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return l.claim.waiting || l.claim.granted
}

// waits reports whether the lane waits for places.
func (q *slots) waits(l *line) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return l.claim.waiting
}
