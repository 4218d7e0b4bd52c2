package sqlite

import (
	"cmp"
	"context"
	"slices"

	"edigw/queue"
)

// Each type is a stretch of an index of its own: of the many events that a
// partner has, no more are read than there may be of each type.
const (
	historyOfPartner = "SELECT " + eventColumns + " FROM events WHERE message = '' AND partner <> '' AND partner = ?||'' AND type = ?||'' ORDER BY id DESC LIMIT ?+0"
	historyOfOutage  = "SELECT " + eventColumns + " FROM events WHERE message = '' AND outage <> '' AND outage = ?||'' AND type = ?||'' ORDER BY id DESC LIMIT ?+0"
)

// History gives the newest events of a partner or an outage that belong to no
// message, newest first.
func (s *Store) History(ctx context.Context, f queue.HistoryFilter, limit int) (all []queue.Event, err error) {
	query, of := historyOfPartner, f.Partner
	if f.Outage != "" {
		query, of = historyOfOutage, f.Outage
	}
	err = s.read(ctx, func(t *tx) error {
		for _, kind := range f.Types {
			some, err := collect(t, scanEvent, query, of, string(kind), max(limit, 0))
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y queue.Event) int { return cmp.Compare(y.ID, x.ID) })
	return all[:min(len(all), max(limit, 0))], nil
}
