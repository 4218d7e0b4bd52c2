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

// forgotten are the rows that ForgetAlerts drops, in turn. ?1 is the time
// before which they ended, ?2 the limit.
var forgotten = []string{
	`DELETE FROM notifications WHERE n IN (SELECT x.n FROM incidents AS i INDEXED BY incidents_closed CROSS JOIN notifications AS x ON x.incident = i.id
		WHERE i.closed > 0 AND i.closed < ?1 AND NOT EXISTS (SELECT 1 FROM notifications WHERE incident = i.id AND sent = 0) LIMIT ?2)`,
	`DELETE FROM notifications WHERE n IN (SELECT n FROM notifications INDEXED BY notifications_alone WHERE incident = '' AND sent > 0 AND sent < ?1 LIMIT ?2)`,
	`DELETE FROM incidents WHERE n IN (SELECT i.n FROM incidents AS i INDEXED BY incidents_closed
		WHERE i.closed > 0 AND i.closed < ?1 AND NOT EXISTS (SELECT 1 FROM notifications WHERE incident = i.id) LIMIT ?2)`,
}

// ForgetAlerts drops closed incidents and sent notifications of old.
func (s *Store) ForgetAlerts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		n = 0
		for _, query := range forgotten {
			if n >= limit {
				break
			}
			gone, err := t.exec(query, micros(before), limit-n)
			if err != nil {
				return err
			}
			n += int(gone)
		}
		return nil
	})
	return n, err
}

// incidentColumns are read with the version: that in the object is older.
const incidentColumns = "i.id, i.value, i.version, i.closed"

func scanIncident(r scanner) (in alerts.Incident, err error) {
	var id string
	var version int64
	var closed time.Time
	var d damage
	err = r.Scan(&id, d.object("value", &in), &version, moment{&closed})
	if in.Version = version; d.text != "" {
		in = alerts.Unreadable(id, version, closed, d.text)
	}
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

const notificationColumns = "id, incident, channel, page, next_at, sent, value"

func scanNotification(r scanner) (n alerts.Notification, err error) {
	var stored alerts.Notification // what columns say of it
	var d damage
	var page bool
	err = r.Scan(&stored.ID, &stored.Incident, &stored.Channel, &page, moment{&stored.NextAt}, moment{&stored.Sent}, d.object("value", &n))
	if d.text != "" {
		stored.Severity = alerts.Ticket
		if page {
			stored.Severity = alerts.Page
		}
		n = stored.Unreadable(d.text)
	}
	return n, err
}

// DueNotifications gives notifications of a channel that are to be tried now:
// pages first, then by age.
func (s *Store) DueNotifications(ctx context.Context, channel string, now time.Time, limit int) (due []alerts.Notification, next time.Time, err error) {
	err = s.read(ctx, func(t *tx) error {
		due, err = collect(t, scanNotification, "SELECT "+notificationColumns+` FROM notifications INDEXED BY notifications_due
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
		all, err = collect(t, scanNotification, "SELECT "+notificationColumns+" FROM notifications WHERE incident = ? ORDER BY n LIMIT 1000", incident)
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
