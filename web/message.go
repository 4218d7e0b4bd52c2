package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"edigw/access"
	"edigw/dlq"
	"edigw/queue"
)

// Messages reads messages; every store does.
type Messages interface {
	Message(ctx context.Context, id string) (queue.Message, error)
	Messages(ctx context.Context, f queue.MessageFilter, p queue.Page) ([]queue.Message, string, error)
	Attempts(ctx context.Context, message string) ([]queue.Attempt, error)
	Ready(ctx context.Context, lane string, inOrder bool, now time.Time, limit int) (ready []queue.Message, next time.Time, err error)
	History
}

// History reads what became of a message.
type History interface {
	Timeline(ctx context.Context, message string) ([]queue.Event, error)
	Builds(ctx context.Context, message string) ([]queue.Build, error)
	LettersOf(ctx context.Context, message string) ([]queue.Letter, error)
}

func (a *API) messageRoutes() []route {
	one := []Slug{NotFound}
	act := []Slug{NotFound, Conflict, ConfirmNeeded, DiskFull}
	filter := []param{
		{name: "partner", about: "only this partner's"},
		{name: "state", about: "one or several, joined by commas", enum: texts(queue.States)},
		{name: "reference", about: "business reference, key, Message-ID, correlation id or file name; a * at its end matches the beginning"},
		{name: "direction", about: "out or in", enum: directions},
		{name: "uncertain", about: "true: only those that the partner may have"},
		{name: "overdue", about: "true: only those past their deadline"},
	}
	return []route{
		{method: http.MethodGet, path: "/messages", scope: access.Read, about: "Messages, newest first.", query: slices.Concat(filter, span, paging),
			out: list[message]{}, status: http.StatusOK, do: a.listMessages},
		{method: http.MethodGet, path: "/messages/{id}", scope: access.Read, own: true, about: "A message with attempts and timeline.",
			out: wholeMessage{}, status: http.StatusOK, also: one, do: a.showMessage},
		{method: http.MethodGet, path: "/messages/{id}/payload", scope: access.Read, about: "The document, or one of its files; the view is audited.",
			query: []param{partParam}, media: "application/octet-stream", status: http.StatusOK, also: []Slug{NotFound, Conflict}, do: a.payload},
		{method: http.MethodGet, path: "/messages/{id}/evidence", scope: access.Read, about: "The proof of a delivery, with the commands that check it; the view is audited.",
			media: "application/zip", status: http.StatusOK, also: one, do: a.evidence},
		{method: http.MethodPost, path: "/messages/{id}/cancel", scope: access.Operate, about: "Take a message out of the line.",
			in: ask{}, out: message{}, status: http.StatusAccepted, also: act, do: a.cancel},
		{method: http.MethodPost, path: "/messages/{id}/again", scope: access.Operate, about: "Send a delivered message once more, as a new edition.",
			in: ask{}, out: message{}, status: http.StatusAccepted, also: act, do: a.again},
	}
}

var directions = []string{string(queue.Out), string(queue.In)}

func (a *API) listMessages(c *call) error {
	f, p, err := messageFilter(c)
	if err != nil {
		return err
	}
	found, next, err := a.reader.Messages(c.r.Context(), f, p)
	if err != nil {
		return err
	}
	l := list[message]{Items: make([]message, 0, len(found)), Next: next}
	for _, s := range found {
		v, err := a.view(c.r.Context(), s)
		if err != nil {
			return err
		}
		l.Items = append(l.Items, v)
	}
	return c.answer(http.StatusOK, l)
}

func messageFilter(c *call) (f queue.MessageFilter, p queue.Page, err error) {
	if f.Partner, err = c.partner(); err != nil {
		return f, p, err
	}
	if f.States, err = choices(c, "state", queue.States); err != nil {
		return f, p, err
	}
	if f.Reference, err = c.word("reference"); err != nil {
		return f, p, err
	}
	direction, err := choice(c, "direction", directions)
	if err != nil {
		return f, p, err
	}
	f.Direction = queue.Direction(direction)
	if f.Uncertain, err = c.flag("uncertain"); err != nil {
		return f, p, err
	}
	if f.Overdue, err = c.flag("overdue"); err != nil {
		return f, p, err
	}
	if f.From, f.To, err = c.span(); err != nil {
		return f, p, err
	}
	p, err = c.page()
	return f, p, err
}

