package scratch

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Room says how much of our own disk messages may fill while they are opened.
type Room interface {
	// Room is the space in bytes that may still be filled; what is kept for
	// others is not part of it, and it may be below zero. It is asked often, and
	// must not call the Rooms that ask.
	Room() (int64, error)
}

// Shares of the room that scratch files may take. Who sends is not known yet:
// he says so himself.
const (
	allScratch     = 2       // all of them: half; the rest is for what is kept of the messages
	partnerScratch = 2       // those of one partner, or of all strangers: half of that
	addressScratch = 4       // those of one address: all but a fourth of that, since it may be a proxy's
	step           = 1 << 20 // how much a file asks for at once
)

// ErrNoRoom is an ErrDisk, told before the disk is full.
var ErrNoRoom = fmt.Errorf("%w: no room", ErrDisk)

// Rooms shares the room out among the requests that run, of every protocol that
// is given the same Rooms. It is safe for concurrent use. A nil *Rooms grants
// everything.
type Rooms struct {
	room Room

	mu        sync.Mutex
	granted   int64        // to all scratch files
	written   atomic.Int64 // of that
	partners  map[string]int64
	addresses map[string]int64
}

// NewRooms shares out what r has; nil: everything is granted.
func NewRooms(r Room) *Rooms {
	if r == nil {
		return nil
	}
	return &Rooms{room: r, partners: map[string]int64{}, addresses: map[string]int64{}}
}

// Space is what one request may put aside, as files in the folder dir. It is
// charged to partner, empty for strangers, and to the address that it comes from.
func (r *Rooms) Space(dir, partner, address string) *Space {
	return &Space{dir: dir, claim: claim{rooms: r, partner: partner, address: address}}
}

// Written is how many bytes lie on the disk now. A Room may call it.
func (r *Rooms) Written() int64 { return r.written.Load() }

// Granted is how many bytes the requests that run may have on the disk.
func (r *Rooms) Granted() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.granted
}

// claim is what the scratch files of one request hold.
type claim struct {
	rooms            *Rooms
	partner, address string
	granted, written int64
}

// take grants n bytes more, or fails with ErrNoRoom.
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
func (r *Rooms) fits(c *claim, n int64) error {
	free, err := r.room.Room()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDisk, err)
	}
	all := max(0, free+r.written.Load()) / allScratch
	switch of := all / partnerScratch; {
	case r.granted+n > all:
		return fmt.Errorf("%w: messages that are being opened hold %d bytes and need %d more; %d is what all may hold, half of the room that is left", ErrNoRoom, r.granted, n, all)
	case r.partners[c.partner]+n > of:
		return fmt.Errorf("%w: messages of %s that are being opened hold %d bytes and need %d more; %d is what one partner's may hold, a fourth of the room that is left", ErrNoRoom, orStrangers(c.partner), r.partners[c.partner], n, of)
	case r.addresses[c.address]+n > all-all/addressScratch:
		return fmt.Errorf("%w: messages from %s that are being opened hold %d bytes and need %d more; %d is what those from one address may hold", ErrNoRoom, c.address, r.addresses[c.address], n, all-all/addressScratch)
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
	c.rooms.written.Add(n)
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
	r.written.Add(-written)
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
