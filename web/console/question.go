package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"edigw/dlq"
	"edigw/internal/words"
	"edigw/queue"
)

// question is asked before an action. The safe button comes first; Escape is
// always safe. It is a form that repeats the action with what was asked for
// confirmed; the server asks again if something new came up meanwhile.
type question struct {
	Title   string
	Text    []string
	Facts   []fact  // to compare
	Wrong   string  // why the last answer was not enough
	Path    string  // of the action
	Fields  []field // what is repeated
	Back    string  // page to go to, also by the safe button
	Safe    string
	Tick    string   // box that acting buttons marked Ticked need
	Reason  string   // label of a field for a reason; empty: none is asked for
	Must    bool     // a reason is required
	Until   []option // ends to choose from; empty: none is asked for
	Type    string   // word that must be typed, such as a document's key; empty: none
	Choices []choice
	Copy    string // text of [Copy enquiry]; empty: no such button
}

// option is a value to choose from.
type option struct {
	Value, Label string
	Chosen       bool
}

// choice is an acting button of a question.
type choice struct {
	Label       string
	Name, Value string // sent with it
	Kind        string
	Ticked      bool // needs the tick
}

func asks(q question) done {
	return shows(view{template: "question", title: q.Title, topic: "-", status: http.StatusOK, data: q})
}

// replayQuestion asks what must be confirmed before one letter is replayed.
func (c *Console) replayQuestion(v *visit, l queue.Letter, m queue.Message, need *dlq.ConfirmError) question {
	name := c.partnerName(l.Partner)
	q := question{Title: "Replay " + documentName(m) + " to " + name + "?", Path: "/letters/" + l.ID + "/replay", Back: local(v.form.Get("back")), Safe: "Cancel"}
	confirmed := slices.Clone(v.form["confirm"])
	for _, code := range need.Codes {
		switch code {
		case dlq.PossibleDuplicate:
			w := words.Duplicate(c.duplicateFacts(v, l, name))
			q.Title, q.Text = w.Title, append(q.Text, w.Text...)
			q.Copy = c.enquiry(v, l, m)
		case dlq.BreakerWait, dlq.BreakerProbe:
			continue // asked below, by the buttons
		default:
			q.Text = append(q.Text, codeSentence(code))
		}
		confirmed = append(confirmed, string(code))
	}
	for _, code := range confirmed {
		q.Fields = append(q.Fields, field{"confirm", code})
	}
	if v.form.Get("sure") == "yes" { // it goes out malformed as it is
		q.Fields = append(q.Fields, field{"sure", "yes"})
	}
	if v.form.Get("fresh_id") == "true" {
		q.Fields = append(q.Fields, field{"fresh_id", "true"})
		q.Text = append(q.Text, "It goes out under a new Message-ID.")
	}
	if slices.ContainsFunc(need.Codes, func(k dlq.Code) bool { return k == dlq.BreakerWait || k == dlq.BreakerProbe }) {
		w := words.StillDown()
		if len(q.Text) == 0 {
			q.Title = w.Title
		}
		q.Text = append(q.Text, name+" is still not answering.")
		q.Choices = []choice{
			{Label: w.Safe, Name: "confirm", Value: string(dlq.BreakerWait), Kind: primary},
			{Label: w.Actions[0], Name: "confirm", Value: string(dlq.BreakerProbe)},
		}
		return q
	}
	q.Choices = []choice{{Label: "Replay", Kind: primary}}
	if slices.Contains(need.Codes, dlq.PossibleDuplicate) {
		q.Choices[0].Label = "Send again"
	}
	return q
}

// duplicateFacts are what is known of the last exchange of a document that may
// have arrived.
func (c *Console) duplicateFacts(v *visit, l queue.Letter, name string) words.DuplicateFacts {
	f := words.DuplicateFacts{Partner: name, At: l.Created, Now: v.now, Zone: v.zone, Yes: l.Contradicted()}
	if p, known := c.Settings().Partner(l.Partner); known {
		f.Window, f.Zone = p.Duplicates, v.zoneOf(p)
	}
	if l.Last != nil {
		f.At = l.Last.Started
	}
	return f
}

// codeSentence says why a code is asked for.
func codeSentence(code dlq.Code) string {
	switch code {
	case dlq.ChangedContent:
		return "An earlier document with the same reference and other content was sent, may have been sent, or still waits. This one goes out as a new edition; one that still waits is not sent any more."
	case dlq.Overtaken:
		return "A document that was accepted later has been delivered meanwhile: this one arrives out of order."
	case dlq.Overdue:
		return "The time by which it had to be delivered has passed."
	case dlq.OutsideWindow:
		return "The partner does not take documents now: it waits until their hours begin."
	}
	return string(code)
}

// spoken are the references that people call a document by, the first that it
// has counts. A control number names the envelope, not the document.
var spoken = []string{"invoice", "credit-note", "order-response", "shipment", "order", "acknowledged"}

// documentName is how people call a document: by its type and number, else its
// file name, its control number, or our id. A receipt that we owe is called by
// its Message-ID, a post to a webhook by what it carries.
func documentName(m queue.Message) string {
	switch m.Kind {
	case queue.KindReceipt:
		return "receipt " + plain(m.MessageID)
	case queue.KindWebhook:
		m.Kind = queue.KindDocument
		return "webhook post of " + documentName(m)
	}
	called := func(names ...string) string {
		for _, name := range names {
			for _, r := range m.Business.References {
				if r.Name == name {
					return strings.TrimSpace(m.Business.Type + " " + r.Value)
				}
			}
		}
		return ""
	}
	id := m.ID
	if refusedIn(m.Direction, m) { // what the partner calls it
		id = cmp.Or(m.MessageID, m.ID)
	}
	return plain(cmp.Or(called(spoken...), m.Payload.FileName, called("interchange"), id))
}

// enquiry is the text that an operator sends to a partner who may have a
// document.
func (c *Console) enquiry(v *visit, l queue.Letter, m queue.Message) string {
	sent := l.Created
	if l.Last != nil {
		sent = l.Last.Started
	}
	document := []string{m.Business.Type}
	for _, r := range m.Business.References {
		document = append(document, r.Name+" "+r.Value)
	}
	lines := []string{"Please tell us whether you have received this message:", ""}
	for _, f := range []fact{
		{Name: "Message-ID", Value: m.MessageID},
		{Name: "Sent", Value: sent.UTC().Format(time.RFC1123)},
		{Name: "File name", Value: m.Payload.FileName},
		{Name: "Document", Value: strings.Join(nonEmpty(document...), ", ")},
		{Name: "Size", Value: words.Bytes(m.Payload.Size) + ", SHA-256 " + m.Payload.SHA256},
	} {
		if f.Value != "" {
			lines = append(lines, f.Name+": "+plain(f.Value))
		}
	}
	known := "We have no receipt that we can verify for it."
	if l.Contradicted() {
		known = "Your receipts for it contradict each other: one says no, a later one yes."
	}
	return strings.Join(append(lines, "", known+" Until we hear from you it is not sent again."), "\n")
}

// confirm gives the codes that must be confirmed if that is all that an error
// says.
func confirm(err error) (*dlq.ConfirmError, bool) {
	var need *dlq.ConfirmError
	ok := errors.As(err, &need)
	return need, ok
}
