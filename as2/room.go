package as2

import (
	"fmt"
	"sync"
	"time"
)

// Room says how much of our own disk messages may fill while they are opened.
type Room interface {
	// Room is the space in bytes that may still be filled; what is kept for
	// others is not part of it, and it may be below zero. It is asked often.
	Room() (int64, error)
}

// Shares of the room that scratch files may take. Who sends is not known yet:
// he says so himself.
const (
	allScratch     = 2       // all of them: half; the rest is for what is kept of the messages
	partnerScratch = 2       // those of one partner, or of all strangers: half of that
	addressScratch = 4       // those of one address: all but a fourth of that, since it may be a proxy's
	scratchStep    = 1 << 20 // how much a file asks for at once
)

// errNoRoom is a fault of our own disk, told before it is full.
var errNoRoom = fmt.Errorf("%w: no room", errScratch)

// rooms shares the room out among the requests that run. A nil *rooms grants
// everything.
type rooms struct {
	room Room

	mu        sync.Mutex
	granted   int64 // to all scratch files
	written   int64 // of that
	partners  map[string]int64
	addresses map[string]int64
}

func newRooms(r Room) *rooms {
	if r == nil {
		return nil
	}
	return &rooms{room: r, partners: map[string]int64{}, addresses: map[string]int64{}}
}

// claim is what the scratch files of one request hold.
type claim struct {
	rooms            *rooms
	partner, address string
	granted, written int64
}

// take grants n bytes more, or fails with errNoRoom.
func (c *claim) take(n int64) error {
	if c.rooms == nil {
		return nil
	}
	r := c.rooms
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fits(c, n); err != nil {
		return err
	}
	c.granted += n
	r.granted += n
	r.partners[c.partner] += n
	r.addresses[c.address] += n
	return nil
}

// fits reports whether n bytes more could be granted now.
func (c *claim) fits(n int64) error {
	if c.rooms == nil {
		return nil
	}
	c.rooms.mu.Lock()
	defer c.rooms.mu.Unlock()
	return c.rooms.fits(c, n)
}

// fits holds the bounds. What was granted and is not written yet is room that
// others must not be promised.
func (r *rooms) fits(c *claim, n int64) error {
	free, err := r.room.Room()
	if err != nil {
		return fmt.Errorf("%w: %w", errScratch, err)
	}
	all := max(0, free+r.written) / allScratch
	switch of := all / partnerScratch; {
	case r.granted+n > all:
		return fmt.Errorf("%w: messages that are being opened hold %d bytes and need %d more; %d is what all may hold, half of the room that is left", errNoRoom, r.granted, n, all)
	case r.partners[c.partner]+n > of:
		return fmt.Errorf("%w: messages of %s that are being opened hold %d bytes and need %d more; %d is what one partner's may hold, a fourth of the room that is left", errNoRoom, orStrangers(c.partner), r.partners[c.partner], n, of)
	case r.addresses[c.address]+n > all-all/addressScratch:
		return fmt.Errorf("%w: messages from %s that are being opened hold %d bytes and need %d more; %d is what those from one address may hold", errNoRoom, c.address, r.addresses[c.address], n, all-all/addressScratch)
	}
	return nil
}

// wrote notes that n of the bytes that were granted are on the disk.
func (c *claim) wrote(n int64) {
	if c.rooms == nil {
		return
	}
	c.rooms.mu.Lock()
	defer c.rooms.mu.Unlock()
	c.written += n
	c.rooms.written += n
}

// close gives everything back; the files are gone.
func (c *claim) close() { c.give(c.granted, c.written) }

// give gives back what a file held that is gone.
func (c *claim) give(granted, written int64) {
	if c.rooms == nil {
		return
	}
	r := c.rooms
	r.mu.Lock()
	defer r.mu.Unlock()
	r.granted -= granted
	r.written -= written
	give(r.partners, c.partner, granted)
	give(r.addresses, c.address, granted)
	c.granted -= granted
	c.written -= written
}

// give takes n off a share and forgets an empty one.
func give(shares map[string]int64, name string, n int64) {
	if shares[name] -= n; shares[name] == 0 {
		delete(shares, name)
	}
}

func orStrangers(partner string) string {
	if partner == "" {
		return "strangers"
	}
	return partner
}

// calm is how long nothing must have been refused for want of room until the
// next refusal is told again.
const calm = 10 * time.Minute

// stretch tells the first of many refusals that follow each other.
type stretch struct {
	mu   sync.Mutex
	last time.Time
}

// begins reports whether a refusal now is the first of a stretch.
func (s *stretch) begins(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.last.IsZero() || now.Sub(s.last).Abs() >= calm
	s.last = now
	return first
}
