package web

import (
	"strings"
	"time"

	"edigw/queue"
)

// message is a message on the wire (interfaces.md §5).
type message struct {
	ID         string      `json:"id"`
	MessageID  string      `json:"message_id" doc:"on the wire"`
	Key        string      `json:"key" doc:"idempotency key"`
	Partner    string      `json:"partner"`
	Protocol   string      `json:"protocol"`
	Direction  string      `json:"direction" enum:"out,in"`
	Kind       string      `json:"kind" enum:"document,receipt,webhook" doc:"receipt: one that we owe and post by itself; webhook: a received document on its way to a webhook"`
	State      string      `json:"state"`
	Why        string      `json:"why" doc:"what it waits for"`
	NextAt     *time.Time  `json:"next_at"`
	Detail     string      `json:"detail" doc:"what the last result said"`
	Uncertain  bool        `json:"uncertain" doc:"the partner may have it"`
	Overtaken  bool        `json:"overtaken"`
	Overdue    bool        `json:"overdue"`
	Proof      string      `json:"proof"`
	Attempts   []attempt   `json:"attempts"`
	References []reference `json:"references"`

	Properties     []reference `json:"properties" doc:"AS4: message properties that the document was handed in with"`
	PartProperties []reference `json:"part_properties" doc:"AS4: the same of each payload"`

	DocumentType  string     `json:"document_type"`
	FileName      string     `json:"file_name"`
	ContentType   string     `json:"content_type"`
	Size          int64      `json:"size"`
	SHA256        string     `json:"sha256"`
	DeliverBy     *time.Time `json:"deliver_by"`
	CorrelationID string     `json:"correlation_id"`
	Source        string     `json:"source"`
	Actor         string     `json:"actor" doc:"who handed it in"`
	Accepted      *time.Time `json:"accepted"`
	Finished      *time.Time `json:"finished"`
	EndedBy       string     `json:"ended_by" doc:"who closed it on the partner's word, discarded or cancelled it"`
	EndedNote     string     `json:"ended_note" doc:"why, in their words"`
	Round         int        `json:"round"`
	Edition       int        `json:"edition"`
	Previous      string     `json:"previous" doc:"message that this edition replaces or repeats"`
	Letter        string     `json:"letter" doc:"its open or replaying letter"`
}

// attempt is an attempt on the wire.
type attempt struct {
	N        int               `json:"n"`
	Round    int               `json:"round"`
	Build    int               `json:"build"`
	Started  *time.Time        `json:"started"`
	Duration string            `json:"duration" doc:"such as 1.204s"`
	Phase    string            `json:"phase" doc:"how far it got"`
	Class    string            `json:"class"`
	Rule     string            `json:"rule" doc:"row of docs/errors.md"`
	Status   int               `json:"status" doc:"HTTP status, 0 if none was read"`
	Detail   string            `json:"detail"`
	Cause    string            `json:"cause"`
	Counted  bool              `json:"counted" doc:"it used up an attempt"`
	Async    bool              `json:"async" doc:"an acknowledgement that came by itself"`
	Probe    bool              `json:"probe"`
	Headers  map[string]string `json:"headers,omitempty" doc:"of the answer, a choice"`
	Head     string            `json:"head,omitempty" doc:"beginning of the partner's answer"`
	Ack      *acknowledgement  `json:"acknowledgement,omitempty"`
}

// acknowledgement is an MDN or Receipt on the wire.
type acknowledgement struct {
	Verdict     string `json:"verdict" doc:"trusted, or why it is not"`
	Positive    bool   `json:"positive"`
	Disposition string `json:"disposition"`
	EBMS        string `json:"ebms,omitempty" doc:"code of the error, or of a SOAP fault"`
	Signer      string `json:"signer" doc:"SHA-256 fingerprint"`
	Detail      string `json:"detail"`

	References []Acknowledged `json:"references,omitempty" doc:"AS4, of one message: digests that we sent, and that the receipt names"`
	Errors     []EBMSError    `json:"errors,omitempty" doc:"AS4: with their explanation"`
	Problem    string         `json:"problem,omitempty" doc:"AS4, of one message: why it is no receipt that can be believed"`
}

