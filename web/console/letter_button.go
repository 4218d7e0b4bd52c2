package console

import (
	"errors"

	"edigw/dlq"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
)

// letterButton is the one thing to do about a letter in a list.
func (v *visit) letterButton(l queue.Letter, m queue.Message, back string) *button {
	switch {
	case l.Status == queue.LetterReplaying && m.Why == queue.WhyUndo && m.NextAt.After(v.now):
		return &button{Label: "Undo", Path: "/letters/" + l.ID + "/undo", Back: back}
	case l.Status != queue.LetterOpen:
		return nil
	case refusedIn(l.Direction, m):
		return &button{Label: "Process again …", Path: "/letters/" + l.ID + "/process", Back: back, Kind: primary}
	case l.Direction == queue.In:
		return &button{Label: "Hand on again", Path: "/letters/" + l.ID + "/process", Back: back, Kind: primary}
	case otherContent(l):
		return &button{Label: "Close as delivered …", Path: "/letters/" + l.ID + "/settle", Back: back, Kind: primary}
	case l.Reason == fault.ReasonReceiptInvalid:
		return &button{Label: "Re-check the receipt", Path: "/letters/" + l.ID + "/recheck", Back: back, Kind: primary}
	case m.Parked:
		return &button{Label: "Send as a new edition", Path: "/letters/" + l.ID + "/replay", Back: back}
	}
	if malformed(l) {
		if editable(l, m) && v.user.Payloads {
			return &button{Label: "Edit and replay …", Path: "/letters/" + l.ID + "/edit", Get: true, Kind: primary}
		}
		return &button{Label: "Replay …", Path: "/letters/" + l.ID + "/replay", Back: back}
	}
	return &button{Label: "Replay", Path: "/letters/" + l.ID + "/replay", Back: back, Kind: primary}
}

// malformed reports whether our own check made an open letter: its document
// was never tried.
func malformed(l queue.Letter) bool {
	return l.Reason == fault.ReasonFormat && l.Direction == queue.Out && l.Status == queue.LetterOpen && l.Attempts == 0 && l.Last == nil
}

// otherContent reports whether the receipt of a letter says that the partner
// has something else than what was sent.
func otherContent(l queue.Letter) bool {
	return l.Reason == fault.ReasonReceiptInvalid && words.OtherContent(receiptVerdict(l))
}

// receiptVerdict is what was thought of the receipt of a letter's last
// exchange.
func receiptVerdict(l queue.Letter) string {
	if l.Last == nil || l.Last.Ack == nil {
		return ""
	}
	return string(l.Last.Ack.Verdict)
}

// letterButtons are all actions that fit a letter, the one to do first.
func letterButtons(v *visit, l queue.Letter, m queue.Message) (all []button) {
	back := messagePath(m.ID)
	if b := v.letterButton(l, m, back); b != nil {
		all = append(all, *b)
	}
	if l.Status != queue.LetterOpen {
		return all
	}
	act := func(label, name, kind string, fields ...field) {
		all = append(all, button{Label: label, Path: "/letters/" + l.ID + "/" + name, Kind: kind, Fields: fields, Back: back})
	}
	if l.Direction == queue.Out {
		if l.Reason == fault.ReasonReceiptInvalid {
			if otherContent(l) {
				act("Re-check the receipt", "recheck", "")
			}
			act("Replay", "replay", "")
		}
		if l.Reason == fault.ReasonRejected && m.Kind == queue.KindDocument && !l.Uncertain && !m.Uncertain {
			act("Replay under a new Message-ID", "replay", "", field{"fresh_id", "true"})
		}
		switch edits := editable(l, m) && v.user.Payloads; {
		case edits && malformed(l): // the one to do first
			act("Replay …", "replay", "")
		case edits:
			all = append(all, button{Label: "Edit and replay …", Path: "/letters/" + l.ID + "/edit", Get: true})
		}
		if !otherContent(l) {
			act("Close as delivered …", "settle", "")
		}
	}
	act("Discard …", "discard", danger)
	return all
}

// malformedQuestion asks before a document goes out that our own check found
// malformed.
func (c *Console) malformedQuestion(v *visit, l queue.Letter, m queue.Message) question {
	w := words.Malformed(documentName(m), c.partnerName(l.Partner), said(l.Detail))
	q := question{Title: w.Title, Text: w.Text, Path: "/letters/" + l.ID + "/replay", Fields: []field{{"sure", "yes"}}, Back: local(v.form.Get("back")), Safe: w.Safe,
		Choices: []choice{{Label: w.Actions[0], Kind: danger}}}
	for _, name := range []string{"confirm", "fresh_id", "reason"} {
		for _, value := range v.form[name] {
			q.Fields = append(q.Fields, field{name, value})
		}
	}
	return q
}

// mostMalformed bounds how many letters of a filter are looked at before a
// bulk replay is asked about.
const mostMalformed = 2000

// malformedOf counts the letters of a selection that our own check made. more
// tells that not all were looked at.
func (c *Console) malformedOf(v *visit, sel dlq.Selection) (n int, more bool, err error) {
	ctx := v.r.Context()
	if len(sel.IDs) > 0 {
		for _, id := range sel.IDs {
			l, err := c.Ledger.Letter(ctx, id)
			if errors.Is(err, queue.ErrNotFound) {
				continue
			}
			if err != nil {
				return 0, false, err
			}
			if malformed(l) {
				n++
			}
		}
		return n, false, nil
	}
	f, at := sel.Filter, ""
	if f.Reason != "" && f.Reason != fault.ReasonFormat {
		return 0, false, nil
	}
	f.Reason = fault.ReasonFormat
	for seen := 0; seen < mostMalformed; {
		found, next, err := c.Ledger.Letters(ctx, f, queue.Page{Limit: 500, Cursor: at})
		if err != nil {
			return 0, false, err
		}
		for _, l := range found {
			if malformed(l) {
				n++
			}
		}
		if seen, at = seen+len(found), next; next == "" {
			return n, false, nil
		}
	}
	return n, true, nil
}
