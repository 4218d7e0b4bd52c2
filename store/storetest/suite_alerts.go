package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// RunAlerts proves that a store keeps the part of the contract that package
// alerts relies on. open gives an empty store as in Run.
func RunAlerts(t *testing.T, open func(t *testing.T) AlertStore) {
	for name, rule := range map[string]func(*testing.T, AlertStore){
		"a step is written whole":                       alertStep,
		"a step with any stale version changes nothing": alertConflict,
		"pages are due first, what waits is not due":    alertDue,
		"closed incidents are listed but not active":    alertClosed,
		"a notification that is sent is done with":      alertSent,
		"what is old and told is forgotten":             alertForget,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, open(t))
		})
	}
}

func incident(id string) alerts.Incident {
	return alerts.Incident{ID: id, Key: "letters/northwind/" + id, Kind: alerts.KindLetters, Partner: "northwind", Lane: "northwind", Cause: "rejected",
		Severity: alerts.Ticket, Stage: alerts.Running, News: alerts.NewsOpened, Due: after(30 * time.Second), Opened: t0, Changed: t0, Events: 3,
		Ended: map[string]int{"discarded": 1}, Facts: map[string]string{"reason": "rejected"}, Detail: "partner refused"}
}

func notification(id, channel string, s alerts.Severity, at time.Time) alerts.Notification {
	return alerts.Notification{ID: id, Incident: "INC-1", Channel: channel, Severity: s, Name: "inc-1-x.1", Thread: "inc-1-x.1",
		Text:  alerts.Text{Subject: "[TICKET] Northwind DE: 3 rejected [INC-1]", Body: "line\nline\n", Lead: "Northwind DE", Line: "3 rejected", Link: "https://edigw.acme.example/outages/INC-1"},
		Extra: []string{"edi@acme.example"}, Created: t0, NextAt: at}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s: -want +got\n%s", what, d)
	}
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func alertStep(t *testing.T, s AlertStore) {
	ctx := t.Context()
	state, err := s.AlertState(ctx)
	fine(t, err)
	same(t, "state of an empty store", alerts.State{}, state)
	step := &alerts.Step{
		State:         alerts.State{Cursor: 7, Heartbeat: t0, Settings: alerts.Setting{At: t0, Text: "reload"}, Tally: alerts.Tally{Delivered: 4}},
		Incidents:     []alerts.Incident{incident("INC-1"), incident("INC-2")},
		Notifications: []alerts.Notification{notification("INC-1.1.mail", "mail", alerts.Ticket, t0)},
		Events:        []queue.Event{{At: t0, Type: alerts.EventAcknowledged, Text: "kept"}},
	}
	fine(t, s.SaveAlerts(ctx, step))
	same(t, "versions after the step", []int64{1, 1, 1}, []int64{step.State.Version, step.Incidents[0].Version, step.Incidents[1].Version})
	state, err = s.AlertState(ctx)
	fine(t, err)
	same(t, "state", step.State, state)
	all, err := s.ActiveIncidents(ctx)
	fine(t, err)
	same(t, "incidents", step.Incidents, all)
	notes, err := s.Notifications(ctx, "INC-1")
	fine(t, err)
	same(t, "notifications", step.Notifications, notes)
	events, err := s.Events(ctx, 0, 10)
	fine(t, err)
	if len(events) != 1 || events[0].Text != "kept" {
		t.Errorf("events after the step: %+v", events)
	}

	step.Incidents[0].Ack = &alerts.Ack{At: t0, Note: "mine"}
	step.Incidents = step.Incidents[:1]
	step.Notifications, step.Events = nil, nil
	fine(t, s.SaveAlerts(ctx, step))
	got, err := s.Incident(ctx, "INC-1")
	fine(t, err)
	same(t, "changed incident", step.Incidents[0], got)
	if _, err := s.Incident(ctx, "INC-99"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("unknown incident: %v, want ErrNotFound", err)
	}
}