// reference is a business reference on the wire.
type reference struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// wholeMessage is a message with all that became of it.
type wholeMessage struct {
	message
	Timeline []event   `json:"timeline" doc:"the newest 1,000, oldest first"`
	Builds   []build   `json:"builds"`
	Letters  []letter  `json:"letters" doc:"oldest first"`
	AS4      *Header   `json:"as4,omitempty" doc:"what the header of an AS4 message says"`
	Received *received `json:"received,omitempty" doc:"of a received message: how it came, and what we answered"`
}

// build is one set of wire bytes on the wire.
type build struct {
	N       int        `json:"n"`
	SHA256  string     `json:"sha256"`
	Size    int64      `json:"size"`
	Sent    bool       `json:"sent"`
	Why     string     `json:"why" doc:"why it was built anew"`
	Created *time.Time `json:"created"`
}

func viewMessage(m queue.Message, s queue.Shown, attempts []queue.Attempt) message {
	v := message{
		ID: m.ID, MessageID: m.MessageID, Key: m.Key, Partner: m.Partner, Protocol: m.Protocol, Direction: string(m.Direction), Kind: string(m.Kind),
		State: string(s.State), Why: string(s.Why), NextAt: when(s.Next), Detail: m.Detail, Uncertain: m.Uncertain, Overtaken: m.Overtaken, Overdue: m.Overdue,
		Proof: string(m.Proof), Attempts: listOf(attempts, "", viewAttempt).Items, References: []reference{}, DocumentType: m.Business.Type,
		FileName: m.Payload.FileName, ContentType: m.Payload.ContentType, Size: m.Payload.Size, SHA256: m.Payload.SHA256, DeliverBy: when(m.DeliverBy),
		CorrelationID: m.CorrelationID, Source: m.Source, Actor: m.Actor.Name, Accepted: when(m.Accepted), Finished: when(m.Finished),
		Round: m.Round, Edition: m.Edition, Previous: m.Previous, Letter: m.Letter,
	}
	for _, r := range m.Business.References {
		v.References = append(v.References, reference{r.Name, r.Value})
	}
	v.Properties, v.PartProperties = viewProperties(m.Properties.Message), viewProperties(m.Properties.Part)
	return v
}

func viewProperties(list []queue.Property) []reference {
	out := []reference{}
	for _, p := range list {
		out = append(out, reference{p.Name, p.Value})
	}
	return out
}

func viewAttempt(t queue.Attempt) attempt {
	v := attempt{
		N: t.N, Round: t.Round, Build: t.Build, Started: when(t.Started), Duration: t.Duration.Round(time.Millisecond).String(), Phase: t.Phase.String(),
		Class: string(t.Class), Rule: t.Rule, Status: t.Status, Detail: t.Detail, Cause: string(t.Cause), Counted: t.Counted, Async: t.Async, Probe: t.Probe,
		Headers: t.Headers, Head: strings.ToValidUTF8(string(t.Head), "\uFFFD"),
	}
	if k := t.Ack; k != nil {
		v.Ack = &acknowledgement{Verdict: string(k.Verdict), Positive: k.Positive, Disposition: k.Type, EBMS: k.EBMS, Signer: k.Signer, Detail: k.Detail}
		if k.Modifier != "" {
			v.Ack.Disposition += "/" + k.Modifier
		}
		if k.Text != "" {
			v.Ack.Disposition += ": " + k.Text
		}
		if k.EBMS != "" {
			v.Ack.Errors = []EBMSError{ExplainCode(k.EBMS, "", "", k.Detail)}
		}
	}
	return v
}

func viewBuild(b queue.Build) build {
	return build{N: b.N, SHA256: b.SHA256, Size: b.Size, Sent: b.Sent, Why: b.Why, Created: when(b.Created)}
}
