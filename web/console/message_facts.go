package console

import (
	"net/url"
	"strings"

	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// facts are what is known of the document, for people to compare and search.
func (c *Console) facts(v *visit, h history) (all []fact) {
	m, zone := h.message, v.zoneOf(h.partner)
	add := func(f fact) {
		if f.Value != "" || f.At.Is() {
			all = append(all, f)
		}
	}
	id := func(name, value string) { add(fact{Name: name, Value: plain(value), Code: true}) }
	add(fact{Name: "Type", Value: strings.TrimSpace(strings.ToUpper(string(m.Business.Kind)) + " " + plain(m.Business.Type))})
	for _, r := range m.Business.References {
		add(fact{Name: referenceName(r.Name), Value: plain(r.Value), Code: true, Link: "/messages?q=" + url.QueryEscape(r.Value)})
	}
	if web.SentHeader(m, h.builds) == nil { // else they stand in its header
		for _, p := range m.Properties.Message {
			id("Property "+plain(p.Name), p.Value)
		}
		for _, p := range m.Properties.Part {
			id("Part property "+plain(p.Name), p.Value)
		}
	}
	id("File name", m.Payload.FileName)
	if !refusedIn(m.Direction, m) {
		add(fact{Name: "Size", Value: words.Bytes(m.Payload.Size) + " · " + plain(m.Payload.ContentType)})
	}
	id("SHA-256", m.Payload.SHA256)
	id("Message-ID", m.MessageID)
	if m.Direction == queue.Out {
		add(fact{Name: "Key", Value: plain(m.Key), Code: true, Link: "/messages?q=" + url.QueryEscape(m.Key)})
	}
	switch m.Kind {
	case queue.KindReceipt:
		add(fact{Name: "Receipt for", Value: m.CorrelationID, Code: true, Link: messagePath(m.CorrelationID)})
	case queue.KindWebhook:
		add(fact{Name: "Received as", Value: m.CorrelationID, Code: true, Link: messagePath(m.CorrelationID)})
	default:
		id("Correlation id", m.CorrelationID)
	}
	if m.Direction == queue.Out {
		add(fact{Name: "Handed in by", Value: handedInBy(m)})
	} else {
		add(fact{Name: "Processed again by", Value: plain(m.Actor.Name)})
	}
	add(fact{Name: accepted(m), At: v.in(m.Accepted, zone)})
	add(fact{Name: "Warn at", At: v.in(m.WarnBy, zone)})
	add(fact{Name: "Deliver by", At: v.in(m.DeliverBy, zone)})
	if m.Previous != "" {
		add(fact{Name: "Earlier edition", Value: m.Previous, Code: true, Link: messagePath(m.Previous)})
	}
	id("Our id", m.ID)
	return all
}

// handedInBy is who handed a document in, and by which way.
func handedInBy(m queue.Message) string {
	if m.Actor.Name == m.Source {
		return m.Source
	}
	return strings.Join(nonEmpty(plain(m.Actor.Name), m.Source), ", ")
}

func accepted(m queue.Message) string {
	switch {
	case m.Direction == queue.In:
		return "Received"
	case m.State == queue.Refused:
		return "Refused"
	}
	return "Accepted"
}

// referenceName is how people call a kind of reference.
func referenceName(name string) string {
	switch name {
	case "interchange":
		return "Interchange number"
	case "group":
		return "Group number"
	case "order":
		return "Purchase order"
	case "acknowledged":
		return "Acknowledges group"
	case "":
		return "Reference"
	}
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
}
