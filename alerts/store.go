package alerts

import (
	"context"
	"time"

	"edigw/queue"
)

// Store is what the pipeline asks of a store. Each method is one whole
// transaction; errors as storetest.Store says.
type Store interface {
	Ledger
	Facts
	Records
	Outbox
}

// Ledger reads the events and numbers incidents.
type Ledger interface {
	Events(ctx context.Context, after int64, limit int) ([]queue.Event, error)
	NextNumber(ctx context.Context, series string) (int64, error)
}

// Facts says how things stand now.
type Facts interface {
	Outage(ctx context.Context, id string) (queue.Outage, error)
	Lane(ctx context.Context, key string) (queue.Lane, error)
	Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error)
	LetterGroups(ctx context.Context, f queue.LetterFilter) ([]queue.LetterGroup, error)
	Depths(ctx context.Context) ([]queue.Depth, error)
	PartnerDepths(ctx context.Context, partner string) ([]queue.Depth, error)
	Isolation(ctx context.Context) (queue.Isolation, error)
}

// Records keeps incidents and how far the pipeline came.
type Records interface {
	// AlertState gives the state, zero at first.
	AlertState(ctx context.Context) (State, error)
	// ActiveIncidents gives the incidents that are not closed, oldest first.
	ActiveIncidents(ctx context.Context) ([]Incident, error)
	// Incident gives one by its ID, queue.ErrNotFound if there is none.
	Incident(ctx context.Context, id string) (Incident, error)
	// SaveAlerts writes one step of the pipeline. A version that is not the
	// stored one is queue.ErrConflict; after success the versions in what was
	// passed in are the stored ones. A notification that is stored already is
	// queue.ErrConflict.
	SaveAlerts(ctx context.Context, s *Step) error
	// ForgetAlerts drops incidents that were closed before then, with their
	// notifications, and notifications without an incident that were sent
	// before then: at most limit rows, and says how many. What is not sent
	// stays, and so does its incident.
	ForgetAlerts(ctx context.Context, before time.Time, limit int) (int, error)
}

// Outbox keeps what is on its way to a channel.
type Outbox interface {
	// DueNotifications gives notifications of a channel that are not sent and
	// not to be tried after now: pages first, then by age. next is the earliest
	// NextAt among the others, zero if there is none.
	DueNotifications(ctx context.Context, channel string, now time.Time, limit int) (due []Notification, next time.Time, err error)
	// SaveNotification writes how a notification stands, and events. One that
	// is not stored is queue.ErrNotFound.
	SaveNotification(ctx context.Context, n Notification, events ...queue.Event) error
}

// Step is what one step of the pipeline changed.
type Step struct {
	State         State
	Incidents     []Incident     // new and changed ones
	Notifications []Notification // new ones
	Events        []queue.Event
}

// Reader is what pages and the API read of alerts.
type Reader interface {
	Incident(ctx context.Context, id string) (Incident, error)
	// Incidents lists them, newest first; active: only those not closed.
	Incidents(ctx context.Context, active bool, p queue.Page) ([]Incident, string, error)
	// Notifications gives those of an incident, oldest first, at most 1,000.
	Notifications(ctx context.Context, incident string) ([]Notification, error)
	// UnsentNotifications counts, by channel, what is not sent.
	UnsentNotifications(ctx context.Context) (map[string]int, error)
}
