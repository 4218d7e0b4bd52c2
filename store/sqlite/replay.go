package sqlite

import (
	"context"
	"fmt"
	"time"

	"edigw/queue"
)

// FreezeReplay stores a bulk replay with the letters that it selects now.
func (s *Store) FreezeReplay(ctx context.Context, j queue.ReplayJob, ids []string, events ...queue.Event) (queue.ReplayJob, error) {
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
		inbound, err := collectOnce(t, scanValue[int], "SELECT count(*) FROM letters AS l"+w.String()+" AND l.direction = 'in'", w.args...)
		if err != nil {
			return fmt.Errorf("replay %s: %w", j.ID, err)
		}
		w.add("l.direction = 'out'")
		if _, err := t.conn.ExecContext(t.ctx, `INSERT INTO replay_items (job, n, letter, message, partner, status, detail)
			SELECT ?, row_number() OVER (ORDER BY l.seq, l.n), l.id, l.message, l.partner, 'pending', '' FROM letters AS l`+w.String(),
			append([]any{j.ID}, w.args...)...); err != nil {
			return fmt.Errorf("replay %s: %w", j.ID, meaning(err))
		}
		if j.Counts, err = t.countReplay(j.ID, j.Created); err != nil {
			return err
		}
		j.Counts.Inbound = inbound[0]
		if _, err = t.exec("UPDATE replay_jobs SET counts = ? WHERE id = ?", object{j.Counts}, j.ID); err != nil {
			return err
		}
		return t.addEvents(events)
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

// tally is what a letter l and its message m are, as queue.ReplayCounts.Count
// has it; ?1 is now.
const tally = `count(*), coalesce(sum(m.total = 0 AND NOT (l.uncertain OR m.uncertain)), 0), coalesce(sum(l.uncertain OR m.uncertain), 0),
	coalesce(sum(l.overtaken OR (l.status = 'open' AND l.seq < coalesce(c.delivered, 0))), 0),
	coalesce(sum(l.overdue OR (m.deadline_given AND m.deliver_by > 0 AND m.deliver_by < ?1)), 0)`

// Tally counts the open letters of a selection, by lane and direction.
func (s *Store) Tally(ctx context.Context, f queue.LetterFilter, forgotten map[string]time.Time, now time.Time) (all []queue.Tally, err error) {
	before := map[string]int64{}
	for partner, t := range forgotten {
		before[partner] = micros(t)
	}
	var w where
	f.Status = queue.LetterOpen
	w.letters(f)
	err = s.read(ctx, func(t *tx) error {
		all, err = collectOnce(t, scanTally, `WITH old (partner, before) AS MATERIALIZED (SELECT key, value FROM json_each(?2))
			SELECT l.lane, l.partner, l.direction, `+tally+`,
			coalesce(sum(l.uncertain OR m.uncertain OR (m.total > 0 AND iif(m.first_failure > 0, m.first_failure, m.accepted) < coalesce(old.before, 0))), 0),
			coalesce(sum(m.parked OR l.reason = 'changed-content'), 0), coalesce(sum(l.overtaken OR m.overtaken OR l.seq < coalesce(c.delivered, 0)), 0),
			coalesce(sum(m.deadline_given AND m.deliver_by > 0 AND m.deliver_by < ?1), 0)
			FROM letters AS l JOIN messages AS m ON m.seq = l.seq LEFT JOIN lane_counts AS c ON c.lane = l.lane LEFT JOIN old ON old.partner = l.partner`+w.String()+
			` GROUP BY l.lane, l.direction ORDER BY l.lane, l.direction`, append([]any{micros(now), object{before}}, w.args...)...)
		return err
	})
	return all, err
}

func scanTally(r scanner) (n queue.Tally, err error) {
	c := &n.Counts
	err = r.Scan(&n.Lane, &n.Partner, &n.Direction, &c.Total, &c.NeverTried, &c.Uncertain, &c.Overtaken, &c.Overdue, &n.Doubtful, &n.Changed, &n.Passed, &n.Missed)
	c.Pending = c.Total
	return n, err
}

// countReplay counts what was frozen, as queue.ReplayCounts.Count does.
func (t *tx) countReplay(job string, now time.Time) (c queue.ReplayCounts, err error) {
	err = t.row("SELECT "+tally+` FROM replay_items AS i CROSS JOIN letters AS l ON l.id = i.letter JOIN messages AS m ON m.seq = l.seq LEFT JOIN lane_counts AS c ON c.lane = l.lane
		WHERE i.job = ?2`, micros(now), job).Scan(&c.Total, &c.NeverTried, &c.Uncertain, &c.Overtaken, &c.Overdue)
	c.Pending = c.Total
	return c, err
}

const jobColumns = "id, actor, created, status, confirm, skip, filter, counts, finished"

func scanJob(r scanner) (queue.ReplayJob, error) {
	var j queue.ReplayJob
	var d damage
	err := r.Scan(&j.ID, d.object("actor", &j.Actor), moment{&j.Created}, &j.Status, d.object("confirm", &j.Confirm), d.object("skip", &j.Skip),
		d.object("filter", &j.Filter), d.object("counts", &j.Counts), moment{&j.Finished})
	j.Damaged = d.text
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
	query := itemsOf + "WHERE job = ?1 AND status = ?2 AND n > ?3 ORDER BY n LIMIT ?4+0"
	if status == "" {
		query = itemsOf + "WHERE job = ?1 AND ?2 = '' AND n > ?3 ORDER BY n LIMIT ?4+0"
	}
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanItem, query, job, status, after, max(limit, 0))
		return err
	})
	return all, err
}

