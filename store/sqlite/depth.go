package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// depthsOf reads depths out of the counters: lane_counts AS c as selected.
func depthsOf(selected string) string {
	return `SELECT c.lane, c.partner, c.depth, c.bytes, c.acks, ` + oldestColumn + `,
		coalesce((SELECT min(created) FROM letters INDEXED BY letters_age WHERE lane = c.lane AND status = 'open'), 0),
		coalesce((SELECT min(deliver_by) FROM messages INDEXED BY messages_deadline WHERE lane = c.lane AND state IN ('queued', 'waiting') AND overdue = 0 AND deliver_by > 0), 0)
		FROM lane_counts AS c WHERE ` + selected + `(c.depth > 0 OR c.acks > 0 OR c.dead > 0) ORDER BY c.lane`
}

const (
	lanesOfPartner = "c.lane IN (SELECT value FROM json_each(?)) AND "
	reasonsOfAll   = "SELECT lane, reason, open FROM letter_counts WHERE open > 0"
)

// Depths gives the lanes with anything waiting or dead, by lane, out of the
// counters.
func (s *Store) Depths(ctx context.Context) (all []queue.Depth, err error) {
	err = s.read(ctx, func(t *tx) error {
		if all, err = collect(t, scanDepth, depthsOf("")); err != nil {
			return err
		}
		return t.reasons(all, reasonsOfAll)
	})
	return all, err
}

// PartnerDepths is Depths for one partner's lanes.
func (s *Store) PartnerDepths(ctx context.Context, partner string) (all []queue.Depth, err error) {
	lanes := list[string]{queue.InboxLane(partner)}
	for _, k := range queue.Kinds {
		lanes = append(lanes, queue.LaneKey(partner, k))
	}
	err = s.read(ctx, func(t *tx) error {
		if all, err = collect(t, scanDepth, depthsOf(lanesOfPartner), lanes); err != nil {
			return err
		}
		return t.reasons(all, reasonsOfAll+" AND lane IN (SELECT value FROM json_each(?))", lanes)
	})
	return all, err
}

const (
	census = `SELECT c.lane, c.partner, c.depth, c.acks, c.dead,
		iif(c.depth > 0, coalesce((SELECT min(deliver_by) FROM messages INDEXED BY messages_deadline WHERE lane = c.lane AND state IN ('queued', 'waiting') AND overdue = 0 AND deliver_by > 0), 0), 0)
		FROM lane_counts AS c WHERE c.depth > 0 OR c.acks > 0 OR c.dead > 0 ORDER BY c.lane`
	oldestLetter = "SELECT created FROM letters INDEXED BY letters_open WHERE status = 'open' ORDER BY n LIMIT 1"
)

// Census counts what each lane has, out of the counters.
func (s *Store) Census(ctx context.Context) (c queue.Census, err error) {
	err = s.read(ctx, func(t *tx) error {
		if c.Lanes, err = collect(t, scanCount, census); err != nil {
			return err
		}
		oldest, err := collect(t, func(r scanner) (at time.Time, err error) {
			err = r.Scan(moment{&at})
			return at, err
		}, oldestLetter)
		if len(oldest) > 0 {
			c.Oldest = oldest[0]
		}
		return err
	})
	return c, err
}

func scanCount(r scanner) (c queue.LaneCount, err error) {
	err = r.Scan(&c.Lane, &c.Partner, &c.Lined, &c.Acks, &c.Letters, moment{&c.First})
	return c, err
}

func scanDepth(r scanner) (queue.Depth, error) {
	var d queue.Depth
	err := r.Scan(&d.Lane, &d.Partner, &d.Lined, &d.Bytes, &d.Acks, moment{&d.Oldest}, moment{&d.OldestL}, moment{&d.First})
	return d, err
}

// reasons adds the counts of open letters to depths that are sorted by lane.
func (t *tx) reasons(depths []queue.Depth, query string, args ...any) error {
	type count struct {
		lane   string
		reason fault.Reason
		open   int
	}
	counts, err := collect(t, func(r scanner) (c count, err error) {
		err = r.Scan(&c.lane, &c.reason, &c.open)
		return c, err
	}, query, args...)
	for _, c := range counts {
		i, found := slices.BinarySearchFunc(depths, c.lane, func(d queue.Depth, lane string) int { return strings.Compare(d.Lane, lane) })
		if !found {
			continue
		}
		if depths[i].Letters == nil {
			depths[i].Letters = map[fault.Reason]int{}
		}
		depths[i].Letters[c.reason] = c.open
	}
	return err
}
