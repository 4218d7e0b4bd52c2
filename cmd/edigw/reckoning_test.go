package main

import (
	"slices"

	"edigw/queue"
)

// reckon compares what the gateway says with what the partner knows: nothing
// that was accepted is lost, nothing has two effects, every repeat had the same
// bytes, and letters, events and metrics tell the same story. Every message
// must have its end.
func reckon(s *site, c *counterpart, accepted ...string) {
	s.Helper()
	booked := c.booked()
	letters := everything[letterView](s, "/letters", query("status", "open"))
	known := map[string]bool{}
	for _, m := range everything[messageView](s, "/messages", query("direction", "out")) {
		known[m.ID] = true
		effects := booked[m.MessageID]
		delete(booked, m.MessageID)
		switch {
		case effects > 1:
			s.Errorf("%s (%s) had its effect %d times", m.ID, m.Key, effects)
		case m.State == string(queue.Delivered) && effects != 1:
			s.Errorf("%s is delivered, but the partner never booked it", m.ID)
		case m.State == string(queue.Dead):
			reckonDead(s, m.ID, effects, letters)
		case !m.done():
			s.Errorf("%s is still %s (%s)", m.ID, m.State, m.Why)
		}
		bodies := c.arrived(m.MessageID)
		slices.Sort(bodies)
		if n := len(slices.Compact(bodies)); n > 1 {
			s.Errorf("%s went out with %d different bodies", m.ID, n)
		}
	}
	for id, n := range booked {
		s.Errorf("the partner booked %s %d times, and the gateway does not know it", id, n)
	}
	for _, id := range accepted {
		if !known[id] {
			s.Errorf("%s was accepted and is lost", id)
		}
	}
	s.await("edigw_dlq_depth counts the open letters", func() bool { // it is some seconds old at most
		return s.metric("edigw_dlq_depth") == float64(len(letters))
	})
	if got := s.metric("edigw_lane_depth"); got != 0 {
		s.Errorf("edigw_lane_depth is %v, nothing is in line", got)
	}
}

// reckonDead checks that a dead message has one open letter and an event that
// alerts read, and says so if the partner may have it.
func reckonDead(s *site, id string, effects int, letters []letterView) {
	s.Helper()
	m := s.message(id)
	open := 0
	for _, l := range letters {
		if l.Message == id {
			open++
		}
	}
	if open != 1 || m.Letter == "" {
		s.Errorf("%s is dead with %d open letters, it names %q", id, open, m.Letter)
	}
	if !told(m, queue.EventDead) {
		s.Errorf("%s is dead, and no event says so", id)
	}
	if effects > 0 && !m.Uncertain {
		s.Errorf("%s is dead and certain, but the partner has it", id)
	}
}

// told reports whether an event stands in a message's timeline.
func told(m messageView, event queue.EventType) bool {
	for _, t := range m.Timeline {
		if t.Type == string(event) {
			return true
		}
	}
	return false
}
