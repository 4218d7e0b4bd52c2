package storetest

import (
	"context"
	"sort"

	"edigw/queue"
)

// Timeline gives the newest 1,000 events of a message, oldest first.
func (s *Memory) Timeline(ctx context.Context, message string) ([]queue.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []queue.Event
	for _, e := range s.events {
		if message != "" && e.Message == message {
			all = append(all, e)
		}
	}
	return all[max(0, len(all)-1000):], ctx.Err()
}

// Events reads the ledger after a cursor.
func (s *Memory) Events(ctx context.Context, after int64, limit int) ([]queue.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := sort.Search(len(s.events), func(i int) bool { return s.events[i].ID > after })
	to := min(from+limit, len(s.events))
	return append([]queue.Event(nil), s.events[from:to]...), ctx.Err()
}

// LastEvent gives the number of the newest event, 0 if there never was one.
func (s *Memory) LastEvent(ctx context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastEvent, ctx.Err()
}

// Audit lists the events with an actor.
func (s *Memory) Audit(ctx context.Context, f queue.AuditFilter, p queue.Page) ([]queue.Event, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	var all []queue.Event
	for _, e := range s.events {
		if !e.Actor.Gateway() && (f.Actor == "" || e.Actor.Name == f.Actor) && (f.Partner == "" || e.Partner == f.Partner) && between(e.At, f.From, f.To) {
			all = append(all, e)
		}
	}
	return pageOf(all, "audit", p, func(e queue.Event) int64 { return e.ID })
}