func alertConflict(t *testing.T, s AlertStore) {
	ctx := t.Context()
	first := &alerts.Step{Incidents: []alerts.Incident{incident("INC-1")}, Notifications: []alerts.Notification{notification("INC-1.1.mail", "mail", alerts.Page, t0)}}
	fine(t, s.SaveAlerts(ctx, first))
	state := func(v int64) alerts.State { return alerts.State{Version: v, Cursor: 99} }
	changed := incident("INC-1")
	changed.Version = 1
	for name, step := range map[string]alerts.Step{
		"state behind":            {State: state(0)},
		"state ahead":             {State: state(2)},
		"incident made twice":     {State: state(1), Incidents: []alerts.Incident{incident("INC-2"), incident("INC-1")}},
		"incident without number": {State: state(1), Incidents: []alerts.Incident{incident("")}},
		"incident never made":     {State: state(1), Incidents: []alerts.Incident{func() alerts.Incident { in := incident("INC-3"); in.Version = 1; return in }()}},
		"notification made twice": {State: state(1), Incidents: []alerts.Incident{changed}, Notifications: []alerts.Notification{notification("INC-1.1.mail", "mail", alerts.Page, t0)},
			Events: []queue.Event{{At: t0, Type: alerts.EventAcknowledged}}},
	} {
		before := step.State.Version
		if err := s.SaveAlerts(ctx, &step); !errors.Is(err, queue.ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", name, err)
		}
		if step.State.Version != before {
			t.Errorf("%s: version was raised by a failed step", name)
		}
	}
	got, err := s.AlertState(ctx)
	fine(t, err)
	same(t, "state", first.State, got)
	all, err := s.ActiveIncidents(ctx)
	fine(t, err)
	same(t, "incidents", first.Incidents, all)
	if last, err := s.LastEvent(ctx); err != nil || last != 0 {
		t.Errorf("a failed step left %d events (%v)", last, err)
	}
}

func alertDue(t *testing.T, s AlertStore) {
	ctx := t.Context()
	step := &alerts.Step{Notifications: []alerts.Notification{
		notification("a", "mail", alerts.Info, t0), notification("b", "mail", alerts.Page, t0), notification("c", "slack", alerts.Page, t0),
		notification("d", "mail", alerts.Ticket, after(time.Hour)), notification("e", "mail", alerts.Page, after(2*time.Hour)), notification("f", "mail", alerts.Ticket, t0),
	}}
	fine(t, s.SaveAlerts(ctx, step))
	ids := func(all []alerts.Notification) (ids []string) {
		for _, n := range all {
			ids = append(ids, n.ID)
		}
		return ids
	}
	due, next, err := s.DueNotifications(ctx, "mail", t0, 10)
	fine(t, err)
	same(t, "due", []string{"b", "a", "f"}, ids(due))
	same(t, "next", after(time.Hour), next)
	due, _, err = s.DueNotifications(ctx, "mail", t0, 2)
	fine(t, err)
	same(t, "first two", []string{"b", "a"}, ids(due))
	due, next, err = s.DueNotifications(ctx, "mail", after(2*time.Hour), 10)
	fine(t, err)
	same(t, "all", []string{"b", "e", "a", "d", "f"}, ids(due))
	same(t, "next of all", time.Time{}, next)
	due, next, err = s.DueNotifications(ctx, "pager", t0, 10)
	fine(t, err)
	same(t, "of no channel", []string(nil), ids(due))
	same(t, "next of no channel", time.Time{}, next)
}

func alertClosed(t *testing.T, s AlertStore) {
	ctx := t.Context()
	step := &alerts.Step{}
	for i := range 5 {
		in := incident(fmt.Sprintf("INC-%d", i+1))
		if i%2 == 1 {
			in.Stage, in.Over, in.Closed = alerts.Over, t0, t0
		}
		step.Incidents = append(step.Incidents, in)
	}
	fine(t, s.SaveAlerts(ctx, step))
	ids := func(all []alerts.Incident) (ids []string) {
		for _, in := range all {
			ids = append(ids, in.ID)
		}
		return ids
	}
	all, err := s.ActiveIncidents(ctx)
	fine(t, err)
	same(t, "active", []string{"INC-1", "INC-3", "INC-5"}, ids(all))
	page, cursor, err := s.Incidents(ctx, false, queue.Page{Limit: 3})
	fine(t, err)
	same(t, "first page", []string{"INC-5", "INC-4", "INC-3"}, ids(page))
	page, cursor, err = s.Incidents(ctx, false, queue.Page{Limit: 3, Cursor: cursor})
	fine(t, err)
	same(t, "second page", []string{"INC-2", "INC-1"}, ids(page))
	same(t, "last cursor", "", cursor)
	page, _, err = s.Incidents(ctx, true, queue.Page{Limit: 2})
	fine(t, err)
	same(t, "active page", []string{"INC-5", "INC-3"}, ids(page))
	if _, _, err := s.Incidents(ctx, true, queue.Page{Limit: 2, Cursor: "nonsense"}); !errors.Is(err, queue.ErrBadCursor) {
		t.Errorf("bad cursor: %v, want ErrBadCursor", err)
	}
	again := step.Incidents[1]
	again.Stage, again.Closed = alerts.Running, time.Time{}
	fine(t, s.SaveAlerts(ctx, &alerts.Step{State: step.State, Incidents: []alerts.Incident{again}}))
	all, err = s.ActiveIncidents(ctx)
	fine(t, err)
	same(t, "one goes on", []string{"INC-1", "INC-2", "INC-3", "INC-5"}, ids(all))
}

