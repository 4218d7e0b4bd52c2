package console

import (
	"strings"

	"edigw/dlq"
	"edigw/internal/words"
	"edigw/queue"
)

func (c *Console) messageActions() []action {
	return []action{
		{path: "/messages/{id}/cancel", do: c.cancelMessage},
		{path: "/messages/{id}/again", do: c.sendAgain},
		{path: "/letters/{id}/edit", do: c.editLetter},
	}
}

// cancelMessage takes a message out of the line. One that is being replayed
// goes back to its letter, which needs no reason.
func (c *Console) cancelMessage(v *visit) (done, error) {
	ask, err := v.asked()
	if err != nil {
		return done{}, err
	}
	ctx := v.r.Context()
	m, err := c.Ledger.Message(ctx, v.param("id"))
	if err != nil {
		return done{}, err
	}
	if m.Letter == "" && m.State.Lined() && strings.TrimSpace(ask.Note) == "" {
		return asks(c.cancelQuestion(v, m, nil)), nil
	}
	m, err = c.Letters.Cancel(ctx, m.ID, ask)
	if need, ok := confirm(err); ok {
		return asks(c.cancelQuestion(v, m, need)), nil
	}
	if err != nil {
		return done{}, err
	}
	if m.Letter != "" {
		return done{flash: flash{Text: "The replay is stopped. It is a dead letter again."}}, nil
	}
	return done{flash: flash{Text: "Cancelled. It will not be sent."}}, nil
}

// cancelQuestion asks for a reason, and tells that cancelling does not take
// back what the partner may have.
func (c *Console) cancelQuestion(v *visit, m queue.Message, need *dlq.ConfirmError) question {
	id := v.param("id")
	q := question{
		Title: "Cancel this document?", Text: []string{"It will not be sent, and nobody is told. There is no undo."},
		Path: messagePath(id) + "/cancel", Back: local(v.form.Get("back")), Safe: "Keep it in line", Reason: "Reason", Must: true, Choices: []choice{{Label: "Cancel it", Kind: danger}},
	}
	if m.ID != "" {
		q.Title = "Cancel " + documentName(m) + " to " + c.partnerName(m.Partner) + "?"
	}
	if need == nil && !m.Uncertain {
		return q
	}
	q.Text = append(q.Text, "The partner may have it already: cancelling ends our tries, it takes nothing back.")
	q.Fields = []field{{"confirm", string(dlq.PossibleDuplicate)}}
	if reason := v.form.Get("reason"); reason != "" {
		q.Fields, q.Reason, q.Must = append(q.Fields, field{"reason", reason}), "", false
	}
	return q
}

// sendAgain sends a delivered document once more. A person confirms by typing
// its key.
func (c *Console) sendAgain(v *visit) (done, error) {
	ask, err := v.asked()
	if err != nil {
		return done{}, err
	}
	ctx := v.r.Context()
	m, err := c.Ledger.Message(ctx, v.param("id"))
	if err != nil {
		return done{}, err
	}
	typed := strings.TrimSpace(v.form.Get("typed"))
	if strings.TrimSpace(ask.Note) == "" || typed != m.Key {
		return asks(c.againQuestion(v, m, typed)), nil
	}
	ask.Confirm = append(ask.Confirm, dlq.PossibleDuplicate)
	next, err := c.Letters.Again(ctx, m.ID, ask)
	if err != nil {
		return done{}, err
	}
	return done{to: messagePath(next.ID), flash: flash{Text: documentName(next) + " goes out again to " + c.partnerName(next.Partner) + ", as edition " + words.Number(int64(next.Edition+1)) + "."}}, nil
}

func (c *Console) againQuestion(v *visit, m queue.Message, typed string) question {
	name := c.partnerName(m.Partner)
	q := question{
		Title: "Send " + documentName(m) + " to " + name + " again?",
		Text: []string{
			name + " has it already. It goes out as a new edition under a Message-ID of its own: unless they were asked to expect it, they book it twice.",
		},
		Path: messagePath(m.ID) + "/again", Back: local(v.form.Get("back")), Safe: "Cancel", Reason: "Reason", Must: true, Type: m.Key,
		Choices: []choice{{Label: "Send as a new edition", Kind: danger}},
	}
	if typed == "" {
		return q
	}
	if typed != m.Key {
		q.Text = append(q.Text, "What was typed is not the document's key. Nothing was sent.")
	}
	if reason := v.form.Get("reason"); reason != "" {
		q.Fields, q.Reason, q.Must = []field{{"reason", reason}}, "", false
	}
	return q
}
