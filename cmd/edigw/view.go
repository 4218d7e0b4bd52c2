package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"edigw/fault"
	"edigw/internal/words"
)

// The parts of the API's answers that commands read (interfaces.md §5). With
// --json the whole answer is printed, as the API gave it.

type messageView struct {
	raw json.RawMessage

	ID         string    `json:"id"`
	MessageID  string    `json:"message_id"`
	Key        string    `json:"key"`
	Partner    string    `json:"partner"`
	Direction  string    `json:"direction"`
	State      string    `json:"state"`
	Why        string    `json:"why"`
	NextAt     time.Time `json:"next_at"`
	Uncertain  bool      `json:"uncertain"`
	Overtaken  bool      `json:"overtaken"`
	Overdue    bool      `json:"overdue"`
	Proof      string    `json:"proof"`
	Detail     string    `json:"detail"`
	Letter     string    `json:"letter"`
	FileName   string    `json:"file_name"`
	Size       int64     `json:"size"`
	Accepted   time.Time `json:"accepted"`
	Attempts   []attempt `json:"attempts"`
	References []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"references"`
	Timeline []struct {
		At   time.Time `json:"at"`
		Type string    `json:"type"`
		Text string    `json:"text"`
		By   string    `json:"actor"`
	} `json:"timeline"`
}

type attempt struct {
	N        int       `json:"n"`
	Started  time.Time `json:"started"`
	Duration string    `json:"duration"`
	Phase    string    `json:"phase"`
	Class    string    `json:"class"`
	Counted  bool      `json:"counted"`
	Status   int       `json:"status"`
	Detail   string    `json:"detail"`
}

// done reports whether the message will not change by itself.
func (m messageView) done() bool {
	switch m.State {
	case "delivered", "dead", "refused", "superseded", "discarded":
		return true
	}
	return false
}

// sentence is the state as people read it.
func (m messageView) sentence() string {
	text := words.Message(words.MessageFacts{State: m.State, Why: m.Why, Proof: m.Proof, Next: m.NextAt, Now: time.Now(), Zone: time.Local, Detail: m.Detail})
	if m.Uncertain {
		text += ". " + words.Uncertain
	}
	return text
}

// UnmarshalJSON keeps the answer.
func (m *messageView) UnmarshalJSON(b []byte) error {
	type plain messageView
	m.raw = bytes.Clone(b)
	return json.Unmarshal(b, (*plain)(m))
}

// MarshalJSON gives it back.
func (m messageView) MarshalJSON() ([]byte, error) { return m.raw, nil }

type letterView struct {
	raw json.RawMessage

	ID        string       `json:"id"`
	Message   string       `json:"message"`
	Partner   string       `json:"partner"`
	Reason    fault.Reason `json:"reason"`
	Status    string       `json:"status"`
	ClosedAs  string       `json:"closed_as"`
	Detail    string       `json:"detail"`
	Created   time.Time    `json:"created"`
	Outage    string       `json:"outage"`
	Uncertain bool         `json:"uncertain"`
	Overtaken bool         `json:"overtaken"`
}

// UnmarshalJSON keeps the answer.
func (l *letterView) UnmarshalJSON(b []byte) error {
	type plain letterView
	l.raw = bytes.Clone(b)
	return json.Unmarshal(b, (*plain)(l))
}

// MarshalJSON gives it back.
func (l letterView) MarshalJSON() ([]byte, error) { return l.raw, nil }

// status is where the letter stands, and how it was closed.
func (l letterView) status() string {
	if l.ClosedAs != "" {
		return l.Status + " (" + l.ClosedAs + ")"
	}
	return l.Status
}

// flags are what one must know before it is replayed.
func (l letterView) flags() string {
	var flags []string
	if l.Uncertain {
		flags = append(flags, words.Uncertain)
	}
	if l.Overtaken {
		flags = append(flags, "overtaken")
	}
	return strings.Join(flags, ", ")
}

type partnerView struct {
	raw json.RawMessage

	ID       string    `json:"id"`
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Since    time.Time `json:"since"`
	NextAt   time.Time `json:"next_at"`
	Note     string    `json:"note"`
	Stopped  string    `json:"stopped_by"`
	Cause    string    `json:"cause"`
	Stale    bool      `json:"stale"`
	Waiting  int       `json:"waiting"`
	Letters  int       `json:"letters"`
	Problems []struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Key    string `json:"key"`
		Reason string `json:"reason"`
		Hint   string `json:"hint"`
	} `json:"problems"`
}

// UnmarshalJSON keeps the answer.
func (p *partnerView) UnmarshalJSON(b []byte) error {
	type plain partnerView
	p.raw = bytes.Clone(b)
	return json.Unmarshal(b, (*plain)(p))
}

// MarshalJSON gives it back.
func (p partnerView) MarshalJSON() ([]byte, error) { return p.raw, nil }

// page is a list of the API.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}
