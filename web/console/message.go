package console

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"edigw/access"
	"edigw/as4"
	"edigw/dlq"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// message is the page of one message: what became of it and how we know, what
// to do, and everything that happened.
type message struct {
	ID       string
	Document string
	Partner  string
	Name     string
	In       bool
	Verdict  string
	Class    string // of the verdict
	Mark     mark
	Do       string // next step; empty: none
	Call     string // who knows more
	Owner    string // of the partner, with phone
	Flags    []flag
	Buttons  []button
	Facts    []fact
	Came     []fact      // of a received message: how it came and what we answered
	Files    []fileRow   // of a received document of several
	Header   []fact      // of an AS4 message
	Report   []string    // of a signature that did not hold, reference by reference
	Refusal  *shownError // what we refused it with, by AS4
	Zone     string      // in which the times of the entries are told
	AsOf     string      // with the date, for a printed page
	Entries  []entry
	Left     int    // entries that are left out in the middle
	All      string // address with them
	Letters  []letterCard
	Enquiry  string // text for the partner; empty: nothing to ask
	Content  string // address of the document; empty: he may not see it
	Payload  string // address of the download
	Evidence string
	Size     int64
}

// fact is a line of what is known of a document.
type fact struct {
	Name  string
	Value string
	Code  bool     // an id: in the font of ids
	Link  string   // where it leads; empty: nowhere
	At    moment   // instead of Value
	Print []string // instead of Value: a fingerprint in groups
}

// letterCard is a letter on the page of its message.
type letterCard struct {
	ID      string
	Mark    mark
	Reason  string
	Status  string
	Detail  string
	Created moment
	Closed  moment
	By      string
	Note    string
	Hint    string // what cannot be done about it, and why
	Signer  *stranger
	Outage  string
	Flags   []flag
	Buttons []button
}

// history is everything that is stored about a message.
type history struct {
	message  queue.Message
	shown    web.Seen
	outcome  outcome
	events   []queue.Event
	attempts []queue.Attempt
	builds   []queue.Build
	letters  []queue.Letter
	process  web.Processing
	inbound  *web.Inbound        // nil: it was sent, or retention took what was known
	signals  map[int]*as4.Signal // that AS4 exchanges brought, by their number
	partner  *partner.Partner    // nil: its file is gone
}

func (c *Console) history(v *visit, id string) (h history, err error) {
	ctx := v.r.Context()
	if h.message, err = c.Ledger.Message(ctx, id); err != nil {
		return h, err
	}
	m := h.message
	s, err := c.reader.Shown(ctx, m)
	if err != nil {
		return h, err
	}
	h.shown = web.Seen{Message: m, Shown: s}
	if h.outcome, err = c.outcomeOf(v, h.shown); err != nil {
		return h, err
	}
	if h.events, err = c.Ledger.Timeline(ctx, id); err != nil {
		return h, err
	}
	if h.attempts, err = c.Ledger.Attempts(ctx, id); err != nil {
		return h, err
	}
	if h.builds, err = c.Ledger.Builds(ctx, id); err != nil {
		return h, err
	}
	if h.process, err = c.processing(v, m); err != nil {
		return h, err
	}
	if h.inbound, err = c.Inbound(ctx, m); err != nil {
		return h, err
	}
	if h.signals, err = c.SignalsOf(ctx, m, h.attempts, h.builds); err != nil {
		return h, err
	}
	h.letters, err = c.Ledger.LettersOf(ctx, id)
	h.partner, _ = c.Settings().Partner(m.Partner)
	return h, err
}

