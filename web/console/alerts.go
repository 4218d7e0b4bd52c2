package console

import (
	"context"
	"errors"
	"net/url"

	"edigw/access"
	"edigw/alerts"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// alertsPage is how many alerts are shown at once.
const alertsPage = 25

// alertList is the page of alerts: what is on, and who has it.
type alertList struct {
	Title    string
	Fine     bool
	Chips    []filterLink
	Rows     []alertRow
	Channels []channelRow
	Newer    string
	Older    string
}

// alertRow is an alert in the list.
type alertRow struct {
	ID, Kind, News string
	Partner, Name  string
	Severity       flag
	Mark           mark
	Since, Over    moment
	Ack            *ackRow
	Under          string // alert that says it already
	Told           []toldRow
	Button         *button
}

// channelRow is how an alert channel is.
type channelRow struct {
	Name    string
	Mark    mark
	Since   moment // failing
	Problem string
	Last    moment
	Unsent  int
	Test    *button
}

func (c *Console) alertPages() []page {
	return []page{{path: "/alerts", params: []string{"show", "cursor"}, show: c.alerts}}
}

func (c *Console) alertActions() []action {
	return []action{
		{path: "/alerts/{id}/acknowledge", do: c.acknowledge},
		{path: "/alerts/test", do: c.testChannel},
	}
}

func (c *Console) alerts(v *visit) (view, error) {
	show := v.query.Get("show")
	if show != "" && show != "all" {
		return view{}, wrong("filter", show)
	}
	ctx := v.r.Context()
	found, next, err := c.Alerts.Incidents(ctx, show == "", queue.Page{Limit: alertsPage, Cursor: v.query.Get("cursor")})
	if err != nil {
		return view{}, err
	}
	p := alertList{Older: olderLink(v.query, "/alerts", next), Chips: []filterLink{{"On now", with(v.query, "/alerts", "show", ""), show == ""}, {"All", with(v.query, "/alerts", "show", "all"), show == "all"}}}
	on, free := 0, 0
	for _, in := range found {
		row, err := c.alertRow(ctx, v, in)
		if err != nil {
			return view{}, err
		}
		if in.Active() && in.Stage != alerts.Over {
			on++
		}
		if in.Active() && in.Stage != alerts.Over && in.Ack == nil && in.Under == "" {
			free++
		}
		p.Rows = append(p.Rows, row)
	}
	p.Title, p.Fine = alertTitle(on, free, next != ""), free == 0
	if p.Channels, err = c.channels(ctx, v); err != nil {
		return view{}, err
	}
	return view{template: "alerts", title: p.Title, nav: "/alerts", data: p}, nil
}

// alertTitle says how many alerts of the page nobody has.
func alertTitle(on, free int, more bool) string {
	switch {
	case on == 0 && !more:
		return "No alert is on."
	case free == 0:
		return "Somebody has every alert that is on."
	}
	text := words.Count(free, "alert that nobody has", "alerts that nobody has")
	if more {
		text = "At least " + text
	}
	return text
}

func (c *Console) alertRow(ctx context.Context, v *visit, in alerts.Incident) (alertRow, error) {
	sent, err := c.Alerts.Notifications(ctx, in.ID)
	if err != nil {
		return alertRow{}, err
	}
	r := alertRow{ID: in.ID, Kind: words.Incident(string(in.Kind)), News: plain(in.Detail), Partner: in.Partner, Name: c.partnerName(in.Partner), Severity: severityFlag(in.Severity),
		Mark: mark{"bad", "■", "On"}, Since: v.at(in.Opened), Over: v.at(in.Over), Ack: v.ackRow(in.Ack), Under: in.Under, Told: v.told(sent)}
	switch in.Stage {
	case alerts.Over:
		r.Mark = mark{"ok", "✓", "Over"}
	case alerts.Answering:
		r.Mark = mark{"warn", "◐", "Answers again"}
	}
	if n := len(sent); n > 0 {
		r.News = newsOf(sent[n-1])
	}
	if in.Active() && in.Stage != alerts.Over && in.Ack == nil && v.may(access.Operate) && c.Acknowledger != nil {
		r.Button = &button{Label: "Acknowledge", Path: "/alerts/" + url.PathEscape(in.ID) + "/acknowledge", Back: v.here(), Kind: primary}
	}
	return r, nil
}

func severityFlag(s alerts.Severity) flag {
	switch s {
	case alerts.Page:
		return flag{"page", "bad"}
	case alerts.Ticket:
		return flag{"ticket", "warn"}
	}
	return flag{"info", ""}
}

// channels are how the alert channels are, each with its test.
func (c *Console) channels(ctx context.Context, v *visit) (rows []channelRow, err error) {
	all, err := c.Alarm.Conditions(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		r := channelRow{Name: one.Name, Mark: mark{"ok", "●", "Works"}, Since: v.at(one.Since), Problem: plain(one.Problem), Last: v.at(one.Last), Unsent: one.Unsent}
		switch {
		case one.Failing:
			r.Mark = mark{"bad", "✕", "Fails"}
		case one.Problem != "":
			r.Mark = mark{"warn", "◐", "Failed once"}
		case one.Last.IsZero():
			r.Mark = mark{"idle", "…", "Not used since the start"}
		}
		if v.may(access.Operate) {
			r.Test = &button{Label: "Send a test", Path: "/alerts/test?channel=" + url.QueryEscape(one.Name), Back: "/alerts"}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// acknowledge says that somebody has it.
func (c *Console) acknowledge(v *visit) (done, error) {
	ctx, id := v.r.Context(), v.param("id")
	if c.Acknowledger == nil {
		return done{}, &web.Problem{Slug: web.Conflict, Detail: "Alerts cannot be acknowledged here."}
	}
	note := v.form.Get("reason")
	if len(note) > maxParameter {
		return done{}, &web.Problem{Slug: web.BadRequest, Field: "reason", Detail: "The note has at most 300 bytes."}
	}
	in, err := c.Alerts.Incident(ctx, id)
	if err != nil {
		return done{}, absent(err, "alert", id)
	}
	err = c.Acknowledger.Acknowledge(ctx, id, v.actor(), note)
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return done{}, &web.Problem{Slug: web.Conflict, Detail: "This is over: there is nothing to acknowledge."}
	case errors.Is(err, queue.ErrConflict):
		return done{}, &web.Problem{Slug: web.Conflict, Detail: hasIt(in, v) + " Nothing was changed."}
	case err != nil:
		return done{}, err
	}
	return done{flash: flash{Text: "You have " + id + ". No reminders follow; changes and its end are still told."}}, nil
}

func hasIt(in alerts.Incident, v *visit) string {
	if in.Ack == nil {
		return "Somebody has it already."
	}
	return plain(in.Ack.By.Name) + " has it already, since " + v.at(in.Ack.At).Clock + "."
}

// testChannel sends a test over one channel. The audit log names who asked and
// what came of it.
func (c *Console) testChannel(v *visit) (done, error) {
	name := v.r.URL.Query().Get("channel")
	if name == "" {
		name = v.form.Get("channel")
	}
	ctx := v.r.Context()
	err := c.Alarm.Test(ctx, name, v.actor())
	if errors.Is(err, alerts.ErrNotSet) {
		return done{}, &web.Problem{Slug: web.NotFound, Field: "channel", Detail: "The settings name no channel " + plain(name) + ": see alerts in edigw.yaml."}
	}
	said := flash{Text: "A test was sent over " + name + ". Look whether it arrived."}
	e := queue.Event{At: v.now, Type: alerts.EventTested, Actor: v.actor(), Text: "test over " + name + " sent", Facts: map[string]string{"channel": name}}
	if err != nil {
		said = flash{Text: "The test over " + name + " failed: " + plain(web.Clean(err.Error())), Bad: true}
		e.Text = "test over " + name + " failed: " + web.Clean(err.Error())
	}
	if err := c.Ledger.AddEvents(ctx, e); err != nil {
		return done{}, err
	}
	return done{to: "/alerts", flash: said}, nil
}
