package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"edigw/queue"
)

// putLane writes a lane; version 0 means that it has no row yet.
func (t *tx) putLane(l *queue.Lane) error {
	var n int64
	var err error
	rest := []any{object{l.Breaker}, l.Outage, micros(l.NotBefore), l.Ramp, object{l.Stop}, object{l.Fix}, object{l.Streak}, l.Blocked, l.Orphaned, list[queue.Charge](l.Charged)}
	if l.Version == 0 {
		n, err = t.exec(`INSERT INTO lanes (key, version, partner, kind, breaker, outage, not_before, ramp, stop, fix, streak, blocked, orphaned, charged)
			VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append([]any{l.Key, l.Partner, string(l.Kind)}, rest...)...)
	} else {
		n, err = t.exec(`UPDATE lanes SET version = version + 1, partner = ?, kind = ?, breaker = ?, outage = ?, not_before = ?, ramp = ?, stop = ?, fix = ?, streak = ?, blocked = ?, orphaned = ?, charged = ?
			WHERE key = ? AND version = ?`, append(append([]any{l.Partner, string(l.Kind)}, rest...), l.Key, l.Version)...)
	}
	if err == nil && n == 0 {
		err = queue.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("lane %s, version %d: %w", l.Key, l.Version, err)
	}
	return nil
}

const laneColumns = "key, version, partner, kind, breaker, outage, not_before, ramp, stop, fix, streak, blocked, orphaned, charged"

func scanLane(r scanner) (queue.Lane, error) {
	var l queue.Lane
	var d damage
	err := r.Scan(&l.Key, &l.Version, &l.Partner, &l.Kind, d.object("breaker", &l.Breaker), &l.Outage, moment{&l.NotBefore}, &l.Ramp,
		d.object("stop", &l.Stop), d.object("fix", &l.Fix), d.object("streak", &l.Streak), &l.Blocked, &l.Orphaned, d.object("charged", &l.Charged))
	l.Damaged = d.text
	if len(l.Charged) == 0 {
		l.Charged = nil
	}
	return l, err
}

// Lanes gives the lanes that have a row, by key.
func (s *Store) Lanes(ctx context.Context) (all []queue.Lane, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		all, err = collect(t, scanLane, "SELECT "+laneColumns+" FROM lanes ORDER BY key")
		return err
	})
	return all, err
}

// Lane gives one lane that has a row.
func (s *Store) Lane(ctx context.Context, key string) (l queue.Lane, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		l, err = scanLane(t.row("SELECT "+laneColumns+" FROM lanes WHERE key = ?", key))
		return missing(err, "lane", key)
	})
	return l, err
}

// Ready gives messages of a lane that are queued or waiting, and when the
// next of the rest is due. Both orders are those of an index, so that a long
// line costs no more than a short one.
func (s *Store) Ready(ctx context.Context, lane string, inOrder bool, now time.Time, limit int) (ready []queue.Message, next time.Time, err error) {
	if inOrder {
		err = s.read(ctx, func(t *tx) error {
			ready, next, err = t.head(lane, limit)
			return err
		})
		return ready, next, err
	}
	err = s.borrow(ctx, func(t *tx) error {
		ready, next, err = t.due(lane, now, limit)
		return err
	})
	return ready, next, err
}

func (t *tx) head(lane string, limit int) (ready []queue.Message, next time.Time, err error) {
	ready, err = collect(t, scanMessage, "SELECT "+messageColumns+` FROM messages AS m INDEXED BY messages_line
		WHERE m.lane = ?||'' AND m.state IN ('queued', 'waiting') ORDER BY m.seq LIMIT ?+0`, lane, max(limit, 0))
	if err != nil {
		return nil, next, err
	}
	last := int64(0)
	if n := len(ready); n > 0 {
		last = ready[n-1].Seq
	}
	err = t.row(`SELECT next_at FROM messages INDEXED BY messages_due
		WHERE lane = ?||'' AND state IN ('queued', 'waiting') AND seq > ?+0 ORDER BY next_at, seq LIMIT 1`, lane, last).Scan(moment{&next})
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return ready, next, err
}

func (t *tx) due(lane string, now time.Time, limit int) (ready []queue.Message, next time.Time, err error) {
	limit = max(limit, 0)
	ready, err = collect(t, scanMessage, "SELECT "+messageColumns+` FROM messages AS m INDEXED BY messages_due
		WHERE m.lane = ?||'' AND m.state IN ('queued', 'waiting') ORDER BY m.next_at, m.seq LIMIT ?+0`, lane, limit+1)
	if err != nil {
		return nil, next, err
	}
	n := 0
	for n < len(ready) && n < limit && !ready[n].NextAt.After(now) {
		n++
	}
	if n < len(ready) {
		next = ready[n].NextAt
	}
	return ready[:n:n], next, nil
}

const buriable = "SELECT " + messageColumns + ` FROM messages AS m INDEXED BY messages_buriable
	WHERE m.lane = ?1||'' AND m.state IN ('queued', 'waiting') AND m.asked = 0 AND m.id NOT IN (SELECT value FROM json_each(?2)) ORDER BY m.seq LIMIT ?3+0`

// Buriable gives the oldest messages of a lane that an open breaker may bury.
func (s *Store) Buriable(ctx context.Context, lane string, except []string, limit int) (all []queue.Message, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		all, err = collect(t, scanMessage, buriable, lane, list[string](except), max(limit, 0))
		return err
	})
	return all, err
}

// workColumns ask for what a lane has to do, of lane_counts AS c. Each
// sub-query is one look into an index.
const workColumns = `c.lane, c.partner, c.depth, c.bytes,
	coalesce((SELECT next_at FROM messages INDEXED BY messages_due WHERE lane = c.lane AND state IN ('queued', 'waiting') ORDER BY next_at LIMIT 1), 0),
	` + oldestColumn

// oldestColumn is the acceptance of the first message of lane_counts AS c that
// is queued, waiting or being sent.
const oldestColumn = `coalesce((SELECT accepted FROM messages WHERE seq = min(
		coalesce((SELECT seq FROM messages INDEXED BY messages_line WHERE lane = c.lane AND state IN ('queued', 'waiting') ORDER BY seq LIMIT 1), 9223372036854775807),
		coalesce((SELECT seq FROM messages INDEXED BY messages_sending WHERE lane = c.lane AND state = 'sending' ORDER BY seq LIMIT 1), 9223372036854775807))), 0)`

func scanWork(r scanner) (queue.Work, error) {
	var w queue.Work
	err := r.Scan(&w.Lane, &w.Partner, &w.Depth, &w.Bytes, moment{&w.NextAt}, moment{&w.Oldest})
	return w, err
}

// Agenda gives the lanes that have something to do, by lane.
func (s *Store) Agenda(ctx context.Context) (all []queue.Work, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		all, err = collect(t, scanWork, "SELECT "+workColumns+` FROM lane_counts AS c
			WHERE (c.depth > 0 OR c.acks > 0 OR c.dead > 0) AND c.depth > 0 ORDER BY c.lane`)
		return err
	})
	return all, err
}

// LaneWork gives what one lane has to do.
func (s *Store) LaneWork(ctx context.Context, lane string) (w queue.Work, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		w, err = scanWork(t.row("SELECT "+workColumns+" FROM lane_counts AS c WHERE c.lane = ? AND c.depth > 0", lane))
		if errors.Is(err, sql.ErrNoRows) {
			w, err = queue.Work{Lane: lane}, nil
		}
		return err
	})
	return w, err
}

// work gives depth and bytes of a lane only.
func (t *tx) work(lane string) (w queue.Work, err error) {
	err = t.row("SELECT depth, bytes FROM lane_counts WHERE lane = ?", lane).Scan(&w.Depth, &w.Bytes)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return w, err
}

// Timers gives the messages that time alone changes, by time.
func (s *Store) Timers(ctx context.Context, now time.Time, limit int) (due []queue.Message, next time.Time, err error) {
	limit = max(limit, 0)
	err = s.borrow(ctx, func(t *tx) error {
		due, err = collect(t, scanMessage, "SELECT "+messageColumns+` FROM messages AS m INDEXED BY messages_timer
			WHERE m.timer > 0 ORDER BY m.timer, m.seq LIMIT ?+0`, limit+1)
		return err
	})
	n := 0
	for n < len(due) && n < limit && !due[n].Timer().After(now) {
		n++
	}
	if n < len(due) {
		next = due[n].Timer()
	}
	return due[:n:n], next, err
}

// Unfinished gives the messages that another incarnation was sending.
func (s *Store) Unfinished(ctx context.Context, incarnation string, limit int) (all []queue.Message, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		all, err = collect(t, scanMessage, "SELECT "+messageColumns+` FROM messages AS m INDEXED BY messages_state
			WHERE m.state = 'sending' AND m.incarnation <> ? ORDER BY m.seq LIMIT ?+0`, incarnation, max(limit, 0))
		return err
	})
	return all, err
}

// Isolation gives the state of our own network.
func (s *Store) Isolation(ctx context.Context) (i queue.Isolation, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		err := t.row("SELECT value FROM settings WHERE name = 'isolation'").Scan(object{&i})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return i, err
}

func (t *tx) putIsolation(i *queue.Isolation) error {
	err := t.run("INSERT INTO settings (name, value) VALUES ('isolation', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", object{i})
	return err
}

// NextNumber counts a series from 1.
func (s *Store) NextNumber(ctx context.Context, series string) (n int64, err error) {
	err = s.write(ctx, func(t *tx) error {
		return t.row("INSERT INTO series (name, last) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET last = last + 1 RETURNING last", series).Scan(&n)
	})
	return n, err
}
