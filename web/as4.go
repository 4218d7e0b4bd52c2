package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/queue"
)

// protocolAS4 is how messages and partners of AS4 name their protocol.
const protocolAS4 = "as4"

// Signals reads receipts and errors of AS4 as they were kept.
type Signals interface {
	// Signal reads what an exchange of m brought; nil if nothing was kept of it, or
	// retention let it go. builds are all those of m.
	Signal(ctx context.Context, m queue.Message, builds []queue.Build, a queue.Attempt) (*as4.Signal, error)
}

// maxSignals bounds how many kept signals of one message are read, the newest.
const maxSignals = 20

// SignalsOf reads the kept signals of a message, by the number of their exchange.
func (o Options) SignalsOf(ctx context.Context, m queue.Message, attempts []queue.Attempt, builds []queue.Build) (map[int]*as4.Signal, error) {
	if m.Protocol != protocolAS4 || o.Signals == nil {
		return nil, nil
	}
	found := map[int]*as4.Signal{}
	for i := len(attempts) - 1; i >= 0 && len(found) < maxSignals; i-- {
		if attempts[i].Raw == "" {
			continue
		}
		s, err := o.Signals.Signal(ctx, m, builds, attempts[i])
		if err != nil {
			return nil, err
		}
		if s != nil {
			found[attempts[i].N] = s
		}
	}
	return found, nil
}

// Header is what the header of an AS4 message says, of one that we sent as of one
// that we received (ebMS 3.0 Core §5.2.2).
type Header struct {
	From           Party      `json:"from"`
	To             Party      `json:"to"`
	Service        Typed      `json:"service"`
	Action         string     `json:"action"`
	Agreement      *Typed     `json:"agreement,omitempty"`
	ConversationID string     `json:"conversation_id"`
	RefToMessageID string     `json:"ref_to_message_id,omitempty" doc:"MessageId of the message that it answers"`
	MPC            string     `json:"mpc" doc:"message partition channel"`
	Fetched        bool       `json:"fetched" doc:"of a received one: we fetched it with a pull request"`
	Properties     []Typed    `json:"properties" doc:"of the message"`
	Payloads       []PartInfo `json:"payloads" doc:"of a received document of several, files has them"`
}

// Party is one side of an AS4 message.
type Party struct {
	IDs  []Typed `json:"ids"`
	Role string  `json:"role"`
}

// Typed is a value with its type; of properties also with its name.
type Typed struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value"`
	Type  string `json:"type,omitempty"`
}

// PartInfo is a payload as the header names it.
type PartInfo struct {
	Href       string  `json:"href"`
	Properties []Typed `json:"properties"`
}

// HeaderOf is the header of a user message.
func HeaderOf(u *ebms.UserMessage) *Header {
	h := &Header{
		From: partyOf(u.From), To: partyOf(u.To), Service: Typed{Value: u.Service.Value, Type: u.Service.Type}, Action: u.Action,
		ConversationID: u.ConversationID, RefToMessageID: u.RefToMessageID, MPC: ebms.Partition(u.MPC), Properties: typedOf(u.Properties), Payloads: []PartInfo{},
	}
	if u.Agreement != nil {
		h.Agreement = &Typed{Value: u.Agreement.Value, Type: u.Agreement.Type}
	}
	for _, p := range u.Parts {
		h.Payloads = append(h.Payloads, PartInfo{p.Href, typedOf(p.Properties)})
	}
	return h
}

func partyOf(p ebms.Party) Party {
	out := Party{IDs: []Typed{}, Role: p.Role}
	for _, id := range p.IDs {
		out.IDs = append(out.IDs, Typed{Value: id.Value, Type: id.Type})
	}
	return out
}

func typedOf(list []ebms.Property) []Typed {
	out := []Typed{}
	for _, p := range list {
		out = append(out, Typed{Name: p.Name, Value: p.Value, Type: p.Type})
	}
	return out
}

// RenditionAS4 reads what an AS4 build keeps of itself.
func RenditionAS4(b queue.Build) (r as4.Rendition, known bool) {
	err := json.Unmarshal(b.Record, &r)
	return r, err == nil && r.MessageID != "" && r.ContentType != ""
}

