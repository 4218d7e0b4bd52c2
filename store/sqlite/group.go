package sqlite

import (
	"context"
	"time"

	"edigw/queue"
)

// groupColumns are what scanGroup reads, of letter_groups AS g.
const groupColumns = `g.partner, g.reason, g.cause, g.outage, g.direction, g.open, g.replaying, g.uncertain,
	(SELECT min(l.created) FROM letters AS l INDEXED BY letters_groups WHERE l.partner = g.partner AND l.reason = g.reason AND l.cause = g.cause AND l.outage = g.outage AND l.direction = g.direction AND l.status <> 'closed'),
	(SELECT max(l.created) FROM letters AS l INDEXED BY letters_groups WHERE l.partner = g.partner AND l.reason = g.reason AND l.cause = g.cause AND l.outage = g.outage AND l.direction = g.direction AND l.status <> 'closed')`

func scanGroup(r scanner) (queue.LetterGroup, error) {
	var g queue.LetterGroup
	err := r.Scan(&g.Partner, &g.Reason, &g.Cause, &g.Outage, &g.Direction, &g.Open, &g.Replaying, &g.Uncertain, moment{&g.Oldest}, moment{&g.Newest})
	return g, err
}

// groups adds what a filter says of groups.
func (w *where) groups(f queue.LetterFilter) {
	w.equal("g.partner", f.Partner)
	w.equal("g.reason", string(f.Reason))
	w.equal("g.cause", f.Cause)
	w.equal("g.outage", f.Outage)
	w.equal("g.direction", string(f.Direction))
}

// LetterGroups counts the open and replaying letters by partner, reason,
// cause, outage and direction: out of the counters, unless a time or a status is asked
// for, which reads the letters' index.
func (s *Store) LetterGroups(ctx context.Context, f queue.LetterFilter) (all []queue.LetterGroup, err error) {
	var w where
	query := "SELECT " + groupColumns + " FROM letter_groups AS g"
	if f == (queue.LetterFilter{Partner: f.Partner, Reason: f.Reason, Cause: f.Cause, Outage: f.Outage, Direction: f.Direction}) {
		w.groups(f)
		query += w.String() + " ORDER BY g.partner, g.reason, g.cause, g.outage, g.direction"
	} else {
		w.add("l.status <> 'closed'")
		w.letters(f)
		query = `SELECT l.partner, l.reason, l.cause, l.outage, l.direction, sum(l.status = 'open'), sum(l.status = 'replaying'), sum(l.uncertain), min(l.created), max(l.created)
			FROM letters AS l INDEXED BY letters_groups` + w.String() + " GROUP BY l.partner, l.reason, l.cause, l.outage, l.direction ORDER BY l.partner, l.reason, l.cause, l.outage, l.direction"
	}
	err = s.read(ctx, func(t *tx) error {
		all, err = collectOnce(t, scanGroup, query, w.args...)
		return err
	})
	return all, err
}

// LargestGroups gives the groups with the most open letters, the largest
// first, and how many letters are open in all groups that the filter selects.
func (s *Store) LargestGroups(ctx context.Context, f queue.LetterFilter, limit int) (all []queue.LetterGroup, open int, err error) {
	f.From, f.To = time.Time{}, time.Time{}
	var w where
	w.groups(f)
	err = s.read(ctx, func(t *tx) error {
		some, err := collectOnce(t, scanValue[int], "SELECT coalesce(sum(g.open), 0) FROM letter_groups AS g"+w.String(), w.args...)
		if err != nil {
			return err
		}
		open = some[0]
		all, err = collectOnce(t, scanGroup, "SELECT "+groupColumns+` FROM (SELECT * FROM letter_groups AS g`+w.String()+` ORDER BY g.open DESC, g.partner, g.reason, g.cause, g.outage, g.direction LIMIT ?) AS g
			ORDER BY g.open DESC, g.partner, g.reason, g.cause, g.outage, g.direction`, append(w.args, max(limit, 0))...)
		return err
	})
	return all, open, err
}