const itemsOf = "SELECT job, n, letter, message, partner, status, detail FROM replay_items "

// Queries that a bulk replay asks with every step. What is done already is
// never read again.
const (
	lineOfReplay = itemsOf + "INDEXED BY replay_items_line WHERE job = ?1 AND status = 'pending' AND partner = ?2 AND n > ?3 ORDER BY n LIMIT ?4+0"
	underWay     = itemsOf + "INDEXED BY replay_items_underway WHERE job = ?1 AND status = 'replayed' AND detail = '' AND n > ?2 ORDER BY n LIMIT ?3+0"
	// From one partner to the next, however many letters each has.
	partnersOfReplay = `WITH RECURSIVE next (partner) AS (
		SELECT min(partner) FROM replay_items INDEXED BY replay_items_line WHERE job = ?1 AND status = 'pending' AND partner > ?2
		UNION ALL
		SELECT (SELECT min(partner) FROM replay_items INDEXED BY replay_items_line WHERE job = ?1 AND status = 'pending' AND partner > next.partner)
			FROM next WHERE next.partner IS NOT NULL)
		SELECT partner FROM next WHERE partner IS NOT NULL LIMIT ?3+0`
)

// ReplayPartners gives the partners with pending letters of a bulk replay, by
// id, after one.
func (s *Store) ReplayPartners(ctx context.Context, job, after string, limit int) (all []string, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanValue[string], partnersOfReplay, job, after, max(limit, 0))
		return err
	})
	return all, err
}

// ReplayLine gives the pending letters of one partner in a bulk replay, by N.
func (s *Store) ReplayLine(ctx context.Context, job, partner string, after, limit int) (all []queue.ReplayItem, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanItem, lineOfReplay, job, partner, after, max(limit, 0))
		return err
	})
	return all, err
}

// ReplayUnderWay gives the replayed letters of which nothing is noted since,
// by N.
func (s *Store) ReplayUnderWay(ctx context.Context, job string, after, limit int) (all []queue.ReplayItem, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanItem, underWay, job, after, max(limit, 0))
		return err
	})
	return all, err
}

func scanItem(r scanner) (it queue.ReplayItem, err error) {
	err = r.Scan(&it.Job, &it.N, &it.Letter, &it.Message, &it.Partner, &it.Status, &it.Detail)
	return it, err
}

// SaveReplay stores status, counts and end of a bulk replay, status and detail
// of items, and events.
func (s *Store) SaveReplay(ctx context.Context, j queue.ReplayJob, events []queue.Event, items ...queue.ReplayItem) error {
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
		return t.addEvents(events)
	})
}