func (c *Console) message(v *visit) (view, error) {
	h, err := c.history(v, v.param("id"))
	if err != nil {
		return view{}, err
	}
	m := h.message
	path := messagePath(m.ID)
	p := message{
		ID: m.ID, Document: documentName(m), Partner: m.Partner, Name: c.partnerName(m.Partner), In: m.Direction == queue.In,
		Mark: h.outcome.mark, Facts: c.facts(v, h), Size: m.Payload.Size,
		Zone: v.now.In(v.zoneOf(h.partner)).Format("MST"), AsOf: v.now.In(v.zoneOf(h.partner)).Format("2 January 2006, 15:04 MST"),
	}
	p.Verdict, p.Class = c.verdict(v, h)
	for _, f := range messageFlags(m) {
		if f.Word != words.Uncertain { // the verdict says it
			p.Flags = append(p.Flags, f)
		}
	}
	if p.Came, err = c.came(v, h); err != nil {
		return view{}, err
	}
	p.Files = inboundFiles(v, h)
	p.Header = headerFacts(web.SentHeader(m, h.builds))
	if in := h.inbound; in != nil && in.Header != nil {
		p.Header, p.Report = headerFacts(in.Header), plainLines(in.Report)
		if e := in.Error(); e != nil {
			e.Words = "" // the letter has it
			shown := shownErrorOf(*e)
			p.Refusal = &shown
		}
	}
	c.advise(&p, h)
	all := c.entries(v, h)
	p.Entries, p.Left = bounded(all, v.query.Get("timeline") == "all")
	if p.Left > 0 {
		p.All = path + "?timeline=all"
	}
	for i := len(h.letters) - 1; i >= 0; i-- {
		card := c.letterCard(v, h, h.letters[i])
		if card.Signer, err = c.stranger(v, m, h.letters[i]); err != nil {
			return view{}, err
		}
		card.Signer.first(card.Buttons)
		p.Letters = append(p.Letters, card)
	}
	if v.may(access.Operate) {
		p.Buttons = messageButtons(h, path)
	}
	if v.user.Payloads {
		p.Evidence = path + "/evidence"
		if !refusedIn(m.Direction, m) {
			p.Content, p.Payload = path+"/document", path+"/payload"
		}
	}
	if l := h.outcome.letter; l != nil && m.Direction == queue.Out && (m.Uncertain || l.Uncertain) {
		p.Enquiry = c.enquiry(v, *l, m)
	}
	return view{template: "message", title: p.Document + ": " + p.Mark.Word, nav: "/messages", topic: "message:" + m.ID, data: p}, nil
}

func messagePath(id string) string { return "/messages/" + url.PathEscape(id) }

// verdict is the first line of the page, and its colour.
func (c *Console) verdict(v *visit, h history) (text, class string) {
	m := h.message
	f := words.VerdictFacts{
		Partner: c.partnerName(m.Partner), State: string(h.shown.Shown.State), Inbound: m.Direction == queue.In, Proof: string(m.Proof), Sentence: h.outcome.sentence,
		Reason: brief(h.outcome.sentence), Unsure: m.Uncertain, Done: m.Finished, Now: v.now, Zone: v.zoneOf(h.partner),
	}
	if a := proving(h.attempts); a != nil {
		f.Signed, f.Digest = a.Ack.Signer != "", digestFits(*a, h.builds)
	}
	for _, l := range h.letters {
		if l.ClosedAs == queue.ClosedDeliveredLate {
			f.Late = l.Closed.Sub(l.Created)
		}
	}
	class = map[string]string{"ok": "ok", "warn": "warn", "bad": "bad"}[h.outcome.mark.Class]
	return words.Verdict(f), class
}

// proving is the attempt whose acknowledgement proves the delivery, nil if none
// does.
func proving(attempts []queue.Attempt) *queue.Attempt {
	for i := len(attempts) - 1; i >= 0; i-- {
		if k := attempts[i].Ack; k != nil && k.Verdict == fault.AckTrusted && k.Positive {
			return &attempts[i]
		}
	}
	return nil
}

// advise says what to do about the letter that stands for the message, and whom
// to call.
func (c *Console) advise(p *message, h history) {
	l := h.outcome.letter
	if l == nil || l.Status != queue.LetterOpen {
		return
	}
	a := words.Advise(string(l.Reason))
	switch {
	case l.Direction == queue.In:
		a = words.AdviseReceived(string(l.Reason), l.Detail)
	case l.Contradicted():
		a = words.AdviseContradicted()
	case h.message.Kind == queue.KindReceipt:
		a = words.AdviseOwed()
	case h.message.Kind == queue.KindWebhook:
		a = words.AdvisePost()
	case l.Reason == fault.ReasonReceiptInvalid:
		a = words.AdviseReceipt(receiptVerdict(*l))
	}
	p.Do, p.Call = a.Do, a.Call
	if text := explained(h); text != "" && l.Direction == queue.Out {
		p.Do = text
	}
	if h.partner != nil {
		o := h.partner.Owner
		p.Owner = plain(strings.Join(nonEmpty(o.Team, o.Phone, o.Mail, o.Note), ", "))
	}
}

