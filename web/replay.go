package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"edigw/access"
	"edigw/dlq"
	"edigw/fault"
	"edigw/queue"
)

// Replays are replays of many letters; *dlq.Service has them. Errors are those
// of package dlq.
type Replays interface {
	Bulk(ctx context.Context, sel dlq.Selection, ask dlq.BulkAsk) (dlq.Plan, error)
	Pause(ctx context.Context, job string, by fault.Actor) (queue.ReplayJob, error)
	Resume(ctx context.Context, job string, by fault.Actor) (queue.ReplayJob, error)
	CancelBulk(ctx context.Context, job string, by fault.Actor) (queue.ReplayJob, error)
}

// Jobs reads bulk replays; every store does.
type Jobs interface {
	ReplayJob(ctx context.Context, id string) (queue.ReplayJob, error)
	ReplayJobs(ctx context.Context, s queue.ReplayStatus) ([]queue.ReplayJob, error)
	ReplayItems(ctx context.Context, job, status string, after, limit int) ([]queue.ReplayItem, error)
}

// bulk is the body of a bulk replay: ids, a filter or an outage.
type bulk struct {
	IDs     []string   `json:"ids,omitempty" doc:"at most 10,000"`
	Filter  bulkFilter `json:"filter,omitempty"`
	Outage  string     `json:"outage,omitempty"`
	Confirm []string   `json:"confirm,omitempty" doc:"codes that were asked for"`
	Skip    []string   `json:"skip,omitempty" doc:"leave out letters with these codes"`
	DryRun  bool       `json:"dry_run,omitempty" doc:"only count"`
	Reason  string     `json:"reason,omitempty"`
	Note    string     `json:"note,omitempty" doc:"the same as reason"`
}

// bulkFilter selects open letters.
type bulkFilter struct {
	Partner string `json:"partner,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Status  string `json:"status,omitempty" doc:"open; alone it selects all"`
	Outage  string `json:"outage,omitempty"`
	Cause   string `json:"cause,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
}

// job is a bulk replay on the wire.
type job struct {
	ID       string             `json:"id" doc:"empty after a dry run"`
	Status   string             `json:"status" enum:"running,paused,cancelled,done" doc:"empty after a dry run"`
	Actor    string             `json:"actor"`
	Created  *time.Time         `json:"created"`
	Finished *time.Time         `json:"finished"`
	Confirm  []string           `json:"confirm"`
	Skip     []string           `json:"skip"`
	DryRun   bool               `json:"dry_run"`
	Counts   queue.ReplayCounts `json:"counts"`
	Codes    map[string]int     `json:"codes,omitempty" doc:"letters with each code, if they were counted"`
}

// wholeJob is a bulk replay with its letters, oldest first.
type wholeJob struct {
	job
	Items []jobItem `json:"items"`
	Next  string    `json:"next" doc:"cursor of the next page of items"`
}

// jobItem is one letter of a bulk replay on the wire.
type jobItem struct {
	N       int    `json:"n"`
	Letter  string `json:"letter"`
	Message string `json:"message"`
	Partner string `json:"partner"`
	Status  string `json:"status" enum:"pending,replayed,skipped,failed"`
	Detail  string `json:"detail"`
}

var (
	jobStatuses  = []queue.ReplayStatus{queue.ReplayRunning, queue.ReplayPaused, queue.ReplayCancelled, queue.ReplayDone}
	itemStatuses = []string{"pending", "replayed", "skipped", "failed"}
)

func (a *API) replayRoutes() []route {
	turn := func(name, about string, act func(context.Context, string, fault.Actor) (queue.ReplayJob, error)) route {
		return route{method: http.MethodPost, path: "/letters/replays/{id}/" + name, scope: access.Operate, about: about, in: nothing{}, out: job{},
			status: http.StatusAccepted, also: []Slug{NotFound, Conflict}, do: func(c *call) error { return a.turn(c, act) }}
	}
	return []route{
		{method: http.MethodPost, path: "/letters/replays", scope: access.Operate, about: "Replay many letters: ids, a filter or an outage.",
			in: bulk{}, out: job{}, status: http.StatusAccepted, also: []Slug{NotFound, ConfirmNeeded, NothingSelected, DiskFull}, do: a.replayMany},
		{method: http.MethodGet, path: "/letters/replays", scope: access.Read, about: "Bulk replays, newest first.",
			query: slices.Concat([]param{{name: "status", about: "all without it", enum: texts(jobStatuses)}}, paging), out: list[job]{}, status: http.StatusOK, do: a.listJobs},
		{method: http.MethodGet, path: "/letters/replays/{id}", scope: access.Read, about: "A bulk replay with its progress.",
			query: slices.Concat([]param{{name: "status", about: "only items of this status", enum: itemStatuses}}, paging), out: wholeJob{}, status: http.StatusOK, also: []Slug{NotFound}, do: a.showJob},
		turn("pause", "Stop until it is resumed; what was replayed goes on.", a.Letters.Pause),
		turn("resume", "Go on with a paused bulk replay.", a.Letters.Resume),
		turn("cancel", "End it; the rest stay letters.", a.Letters.CancelBulk),
	}
}

