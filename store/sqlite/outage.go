package sqlite

import (
	"context"
	"fmt"

	"edigw/queue"
)

// putOutage adds an outage, or changes the one of the same id.
func (t *tx) putOutage(o *queue.Outage) error {
	_, err := t.exec(`INSERT INTO outages (number, id, partner, lane, cause, status, detail, since, answering, recovered, ended, withdrawn)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET cause = excluded.cause, status = excluded.status, detail = excluded.detail, since = excluded.since,
		answering = excluded.answering, recovered = excluded.recovered, ended = excluded.ended, withdrawn = excluded.withdrawn`,
		o.Number, o.ID, o.Partner, o.Lane, string(o.Cause), o.Status, o.Detail, micros(o.Since), micros(o.Answering), micros(o.Recovered), micros(o.Ended), o.Withdrawn)
	if err != nil {
		return fmt.Errorf("outage %s: %w", o.ID, err)
	}
	return nil
}

const outageColumns = `o.number, o.id, o.partner, o.lane, o.cause, o.status, o.detail, o.since, o.answering, o.recovered, o.ended, o.withdrawn,
	coalesce((SELECT letters FROM outage_counts AS c WHERE c.outage = o.id), 0), coalesce((SELECT open FROM outage_counts AS c WHERE c.outage = o.id), 0)`

func scanOutage(r scanner) (queue.Outage, error) {
	var o queue.Outage
	err := r.Scan(&o.Number, &o.ID, &o.Partner, &o.Lane, &o.Cause, &o.Status, &o.Detail, moment{&o.Since}, moment{&o.Answering}, moment{&o.Recovered}, moment{&o.Ended}, &o.Withdrawn,
		&o.Letters, &o.Open)
	return o, err
}

// Outage gives an outage with its letters counted.
func (s *Store) Outage(ctx context.Context, id string) (o queue.Outage, err error) {
	err = s.read(ctx, func(t *tx) error {
		o, err = scanOutage(t.row("SELECT "+outageColumns+" FROM outages AS o WHERE o.id = ?", id))
		return missing(err, "outage", id)
	})
	return o, err
}

// Outages lists outages, newest first.
func (s *Store) Outages(ctx context.Context, partner string, running bool, p queue.Page) ([]queue.Outage, string, error) {
	var w where
	w.equal("o.partner", partner)
	if running {
		w.add("o.ended = 0")
	}
	return page(ctx, s, outageTable, w, p, scanOutage)
}
