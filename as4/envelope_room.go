package as4

import (
	"fmt"
	"sync"

	"edigw/internal/scratch"
)

// An envelope is held in memory as a tree of some ten times its size until its
// message is answered, and whoever sends it may take his time with what follows.
// So all envelopes together, as far as they are larger than usual ones, have a
// bound; those that come from one address, or that we pull from one partner, have
// half of it.
const (
	usualEnvelope = 64 << 10
	allEnvelopes  = 4 // times the largest one
)

// envelopes counts what lies in memory. It is safe for concurrent use.
type envelopes struct {
	limit int64 // of all together

	mu        sync.Mutex
	held      int64
	addresses map[string]int64
}

// envelopeShare is what the envelope of one request holds.
type envelopeShare struct {
	of      *envelopes
	address string
	read    int64
	held    int64
}

// grow takes n bytes more, or fails with scratch.ErrNoRoom.
func (s *envelopeShare) grow(n int64) error {
	s.read += n
	more := s.read - usualEnvelope - s.held
	if more <= 0 {
		return nil
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.held+more > s.of.limit || s.of.addresses[s.address]+more > s.of.limit/2 {
		return fmt.Errorf("%w: large SOAP envelopes hold %d bytes of memory, those from %s %d; all may hold %d, those from one address half of that",
			scratch.ErrNoRoom, s.of.held, s.address, s.of.addresses[s.address], s.of.limit)
	}
	if s.of.addresses == nil {
		s.of.addresses = map[string]int64{}
	}
	s.held += more
	s.of.held += more
	s.of.addresses[s.address] += more
	return nil
}

// free gives everything back.
func (s *envelopeShare) free() {
	if s.held == 0 {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.held -= s.held
	if s.of.addresses[s.address] -= s.held; s.of.addresses[s.address] == 0 {
		delete(s.of.addresses, s.address)
	}
	s.held = 0
}
