package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
)

// Document is what a caller says about a document that he hands in.
type Document struct {
	Partner       string
	Key           string // idempotency key, empty if none was given
	FileName      string
	ContentType   string
	CorrelationID string
	DeliverBy     time.Time // zero: the partner's default
	Properties    queue.Properties
	Source        string // api, or cli over the local socket
	Actor         fault.Actor
	Size          int64 // of the body in bytes; -1: unknown
}

// Accepted is a document that is safe.
type Accepted struct {
	Message queue.Message
	Outcome queue.Admitted // AdmitNew, AdmitParked or AdmitReplayed
	// Supersedes are earlier editions that are not sent any more.
	Supersedes []string
}

// submitted is the answer to a document: its message, and what it replaces.
type submitted struct {
	message
	Supersedes []string `json:"supersedes,omitempty" doc:"messages that this one replaces; they are not sent any more"`
}

// Intake is the way in for documents.
type Intake interface {
	// Accept takes a document in, and returns when it would survive a power
	// cut. A refusal is a *Problem; after any other error the same request can
	// be repeated safely. It reads body to its end at most and does not close
	// it.
	Accept(ctx context.Context, d Document, body io.Reader) (Accepted, error)
}

func (a *API) submitRoutes() []route {
	return []route{{
		method: http.MethodPost, path: "/partners/{partner}/messages", scope: access.Send, about: "Hand in a document; the body is the document itself, or multipart/related with several files.",
		header: []param{
			{name: "Idempotency-Key", about: "a key of its own for each document; else one is derived from its envelope"},
			{name: "Content-Disposition", about: "the file's name"},
			{name: "Deliver-By", about: "no attempt starts after it: RFC 3339, or a duration from now"},
			{name: "Correlation-Id", about: "for search, else the request id"},
			{name: messageProperty, about: "AS4: NAME=VALUE, a message property; once for each"},
			{name: partProperty, about: "AS4: NAME=VALUE, a property of each payload; once for each"},
		},
		media: "application/octet-stream", out: submitted{}, status: http.StatusAccepted,
		also: []Slug{NotFound, KeyReused, NoProperties, ReservedProperty, MissingProperty, WrongStage, TooLate, Empty, BadParts, InProgress, Backlog, DiskFull, TooLarge}, do: a.submit,
	}}
}

func (a *API) submit(c *call) error {
	d, err := a.document(c)
	if err != nil {
		return err
	}
	got, err := a.Intake.Accept(c.r.Context(), d, &steady{c.r.Body, http.NewResponseController(c.w)})
	if err != nil {
		return c.withoutHolder(err)
	}
	if got.Outcome == queue.AdmitReplayed && !c.who.sees(got.Message) {
		return taken(d.Key)
	}
	view, err := a.message(c.r.Context(), got.Message)
	if err != nil { // it is safe all the same
		view = viewMessage(got.Message, queue.Shown{State: got.Message.State, Why: got.Message.Why, Next: got.Message.NextAt}, nil)
	}
	h := c.w.Header()
	h.Set("Location", Base+"/messages/"+got.Message.ID)
	if got.Outcome == queue.AdmitReplayed {
		h.Set("Idempotency-Replayed", "true")
		return c.answer(http.StatusOK, submitted{message: view})
	}
	return c.answer(http.StatusAccepted, submitted{view, got.Supersedes})
}

// withoutHolder takes out of a refusal what its caller may not see.
func (c *call) withoutHolder(err error) error {
	var p *Problem
	if errors.As(err, &p) && p.Slug == KeyReused && p.Holder.ID != "" && !c.who.sees(p.Holder) {
		return taken(p.Holder.Key)
	}
	return err
}

// taken says no more than that a key is somebody else's: neither which message
// has it, nor whether the content is the same.
func taken(key string) *Problem {
	detail := "This document was handed in already, by somebody else; nothing was done. Use a token that may read to see it."
	if key != "" {
		detail = fmt.Sprintf("Key %.200s belongs to a document that somebody else handed in. Use keys that no other program uses.", key)
	}
	return &Problem{Slug: KeyReused, Field: "Idempotency-Key", Detail: detail}
}

// sourceAPI is the source of what came with a token.
const sourceAPI = "api"

// document reads the headers of a document.
func (a *API) document(c *call) (Document, error) {
	h := c.r.Header
	d := Document{
		Partner: c.param("partner"), Key: h.Get("Idempotency-Key"), ContentType: h.Get("Content-Type"), CorrelationID: h.Get("Correlation-Id"),
		Source: sourceAPI, Actor: c.actor, Size: c.r.ContentLength,
	}
	if c.actor.Name == localActor {
		d.Source = "cli"
	}
	for _, name := range []string{"Idempotency-Key", "Correlation-Id", "Deliver-By", "Content-Disposition"} {
		if len(h.Values(name)) > 1 {
			return d, bad(name, "Give the header once.")
		}
	}
	if _, given := h["Idempotency-Key"]; given && d.Key == "" {
		return d, bad("Idempotency-Key", "The key is empty: give one, or leave the header out.")
	}
	if text := h.Get("Content-Disposition"); text != "" {
		_, parameters, err := mime.ParseMediaType(text)
		if err != nil {
			return d, bad("Content-Disposition", `This cannot be read: write attachment; filename="invoice.edi".`)
		}
		d.FileName = parameters["filename"]
	}
	var err error
	if d.DeliverBy, err = deadline("Deliver-By", h.Get("Deliver-By"), a.Now()); err != nil {
		return d, err
	}
	if d.Properties.Message, err = properties(h, messageProperty); err != nil {
		return d, err
	}
	if d.Properties.Part, err = properties(h, partProperty); err != nil {
		return d, err
	}
	if d.CorrelationID == "" {
		d.CorrelationID = RequestID(c.r.Context())
	}
	return d, nil
}

// steady reads a body of any length that must not stall.
type steady struct {
	body    io.Reader
	control *http.ResponseController
}

// Read implements io.Reader.
func (s *steady) Read(p []byte) (int, error) {
	_ = s.control.SetReadDeadline(time.Now().Add(stallTimeout)) // deadlines of connections are wall clock
	n, err := s.body.Read(p)
	if err != nil {
		_ = s.control.SetReadDeadline(time.Time{}) // else it would end what follows
	}
	return n, err
}
