package as4

import (
	"io"
	"net/http"
	"strings"

	"edigw/as4/ebms"
	"edigw/internal/tame"
)

// lingering is how much of a request that is refused is read all the same: a
// sender that is cut off while he writes never reads why.
const lingering = 8 << 20

// discard reads a little of what nobody wants.
func discard(r *http.Request, most int64) { _, _ = io.CopyN(io.Discard, r.Body, most) }

// noPMode is all that strangers learn.
const noPMode = "There is no agreement here between the parties of this message."

// turnAway answers a message of parties without a P-Mode: never signed, never
// anywhere but in this response. found is what else is wrong with its header.
func (q *request) turnAway(found error) {
	h, u := q.h, q.env.User
	if h.o.Stranger != nil {
		h.o.Stranger()
	}
	from, to := partyText(u.From), partyText(u.To)
	if n, tell := h.strangers.Comes(from, to, h.o.Now()); tell {
		h.o.Log.Info("AS4 message of unknown parties refused", "from", from, "to", to, "message_id", tame.Clip(u.MessageID, maxShown), "since_last_line", n)
	}
	if found != nil {
		q.refuseStranger(refuseReading(found), u.MessageID)
		return
	}
	q.refuseStranger(&refusal{code: codeValue, told: noPMode, problem: noPMode}, u.MessageID)
}

// partyText is how a party calls itself, for the log.
func partyText(p ebms.Party) string {
	var ids []string
	for _, id := range p.IDs[:min(len(p.IDs), 2)] {
		text := id.Value
		if id.Type != "" {
			text = id.Type + ":" + text
		}
		ids = append(ids, tame.Clip(tame.Line(text), maxShown))
	}
	return strings.Join(ids, ", ")
}

// unreadable answers what cannot be read so far that it could be told who sends
// it.
func (q *request) unreadable(err error) {
	q.note("AS4 request that cannot be read", err.Error())
	messageID := ""
	if problem := problemOf(err); problem != nil {
		messageID = problem.MessageID
	}
	q.refuseStranger(refuseReading(err), messageID)
}

// refuseStranger answers without a signature. An error that is no *refusal is
// ours.
func (q *request) refuseStranger(err error, messageID string) {
	no := refusalOf(err)
	if no == nil {
		q.unavailable("", "read message", err)
		return
	}
	answer, failed := no.answer(q.h, PMode{}, messageID)
	if failed != nil {
		q.unavailable("", "make error", failed)
		return
	}
	discard(q.r, maxSignal) // nothing large is taken from strangers
	answer.send(q.w)
}

// note writes a line about something odd, one a minute of each kind from an
// address.
func (a *arrival) note(what, detail string) {
	if n, tell := a.h.odd.Comes(a.from, what, a.h.o.Now()); tell {
		a.h.o.Log.Info(what, "from", a.from, "detail", tame.Clip(tame.Line(detail), 2*maxShown), "since_last_line", n)
	}
}
