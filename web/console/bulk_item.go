package console

import (
	"cmp"
	"errors"
	"slices"

	"edigw/internal/words"
	"edigw/queue"
)

// itemRow is a letter of a bulk replay as the page prints it: in line until it
// is really sent.
func (c *Console) itemRow(v *visit, it queue.ReplayItem) (itemRow, error) {
	r := itemRow{N: it.N, Message: it.Message, Partner: it.Partner, Name: c.partnerName(it.Partner), Doc: it.Message, Mark: markWaiting, Word: "In line", Detail: it.Detail, Lined: it.Status == "pending"}
	m, err := c.Ledger.Message(v.r.Context(), it.Message)
	if err != nil && !errors.Is(err, queue.ErrNotFound) { // retention may have dropped it
		return r, err
	}
	if err == nil {
		r.Doc = documentName(m)
	}
	switch {
	case it.Status == "skipped":
		r.Mark, r.Word = markClosed, "Left out"
	case it.Status == "failed":
		r.Mark, r.Word = markDead, "Not replayed"
	case it.Status == "replayed" && it.Detail != "":
		r.Word, r.Detail = words.ClosedAs(it.Detail), ""
		if r.Mark = markDelivered; it.Detail == string(queue.ClosedFailedAgain) {
			r.Mark = markDead
		}
	case it.Status == "replayed" && m.State == queue.Sending:
		r.Mark, r.Word = mark{"ok", "●", "Being sent"}, "Being sent"
	case it.Status == "replayed" && m.State == queue.AwaitingAck:
		r.Mark, r.Word = mark{"ok", "●", "Sent"}, "Sent, waits for the receipt"
	case it.Status == "replayed" && !m.State.Lined(): // its end is not noted in the job yet
		r.Mark, r.Word = messageMark(m.State, m.Uncertain), cmp.Or(messageMark(m.State, m.Uncertain).Word, "Ended")
	case it.Status == "replayed":
		r.Lined = true
	}
	return r, nil
}

// bulkWaits says for each partner of a bulk replay why its documents are not
// sent: the one that was selected, or those of the rows.
func (c *Console) bulkWaits(v *visit, j queue.ReplayJob, rows []itemRow) (all []string) {
	var partners []string
	for _, r := range rows {
		if r.Lined && !slices.Contains(partners, r.Partner) {
			partners = append(partners, r.Partner)
		}
	}
	if id := j.Filter.Partner; id != "" && j.Counts.Pending > 0 && j.Status != queue.ReplayCancelled && !slices.Contains(partners, id) {
		partners = append(partners, id)
	}
	for _, id := range partners {
		lane := c.Lanes.View(id)
		p, _ := c.Settings().Partner(id)
		switch lane.State {
		case queue.LaneSending:
		case queue.LaneOpen:
			text := "Waiting: " + c.partnerName(id) + " does not answer"
			if next := v.in(lane.Next, v.zoneOf(p)); next.Is() {
				text += ", next test " + next.Clock
			}
			all = append(all, text)
		default:
			all = append(all, "Waiting: "+c.partnerName(id)+": "+v.laneSentence(lane, 0, p))
		}
	}
	return all
}