func alertSent(t *testing.T, s AlertStore) {
	ctx := t.Context()
	n := notification("a", "mail", alerts.Page, t0)
	fine(t, s.SaveAlerts(ctx, &alerts.Step{Notifications: []alerts.Notification{n, notification("b", "slack", alerts.Page, t0)}}))
	n.Attempts, n.Problem, n.NextAt, n.Left = 1, "refused", after(time.Minute), []string{"edi@acme.example"}
	fine(t, s.SaveNotification(ctx, n))
	all, err := s.Notifications(ctx, "INC-1")
	fine(t, err)
	same(t, "after a failure", n, all[0])
	n.Attempts, n.Problem, n.Left, n.Sent = 2, "", nil, after(time.Minute)
	fine(t, s.SaveNotification(ctx, n, queue.Event{At: t0, Type: queue.EventChannel, Text: "works again"}))
	due, next, err := s.DueNotifications(ctx, "mail", after(time.Hour), 10)
	fine(t, err)
	if len(due) != 0 || !next.IsZero() {
		t.Errorf("sent, but due: %v, next %v", due, next)
	}
	unsent, err := s.UnsentNotifications(ctx)
	fine(t, err)
	same(t, "unsent", map[string]int{"slack": 1}, unsent)
	events, err := s.Events(ctx, 0, 10)
	fine(t, err)
	if len(events) != 1 || events[0].Type != queue.EventChannel {
		t.Errorf("events: %+v", events)
	}
	n.ID = "never made"
	if err := s.SaveNotification(ctx, n, queue.Event{At: t0, Type: queue.EventChannel}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("unknown notification: %v, want ErrNotFound", err)
	}
	if last, err := s.LastEvent(ctx); err != nil || last != 1 {
		t.Errorf("last event %d (%v), want 1", last, err)
	}
}

func alertForget(t *testing.T, s AlertStore) {
	ctx := t.Context()
	step := &alerts.Step{}
	for i, closed := range []time.Time{t0, after(time.Hour), {}, t0} {
		in := incident(fmt.Sprintf("INC-%d", i+1))
		in.Closed = closed
		n := notification(in.ID+".1.mail", "mail", alerts.Ticket, t0)
		n.Incident, n.Sent = in.ID, t0
		if i == 3 {
			n.Sent = time.Time{}
		}
		step.Incidents = append(step.Incidents, in)
		step.Notifications = append(step.Notifications, n)
	}
	for i, sent := range []time.Time{t0, after(time.Hour), {}} {
		n := notification(fmt.Sprintf("heartbeat-%d.mail", i+1), "mail", alerts.Info, t0)
		n.Incident, n.Sent = "", sent
		step.Notifications = append(step.Notifications, n)
	}
	fine(t, s.SaveAlerts(ctx, step))
	total := 0
	for n := 1; n > 0; total += n {
		var err error
		if n, err = s.ForgetAlerts(ctx, after(time.Minute), 1); err != nil || n > 1 {
			t.Fatalf("%d rows at once, %v", n, err)
		}
	}
	if total != 3 { // an incident with its notification, a notification of none
		t.Errorf("%d rows went, want 3", total)
	}
	all, _, err := s.Incidents(ctx, false, queue.Page{Limit: 10})
	fine(t, err)
	var left []string
	for _, in := range all {
		left = append(left, in.ID)
		notes, err := s.Notifications(ctx, in.ID)
		fine(t, err)
		if len(notes) != 1 {
			t.Errorf("%s has %d notifications, want 1", in.ID, len(notes))
		}
	}
	same(t, "incidents that stay", []string{"INC-4", "INC-3", "INC-2"}, left)
	notes, err := s.Notifications(ctx, "")
	fine(t, err)
	if len(notes) != 2 {
		t.Errorf("%d notifications without an incident stay, want 2", len(notes))
	}
	if notes, err := s.Notifications(ctx, "INC-1"); err != nil || len(notes) != 0 {
		t.Errorf("notifications of a forgotten incident: %d (%v)", len(notes), err)
	}
}
