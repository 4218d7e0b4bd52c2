package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edigw/internal/words"
	"edigw/queue"
)

// Backup writes a consistent copy of the database to a file that must not
// exist, fs.ErrExist by errors.Is otherwise. Writers go on meanwhile. The copy
// is durable when Backup returns; after an error there is none.
func (s *Store) Backup(ctx context.Context, file string) (err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("sqlite: backup: %w", err)
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			os.Remove(file)
		}
	}()
	if err := s.copyTo(ctx, file); err != nil {
		return fmt.Errorf("sqlite: backup to %s: %w", file, meaning(err))
	}
	if err := f.Sync(); err != nil { // VACUUM INTO does not
		return fmt.Errorf("sqlite: backup: %w", err)
	}
	if err := syncFolders(filepath.Dir(file)); err != nil {
		return fmt.Errorf("sqlite: backup: %w", err)
	}
	return nil
}

// copyTo runs on a connection of its own: a long copy takes no reader away,
// and readers are kept from all writing, also to another file.
func (s *Store) copyTo(ctx context.Context, file string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return queue.ErrUnavailable
	}
	db, err := sql.Open("sqlite3", dsn(s.file, "ro", "deferred"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", file)
	return err
}

// MarkRestored makes every unfinished outbound message and its letter
// uncertain and stops every lane of every kind without end: since the backup
// was made anything may have gone out (delivery.md §11). Nobody stays signed
// in: a session that was ended since must not come back.
func (s *Store) MarkRestored(ctx context.Context, at time.Time, partners []string) (messages, lanes int, err error) {
	err = s.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE messages SET uncertain = 1, version = version + 1
			WHERE direction = 'out' AND state IN ('queued', 'waiting', 'sending', 'awaiting-ack', 'dead')`)
		if err != nil {
			return err
		}
		messages = int(n)
		if _, err := t.exec("UPDATE letters SET uncertain = 1, version = version + 1 WHERE status <> 'closed'"); err != nil {
			return err
		}
		if _, err := t.exec("DELETE FROM sessions"); err != nil {
			return err
		}
		stopped, err := t.stopAll(at, partners)
		if err != nil {
			return err
		}
		lanes = len(stopped)
		events := []queue.Event{{At: at, Type: queue.EventRestored,
			Text: "restored from a backup: " + words.Count(messages, "message is", "messages are") + " uncertain, " + words.Count(lanes, "lane is", "lanes are") + " stopped"}}
		for _, l := range stopped {
			events = append(events, queue.Event{At: at, Type: queue.EventLaneStopped, Partner: l.Partner, Lane: l.Key, Text: "stopped: restored from a backup"})
		}
		return t.addEvents(events)
	})
	return messages, lanes, err
}

// stopAll stops every lane that has a row or an outbound message, and all lanes
// of the partners; it gives them by key.
func (t *tx) stopAll(at time.Time, partners []string) ([]queue.Lane, error) {
	all, err := collect(t, scanLane, "SELECT "+laneColumns+" FROM lanes")
	if err != nil {
		return nil, err
	}
	idle, err := collect(t, func(r scanner) (l queue.Lane, err error) {
		err = r.Scan(&l.Key, &l.Partner, &l.Kind)
		return l, err
	}, `SELECT lane, partner, kind FROM lane_counts AS c WHERE EXISTS (SELECT 1 FROM messages WHERE partner = c.partner AND lane = c.lane AND direction = 'out')`)
	if err != nil {
		return nil, err
	}
	for _, id := range partners {
		for _, k := range queue.Kinds {
			idle = append(idle, queue.Lane{Key: queue.LaneKey(id, k), Partner: id, Kind: k})
		}
	}
	known := map[string]bool{}
	for _, l := range all {
		known[l.Key] = true
	}
	for _, l := range idle {
		if !known[l.Key] {
			known[l.Key] = true
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b queue.Lane) int { return strings.Compare(a.Key, b.Key) })
	for i := range all {
		all[i].Stop = &queue.Stop{Reason: "restored", Since: at}
		if err := t.putLane(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
