package sqlite

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"edigw/queue"
)

// ended is the condition that messages AS m are terminal since before a cut.
const ended = `(m.state = 'refused' OR m.state = 'delivered' OR m.state = 'superseded' OR m.state = 'discarded') AND m.finished <= ?1 AND (m.finished > 0 OR m.accepted <= ?1)`

// expired asks for one kind of garbage each: message, what, build, file, and
// how many rows name the file. ?1 is the cut, ?2 the limit, ?3 the partners
// that it is about, or all but these if ?4.
var expired = []struct {
	keep  func(queue.Keep, queue.KeepPartner) time.Duration
	query string
}{
	{func(k queue.Keep, _ queue.KeepPartner) time.Duration { return k.Wire }, `SELECT m.id, 'wire', b.n, b.sha256, (SELECT count(*) FROM builds AS o WHERE o.kept = 1 AND o.sha256 = b.sha256)
		FROM builds AS b INDEXED BY builds_kept CROSS JOIN messages AS m ON m.id = b.message
		WHERE b.kept = 1 AND b.created <= ?1 AND ` + ended + chosen + ` ORDER BY b.created, b.n LIMIT ?2`},
	{func(_ queue.Keep, p queue.KeepPartner) time.Duration { return p.Evidence }, `SELECT m.id, 'receipt', 0, a.raw, (SELECT count(*) FROM attempts AS o WHERE o.raw <> '' AND o.raw = a.raw)
		FROM attempts AS a INDEXED BY attempts_raw CROSS JOIN messages AS m ON m.id = a.message
		WHERE a.raw <> '' AND a.started <= ?1 AND ` + ended + chosen + ` ORDER BY a.started, a.n LIMIT ?2`},
	{func(_ queue.Keep, p queue.KeepPartner) time.Duration { return p.Payloads }, `SELECT m.id, 'payload', 0, m.sha256, (SELECT count(*) FROM messages AS o WHERE o.payload_kept = 1 AND o.sha256 = m.sha256)
		FROM messages AS m INDEXED BY messages_ended WHERE m.payload_kept = 1 AND ` + ended + chosen + ` ORDER BY m.finished, m.seq LIMIT ?2`},
	{func(k queue.Keep, _ queue.KeepPartner) time.Duration { return k.Keys }, `SELECT m.id, 'facts', 0, '', 0
		FROM messages AS m INDEXED BY messages_ended WHERE ` + ended + chosen + ` AND ` + spent + ` ORDER BY m.finished, m.seq LIMIT ?2`},
}

// chosen is the condition that messages AS m are of the partners asked about.
const chosen = ` AND (m.partner IN (SELECT value FROM json_each(?3))) <> ?4`

// share is partners with one cut: those listed, or all others.
type share struct {
	keep     time.Duration
	partners []string
	others   bool
}

// shares groups the partners by how long a kind of garbage is kept.
func shares(k queue.Keep, keep func(queue.Keep, queue.KeepPartner) time.Duration) []share {
	common := share{keep: keep(k, k.Of("")), others: true}
	own := map[time.Duration][]string{}
	for id, p := range k.Partners {
		if d := keep(k, p); d != common.keep {
			own[d] = append(own[d], id)
			common.partners = append(common.partners, id)
		}
	}
	all := []share{common}
	for _, d := range slices.Sorted(maps.Keys(own)) {
		all = append(all, share{keep: d, partners: own[d]})
	}
	return all
}

// spent is the condition that messages AS m have no letter and no file left.
const spent = `m.letter = '' AND m.payload_kept = 0
	AND NOT EXISTS (SELECT 1 FROM builds AS b WHERE b.message = m.id AND b.kept = 1)
	AND NOT EXISTS (SELECT 1 FROM attempts AS a WHERE a.message = m.id AND a.raw <> '')`

// Expired lists what retention lets go.
func (s *Store) Expired(ctx context.Context, now time.Time, k queue.Keep, limit int) ([]queue.Garbage, error) {
	type row struct {
		queue.Garbage
		naming int
	}
	listed := map[string]int{} // of a file that several rows name, only the last in the list is its last
	var all []queue.Garbage
	err := s.read(ctx, func(t *tx) error {
		for _, e := range expired {
			for _, x := range shares(k, e.keep) {
				if x.keep <= 0 || len(all) >= limit {
					continue
				}
				rows, err := collect(t, func(r scanner) (g row, err error) {
					err = r.Scan(&g.Message, &g.What, &g.Build, &g.File, &g.naming)
					return g, err
				}, e.query, micros(now.Add(-x.keep)), limit-len(all), list[string](x.partners), x.others)
				if err != nil {
					return err
				}
				for _, g := range rows {
					if g.File != "" {
						listed[g.What+"/"+g.File]++
						g.Shared = g.naming > listed[g.What+"/"+g.File]
					}
					all = append(all, g.Garbage)
				}
			}
		}
		return nil
	})
	return all, err
}

