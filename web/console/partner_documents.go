package console

import (
	"edigw/internal/words"
	"edigw/queue"
)

// exchanges are the newest documents, each with its last exchange.
func (c *Console) exchanges(v *visit, s standing) (rows []exchangeRow, err error) {
	ctx := v.r.Context()
	newest, _, err := c.reader.Messages(ctx, queue.MessageFilter{Partner: s.id}, queue.Page{Limit: documentPage})
	if err != nil {
		return nil, err
	}
	for _, seen := range newest {
		m := seen.Message
		attempts, err := c.Ledger.Attempts(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		r := exchangeRow{ID: m.ID, Document: documentName(m), In: m.Direction == queue.In, When: v.in(m.Accepted, v.zoneOf(s.settings)), Mark: messageMark(seen.Shown.State, m.Uncertain),
			Sentence: c.messageSentence(v, m, seen.Shown, nil)}
		if n := len(attempts); n > 0 {
			a := attempts[n-1]
			r.When, r.Last = v.in(a.Started, v.zoneOf(s.settings)), lastExchange(a)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// newestLooked bounds how many of the newest messages are looked through for
// the last document that was sent.
const newestLooked = 50

// lastOfBoth is when the partner was last sent a document, and when one last
// came from him.
func (c *Console) lastOfBoth(v *visit, s standing) (items []stripItem, err error) {
	ctx := v.r.Context()
	newest, more, err := c.Ledger.Messages(ctx, queue.MessageFilter{Partner: s.id}, queue.Page{Limit: newestLooked})
	if err != nil {
		return nil, err
	}
	came, _, err := c.Ledger.Messages(ctx, queue.MessageFilter{Partner: s.id, Direction: queue.In}, queue.Page{Limit: 1})
	if err != nil {
		return nil, err
	}
	sent, received := "none", "none"
	if more != "" {
		sent = "not lately"
	}
	for _, m := range newest {
		if m.Direction == queue.Out && m.Kind == queue.KindDocument && m.State != queue.Refused {
			sent = words.Ago(m.Accepted, v.now)
			break
		}
	}
	if len(came) > 0 {
		received = words.Ago(came[0].Accepted, v.now)
	}
	path := "/messages?partner=" + s.id + "&direction="
	return []stripItem{{Label: "Last to them", Value: sent, Path: path + "out"}, {Label: "Last from them", Value: received, Path: path + "in"}}, nil
}

// lastExchange is an exchange in one line: how far it got, the answer, how
// long it took.
func lastExchange(a queue.Attempt) string {
	text := "No. " + words.Number(int64(a.N)) + ": " + words.Phase(a.Phase.String())
	if a.Status != 0 {
		text += ", " + words.Number(int64(a.Status))
	}
	if a.Duration > 0 {
		text += ", " + took(a.Duration)
	}
	return text
}
