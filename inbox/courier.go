package inbox

import (
	"context"
	"sync"

	"edigw/queue"
)

// Bounds on what waits for the folders. Who brings more hands it on himself, so
// that nobody is faster than the disk for long.
const (
	maxBatch = 64   // documents that are placed together
	maxLine  = 256  // of one partner
	maxHeld  = 1000 // of all; also bounds the couriers
)

// parcel is a received document on its way into the folder. Whoever has it
// holds the turn of its message, and ends that with done.
type parcel struct {
	message queue.Message
	letter  *queue.Letter // nil: it has none
	facts   Facts
	post    string // message that carries it to a webhook, see Record.Post
	fresh   bool   // nothing of it can lie in the folder yet
	done    func()

	placing
	parts []*placing // of a document of several files; placing then says only where
	err   error      // why it could not be handed on
}

// couriers hand documents on after the partners have their answers. A partner
// has a courier of his own as long as documents of his wait: a folder that
// hangs or fails keeps nobody else waiting.
type couriers struct {
	handOn func(context.Context, ...*parcel)

	mu    sync.Mutex
	lines map[string]*line // by partner
	held  int
	moved chan struct{} // closed and made anew when a batch is through
	ended bool
	work  sync.WaitGroup
}

// line is what one courier has to do.
type line struct {
	waiting []*parcel
	held    int // those that wait, and the batch that is handed on
}

// pass takes a parcel over, or returns what is closed when there may be room
// again. After stop the parcel is dropped: its message stays received, and the
// next process takes it up.
func (c *couriers) pass(p *parcel) (full <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		p.done()
		return nil
	}
	partner := p.message.Partner
	l := c.lines[partner]
	if c.held >= maxHeld || l != nil && l.held >= maxLine {
		return c.moved
	}
	if l == nil {
		l = &line{}
		c.lines[partner] = l
		c.work.Go(func() { c.run(partner, l) })
	}
	l.waiting = append(l.waiting, p)
	l.held++
	c.held++
	return nil
}

// run is a courier: he hands on batch by batch until nothing waits. While one
// batch is written, the next gathers.
func (c *couriers) run(partner string, l *line) {
	for {
		batch := c.next(partner, l)
		if len(batch) == 0 {
			return
		}
		c.handOn(context.Background(), batch...) // what was begun is ended: stop waits for it
		for _, p := range batch {
			p.done()
		}
		c.mu.Lock()
		l.held -= len(batch)
		c.held -= len(batch)
		close(c.moved)
		c.moved = make(chan struct{})
		c.mu.Unlock()
	}
}

// next takes a batch off the line, and forgets the line if there is none.
func (c *couriers) next(partner string, l *line) []*parcel {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(l.waiting), maxBatch)
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	if n == 0 {
		delete(c.lines, partner)
	}
	return batch
}

// stop drops what waits; the batches that were begun go on.
func (c *couriers) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, l := range c.lines {
		for _, p := range l.waiting {
			p.done()
		}
		l.held -= len(l.waiting)
		c.held -= len(l.waiting)
		l.waiting = nil
	}
}
