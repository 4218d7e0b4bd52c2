package sqlite

import (
	"context"
	"fmt"
	"slices"

	"edigw/queue"
)

// addEvents appends to the ledger. There is one writer, so numbers are given
// in the order of commits and a reader with a cursor misses none.
func (t *tx) addEvents(events []queue.Event) error {
	for i := range events {
		e := &events[i]
		var facts any
		if len(e.Facts) > 0 {
			facts = object{e.Facts}
		}
		err := t.run(`INSERT INTO events (at, type, partner, lane, message, letter, outage, actor, actor_role, actor_from, text, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			micros(e.At), string(e.Type), e.Partner, e.Lane, e.Message, e.Letter, e.Outage, e.Actor.Name, e.Actor.Role, e.Actor.From, e.Text, facts)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.Type, err)
		}
	}
	return nil
}

const eventColumns = "id, at, type, partner, lane, message, letter, outage, actor, actor_role, actor_from, text, facts"

func scanEvent(r scanner) (queue.Event, error) {
	var e queue.Event
	var d damage
	err := r.Scan(&e.ID, moment{&e.At}, &e.Type, &e.Partner, &e.Lane, &e.Message, &e.Letter, &e.Outage, &e.Actor.Name, &e.Actor.Role, &e.Actor.From, &e.Text, d.object("facts", &e.Facts))
	if d.text != "" {
		e.Facts = map[string]string{"damaged": d.text}
	}
	return e, err
}

// AddEvents appends events that belong to no result.
func (s *Store) AddEvents(ctx context.Context, events ...queue.Event) error {
	if len(events) == 0 {
		return ctx.Err()
	}
	return s.write(ctx, func(t *tx) error { return t.addEvents(events) })
}

// Events reads the ledger after a cursor, in commit order.
func (s *Store) Events(ctx context.Context, after int64, limit int) (all []queue.Event, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		all, err = collect(t, scanEvent, "SELECT "+eventColumns+" FROM events WHERE id > ? ORDER BY id LIMIT ?+0", after, max(limit, 0))
		return err
	})
	return all, err
}

// LastEvent gives the number of the newest event, 0 if there never was one.
func (s *Store) LastEvent(ctx context.Context) (n int64, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		return t.row("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)").Scan(&n)
	})
	return n, err
}

// Timeline gives the newest 1,000 events of a message, oldest first.
func (s *Store) Timeline(ctx context.Context, message string) (all []queue.Event, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		all, err = collect(t, scanEvent, "SELECT "+eventColumns+" FROM events WHERE message = ?||'' AND message <> '' ORDER BY id DESC LIMIT 1000", message)
		slices.Reverse(all)
		return err
	})
	return all, err
}
