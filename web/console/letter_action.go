package console

import (
	"context"
	"errors"
	"slices"
	"strings"

	"edigw/dlq"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

func (c *Console) letterActions() []action {
	return []action{
		{path: "/letters/{id}/replay", do: c.replayLetter},
		{path: "/letters/{id}/undo", do: c.undoLetter},
		{path: "/letters/{id}/recheck", do: c.recheckLetter},
		{path: "/letters/{id}/settle", do: c.settleLetter},
		{path: "/letters/{id}/discard", do: c.discardLetter},
		{path: "/letters/{id}/process", do: c.processLetter},
		{path: "/letters/process", do: c.processMany},
		{path: "/letters/discard", do: c.discardSelected},
		{path: "/letters/settle", do: c.settleSelected},
	}
}

// asked is what a form wants done with a letter or message.
func (v *visit) asked() (dlq.Ask, error) {
	codes, err := dlq.ParseCodes("confirm", v.form["confirm"])
	return dlq.Ask{Actor: v.actor(), Note: v.form.Get("reason"), Confirm: codes}, err
}

// replayLetter is the one click.
func (c *Console) replayLetter(v *visit) (done, error) {
	ask, err := v.asked()
	if err != nil {
		return done{}, err
	}
	ask.UndoFor, ask.FreshID = dlq.UndoWindow, v.form.Get("fresh_id") == "true"
	ctx, id := v.r.Context(), v.param("id")
	if v.form.Get("sure") != "yes" {
		l, m, err := c.letterAndMessage(ctx, id)
		if err != nil {
			return done{}, err
		}
		if malformed(l) {
			return asks(c.malformedQuestion(v, l, m)), nil
		}
	}
	sent, err := c.Letters.Replay(ctx, id, ask)
	if need, ok := confirm(err); ok {
		l, m, err := c.letterAndMessage(ctx, id)
		if err != nil {
			return done{}, err
		}
		return asks(c.replayQuestion(v, l, m, need)), nil
	}
	if err != nil {
		return done{}, err
	}
	said := flash{Text: "Replaying " + documentName(sent.Message) + " to " + c.partnerName(sent.Letter.Partner) + "."}
	if !sent.Undo.IsZero() {
		said.Text = documentName(sent.Message) + " goes out to " + c.partnerName(sent.Letter.Partner) + " in " + words.Span(dlq.UndoWindow) + "."
		said.Undo = &button{Label: "Undo", Path: "/letters/" + id + "/undo", Back: local(v.form.Get("back"))}
	}
	return done{flash: said}, nil
}

func (c *Console) letterAndMessage(ctx context.Context, id string) (l queue.Letter, m queue.Message, err error) {
	if l, err = c.Ledger.Letter(ctx, id); err != nil {
		return l, m, err
	}
	m, err = c.Ledger.Message(ctx, l.Message)
	return l, m, err
}

func (c *Console) undoLetter(v *visit) (done, error) {
	if _, err := c.Letters.Undo(v.r.Context(), v.param("id"), dlq.Ask{Actor: v.actor()}); err != nil {
		return done{}, err
	}
	return done{flash: flash{Text: "Taken back. Nothing was sent."}}, nil
}

func (c *Console) recheckLetter(v *visit) (done, error) {
	found, err := c.Letters.Recheck(v.r.Context(), v.param("id"), dlq.Ask{Actor: v.actor(), Note: v.form.Get("reason")})
	if err != nil {
		return done{}, err
	}
	if found.Letter.Status == queue.LetterClosed {
		return done{flash: flash{Text: "The receipt is good today: delivered. Nothing was sent."}}, nil
	}
	return done{flash: flash{Text: "Still not trusted: " + found.Detail, Bad: true}}, nil
}

// settleQuestion asks for the partner's word.
func (c *Console) settleQuestion(v *visit, n int, path string, fields []field) question {
	return question{
		Title: "Close " + words.Count(n, "document", "documents") + " as delivered?",
		Text:  []string{"Nothing is sent. It counts as delivered on the partner's word, never as proven."},
		Path:  path, Fields: fields, Back: local(v.form.Get("back")), Safe: "Cancel", Reason: "Who confirmed it, and how", Must: true,
		Choices: []choice{{Label: "Close " + words.Number(int64(n)) + " as delivered", Kind: primary}},
	}
}

func (c *Console) discardQuestion(v *visit, n int, path string, fields []field) question {
	w := words.Discard(n)
	return question{
		Title: w.Title, Text: w.Text, Path: path, Fields: fields, Back: local(v.form.Get("back")), Safe: w.Safe, Reason: "Reason", Must: true,
		Choices: []choice{{Label: w.Actions[0], Kind: danger}},
	}
}

func (c *Console) settleLetter(v *visit) (done, error) {
	ask, err := v.asked()
	if err != nil {
		return done{}, err
	}
	if strings.TrimSpace(ask.Note) == "" {
		return asks(c.settleQuestion(v, 1, "/letters/"+v.param("id")+"/settle", nil)), nil
	}
	l, err := c.Letters.Settle(v.r.Context(), v.param("id"), ask)
	if err != nil {
		return done{}, err
	}
	return done{flash: flash{Text: "Closed on the word of " + c.partnerName(l.Partner) + "."}}, nil
}

func (c *Console) discardLetter(v *visit) (done, error) {
	ask, err := v.asked()
	if err != nil {
		return done{}, err
	}
	if strings.TrimSpace(ask.Note) == "" {
		return asks(c.discardQuestion(v, 1, "/letters/"+v.param("id")+"/discard", nil)), nil
	}
	if _, err := c.Letters.Discard(v.r.Context(), v.param("id"), ask); err != nil {
		return done{}, err
	}
	return done{flash: flash{Text: "Discarded. It will never be sent."}}, nil
}

// maxSelected bounds a selection that is acted upon one by one.
const maxSelected = 500

// selected are the letters that a form ticks.
func (v *visit) selected() ([]string, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(v.form["ids"])))
	switch {
	case len(ids) == 0:
		return nil, &web.Problem{Slug: web.NothingSelected, Detail: "Nothing is selected: tick the letters first."}
	case len(ids) > maxSelected:
		return nil, &web.Problem{Slug: web.BadRequest, Field: "ids", Detail: "At most 500 letters at once."}
	}
	return ids, nil
}

