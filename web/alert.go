package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"edigw/access"
	"edigw/alerts"
	"edigw/fault"
	"edigw/queue"
)

// Alerts reads incidents; every store does.
type Alerts interface {
	Incident(ctx context.Context, id string) (alerts.Incident, error)
	Incidents(ctx context.Context, active bool, p queue.Page) ([]alerts.Incident, string, error)
	Notifications(ctx context.Context, incident string) ([]alerts.Notification, error)
}

// Acknowledger notes that somebody has an incident; *alerts.Service does.
type Acknowledger interface {
	// Acknowledge stops the reminders. One that somebody has already is
	// queue.ErrConflict, one that is not running queue.ErrNotFound.
	Acknowledge(ctx context.Context, id string, by fault.Actor, note string) error
}

// alert is an incident on the wire.
type alert struct {
	ID           string          `json:"id" doc:"OUT- for an outage, else INC-"`
	Kind         string          `json:"kind"`
	Severity     string          `json:"severity" enum:"page,ticket,info"`
	State        string          `json:"state" enum:"running,answering,over"`
	Partner      string          `json:"partner" doc:"empty: the gateway as a whole"`
	Cause        string          `json:"cause"`
	Detail       string          `json:"detail"`
	Events       int             `json:"events"`
	Told         int             `json:"told" doc:"how often"`
	Opened       *time.Time      `json:"opened"`
	Changed      *time.Time      `json:"changed"`
	LastTold     *time.Time      `json:"last_told"`
	Over         *time.Time      `json:"over"`
	Under        string          `json:"under" doc:"incident that says it already"`
	Acknowledged *acknowledgment `json:"acknowledged,omitempty"`
	Deliveries   []delivery      `json:"deliveries,omitempty" doc:"to channels, oldest first; only of one alert"`
}

// acknowledgment is an operator's word that somebody has it.
type acknowledgment struct {
	By   string     `json:"by"`
	At   *time.Time `json:"at"`
	Note string     `json:"note"`
}

// delivery is a notification on its way to one channel.
type delivery struct {
	Channel  string     `json:"channel"`
	Severity string     `json:"severity"`
	Created  *time.Time `json:"created"`
	Sent     *time.Time `json:"sent"`
	Attempts int        `json:"attempts"`
	NextAt   *time.Time `json:"next_at"`
	Problem  string     `json:"problem" doc:"why the last try failed"`
}

func (a *API) alertRoutes() []route {
	routes := []route{
		{method: http.MethodGet, path: "/alerts", scope: access.Read, about: "Alerts, newest first.",
			query: slices.Concat([]param{{name: "active", about: "true: only those that are not over"}}, paging), out: list[alert]{}, status: http.StatusOK, do: a.listAlerts},
		{method: http.MethodGet, path: "/alerts/{id}", scope: access.Read, about: "An alert with its deliveries.",
			out: alert{}, status: http.StatusOK, also: []Slug{NotFound}, do: a.showAlert},
	}
	if a.Acknowledger != nil {
		routes = append(routes, route{method: http.MethodPost, path: "/alerts/{id}/acknowledge", scope: access.Operate, about: "Say that somebody has it: no reminders follow.",
			in: ask{}, out: alert{}, status: http.StatusOK, also: []Slug{NotFound, Conflict, DiskFull}, do: a.acknowledge})
	}
	return routes
}

func (a *API) listAlerts(c *call) error {
	active, err := c.flag("active")
	if err != nil {
		return err
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	all, next, err := a.Alerts.Incidents(c.r.Context(), active, p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(all, next, viewAlert))
}

func (a *API) showAlert(c *call) error {
	ctx, id := c.r.Context(), c.param("id")
	in, err := a.Alerts.Incident(ctx, id)
	if err != nil {
		return absent(err, "alert", id)
	}
	sent, err := a.Alerts.Notifications(ctx, id)
	if err != nil {
		return err
	}
	v := viewAlert(in)
	v.Deliveries = listOf(sent, "", viewDelivery).Items
	return c.answer(http.StatusOK, v)
}

func (a *API) acknowledge(c *call) error {
	var body ask
	if err := c.read(&body); err != nil {
		return err
	}
	what, err := body.asked(c)
	if err != nil {
		return err
	}
	if len(what.Note) > maxReference {
		return bad("note", "At most %d bytes.", maxReference)
	}
	ctx, id := c.r.Context(), c.param("id")
	in, err := a.Alerts.Incident(ctx, id)
	if err != nil {
		return absent(err, "alert", id)
	}
	err = a.Acknowledger.Acknowledge(ctx, id, c.actor, what.Note)
	switch {
	case isAbsent(err):
		return &Problem{Slug: Conflict, Detail: "This is over: there is nothing to acknowledge."}
	case errors.Is(err, queue.ErrConflict):
		p := &Problem{Slug: Conflict, Detail: "Somebody has it already."}
		if in.Ack != nil {
			p.By, p.At = in.Ack.By.Name, in.Ack.At
		}
		return p
	case err != nil:
		return err
	}
	if in, err = a.Alerts.Incident(ctx, id); err != nil {
		return err
	}
	return c.answer(http.StatusOK, viewAlert(in))
}

func viewAlert(in alerts.Incident) alert {
	v := alert{
		ID: in.ID, Kind: string(in.Kind), Severity: string(in.Severity), State: string(in.Stage), Partner: in.Partner, Cause: in.Cause, Detail: in.Detail,
		Events: in.Events, Told: in.Told, Opened: when(in.Opened), Changed: when(in.Changed), LastTold: when(in.LastTold), Over: when(in.Over), Under: in.Under,
	}
	if in.Ack != nil {
		v.Acknowledged = &acknowledgment{By: in.Ack.By.Name, At: when(in.Ack.At), Note: in.Ack.Note}
	}
	return v
}

func viewDelivery(n alerts.Notification) delivery {
	return delivery{Channel: n.Channel, Severity: string(n.Severity), Created: when(n.Created), Sent: when(n.Sent), Attempts: n.Attempts, NextAt: when(n.NextAt), Problem: n.Problem}
}
