package console

import (
	"errors"

	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// refusedIn reports whether a message of a partner was refused: its document
// is not here, only its request may be.
func refusedIn(d queue.Direction, m queue.Message) bool {
	return d == queue.In && m.Payload.SHA256 == ""
}

// processing says what processing a refused message would do; zero for any
// other.
func (c *Console) processing(v *visit, m queue.Message) (web.Processing, error) {
	if !refusedIn(m.Direction, m) || m.State != queue.Dead {
		return web.Processing{}, nil
	}
	return c.Received.Processing(v.r.Context(), m.ID)
}

// withoutProcess drops the button of what cannot be done.
func withoutProcess(all []button, l queue.Letter) (left []button) {
	for _, b := range all {
		if b.Path != "/letters/"+l.ID+"/process" {
			left = append(left, b)
		}
	}
	return left
}

// processLetter takes up what a partner sent. A refused message is asked about
// first: the partner may have sent it again.
func (c *Console) processLetter(v *visit) (done, error) {
	l, m, err := c.letterAndMessage(v.r.Context(), v.param("id"))
	if err != nil {
		return done{}, err
	}
	if l.Status != queue.LetterOpen {
		return done{}, &web.Problem{Slug: web.Conflict, Detail: "This letter was settled already.", Letter: l.ID}
	}
	refused := refusedIn(l.Direction, m)
	if refused && v.form.Get("sure") != "yes" {
		q, err := c.processQuestion(v, l, m)
		return asks(q), err
	}
	err = c.Received.Process(v.r.Context(), m.ID, v.actor(), v.form.Get("reason"))
	var problem *web.Problem
	switch {
	case errors.As(err, &problem) && problem.Slug == web.StillRefused:
		return done{flash: flash{Text: problem.Detail, Bad: true}}, nil
	case err != nil:
		return done{}, err
	case refused:
		return done{flash: flash{Text: "Opened again and accepted. Its document is handed on."}}, nil
	}
	return done{flash: flash{Text: "The received document is handed on again."}}, nil
}

// processQuestion asks before a refused message is opened again, or says why
// it cannot be.
func (c *Console) processQuestion(v *visit, l queue.Letter, m queue.Message) (question, error) {
	p, err := c.processing(v, m)
	if err != nil {
		return question{}, err
	}
	w := words.Process(documentName(m), c.partnerName(m.Partner), p.Async)
	q := question{Title: w.Title, Text: w.Text, Path: "/letters/" + l.ID + "/process", Fields: []field{{"sure", "yes"}}, Back: local(v.form.Get("back")), Safe: w.Safe,
		Reason: "Reason", Choices: []choice{{Label: w.Actions[0], Kind: primary}}}
	if p.Why != "" {
		q.Text, q.Fields, q.Choices, q.Reason = []string{words.NotProcessable(plain(p.Why))}, nil, nil, ""
	}
	return q, nil
}
