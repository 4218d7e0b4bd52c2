package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"edigw/internal/apiclient"
	"edigw/internal/words"
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
	way := "to"
	if m.Direction == "in" {
		way = "from"
	}
	e.say("Message %s %s %s: %s", m.ID, way, m.Partner, m.sentence())
	e.say("  Message-ID  %s", m.MessageID)
	e.say("  key         %s", m.Key)
	e.say("  document    %s, %s bytes, accepted %s", m.FileName, words.Number(m.Size), local(m.Accepted))
	if len(m.References) > 0 {
		var refs []string
		for _, r := range m.References {
			refs = append(refs, r.Name+" "+r.Value)
		}
		e.say("  references  %s", strings.Join(refs, ", "))
	}
	if m.EndedBy != "" {
		e.say("  ended by    %s, %s: %s", m.EndedBy, local(m.Finished), m.EndedNote)
	}
	if l, open := m.openLetter(); open {
		e.say("  letter      %s, %s, since %s", l.ID, l.headline(), local(l.Created))
		e.sayAdvice(l)
	}
	e.sayAttempts(m)
	e.sayTimeline(m)
	return nil
}

func (e *env) sayAttempts(m messageView) {
	for _, a := range m.Attempts {
		status := ""
		if a.Status != 0 {
			status = fmt.Sprintf(" HTTP %d", a.Status)
		}
		detail := ""
		if a.Detail != "" {
			detail = ": " + a.Detail
		}
		e.say("  attempt %-2d  %s  %s%s after %s%s", a.N, local(a.Started), a.Class, status, a.Duration, detail)
	}
}

func (e *env) sayTimeline(m messageView) {
	for _, t := range m.Timeline {
		by := ""
		if t.By != "" {
			by = " (" + t.By + ")"
		}
		text := ""
		if t.Text != t.Type {
			text = ": " + t.Text
		}
		e.say("  %s  %s%s%s", t.At.Local().Format("2006-01-02 15:04:05.000"), t.Type, by, text)
	}
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
	f := words.MessageFacts{State: m.State, Why: m.Why, Proof: m.Proof, Next: m.NextAt, First: len(m.Attempts) == 0, Now: time.Now(), Zone: time.Local, Detail: m.Detail,
		By: m.EndedBy, Note: m.EndedNote, At: m.Finished}
	for _, l := range m.Letters {
		if l.ClosedAs == "delivered-late" {
			f.Late = m.Finished.Sub(l.Created)
		}
	}
	text := words.Message(f)
	if l, open := m.openLetter(); open {
		text = l.sentence(m.lastAttempt(), m.DeliverBy)
	}
	if m.Uncertain {
		text += ". " + words.Uncertain
	}
	return text
}