func (a *API) attempts(ctx context.Context, m queue.Message) ([]queue.Attempt, error) {
	if m.Total == 0 {
		return nil, nil
	}
	return a.Ledger.Attempts(ctx, m.ID)
}

// message is a message as it is now.
func (a *API) message(ctx context.Context, m queue.Message) (message, error) {
	s, err := a.reader.Shown(ctx, m)
	if err != nil {
		return message{}, err
	}
	return a.view(ctx, Seen{m, s})
}

// view is a message as it is shown, with its attempts and who ended it.
func (a *API) view(ctx context.Context, s Seen) (message, error) {
	attempts, err := a.attempts(ctx, s.Message)
	if err != nil {
		return message{}, err
	}
	end, err := a.reader.Ending(ctx, s.Message)
	v := viewMessage(s.Message, s.Shown, attempts)
	v.EndedBy, v.EndedNote = end.By.Name, end.Note
	return v, err
}

// find reads the message that the path names.
func (a *API) find(c *call) (queue.Message, error) {
	id := c.param("id")
	m, err := a.Ledger.Message(c.r.Context(), id)
	return m, absent(err, "message", id)
}

func (a *API) showMessage(c *call) error {
	m, err := a.find(c)
	if err != nil {
		return err
	}
	v, err := a.whole(c.r.Context(), m)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, v)
}

// whole is a message with all that became of it.
func (a *API) whole(ctx context.Context, m queue.Message) (v wholeMessage, err error) {
	if v.message, err = a.message(ctx, m); err != nil {
		return v, err
	}
	events, err := a.Ledger.Timeline(ctx, m.ID)
	if err != nil {
		return v, err
	}
	builds, err := a.Ledger.Builds(ctx, m.ID)
	if err != nil {
		return v, err
	}
	letters, err := a.Ledger.LettersOf(ctx, m.ID)
	if err != nil {
		return v, err
	}
	if v.Received, v.AS4, err = a.viewInbound(ctx, m, events); err != nil {
		return v, err
	}
	if v.AS4 == nil {
		v.AS4 = SentHeader(m, builds)
	}
	if err := a.addSignals(ctx, m, &v, builds); err != nil {
		return v, err
	}
	v.Timeline = listOf(events, "", viewEvent).Items
	v.Builds = listOf(builds, "", viewBuild).Items
	v.Letters = listOf(letters, "", viewLetter).Items
	return v, nil
}

// addSignals adds to the exchanges of an AS4 message what the kept signals say.
func (a *API) addSignals(ctx context.Context, m queue.Message, v *wholeMessage, builds []queue.Build) error {
	attempts, err := a.attempts(ctx, m)
	if err != nil {
		return err
	}
	signals, err := a.SignalsOf(ctx, m, attempts, builds)
	if err != nil {
		return err
	}
	for i := range v.Attempts {
		t := &v.Attempts[i]
		if s := signals[t.N]; s != nil && t.Ack != nil {
			t.Ack.References, t.Ack.Problem = AcknowledgedBy(s, builds, t.Build), s.Problem
			if all := ErrorsOf(s); len(all) > 0 {
				t.Ack.Errors = all
			}
		}
	}
	return nil
}

func (a *API) cancel(c *call) error {
	return a.actOnMessage(c, func(m queue.Message, ask dlq.Ask) (queue.Message, error) {
		return a.Letters.Cancel(c.r.Context(), m.ID, ask)
	})
}

func (a *API) again(c *call) error {
	return a.actOnMessage(c, func(m queue.Message, ask dlq.Ask) (queue.Message, error) {
		return a.Letters.Again(c.r.Context(), m.ID, ask)
	})
}

func (a *API) actOnMessage(c *call, act func(queue.Message, dlq.Ask) (queue.Message, error)) error {
	var in ask
	if err := c.read(&in); err != nil {
		return err
	}
	m, err := a.find(c)
	if err != nil {
		return err
	}
	// A person confirms by typing the document's key (delivery.md §9).
	for i, code := range in.Confirm {
		if code == m.Key {
			in.Confirm[i] = string(dlq.PossibleDuplicate)
		}
	}
	what, err := in.asked(c)
	if err != nil {
		return err
	}
	if m, err = act(m, what); err != nil {
		return err
	}
	view, err := a.message(c.r.Context(), m)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", Base+"/messages/"+m.ID)
	return c.answer(http.StatusAccepted, view)
}