// SentHeader is the header of a message as it went out last, or will; nil of one
// of another protocol, and when it is not known.
func SentHeader(m queue.Message, builds []queue.Build) *Header {
	if m.Protocol != protocolAS4 || m.Direction != queue.Out || m.Kind != queue.KindDocument || len(builds) == 0 {
		return nil
	}
	r, known := RenditionAS4(builds[len(builds)-1])
	if !known || r.User == nil {
		return nil
	}
	return HeaderOf(r.User)
}

// Acknowledged is a part of a message of ours with the digest that was sent, and
// the one that the receipt names.
type Acknowledged struct {
	URI          string `json:"uri"`
	Method       string `json:"digest_method"`
	Sent         string `json:"sent" doc:"base64; empty: the receipt names what was not sent"`
	Acknowledged string `json:"acknowledged" doc:"base64; empty: the receipt does not name it"`
	Equal        bool   `json:"equal"`
}

// AcknowledgedBy holds what a receipt names to the build that it fits best.
func AcknowledgedBy(s *as4.Signal, builds []queue.Build, n int) (all []Acknowledged) {
	if s == nil || s.Kind != as4.KindReceipt || len(s.References) == 0 {
		return nil
	}
	var best as4.Rendition
	rank := 0
	for _, b := range builds {
		r, known := RenditionAS4(b)
		if !known || !b.Sent {
			continue
		}
		fit := 1
		switch {
		case ebms.Compare(r.References, s.References) == nil:
			fit = 3
		case b.N == n:
			fit = 2
		}
		if fit >= rank {
			best, rank = r, fit
		}
	}
	for _, a := range best.Acknowledged(s.References) {
		all = append(all, Acknowledged{
			URI: a.URI, Method: a.DigestMethod, Sent: base64.StdEncoding.EncodeToString(a.Value), Acknowledged: base64.StdEncoding.EncodeToString(a.Got), Equal: bytes.Equal(a.Value, a.Got),
		})
	}
	return all
}

// EBMSError is an error of ebMS, with what the standard means by it.
type EBMSError struct {
	Code     string `json:"code"`
	Name     string `json:"name"`
	Severity string `json:"severity"`
	Words    string `json:"words" doc:"description and detail, in the partner's words"`
	Meaning  string `json:"meaning"`
	Remedy   string `json:"remedy" doc:"what the sender does about it"`
}

// ExplainCode is what the table of codes says of one, with its words.
func ExplainCode(code, name, severity, said string) EBMSError {
	e := EBMSError{Code: code, Name: name, Severity: severity, Words: withoutMeaning(code, said)}
	if c, known := ebms.LookupCode(code); known {
		e.Code, e.Meaning, e.Remedy = c.Code, c.Meaning, c.Remedy
		if e.Name == "" {
			e.Name = c.Name
		}
		if e.Severity == "" {
			e.Severity = string(c.Severity)
		}
	}
	return e
}

// maxTheirs bounds the words of a partner in one of our sentences.
const maxTheirs = 160

// TheirWords are what a partner refused with, in short: the text of a disposition,
// or the code of ebMS with what stood beside it.
func TheirWords(text, code, detail string) string {
	if code != "" {
		text = strings.TrimSpace(code + " " + withoutMeaning(code, detail))
	}
	if short := []rune(text); len(short) > maxTheirs {
		return string(short[:maxTheirs]) + "…"
	}
	return text
}

// withoutMeaning leaves out of a partner's words what the table of codes says
// anyway.
func withoutMeaning(code, said string) string {
	c, known := ebms.LookupCode(code)
	meaning := strings.TrimSuffix(c.Meaning, ".")
	if !known || !strings.Contains(said, meaning) {
		return said
	}
	var rest []string
	for _, text := range strings.Split(strings.Replace(said, meaning, "", 1), ": ") {
		if text = strings.Trim(text, " ."); text != "" {
			rest = append(rest, text)
		}
	}
	return strings.Join(rest, ": ")
}

// ErrorsOf are the errors of a signal.
func ErrorsOf(s *as4.Signal) (all []EBMSError) {
	if s == nil {
		return nil
	}
	for _, e := range s.Errors {
		var said []string
		for _, text := range []string{e.Description, e.Detail} {
			if text != "" {
				said = append(said, text)
			}
		}
		all = append(all, ExplainCode(e.Code, e.ShortDescription, string(e.Severity), strings.Join(said, ": ")))
	}
	return all
}
