package console

import (
	"strconv"
	"time"

	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// mark is a state that differs by colour, shape and word.
type mark struct {
	Class string // of the style
	Shape string
	Word  string
}

// Marks of states (console.md, Look).
var (
	markSending   = mark{"ok", "●", "Sending"}
	markTesting   = mark{"warn", "◐", "Testing"}
	markStopped   = mark{"bad", "■", "Stopped"}
	markPaused    = mark{"idle", "■", "Stopped"}
	markDelivered = mark{"ok", "✓", "Delivered"}
	markWaiting   = mark{"idle", "…", "Waiting"}
	markDead      = mark{"bad", "✕", "Not delivered"}
	markUnknown   = mark{"warn", "?", "Unknown"}
	markClosed    = mark{"idle", "–", "Closed"}
)

// laneMark is how a lane's state looks.
func laneMark(s queue.LaneState) mark {
	switch s {
	case queue.LaneSending:
		return markSending
	case queue.LaneHalfOpen, queue.LaneAnswering:
		return markTesting
	case queue.LaneStopped, queue.LaneBlackout, queue.LaneWindow:
		return markPaused
	}
	return markStopped
}

// messageMark is how a message's state looks.
func messageMark(s queue.State, uncertain bool) mark {
	switch {
	case s == queue.Delivered || s == queue.Received:
		return markDelivered
	case uncertain:
		return markUnknown
	case s == queue.Dead:
		return markDead
	case s == queue.Sending:
		return mark{"ok", "●", "Being sent"}
	case s == queue.Refused:
		return mark{"bad", "✕", "Refused"}
	case s == queue.Superseded || s == queue.Discarded:
		return markClosed
	}
	return markWaiting
}

// deadMark is how a message looks that is a letter.
func deadMark(m queue.Message) mark {
	k := markDead
	switch {
	case refusedIn(m.Direction, m):
		k.Word = "Refused"
	case m.Direction == queue.In:
		k.Word = "Not handed on"
	}
	return k
}

// markOf is how a message looks.
func markOf(s web.Seen) mark {
	if s.Shown.State == queue.Dead && !s.Message.Uncertain {
		return deadMark(s.Message)
	}
	return messageMark(s.Shown.State, s.Message.Uncertain)
}

// laneSentence is a lane's state in words, its times in the partner's zone if
// it has settings.
func (v *visit) laneSentence(l queue.LaneView, waiting int, p *partner.Partner) string {
	f := words.LaneFacts{State: string(l.State), Now: v.now, Zone: v.zoneOf(p), Next: l.Next, Reason: l.Note, Mistakes: len(l.Problems), Waiting: waiting}
	if l.Stop != nil && l.State == queue.LaneStopped {
		f.By, f.Reason = l.Stop.By.Name, l.Stop.Reason
	}
	if l.Fix != nil {
		f.Ours, f.Cause = l.Fix.Ours, l.Fix.Cause
		if l.Fix.Detail != "" {
			f.Cause = l.Fix.Detail
		}
	}
	f.Hook = l.Lane != "" && l.Lane == queue.LaneKey(l.Partner, queue.KindWebhook)
	return plain(words.Lane(f))
}

// zoneOf is the zone in which a partner's times are told.
func (v *visit) zoneOf(p *partner.Partner) *time.Location {
	if p == nil || p.Zone == nil {
		return v.zone
	}
	return p.Zone
}

// partnerName is how people call a partner; the id if its file is gone.
func (c *Console) partnerName(id string) string {
	if p, known := c.Settings().Partner(id); known && p.Name != "" {
		return p.Name
	}
	return id
}

// messageSentence is a message's state in words. end is who ended it by hand,
// nil if nobody did.
func (c *Console) messageSentence(v *visit, m queue.Message, s queue.Shown, end *web.Ending) string {
	p, _ := c.Settings().Partner(m.Partner)
	f := words.MessageFacts{State: string(s.State), Why: string(s.Why), Proof: string(m.Proof), Now: v.now, Zone: v.zoneOf(p), Next: s.Next, First: m.Attempts == 0, Hook: m.Kind == queue.KindWebhook, Inbound: m.Direction == queue.In, Refused: refusedIn(m.Direction, m), Detail: said(m.Detail)}
	if p != nil && p.Lane.Rate > 0 {
		f.Rate = strconv.FormatFloat(p.Lane.Rate, 'g', 3, 64) + "/s"
	}
	if m.Kind == queue.KindDocument && m.State.Lined() && s.Why != "" && s.Why != queue.WhyBackoff {
		f.Lane = v.laneSentence(c.Lanes.View(m.Partner), 0, p)
	}
	if end != nil {
		f.By, f.Note, f.At = end.By.Name, end.Note, end.At
	}
	return words.Message(f)
}

// closedAs says how a letter of a lane ended.
func closedAs(end, lane, partner string) string {
	post := lane == queue.LaneKey(partner, queue.KindWebhook)
	if post || lane == queue.InboxLane(partner) {
		return words.ClosedProcessed(end, post)
	}
	return words.ClosedAs(end)
}

// said is the sentence that the last result left, if any.
func said(detail string) string {
	return plain(words.Said(detail))
}