func (a *API) replayMany(c *call) error {
	var in bulk
	if err := c.read(&in); err != nil {
		return err
	}
	sel, what, err := in.asked(c)
	if err != nil {
		return err
	}
	plan, err := a.Letters.Bulk(c.r.Context(), sel, what)
	if err != nil {
		return err
	}
	v := viewJob(plan.Job)
	if v.DryRun = in.DryRun; v.DryRun {
		v.Status = ""
	}
	if len(plan.Codes) > 0 {
		v.Codes = map[string]int{}
		for code, n := range plan.Codes {
			v.Codes[string(code)] = n
		}
	}
	if in.DryRun {
		return c.answer(http.StatusOK, v)
	}
	c.w.Header().Set("Location", Base+"/letters/replays/"+plan.Job.ID)
	return c.answer(http.StatusAccepted, v)
}

func (in bulk) asked(c *call) (sel dlq.Selection, what dlq.BulkAsk, err error) {
	sel.IDs = in.IDs
	if sel.Filter, err = in.Filter.read(); err != nil {
		return sel, what, err
	}
	if in.Outage != "" {
		if (in.Filter != bulkFilter{}) || len(in.IDs) > 0 {
			return sel, what, bad("outage", "Give ids, a filter or an outage: one of them.")
		}
		sel.Filter.Outage = in.Outage
	}
	what = dlq.BulkAsk{Actor: c.actor, Note: in.Reason, DryRun: in.DryRun}
	if what.Note == "" {
		what.Note = in.Note
	}
	if what.Confirm, err = dlq.ParseCodes("confirm", in.Confirm); err != nil {
		return sel, what, err
	}
	what.Skip, err = dlq.ParseCodes("skip", in.Skip)
	return sel, what, err
}

func (f bulkFilter) read() (out queue.LetterFilter, err error) {
	out = queue.LetterFilter{Partner: f.Partner, Reason: fault.Reason(f.Reason), Status: queue.LetterStatus(f.Status), Outage: f.Outage, Cause: f.Cause}
	switch {
	case f.Reason != "" && !slices.Contains(fault.Reasons, out.Reason):
		return out, bad("filter.reason", "There is no reason %.80q.", f.Reason)
	case f.Status != "" && !slices.Contains(letterStatuses, out.Status):
		return out, bad("filter.status", "There is no status %.80q.", f.Status)
	case len(f.Partner) > maxReference || len(f.Outage) > maxReference || len(f.Cause) > maxReference:
		return out, bad("filter", "At most %d bytes for each member.", maxReference)
	}
	if out.From, err = moment("filter.from", f.From); err != nil {
		return out, err
	}
	out.To, err = moment("filter.to", f.To)
	return out, err
}

func (a *API) listJobs(c *call) error {
	status, err := choice(c, "status", jobStatuses)
	if err != nil {
		return err
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	jobs, err := a.Ledger.ReplayJobs(c.r.Context(), status)
	if err != nil {
		return err
	}
	jobs, next, err := cut(jobs, "replays", p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(jobs, next, viewJob))
}

func (a *API) showJob(c *call) error {
	status, err := choice(c, "status", itemStatuses)
	if err != nil {
		return err
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	after := 0
	if p.Cursor != "" {
		if after, err = strconv.Atoi(p.Cursor); err != nil || after < 0 {
			return queue.ErrBadCursor
		}
	}
	ctx, id := c.r.Context(), c.param("id")
	j, err := a.Ledger.ReplayJob(ctx, id)
	if err != nil {
		return absent(err, "bulk replay", id)
	}
	items, err := a.Ledger.ReplayItems(ctx, id, status, after, p.Limit)
	if err != nil {
		return err
	}
	next := ""
	if n := len(items); n == p.Limit {
		next = strconv.Itoa(items[n-1].N)
	}
	return c.answer(http.StatusOK, wholeJob{viewJob(j), listOf(items, "", viewItem).Items, next})
}

// nothing is a body without members.
type nothing struct{}

func (a *API) turn(c *call, act func(context.Context, string, fault.Actor) (queue.ReplayJob, error)) error {
	if err := c.read(&nothing{}); err != nil {
		return err
	}
	id := c.param("id")
	j, err := act(c.r.Context(), id, c.actor)
	if err != nil {
		return absent(err, "bulk replay", id)
	}
	return c.answer(http.StatusAccepted, viewJob(j))
}

func viewJob(j queue.ReplayJob) job {
	return job{ID: j.ID, Status: string(j.Status), Actor: j.Actor.Name, Created: when(j.Created), Finished: when(j.Finished),
		Confirm: append([]string{}, j.Confirm...), Skip: append([]string{}, j.Skip...), Counts: j.Counts}
}

func viewItem(i queue.ReplayItem) jobItem {
	return jobItem{N: i.N, Letter: i.Letter, Message: i.Message, Partner: i.Partner, Status: i.Status, Detail: i.Detail}
}
