package console

import (
	"context"
	"errors"
	"time"

	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// Bounds of what is processed again by one click: each message is opened
// whole, and the browser waits for it.
const (
	mostProcessed = 50
	processFor    = 30 * time.Second
)

// processMany takes up the letters of a filter that are of what partners sent,
// newest first, some at a time.
func (c *Console) processMany(v *visit) (done, error) {
	f, err := letterFilter(v.form)
	if err != nil {
		return done{}, err
	}
	f.Status, f.Direction = queue.LetterOpen, queue.In
	if f == (queue.LetterFilter{Status: f.Status, Direction: f.Direction}) {
		return done{}, &web.Problem{Slug: web.NothingSelected, Detail: "Nothing is selected: begin from a group of letters."}
	}
	open, err := c.openLetters(v, f, queue.In)
	if err != nil {
		return done{}, err
	}
	if v.form.Get("sure") != "yes" {
		if open == 0 {
			return done{}, &web.Problem{Slug: web.NothingSelected, Detail: "No letter of a received message is open there: somebody was faster."}
		}
		name := ""
		if f.Partner != "" {
			name = c.partnerName(f.Partner)
		}
		w := words.ProcessMany(name, open, mostProcessed)
		return asks(processQuestion(v, f, w)), nil
	}
	at := v.form.Get("cursor")
	found, next, err := c.Ledger.Letters(v.r.Context(), f, queue.Page{Limit: mostProcessed, Cursor: at})
	if err != nil {
		return done{}, err
	}
	p := c.processEach(v, found)
	if p.err != nil && p.seen() == 0 {
		return done{}, p.err
	}
	if p.err != nil || p.all() && next == "" {
		return done{flash: p.flash()}, nil
	}
	if p.all() { // else the time was up: what is left of these comes again
		at = next
	}
	w := words.Question{Title: "Go on with the others?", Text: []string{p.flash().Text}, Safe: "Leave the others", Actions: []string{"Process the next " + words.Number(mostProcessed)}}
	q := processQuestion(v, f, w)
	q.Fields = append(q.Fields, field{"cursor", at})
	return asks(q), nil
}

// processQuestion asks before letters of received messages are taken up.
func processQuestion(v *visit, f queue.LetterFilter, w words.Question) question {
	return question{Title: w.Title, Text: w.Text, Path: "/letters/process", Fields: append(filterFields(f), field{"sure", "yes"}), Back: local(v.form.Get("back")), Safe: w.Safe,
		Choices: []choice{{Label: w.Actions[0], Kind: primary}}}
}

// processed is what became of letters that were taken up.
type processed struct {
	of      int // that were to be
	taken   int // handed on
	refused int // still refused
	cannot  int // cannot be processed, or somebody was faster
	err     error
}

func (p processed) seen() int { return p.taken + p.refused + p.cannot }

func (p processed) all() bool { return p.seen() == p.of }

// processEach processes letters one by one, for as long as a browser waits. It
// ends at the first fault of ours.
func (c *Console) processEach(v *visit, all []queue.Letter) (p processed) {
	p.of = len(all)
	until := time.Now().Add(processFor) // how long a browser waits is wall clock
	for _, l := range all {
		if time.Now().After(until) || errors.Is(v.r.Context().Err(), context.Canceled) {
			return p
		}
		err := c.Received.Process(v.r.Context(), l.Message, v.actor(), "")
		var problem *web.Problem
		switch {
		case err == nil:
			p.taken++
		case errors.As(err, &problem) && problem.Slug == web.StillRefused:
			p.refused++
		case errors.As(err, &problem) && problem.Slug == web.Conflict, errors.Is(err, queue.ErrNotFound), errors.Is(err, queue.ErrConflict):
			p.cannot++
		default:
			c.Log.Error("processing letters again broke off", "request_id", web.RequestID(v.r.Context()), "done", p.taken, "err", err)
			p.err = err
			return p
		}
	}
	return p
}

// flash says it.
func (p processed) flash() flash {
	said := flash{Text: words.Count(p.taken, "message was", "messages were") + " taken up and handed on.", Bad: p.taken == 0}
	if p.refused > 0 {
		said.Text += " " + words.Count(p.refused, "is", "are") + " still refused, with the reason of today."
	}
	if p.cannot > 0 {
		said.Text += " " + words.Number(int64(p.cannot)) + " cannot be processed again; the page of each says why."
	}
	if p.err != nil {
		said.Text, said.Bad = said.Text+" Then it broke off: "+web.ProblemOf(p.err).Detail, true
	}
	return said
}
