package console

import (
	"net/url"
	"strconv"
	"strings"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// headerFacts are what the header of an AS4 message says; nothing of another one.
func headerFacts(h *web.Header) (all []fact) {
	if h == nil {
		return nil
	}
	add := func(name, value string) {
		if value != "" {
			all = append(all, fact{Name: name, Value: plain(value), Code: true})
		}
	}
	add("From", parties(h.From.IDs))
	add("Sender's role", h.From.Role)
	add("To", parties(h.To.IDs))
	add("Receiver's role", h.To.Role)
	add("Service", typed(h.Service))
	add("Action", h.Action)
	if h.Agreement != nil {
		add("Agreement", typed(*h.Agreement))
	}
	add("Conversation", h.ConversationID)
	if h.RefToMessageID != "" {
		all = append(all, fact{Name: "Answers", Value: plain(h.RefToMessageID), Code: true, Link: "/messages?q=" + url.QueryEscape(h.RefToMessageID)})
	}
	channel := h.MPC
	if channel == ebms.DefaultMPC {
		channel = "the default one"
	}
	all = append(all, fact{Name: "Channel (MPC)", Value: plain(channel)})
	for _, p := range h.Properties {
		add("Property "+plain(p.Name), typed(p))
	}
	for i, p := range h.Payloads {
		add("Payload "+strconv.Itoa(i+1), payloadLine(p))
	}
	return all
}

func parties(ids []web.Typed) string {
	var all []string
	for _, id := range ids {
		all = append(all, typed(id))
	}
	return strings.Join(all, ", ")
}

// typed is a value with its type.
func typed(t web.Typed) string {
	if t.Type == "" {
		return t.Value
	}
	return t.Value + " (" + t.Type + ")"
}

// payloadLine is a payload as the header names it.
func payloadLine(p web.PartInfo) string {
	where := p.Href
	if where == "" {
		where = "in the SOAP Body"
	}
	all := []string{where}
	for _, one := range p.Properties {
		all = append(all, one.Name+" "+one.Value)
	}
	return strings.Join(all, " · ")
}

// shownReference is a part of a message with its digest on both sides.
type shownReference struct {
	URI, Method, Sent, Named string
	Equal                    bool
}

// shownError is an error of ebMS with its explanation.
type shownError struct {
	Title, Words, Meaning, Remedy string
}

func shownErrorOf(e web.EBMSError) shownError {
	s := shownError{Title: strings.Join(nonEmpty(plain(e.Code), plain(e.Name)), " "), Words: plain(e.Words), Meaning: e.Meaning, Remedy: e.Remedy}
	if e.Severity != "" {
		s.Title += " (" + plain(e.Severity) + ")"
	}
	return s
}

// sayAS4 begins with what a signal of AS4 is and says. Of one that was not kept
// there is what was noted when it came.
func (r *report) sayAS4(h history, a queue.Attempt) {
	s := h.signals[a.N]
	if s == nil {
		r.add("It says", says(a), true)
		if a.Ack.EBMS != "" {
			r.Errors = append(r.Errors, shownErrorOf(web.ExplainCode(a.Ack.EBMS, "", "", a.Ack.Detail)))
		}
	} else {
		r.add("It is", signalName(s.Kind), false)
		r.add("Its own MessageId", s.MessageID, true)
		for _, e := range web.ErrorsOf(s) {
			r.Errors = append(r.Errors, shownErrorOf(e))
		}
		if s.Fault != nil {
			r.add("SOAP fault", s.Fault.Error(), true)
		}
	}
	if len(r.Errors) > 0 {
		r.Words = "" // they are there
	}
}

// fillAS4 adds what a receipt or an error of AS4 rests upon.
func (r *report) fillAS4(h history, a queue.Attempt) {
	s := h.signals[a.N]
	if s == nil {
		r.add("Digests in the receipt", a.Ack.Digest, true)
		return
	}
	if !strings.Contains(a.Detail, s.Problem) { // it stands above
		r.add("Problem", s.Problem, false)
	}
	all := web.AcknowledgedBy(s, h.builds, a.Build)
	equal := len(all) > 0
	for _, one := range all {
		r.References = append(r.References, shownReference{plain(one.URI), words.DigestName(one.Method), one.Sent, one.Acknowledged, one.Equal})
		equal = equal && one.Equal
	}
	switch {
	case s.Kind != as4.KindReceipt:
	case len(all) == 0:
		r.add("Digests", "none named: it shows that the message came, not with which content", false)
	case equal:
		r.add("Digests", "equal: they have what we sent", false)
	default:
		r.add("Digests", "differ: they have something else, or made them otherwise", false)
	}
	if a.Ack.Verdict != fault.AckTrusted {
		r.Lines = plainLines(s.Report)
	}
}

// says is what an exchange's acknowledgement was, where it was not kept.
func says(a queue.Attempt) string {
	if a.Ack.EBMS != "" {
		return a.Ack.EBMS
	}
	return "receipt"
}

func signalName(k as4.SignalKind) string {
	switch k {
	case as4.KindReceipt:
		return "a receipt"
	case as4.KindFault:
		return "a SOAP fault"
	}
	return "an ebMS error"
}

// signedReferences are those of the signature of a build of AS4.
func signedReferences(b queue.Build) (all []fact) {
	r, _ := web.RenditionAS4(b)
	for _, ref := range web.AcknowledgedBy(&as4.Signal{Kind: as4.KindReceipt, References: r.References}, []queue.Build{b}, b.N) {
		all = append(all, fact{Name: "Signed " + words.DigestName(ref.Method), Value: ref.Sent + " of " + ref.URI, Code: true})
	}
	return all
}

// explained is the advice for a document that the partner refused by an error of
// ebMS: what the code means, and what to do.
func explained(h history) string {
	l := h.outcome.letter
	if h.message.Protocol != "as4" || l == nil || len(h.attempts) == 0 {
		return ""
	}
	last := h.attempts[len(h.attempts)-1]
	if last.Ack == nil || last.Ack.Positive {
		return ""
	}
	e := web.ExplainCode(last.Ack.EBMS, "", "", "")
	if e.Meaning == "" {
		return ""
	}
	return e.Code + " " + e.Name + ": " + e.Meaning + " " + e.Remedy
}
