package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"edigw/internal/apiclient"
	"edigw/internal/tame"
	"edigw/internal/words"
	"edigw/queue"
)

// showMessage prints one message: what it is, what became of it, what to do.
func showMessage(e *env, gateway *apiclient.Client, id string) error {
	var raw json.RawMessage
	if err := gateway.Get(e.ctx, "/messages/"+url.PathEscape(id), nil, &raw); err != nil {
		return err
	}
	if e.json {
		return e.result(raw)
	}
	var m messageView
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	e.say("Message %s %s %s: %s", m.ID, m.way(), m.Partner, m.sentence())
	if m.MessageID != "" {
		e.say("  Message-ID  %s", m.MessageID)
	}
	switch {
	case m.Kind == string(queue.KindWebhook):
		e.say("  received as %s", m.Follows)
	case m.Kind == string(queue.KindReceipt):
		e.say("  receipt for %s", m.Follows)
	case m.Direction == "out":
		e.say("  key         %s", m.Key)
	}
	e.say("  document    %s", m.document())
	if len(m.References) > 0 {
		var refs []string
		for _, r := range m.References {
			refs = append(refs, r.Name+" "+r.Value)
		}
		e.say("  references  %s", strings.Join(refs, ", "))
	}
	if m.AS4 == nil { // else they stand in its header
		for _, p := range m.Properties {
			e.say("  property    %s: %s", tame.Line(p.Name), typedValue(p))
		}
		for _, p := range m.PartProperties {
			e.say("  of payloads %s: %s", tame.Line(p.Name), typedValue(p))
		}
	}
	e.sayHeader(m)
	if m.EndedBy != "" {
		e.say("  ended by    %s, %s: %s", m.EndedBy, local(m.Finished), m.EndedNote)
	}
	if l, open := m.openLetter(); open {
		e.say("  letter      %s, %s, since %s", l.ID, l.headline(), local(l.Created))
		if l.refused() {
			e.say("  because     %s", l.Detail)
		}
		e.sayAdvice(l, m.Kind)
	}
	e.sayAttempts(m)
	e.sayTimeline(m)
	return nil
}

func (e *env) sayAttempts(m messageView) {
	for _, a := range m.Attempts {
		e.say("  try %-6d  %s  %s", a.N, local(a.Started), a.sentence())
		e.saySignal(a.Ack)
	}
}

// sentence says what an exchange came to.
func (a attempt) sentence() string {
	text := words.ExchangeOutcome(a.Class, a.Ack != nil && a.Ack.Positive)
	if detail := words.Said(a.Detail); detail != "" {
		text += ": " + detail
	} else if a.Status >= 300 {
		text += fmt.Sprintf(": they answered %d", a.Status)
	}
	if took, err := time.ParseDuration(a.Duration); err == nil && took > 0 {
		text += " (" + a.Duration + ")"
	}
	return text
}

// way is between whom it goes.
func (m messageView) way() string {
	switch {
	case m.Direction == "in":
		return "from"
	case m.Kind == string(queue.KindWebhook):
		return "to the webhook of"
	}
	return "to"
}

// refused reports whether it is a message of a partner that we refused.
func (m messageView) refused() bool { return m.Direction == "in" && m.SHA256 == "" }

// document says what it is of: a refused message has none.
func (m messageView) document() string {
	if m.refused() {
		text := "none was taken out of it; the request is "
		switch {
		case m.Received == nil:
			text += "not kept any more"
		case m.Received.Request == "whole":
			text += "kept whole"
		case m.Received.Request == "beginning":
			text += "kept, but only its beginning"
		case m.Received.Request == "header":
			text += "kept without its body, which was not read"
		default:
			text += "not kept"
		}
		return text + "; received " + local(m.Accepted)
	}
	name, when := m.FileName, "accepted"
	switch {
	case m.Received != nil && len(m.Received.Files) > 0:
		name = words.Count(len(m.Received.Files), "file", "files") + ": " + m.Received.names()
	case name == "":
		name = "without a name"
	}
	if m.Direction == "in" {
		when = "received"
	}
	return fmt.Sprintf("%s, %s bytes, %s %s", name, words.Number(m.Size), when, local(m.Accepted))
}

func (e *env) sayTimeline(m messageView) {
	for _, t := range m.Timeline {
		by := ""
		if t.By != "" {
			by = " (" + t.By + ")"
		}
		what, text := m.milestone(t.Type), ""
		if said := words.Said(t.Text); said != "" && said != t.Type && !strings.EqualFold(said, what) && !m.toldByLetter(said) {
			text = ": " + said
		}
		e.say("  %s  %s%s%s", t.At.Local().Format("2006-01-02 15:04:05.000"), what, by, text)
	}
}

// names are those of the files of a document of several.
func (r receivedView) names() string {
	var names []string
	for _, f := range r.Files {
		names = append(names, cmp.Or(f.Name, fmt.Sprintf("part %d", f.N)))
	}
	return strings.Join(names, ", ")
}

// milestone names an event of the message.
func (m messageView) milestone(event string) string {
	if m.Direction == "in" {
		switch event {
		case string(queue.EventAccepted):
			return "Received"
		case string(queue.EventDelivered):
			return "Handed on"
		case string(queue.EventDead):
			return words.Message(words.MessageFacts{State: string(queue.Dead), Inbound: true, Refused: m.refused()})
		}
	}
	return words.Milestone(event)
}

// toldByLetter reports whether the open letter of a refused message says it
// above.
func (m messageView) toldByLetter(said string) bool {
	l, open := m.openLetter()
	return open && l.refused() && l.Detail == said
}

// openLetter is the letter that stands for the message now.
func (m messageView) openLetter() (letterView, bool) {
	for _, l := range m.Letters {
		if l.ID == m.Letter && l.Status == "open" {
			return l, true
		}
	}
	return letterView{}, false
}

func (m messageView) lastAttempt() *attempt {
	if n := len(m.Attempts); n > 0 {
		return &m.Attempts[n-1]
	}
	return nil
}

// sentence is the state as people read it.
func (m messageView) sentence() string {
	f := words.MessageFacts{State: m.State, Why: m.Why, Proof: m.Proof, Next: m.NextAt, First: len(m.Attempts) == 0, Hook: m.Kind == string(queue.KindWebhook), Inbound: m.Direction == "in", Refused: m.refused(), Now: time.Now(), Zone: time.Local, Detail: m.Detail,
		By: m.EndedBy, Note: m.EndedNote, At: m.Finished}
	for _, l := range m.Letters {
		if l.ClosedAs == "delivered-late" {
			f.Late = m.Finished.Sub(l.Created)
		}
	}
	text := words.Message(f)
	if l, open := m.openLetter(); open {
		text = l.sentence(m)
	}
	if m.Uncertain {
		text += ". " + words.Uncertain
	}
	return text
}
