package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"edigw/access"
	"edigw/queue"
)

// AuditLog reads what people did, and takes what the API itself has to add;
// every store does.
type AuditLog interface {
	Audit(ctx context.Context, f queue.AuditFilter, p queue.Page) ([]queue.Event, string, error)
	AddEvents(ctx context.Context, events ...queue.Event) error
}

// Ledger is what is shown. storetest.Store says what each method promises.
type Ledger interface {
	Messages
	LetterBox
	Jobs
	Outages
	Depths
	AuditLog
	Past
}

// event is a row of the ledger on the wire.
type event struct {
	At      *time.Time        `json:"at"`
	Type    string            `json:"type"`
	Partner string            `json:"partner"`
	Message string            `json:"message,omitempty"`
	Letter  string            `json:"letter,omitempty"`
	Outage  string            `json:"outage,omitempty"`
	Actor   string            `json:"actor" doc:"empty: the gateway itself"`
	Role    string            `json:"role,omitempty"`
	From    string            `json:"from,omitempty" doc:"address, or local"`
	Text    string            `json:"text"`
	Facts   map[string]string `json:"facts,omitempty"`
}

func (a *API) auditRoutes() []route {
	return []route{{
		method: http.MethodGet, path: "/audit", scope: access.Read, about: "Who did what, when, from where and why; newest first.",
		query: slices.Concat([]param{{name: "actor", about: "only of this user or token"}, {name: "partner", about: "only about this partner"}}, span, paging),
		out:   list[event]{}, status: http.StatusOK, do: a.listAudit,
	}}
}

func (a *API) listAudit(c *call) error {
	var f queue.AuditFilter
	var err error
	if f.Actor, err = c.word("actor"); err != nil {
		return err
	}
	if f.Partner, err = c.partner(); err != nil {
		return err
	}
	if f.From, f.To, err = c.span(); err != nil {
		return err
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	events, next, err := a.Ledger.Audit(c.r.Context(), f, p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(events, next, viewEvent))
}

func viewEvent(e queue.Event) event {
	return event{At: when(e.At), Type: string(e.Type), Partner: e.Partner, Message: e.Message, Letter: e.Letter, Outage: e.Outage,
		Actor: e.Actor.Name, Role: e.Actor.Role, From: e.Actor.From, Text: e.Text, Facts: e.Facts}
}