func idFields(ids []string) (all []field) {
	for _, id := range ids {
		all = append(all, field{"ids", id})
	}
	return all
}

func (c *Console) discardSelected(v *visit) (done, error) {
	return c.each(v, c.discardQuestion, "/letters/discard", "Discarded", c.Letters.Discard)
}

func (c *Console) settleSelected(v *visit) (done, error) {
	return c.each(v, c.settleQuestion, "/letters/settle", "Closed as delivered:", c.Letters.Settle)
}

// each does one action with every letter of a selection. One that somebody
// settled meanwhile is counted, and no reason to leave the others.
func (c *Console) each(v *visit, ask func(*visit, int, string, []field) question, path, did string,
	act func(context.Context, string, dlq.Ask) (queue.Letter, error)) (done, error) {
	ids, err := v.selected()
	if err != nil {
		return done{}, err
	}
	what, err := v.asked()
	if err != nil {
		return done{}, err
	}
	if strings.TrimSpace(what.Note) == "" {
		return asks(ask(v, len(ids), path, idFields(ids))), nil
	}
	acted, missed := 0, 0
	for i, id := range ids {
		_, err := act(v.r.Context(), id, what)
		var conflict *dlq.ConflictError
		switch {
		case errors.As(err, &conflict), errors.Is(err, queue.ErrNotFound):
			missed++
		case err != nil && acted == 0:
			return done{}, err
		case err != nil: // what was done must be known
			c.Log.Error("an action on a selection broke off", "request_id", web.RequestID(v.r.Context()), "done", acted, "left", len(ids)-i, "err", err)
			return done{flash: flash{Bad: true, Text: did + " " + words.Count(acted, "document", "documents") + ", then it broke off: " + web.ProblemOf(err).Detail + " " +
				words.Count(len(ids)-i, "letter is", "letters are") + " as before."}}, nil
		default:
			acted++
		}
	}
	said := flash{Text: did + " " + words.Count(acted, "document", "documents") + "."}
	if missed > 0 {
		said.Text += " " + words.Count(missed, "was", "were") + " settled by somebody else already."
	}
	return done{flash: said}, nil
}