func nonEmpty(all ...string) (some []string) {
	for _, s := range all {
		if s != "" {
			some = append(some, s)
		}
	}
	return some
}

// messageButtons are what can be done with a message itself.
func messageButtons(h history, path string) (all []button) {
	m := h.message
	switch {
	case m.Direction != queue.Out || m.Kind != queue.KindDocument:
	case m.State.Lined() && m.Letter == "":
		all = append(all, button{Label: "Cancel: do not send it", Path: path + "/cancel", Kind: danger})
	case m.State.Lined():
		all = append(all, button{Label: "Stop the replay: back to the dead letters", Path: path + "/cancel", Kind: danger})
	case m.State == queue.Delivered:
		all = append(all, button{Label: "Send as a new edition …", Path: path + "/again"})
	}
	for i := range all {
		all[i].Back = path
	}
	return all
}

// letterCard is a letter with all that can be done about it.
func (c *Console) letterCard(v *visit, h history, l queue.Letter) letterCard {
	m, zone := h.message, v.zoneOf(h.partner)
	k := letterCard{
		ID: l.ID, Mark: deadMark(m), Reason: v.reason(l, m, h.partner), Detail: said(l.Detail), Created: v.in(l.Created, zone), Closed: v.in(l.Closed, zone),
		By: l.Actor.Name, Note: plain(l.Note), Outage: l.Outage, Flags: letterFlags(l, m),
	}
	if strings.Contains(k.Reason, k.Detail) || l.Direction == queue.Out && l.Last != nil && l.Last.Ack != nil && l.Last.Ack.EBMS != "" { // said below as well
		k.Detail = ""
	}
	switch l.Status {
	case queue.LetterReplaying:
		k.Mark, k.Status = messageMark(h.shown.Shown.State, m.Uncertain), "Being replayed: "+h.outcome.sentence
	case queue.LetterClosed:
		k.Mark, k.Status = markClosed, closedAs(string(l.ClosedAs), l.Lane, l.Partner)
		if l.ClosedAs == queue.ClosedDelivered || l.ClosedAs == queue.ClosedDeliveredLate {
			k.Mark = markDelivered
		}
	default:
		if l.Uncertain {
			k.Mark = markUnknown
		}
	}
	if v.may(access.Operate) {
		k.Buttons = letterButtons(v, l, m)
	}
	if malformed(l) && dlq.SeveralFiles(m) {
		k.Hint = dlq.FilesNotEdited
	}
	if h.process.Why != "" && l.Status == queue.LetterOpen {
		k.Buttons, k.Hint = withoutProcess(k.Buttons, l), words.NotProcessable(plain(h.process.Why))
	}
	return k
}

// downloads of a message. Both are the API's, with a session instead of a
// token.
func (c *Console) download(send func(*visit, queue.Message) error) func(*visit) (view, error) {
	return func(v *visit) (view, error) {
		m, err := c.readable(v.r.Context(), v, v.param("id"))
		if err != nil {
			return view{}, err
		}
		return view{sent: true}, send(v, m)
	}
}

// readable gives a message to somebody who may see its content.
func (c *Console) readable(ctx context.Context, v *visit, id string) (queue.Message, error) {
	if !v.user.Payloads {
		return queue.Message{}, &web.Problem{Slug: web.Forbidden, Message: id, Detail: "You may see this page, but not the content of documents: that is a permission of its own, which an admin gives."}
	}
	return c.Ledger.Message(ctx, id)
}

// took is a length of time as the page prints it, to the millisecond.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "under 1 ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " s"
	}
	return words.Span(d)
}
