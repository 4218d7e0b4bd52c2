package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"edigw/access"
	"edigw/alerts"
	"edigw/queue"
)

// Outages reads outages; every store does.
type Outages interface {
	Outage(ctx context.Context, id string) (queue.Outage, error)
	Outages(ctx context.Context, partner string, running bool, p queue.Page) ([]queue.Outage, string, error)
}

// outage is an outage on the wire, or another incident in the same shape.
type outage struct {
	ID        string     `json:"id"`
	Partner   string     `json:"partner"`
	Since     *time.Time `json:"since"`
	Cause     string     `json:"cause"`
	Status    int        `json:"status" doc:"HTTP status that began it, 0 if none"`
	Detail    string     `json:"detail"`
	State     string     `json:"state" enum:"running,answering,recovered,ended,withdrawn" doc:"recovered: it answers, and letters are open"`
	Letters   int        `json:"letters" doc:"that it made"`
	Open      int        `json:"open" doc:"of these, open now"`
	Answering *time.Time `json:"answering"`
	Recovered *time.Time `json:"recovered"`
	Ended     *time.Time `json:"ended"`
	Alert     *alert     `json:"alert,omitempty" doc:"what was told of it"`
}

func (a *API) outageRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/outages", scope: access.Read, about: "Outages, newest first.",
			query: slices.Concat([]param{{name: "partner", about: "only this partner's"}, {name: "running", about: "true: only those that have not ended"}}, paging),
			out:   list[outage]{}, status: http.StatusOK, do: a.listOutages},
		{method: http.MethodGet, path: "/outages/{id}", scope: access.Read, about: "An outage (OUT-) or another incident (INC-).",
			out: outage{}, status: http.StatusOK, also: []Slug{NotFound}, do: a.showOutage},
	}
}

func (a *API) listOutages(c *call) error {
	id, err := c.partner()
	if err != nil {
		return err
	}
	running, err := c.flag("running")
	if err != nil {
		return err
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	all, next, err := a.Ledger.Outages(c.r.Context(), id, running, p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(all, next, viewOutage))
}

func (a *API) showOutage(c *call) error {
	ctx, id := c.r.Context(), c.param("id")
	if strings.HasPrefix(id, "INC-") {
		in, err := a.Alerts.Incident(ctx, id)
		if err != nil {
			return absent(err, "incident", id)
		}
		v, err := a.viewIncident(ctx, in)
		if err != nil {
			return err
		}
		return c.answer(http.StatusOK, v)
	}
	o, err := a.Ledger.Outage(ctx, id)
	if err != nil {
		return absent(err, "outage", id)
	}
	v := viewOutage(o)
	in, err := a.Alerts.Incident(ctx, id)
	switch {
	case err == nil:
		told := viewAlert(in)
		v.Alert = &told
	case !isAbsent(err): // nothing told of it yet is no fault
		return err
	}
	return c.answer(http.StatusOK, v)
}

func viewOutage(o queue.Outage) outage {
	v := outage{
		ID: o.ID, Partner: o.Partner, Since: when(o.Since), Cause: string(o.Cause), Status: o.Status, Detail: o.Detail, Letters: o.Letters, Open: o.Open,
		Answering: when(o.Answering), Recovered: when(o.Recovered), Ended: when(o.Ended), State: "running",
	}
	switch {
	case o.Withdrawn:
		v.State = "withdrawn"
	case !o.Ended.IsZero():
		v.State = "ended"
	case !o.Recovered.IsZero():
		v.State = "recovered"
	case !o.Answering.IsZero():
		v.State = "answering"
	}
	return v
}

// viewIncident shows an incident that is no outage in an outage's shape.
func (a *API) viewIncident(ctx context.Context, in alerts.Incident) (outage, error) {
	told := viewAlert(in)
	v := outage{ID: in.ID, Partner: in.Partner, Since: when(in.Opened), Cause: in.Cause, Detail: in.Detail, Ended: when(in.Over), State: "running", Alert: &told}
	if in.Stage == alerts.Over {
		v.State = "ended"
	}
	if in.Kind != alerts.KindLetters {
		return v, nil
	}
	groups, err := a.Ledger.LetterGroups(ctx, queue.LetterFilter{Partner: in.Partner})
	if err != nil {
		return v, err
	}
	for _, g := range groups {
		if g.Cause == in.Cause || g.Cause == "" && string(g.Reason) == in.Cause {
			v.Open += g.Open
		}
	}
	v.Letters = v.Open
	for _, n := range in.Ended {
		v.Letters += n
	}
	return v, nil
}