// Forget drops rows that Expired listed. What is not terminal any more, or
// gone already, is left alone.
func (s *Store) Forget(ctx context.Context, g ...queue.Garbage) error {
	const terminal = " IN (SELECT id FROM messages WHERE id = ?1 AND state IN ('refused', 'delivered', 'superseded', 'discarded'))"
	return s.write(ctx, func(t *tx) (err error) {
		for _, x := range g {
			switch x.What {
			case "wire":
				_, err = t.exec("UPDATE builds SET kept = 0 WHERE message"+terminal+" AND n = ?2", x.Message, x.Build)
			case "receipt":
				_, err = t.exec("UPDATE attempts SET raw = '' WHERE message"+terminal+" AND raw = ?2", x.Message, x.File)
			case "payload":
				_, err = t.exec("UPDATE messages SET payload_kept = 0 WHERE id"+terminal, x.Message)
			case "facts":
				err = t.forget(x.Message)
			default:
				err = fmt.Errorf("sqlite: nothing to forget is called %.40q", x.What)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// forget drops a message whole, but for its audit entries: Trim drops those
// at their own age.
func (t *tx) forget(message string) error {
	n, err := t.exec("DELETE FROM messages AS m WHERE m.id = ? AND m.state IN ('refused', 'delivered', 'superseded', 'discarded') AND "+spent, message)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.exec("DELETE FROM events WHERE message = ? AND message <> '' AND actor = ''", message)
	return err
}

// trimmed are the rows that Trim drops, in turn. ?1 is the time by which they
// ended, ?2 the limit.
var trimmed = []string{
	`DELETE FROM replay_items WHERE (job, n) IN (SELECT i.job, i.n FROM replay_jobs AS j CROSS JOIN replay_items AS i ON i.job = j.id
		WHERE j.status IN ('done', 'cancelled') AND j.finished > 0 AND j.finished <= ?1 LIMIT ?2)`,
	`DELETE FROM replay_jobs WHERE n IN (SELECT n FROM replay_jobs AS j
		WHERE j.status IN ('done', 'cancelled') AND j.finished > 0 AND j.finished <= ?1 AND NOT EXISTS (SELECT 1 FROM replay_items WHERE job = j.id) LIMIT ?2)`,
	`DELETE FROM outages WHERE number IN (SELECT number FROM outages AS o
		WHERE o.ended > 0 AND o.ended <= ?1 AND NOT EXISTS (SELECT 1 FROM letters WHERE outage = o.id AND outage <> '') LIMIT ?2)`,
	`DELETE FROM events WHERE id IN (SELECT id FROM events AS e INDEXED BY events_idle
		WHERE e.message = '' AND e.actor = '' AND e.at <= ?1` + unbound + ` LIMIT ?2)`,
	`DELETE FROM events WHERE id IN (SELECT id FROM events AS e INDEXED BY events_audit_age
		WHERE e.actor <> '' AND e.at <= ?1 AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.id = e.message)` + unbound + ` LIMIT ?2)`,
}

// unbound is the condition that events AS e are of no running outage.
const unbound = " AND NOT EXISTS (SELECT 1 FROM outages AS o WHERE o.id = e.outage AND o.ended = 0)"

// Trim drops what belongs to no message and ended by a time, audit entries of
// that time too.
func (s *Store) Trim(ctx context.Context, by time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		n = 0
		for _, query := range trimmed {
			if n >= limit {
				break
			}
			gone, err := t.exec(query, micros(by), limit-n)
			if err != nil {
				return err
			}
			n += int(gone)
		}
		return nil
	})
	return n, err
}

// Unnamed gives those of the files that no row names.
func (s *Store) Unnamed(ctx context.Context, what string, files []string) (free []string, err error) {
	query, ok := map[string]string{
		"payload": "SELECT EXISTS (SELECT 1 FROM messages WHERE payload_kept = 1 AND sha256 = ?)",
		"wire":    "SELECT EXISTS (SELECT 1 FROM builds WHERE kept = 1 AND sha256 = ?)",
		"receipt": "SELECT EXISTS (SELECT 1 FROM attempts WHERE raw <> '' AND raw = ?)",
	}[what]
	if !ok {
		return nil, fmt.Errorf("sqlite: no row names a %.40q", what)
	}
	err = s.read(ctx, func(t *tx) error {
		for _, f := range files {
			named := false
			if err := t.row(query, f).Scan(&named); err != nil {
				return err
			}
			if !named {
				free = append(free, f)
			}
		}
		return nil
	})
	return free, err
}

// Usage gives the size of the store. Messages is an upper bound: numbers that
// were given out.
func (s *Store) Usage(ctx context.Context) (u queue.Usage, err error) {
	err = s.read(ctx, func(t *tx) error {
		return t.row(`SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size),
			coalesce((SELECT max(seq) FROM messages) - (SELECT min(seq) FROM messages) + 1, 0), coalesce((SELECT sum(dead) FROM lane_counts), 0)`).Scan(&u.Bytes, &u.Messages, &u.Letters)
	})
	if info, statErr := os.Stat(filepath.Join(s.dir, FileName+"-wal")); err == nil && statErr == nil {
		u.WAL = info.Size()
	}
	return u, err
}
