package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// The parts of the API's answers that commands read (interfaces.md §5). With
// --json the whole answer is printed, as the API gave it.

type messageView struct {
	raw json.RawMessage

	ID         string       `json:"id"`
	MessageID  string       `json:"message_id"`
	Key        string       `json:"key"`
	Partner    string       `json:"partner"`
	Direction  string       `json:"direction"`
	Kind       string       `json:"kind"`
	State      string       `json:"state"`
	Why        string       `json:"why"`
	NextAt     time.Time    `json:"next_at"`
	Uncertain  bool         `json:"uncertain"`
	Overtaken  bool         `json:"overtaken"`
	Overdue    bool         `json:"overdue"`
	Proof      string       `json:"proof"`
	Detail     string       `json:"detail"`
	Letter     string       `json:"letter"`
	FileName   string       `json:"file_name"`
	Size       int64        `json:"size"`
	SHA256     string       `json:"sha256"`
	Previous   string       `json:"previous"`
	Follows    string       `json:"correlation_id"`
	Accepted   time.Time    `json:"accepted"`
	Finished   time.Time    `json:"finished"`
	DeliverBy  time.Time    `json:"deliver_by"`
	EndedBy    string       `json:"ended_by"`
	EndedNote  string       `json:"ended_note"`
	Supersedes []string     `json:"supersedes"` // in the answer to a document
	Letters    []letterView `json:"letters"`
	Attempts   []attempt    `json:"attempts"`
	References []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"references"`
	Properties     []web.Typed   `json:"properties"` // that it was handed in with
	PartProperties []web.Typed   `json:"part_properties"`
	Received       *receivedView `json:"received"`
	AS4            *web.Header   `json:"as4"`
	Timeline       []struct {
		At   time.Time `json:"at"`
		Type string    `json:"type"`
		Text string    `json:"text"`
		By   string    `json:"actor"`
	} `json:"timeline"`
}

type receivedView struct {
	Request     string         `json:"request"`
	Disposition string         `json:"disposition"`
	Report      []string       `json:"signature_report"`
	Error       *web.EBMSError `json:"error"`
	Files       []struct {
		N    int    `json:"n"`
		Name string `json:"name"`
	} `json:"files"`
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
	Ack      *ackView  `json:"acknowledgement"`
}

// ackView is what a receipt or an error said.
type ackView struct {
	Verdict     string             `json:"verdict"`
	Positive    bool               `json:"positive"`
	Disposition string             `json:"disposition"`
	EBMS        string             `json:"ebms"`
	Detail      string             `json:"detail"`
	Signer      string             `json:"signer"`
	References  []web.Acknowledged `json:"references"`
	Errors      []web.EBMSError    `json:"errors"`
	Problem     string             `json:"problem"`
}

// done reports whether the message will not change by itself.
func (m messageView) done() bool {
	switch m.State {
	case "delivered", "dead", "refused", "superseded", "discarded":
		return true
	}
	return false
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
	Direction string       `json:"direction"`
	Reason    fault.Reason `json:"reason"`
	Attempts  int          `json:"attempts"`
	Status    string       `json:"status"`
	ClosedAs  string       `json:"closed_as"`
	Detail    string       `json:"detail"`
	Found     string       `json:"found"` // answer to a re-check
	Sends     string       `json:"sends"` // answer to a replay: the message that goes out
	Last      *attempt     `json:"last"`
	Created   time.Time    `json:"created"`
	Closed    time.Time    `json:"closed"`
	Actor     string       `json:"actor"`
	Note      string       `json:"note"`
	Outage    string       `json:"outage"`
	Uncertain bool         `json:"uncertain"`
	Contra    bool         `json:"contradicted"`
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

// refused reports whether it is of a message of a partner that we refused.
func (l letterView) refused() bool {
	return l.inbound() && words.WeRefused(string(l.Reason))
}

// sentence says why its message was not delivered, or not taken, as people read
// it.
func (l letterView) sentence(m messageView) string {
	f := words.ReasonFacts{Now: time.Now(), Zone: time.Local, Tried: l.Attempts, Detail: l.Detail, Due: m.DeliverBy, Contradicted: l.Contra,
		Inbound: l.inbound(), Hook: m.Kind == string(queue.KindWebhook)}
	if last := m.lastAttempt(); last != nil {
		f.Status = last.Status
		if last.Ack != nil {
			f.Words = web.TheirWords("", last.Ack.EBMS, last.Ack.Detail)
		}
	}
	return words.Reason(string(l.Reason), f)
}

// end is how it ended, by the kind of its message.
func (l letterView) end(kind string) string {
	post := kind == string(queue.KindWebhook)
	if post || l.inbound() {
		return words.ClosedProcessed(l.ClosedAs, post)
	}
	return words.ClosedAs(l.ClosedAs)
}

// headline is the reason with its outage.
func (l letterView) headline() string {
	if l.Outage == "" {
		return string(l.Reason)
	}
	return string(l.Reason) + ", outage " + l.Outage
}

// status is where the letter stands, and how it was closed.
func (l letterView) status() string {
	if l.ClosedAs != "" {
		return l.Status + " (" + l.ClosedAs + ")"
	}
	return l.Status
}

// by is who closed it, and why.
func (l letterView) by() string {
	switch {
	case l.Actor == "":
		return ""
	case l.Note == "":
		return " (" + l.Actor + ")"
	}
	return " (" + l.Actor + ": " + l.Note + ")"
}

// closed tells what came of an action that ends a letter.
func (l letterView) closed() (said string, ended bool) {
	return "done: " + words.ClosedAs(l.ClosedAs), true
}

// rechecked tells what a second look at the receipt found, and what to do if
// it did not help.
func (l letterView) rechecked() (said string, ended bool) {
	switch {
	case l.ClosedAs == "delivered":
		return "delivered: " + l.Found, true
	case l.Reason != fault.ReasonReceiptInvalid:
		return fmt.Sprintf("stays a letter, now %s: %s. Next: edigw dlq show %s", l.Reason, l.Found, l.ID), false
	}
	return fmt.Sprintf("still open, the receipt is not to be trusted: %s. Next: edigw cert import %s FILE if they sign with another certificate, and again; or ask them, and edigw dlq settle %s --note …", l.Found, l.Partner, l.ID), false
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
	Fetching *struct {
		Since    time.Time `json:"since"`
		Failures int       `json:"failures"`
		Side     string    `json:"side"`
		Why      string    `json:"why"`
		Do       string    `json:"do"`
		NextAt   time.Time `json:"next_at"`
	} `json:"fetch_failing"`
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
