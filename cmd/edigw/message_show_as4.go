package main

import (
	"strings"

	"edigw/internal/tame"
	"edigw/web"
)

// sayHeader prints what the header of an AS4 message says.
func (e *env) sayHeader(m messageView) {
	h := m.AS4
	if h == nil {
		return
	}
	e.say("  from        %s as %s", typedList(h.From.IDs), tame.Line(h.From.Role))
	e.say("  to          %s as %s", typedList(h.To.IDs), tame.Line(h.To.Role))
	e.say("  service     %s, action %s", typedValue(h.Service), tame.Line(h.Action))
	if h.Agreement != nil {
		e.say("  agreement   %s", typedValue(*h.Agreement))
	}
	if h.ConversationID != "" {
		e.say("  conversation  %s", tame.Line(h.ConversationID))
	}
	if h.RefToMessageID != "" {
		e.say("  answers     %s", h.RefToMessageID)
	}
	e.say("  channel     %s", tame.Line(h.MPC))
	if h.Fetched {
		e.say("  fetched     with a pull request of ours")
	}
	for _, p := range h.Properties {
		e.say("  property    %s: %s", tame.Line(p.Name), typedValue(p))
	}
	for _, p := range h.Payloads {
		var all []string
		for _, one := range p.Properties {
			all = append(all, tame.Line(one.Name+" "+one.Value))
		}
		where := tame.Line(p.Href)
		if where == "" {
			where = "in the SOAP Body"
		}
		e.say("  payload     %s", strings.Join(append([]string{where}, all...), ", "))
	}
	if r := m.Received; r != nil {
		if r.Disposition != "" {
			e.say("  answered    %s", r.Disposition)
		}
		if r.Error != nil {
			e.sayError("  ", *r.Error)
		}
		for _, line := range r.Report {
			e.say("  signature   %s", line)
		}
	}
}

// typedValue is a value of the partner's on one line.
func typedValue(t web.Typed) string {
	if t.Type == "" {
		return tame.Line(t.Value)
	}
	return tame.Line(t.Value + " (" + t.Type + ")")
}

func typedList(list []web.Typed) string {
	var all []string
	for _, t := range list {
		all = append(all, typedValue(t))
	}
	return strings.Join(all, ", ")
}

// saySignal prints what the receipt or error of an AS4 exchange says.
func (e *env) saySignal(k *ackView) {
	if k == nil {
		return
	}
	for _, one := range k.Errors {
		e.sayError("              ", one)
	}
	if k.Problem != "" {
		e.say("              %s", k.Problem)
	}
	for _, r := range k.References {
		switch {
		case r.Equal:
			e.say("              acknowledged  %s  %s", r.URI, r.Sent)
		case r.Acknowledged == "":
			e.say("              not acknowledged  %s  sent %s", r.URI, r.Sent)
		default:
			e.say("              OTHER  %s  sent %s, the receipt names %s", r.URI, r.Sent, r.Acknowledged)
		}
	}
}

// sayError prints an error of ebMS with its explanation.
func (e *env) sayError(indent string, one web.EBMSError) {
	title := strings.TrimSpace(one.Code + " " + one.Name)
	if one.Severity != "" {
		title += " (" + one.Severity + ")"
	}
	e.say("%s%s: %s", indent, title, strings.TrimSpace(one.Meaning+" "+one.Remedy))
}
