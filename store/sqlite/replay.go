package sqlite

import (
	"context"
	"fmt"

	"edigw/queue"
)

// FreezeReplay stores a bulk replay with the letters that it selects now.
func (s *Store) FreezeReplay(ctx context.Context, j queue.ReplayJob, ids []string) (queue.ReplayJob, error) {
	err := s.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO replay_jobs (id, actor, created, status, confirm, skip, filter, counts, finished) VALUES (?, ?, ?, ?, ?, ?, ?, '{}', ?)",
			j.ID, object{j.Actor}, micros(j.Created), string(j.Status), list[string](j.Confirm), list[string](j.Skip), object{j.Filter}, micros(j.Finished))
		if err != nil {
			return fmt.Errorf("replay %q: %w", j.ID, err)
		}
		var w where
		w.add("l.status = 'open'")
		if len(ids) > 0 {
			if err := t.known(ids); err != nil {
				return err
			}
			w.add("l.id IN (SELECT value FROM json_each(?))", list[string](ids))
		} else {
			f := j.Filter
			f.Status = ""
			w.letters(f)
		}
		if _, err := t.conn.ExecContext(t.ctx, `INSERT INTO replay_items (job, n, letter, message, partner, status, detail)
			SELECT ?, row_number() OVER (ORDER BY l.seq, l.n), l.id, l.message, l.partner, 'pending', '' FROM letters AS l`+w.String(),
			append([]any{j.ID}, w.args...)...); err != nil {
			return fmt.Errorf("replay %s: %w", j.ID, meaning(err))
		}
		if j.Counts, err = t.countReplay(j.ID); err != nil {
			return err
		}
		_, err = t.exec("UPDATE replay_jobs SET counts = ? WHERE id = ?", object{j.Counts}, j.ID)
		return err
	})
	return j, err
}

// known fails with queue.ErrNotFound if an id is not of a letter.
func (t *tx) known(ids []string) error {
	strange, err := collect(t, scanValue[string], "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM letters) LIMIT 1", list[string](ids))
	if err == nil && len(strange) > 0 {
		err = fmt.Errorf("letter %.200q: %w", strange[0], queue.ErrNotFound)
	}
	return err
}

// countReplay counts what was frozen.
func (t *tx) countReplay(job string) (c queue.ReplayCounts, err error) {
	err = t.row(`SELECT count(*), coalesce(sum(m.total = 0), 0), coalesce(sum(l.uncertain), 0),
		coalesce(sum(l.overtaken OR l.seq < coalesce(c.delivered, 0)), 0), coalesce(sum(l.overdue), 0)
		FROM replay_items AS i CROSS JOIN letters AS l ON l.id = i.letter JOIN messages AS m ON m.id = i.message LEFT JOIN lane_counts AS c ON c.lane = l.lane
		WHERE i.job = ?`, job).Scan(&c.Total, &c.NeverTried, &c.Uncertain, &c.Overtaken, &c.Overdue)
	c.Pending = c.Total
	return c, err
}

const jobColumns = "id, actor, created, status, confirm, skip, filter, counts, finished"

func scanJob(r scanner) (queue.ReplayJob, error) {
	var j queue.ReplayJob
	err := r.Scan(&j.ID, object{&j.Actor}, moment{&j.Created}, &j.Status, object{&j.Confirm}, object{&j.Skip}, object{&j.Filter}, object{&j.Counts}, moment{&j.Finished})
	return j, err
}

// ReplayJob gives a bulk replay.
func (s *Store) ReplayJob(ctx context.Context, id string) (j queue.ReplayJob, err error) {
	err = s.read(ctx, func(t *tx) error {
		j, err = scanJob(t.row("SELECT "+jobColumns+" FROM replay_jobs WHERE id = ?", id))
		return missing(err, "replay", id)
	})
	return j, err
}

// ReplayJobs gives the bulk replays, newest first; an empty status means all.
func (s *Store) ReplayJobs(ctx context.Context, status queue.ReplayStatus) (all []queue.ReplayJob, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanJob, "SELECT "+jobColumns+" FROM replay_jobs WHERE ?1 IN ('', status) ORDER BY n DESC LIMIT 1000", string(status))
		return err
	})
	return all, err
}

// ReplayItems gives the letters of a bulk replay, by N; an empty status means
// all.
func (s *Store) ReplayItems(ctx context.Context, job, status string, after, limit int) (all []queue.ReplayItem, err error) {
	query := "SELECT job, n, letter, message, partner, status, detail FROM replay_items WHERE job = ?1 AND status = ?2 AND n > ?3 ORDER BY n LIMIT ?4+0"
	if status == "" {
		query = "SELECT job, n, letter, message, partner, status, detail FROM replay_items WHERE job = ?1 AND ?2 = '' AND n > ?3 ORDER BY n LIMIT ?4+0"
	}
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanItem, query, job, status, after, max(limit, 0))
		return err
	})
	return all, err
}

func scanItem(r scanner) (it queue.ReplayItem, err error) {
	err = r.Scan(&it.Job, &it.N, &it.Letter, &it.Message, &it.Partner, &it.Status, &it.Detail)
	return it, err
}

// SaveReplay stores status, counts and end of a bulk replay, and status and
// detail of items.
func (s *Store) SaveReplay(ctx context.Context, j queue.ReplayJob, items ...queue.ReplayItem) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE replay_jobs SET status = ?, counts = ?, finished = ? WHERE id = ?", string(j.Status), object{j.Counts}, micros(j.Finished), j.ID)
		if err == nil && n == 0 {
			err = queue.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("replay %.80q: %w", j.ID, err)
		}
		for _, it := range items {
			n := int64(0)
			if it.Job == j.ID {
				if n, err = t.exec("UPDATE replay_items SET status = ?, detail = ? WHERE job = ? AND n = ?", it.Status, it.Detail, it.Job, it.N); err != nil {
					return fmt.Errorf("replay %s, item %d: %w", j.ID, it.N, err)
				}
			}
			if n == 0 {
				return fmt.Errorf("replay %s has no item %d: %w", j.ID, it.N, queue.ErrNotFound)
			}
		}
		return nil
	})
}
