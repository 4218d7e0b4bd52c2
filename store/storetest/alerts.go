package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"edigw/alerts"
	"edigw/queue"
)

// AlertStore is a Store that also keeps what package alerts asks for.
type AlertStore interface {
	Store
	alerts.Records
	alerts.Outbox
	alerts.Reader
}

// MemoryAlerts is Memory with the records of alerts. Both share their
// transactions.
type MemoryAlerts struct {
	*Memory
	state     alerts.State
	incidents map[string]alerts.Incident
	opened    []string // ids of incidents in the order in which they were made
	notes     map[string]alerts.Notification
	made      []string // ids of notifications in the order in which they were made
}

var _ AlertStore = (*MemoryAlerts)(nil)

// NewMemoryAlerts gives an empty store.
func NewMemoryAlerts() *MemoryAlerts {
	return &MemoryAlerts{Memory: NewMemory(), incidents: map[string]alerts.Incident{}, notes: map[string]alerts.Notification{}}
}

// AlertState gives the state, zero at first.
func (s *MemoryAlerts) AlertState(ctx context.Context) (alerts.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, ctx.Err()
}

// ActiveIncidents gives the incidents that are not closed, oldest first.
func (s *MemoryAlerts) ActiveIncidents(ctx context.Context) ([]alerts.Incident, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list(true), ctx.Err()
}

func (s *MemoryAlerts) list(active bool) []alerts.Incident {
	var all []alerts.Incident
	for _, id := range s.opened {
		if in := s.incidents[id]; in.Active() || !active {
			all = append(all, in)
		}
	}
	return all
}

// Incident gives one by its id.
func (s *MemoryAlerts) Incident(ctx context.Context, id string) (alerts.Incident, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, ok := s.incidents[id]
	if !ok {
		return in, fmt.Errorf("incident %.40q: %w", id, queue.ErrNotFound)
	}
	return in, ctx.Err()
}

// Incidents lists incidents, newest first.
func (s *MemoryAlerts) Incidents(ctx context.Context, active bool, p queue.Page) ([]alerts.Incident, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	return pageOf(s.list(active), "incidents", p, func(in alerts.Incident) int64 { return int64(slices.Index(s.opened, in.ID)) + 1 })
}

// SaveAlerts writes one step of the pipeline.
func (s *MemoryAlerts) SaveAlerts(ctx context.Context, step *alerts.Step) error {
	saved := make([]alerts.Incident, len(step.Incidents))
	err := s.write(ctx, func(u *undo) error {
		if step.State.Version != s.state.Version {
			return fmt.Errorf("state of alerts, version %d: %w", step.State.Version, queue.ErrConflict)
		}
		state := step.State
		state.Version++
		assign(u, &s.state, state)
		for i, in := range step.Incidents {
			old, exists := s.incidents[in.ID]
			if exists != (in.Version > 0) || old.Version != in.Version || in.ID == "" {
				return fmt.Errorf("incident %q, version %d: %w", in.ID, in.Version, queue.ErrConflict)
			}
			in.Version++
			saved[i] = in
			set(u, s.incidents, in.ID, in)
			if !exists {
				assign(u, &s.opened, append(s.opened, in.ID))
			}
		}
		for _, n := range step.Notifications {
			if _, exists := s.notes[n.ID]; exists || n.ID == "" {
				return fmt.Errorf("notification %q: %w", n.ID, queue.ErrConflict)
			}
			set(u, s.notes, n.ID, n)
			assign(u, &s.made, append(s.made, n.ID))
		}
		s.addEvents(u, step.Events)
		return nil
	})
	if err != nil {
		return err
	}
	step.State.Version++
	copy(step.Incidents, saved)
	return nil
}

// ForgetAlerts drops closed incidents and sent notifications of old.
func (s *MemoryAlerts) ForgetAlerts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(u *undo) error {
		old := func(t time.Time) bool { return !t.IsZero() && t.Before(before) }
		goes := map[string]bool{"": true}
		for _, in := range s.incidents {
			goes[in.ID] = old(in.Closed)
		}
		for _, x := range s.notes {
			goes[x.Incident] = goes[x.Incident] && (x.Incident == "" || !x.Sent.IsZero())
		}
		kept := map[string]bool{} // incidents with a notification left
		for id, x := range s.notes {
			if n < limit && goes[x.Incident] && (x.Incident != "" || old(x.Sent)) {
				n++
				drop(u, s.notes, id)
			} else {
				kept[x.Incident] = true
			}
		}
		for id := range s.incidents {
			if n < limit && goes[id] && !kept[id] {
				n++
				drop(u, s.incidents, id)
			}
		}
		assign(u, &s.made, slices.DeleteFunc(slices.Clone(s.made), func(id string) bool { _, ok := s.notes[id]; return !ok }))
		assign(u, &s.opened, slices.DeleteFunc(slices.Clone(s.opened), func(id string) bool { _, ok := s.incidents[id]; return !ok }))
		return nil
	})
	return n, err
}

// DueNotifications gives notifications that are to be tried now.
func (s *MemoryAlerts) DueNotifications(ctx context.Context, channel string, now time.Time, limit int) (due []alerts.Notification, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.made {
		switch n := s.notes[id]; {
		case n.Channel != channel || !n.Sent.IsZero():
		case !n.NextAt.After(now):
			due = append(due, n)
		case next.IsZero() || n.NextAt.Before(next):
			next = n.NextAt
		}
	}
	slices.SortStableFunc(due, func(a, b alerts.Notification) int { return cmp.Compare(loudness(b), loudness(a)) })
	return due[:min(limit, len(due))], next, ctx.Err()
}

func loudness(n alerts.Notification) int {
	if n.Severity == alerts.Page {
		return 1
	}
	return 0
}

// SaveNotification writes how a notification stands.
func (s *MemoryAlerts) SaveNotification(ctx context.Context, n alerts.Notification, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		if _, ok := s.notes[n.ID]; !ok {
			return fmt.Errorf("notification %.80q: %w", n.ID, queue.ErrNotFound)
		}
		set(u, s.notes, n.ID, n)
		s.addEvents(u, events)
		return nil
	})
}

// Notifications gives those of an incident, oldest first.
func (s *MemoryAlerts) Notifications(ctx context.Context, incident string) ([]alerts.Notification, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []alerts.Notification
	for _, id := range s.made {
		if n := s.notes[id]; n.Incident == incident && len(all) < 1000 {
			all = append(all, n)
		}
	}
	return all, ctx.Err()
}

// UnsentNotifications counts, by channel, what is not sent.
func (s *MemoryAlerts) UnsentNotifications(ctx context.Context) (map[string]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	unsent := map[string]int{}
	for _, n := range s.notes {
		if n.Sent.IsZero() {
			unsent[n.Channel]++
		}
	}
	return unsent, ctx.Err()
}
