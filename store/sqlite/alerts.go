package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"edigw/alerts"
	"edigw/queue"
)

// AlertState gives the state of the alert pipeline, zero at first.
func (s *Store) AlertState(ctx context.Context) (st alerts.State, err error) {
	err = s.read(ctx, func(t *tx) error {
		err := t.row("SELECT version, value FROM alert_state").Scan(&st.Version, object{&st})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return st, err
}

// SaveAlerts writes one step of the alert pipeline.
func (s *Store) SaveAlerts(ctx context.Context, step *alerts.Step) error {
	err := s.write(ctx, func(t *tx) error {
		if err := t.putAlertState(step.State); err != nil {
			return fmt.Errorf("state of alerts, version %d: %w", step.State.Version, err)
		}
		for _, in := range step.Incidents {
			if err := t.putIncident(in); err != nil {
				return fmt.Errorf("incident %q, version %d: %w", in.ID, in.Version, err)
			}
		}
		for _, n := range step.Notifications {
			_, err := t.exec("INSERT INTO notifications (id, incident, channel, page, next_at, sent, value) VALUES (?, ?, ?, ?, ?, ?, ?)",
				n.ID, n.Incident, n.Channel, n.Severity == alerts.Page, micros(n.NextAt), micros(n.Sent), object{n})
			if err != nil {
				return fmt.Errorf("notification %q: %w", n.ID, err)
			}
		}
		return t.addEvents(step.Events)
	})
	if err != nil {
		return err
	}
	step.State.Version++
	for i := range step.Incidents {
		step.Incidents[i].Version++
	}
	return nil
}

func (t *tx) putAlertState(st alerts.State) error {
	if st.Version == 0 {
		_, err := t.exec("INSERT INTO alert_state (one, version, value) VALUES (1, 1, ?)", object{st})
		return err
	}
	n, err := t.exec("UPDATE alert_state SET version = version + 1, value = ? WHERE version = ?", object{st}, st.Version)
	if err == nil && n == 0 {
		err = queue.ErrConflict
	}
	return err
}

func (t *tx) putIncident(in alerts.Incident) error {
	if in.ID == "" {
		return queue.ErrConflict
	}
	if in.Version == 0 {
		_, err := t.exec("INSERT INTO incidents (id, version, closed, value) VALUES (?, 1, ?, ?)", in.ID, micros(in.Closed), object{in})
		return err
	}
	n, err := t.exec("UPDATE incidents SET version = version + 1, closed = ?, value = ? WHERE id = ? AND version = ?",
		micros(in.Closed), object{in}, in.ID, in.Version)
	if err == nil && n == 0 {
		err = queue.ErrConflict
	}
	return err
}

// ForgetAlerts drops closed incidents and sent notifications of old.
func (s *Store) ForgetAlerts(ctx context.Context, before time.Time) error {
	return s.write(ctx, func(t *tx) error {
		const gone = "SELECT id FROM incidents AS i WHERE closed > 0 AND closed < ? AND NOT EXISTS (SELECT 1 FROM notifications WHERE incident = i.id AND sent = 0)"
		for _, q := range []string{
			"DELETE FROM notifications WHERE incident IN (" + gone + ")",
			"DELETE FROM notifications WHERE incident = '' AND sent > 0 AND sent < ?",
			"DELETE FROM incidents WHERE id IN (" + gone + ")",
		} {
			if _, err := t.exec(q, micros(before)); err != nil {
				return err
			}
		}
		return nil
	})
}

// incidentColumns are read with the version last: that in the object is older.
const incidentColumns = "i.value, i.version"

func scanIncident(r scanner) (in alerts.Incident, err error) {
	var version int64
	err = r.Scan(object{&in}, &version)
	in.Version = version
	return in, err
}

var incidentTable = table{"incidents", incidentColumns, "incidents AS i", "i.n"}

// ActiveIncidents gives the incidents that are not closed, oldest first.
func (s *Store) ActiveIncidents(ctx context.Context) (all []alerts.Incident, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanIncident, "SELECT "+incidentColumns+" FROM incidents AS i WHERE i.closed = 0 ORDER BY i.n")
		return err
	})
	return all, err
}

// Incident gives one by its id.
func (s *Store) Incident(ctx context.Context, id string) (in alerts.Incident, err error) {
	err = s.read(ctx, func(t *tx) error {
		in, err = scanIncident(t.row("SELECT "+incidentColumns+" FROM incidents AS i WHERE i.id = ?", id))
		return missing(err, "incident", id)
	})
	return in, err
}

// Incidents lists incidents, newest first.
func (s *Store) Incidents(ctx context.Context, active bool, p queue.Page) ([]alerts.Incident, string, error) {
	var w where
	if active {
		w.add("i.closed = 0")
	}
	return page(ctx, s, incidentTable, w, p, scanIncident)
}

func scanNotification(r scanner) (n alerts.Notification, err error) {
	err = r.Scan(object{&n})
	return n, err
}

// DueNotifications gives notifications of a channel that are to be tried now:
// pages first, then by age.
func (s *Store) DueNotifications(ctx context.Context, channel string, now time.Time, limit int) (due []alerts.Notification, next time.Time, err error) {
	err = s.read(ctx, func(t *tx) error {
		due, err = collect(t, scanNotification, `SELECT value FROM notifications INDEXED BY notifications_due
			WHERE sent = 0 AND channel = ? AND next_at <= ? ORDER BY page DESC, n LIMIT ?+0`, channel, micros(now), max(limit, 0))
		if err != nil {
			return err
		}
		err := t.row(`SELECT next_at FROM notifications INDEXED BY notifications_due
			WHERE sent = 0 AND channel = ? AND next_at > ? ORDER BY next_at LIMIT 1`, channel, micros(now)).Scan(moment{&next})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return due, next, err
}

// SaveNotification writes how a notification stands.
func (s *Store) SaveNotification(ctx context.Context, n alerts.Notification, events ...queue.Event) error {
	return s.write(ctx, func(t *tx) error {
		rows, err := t.exec("UPDATE notifications SET next_at = ?, sent = ?, value = ? WHERE id = ?", micros(n.NextAt), micros(n.Sent), object{n}, n.ID)
		if err == nil && rows == 0 {
			err = queue.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("notification %.80q: %w", n.ID, err)
		}
		return t.addEvents(events)
	})
}

// Notifications gives those of an incident, oldest first, at most 1,000.
func (s *Store) Notifications(ctx context.Context, incident string) (all []alerts.Notification, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanNotification, "SELECT value FROM notifications WHERE incident = ? ORDER BY n LIMIT 1000", incident)
		return err
	})
	return all, err
}

// UnsentNotifications counts, by channel, what is not sent.
func (s *Store) UnsentNotifications(ctx context.Context) (unsent map[string]int, err error) {
	unsent = map[string]int{}
	err = s.read(ctx, func(t *tx) error {
		rows, err := collect(t, func(r scanner) (c channelCount, err error) {
			err = r.Scan(&c.channel, &c.unsent)
			return c, err
		}, "SELECT channel, count(*) FROM notifications INDEXED BY notifications_due WHERE sent = 0 GROUP BY channel")
		for _, c := range rows {
			unsent[c.channel] = c.unsent
		}
		return err
	})
	return unsent, err
}

type channelCount struct {
	channel string
	unsent  int
}
