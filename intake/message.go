package intake

import (
	"time"

	"edigw/partner"
	"edigw/queue"
)

// message makes the arrival that a store admits; id is that of the message,
// empty for a new one.
func (a *arrival) message(id string) (queue.Arrival, error) {
	now, p := a.in.Now(), a.partner
	letter, err := queue.NewID(now, a.in.Random)
	if err == nil && id == "" {
		id, err = queue.NewID(now, a.in.Random)
	}
	if err != nil {
		return queue.Arrival{}, err
	}
	m := a.facts(id)
	m.Payload.SHA256 = a.digest
	m.DeliverBy, m.DeadlineGiven = a.r.DeliverBy, !a.r.DeliverBy.IsZero()
	if !m.DeadlineGiven && p.DeliverBy > 0 {
		m.DeliverBy = now.Add(p.DeliverBy)
	}
	if p.WarnBy > 0 {
		m.WarnBy = now.Add(p.WarnBy)
	}
	arrival := queue.Arrival{Message: m, Identity: Identity(a.settings, p), Backlog: queue.Backlog(p.Backlog), Now: now, LetterID: letter}
	if p.CheckEnvelope {
		arrival.Problem = a.doc.report.Problem
	}
	return arrival, nil
}

// facts is what is known of the message so far, accepted or refused.
func (a *arrival) facts(id string) queue.Message {
	m := queue.Message{
		ID: id, Partner: a.r.Partner, Lane: queue.LaneKey(a.r.Partner, queue.KindDocument), Kind: queue.KindDocument, Direction: queue.Out,
		Key: a.key, KeyGiven: a.r.Key != "", CorrelationID: a.r.CorrelationID, Actor: a.r.Actor, Source: string(a.r.Source),
		Payload: queue.Payload{FileName: a.r.FileName, Size: max(a.r.Size, 0)},
	}
	if a.checked {
		m.Properties = a.r.Properties
	}
	if a.partner != nil {
		m.Protocol = protocol(a.partner)
	}
	if a.doc != nil {
		r := a.doc.report
		m.Payload.Size = a.doc.size
		m.Payload.ContentType = contentType(a.partner, r.Kind, a.r.ContentType)
		m.Business = queue.Business{Kind: r.Kind, Type: r.Type, References: r.References}
	}
	return m
}

// protocol is the partner's; a file that never was good may name none.
func protocol(p *partner.Partner) string {
	if p.Protocol == "" {
		return "as2"
	}
	return p.Protocol
}

// Identity is what the Message-IDs of documents to a partner are made of
// (delivery.md §3), at the door and for every later edition.
func Identity(s Settings, p *partner.Partner) queue.Identity {
	i := queue.Identity{Domain: s.Gateway().Identity.Domain, Brackets: protocol(p) == "as2"}
	i.From, i.To = s.Names(p.ID)
	return i
}

// refusedMessage is the record of a document that was turned away: searchable,
// without its bytes.
func (a *arrival) refusedMessage(id string, no *Refusal, now time.Time) (queue.Message, queue.Event) {
	m := a.facts(id)
	m.State, m.Detail, m.Accepted, m.Finished = queue.Refused, no.Detail, now, now
	e := queue.Event{
		At: now, Type: queue.EventRefused, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Text: no.Detail,
		Facts: map[string]string{"slug": string(no.Slug), "by": m.Actor.String(), "source": m.Source, "key": m.Key},
	}
	return m, e
}
