package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"edigw/as2"
	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/breaker"
	"edigw/dlq"
	"edigw/fault"
	"edigw/inbox"
	"edigw/intake"
	"edigw/lane"
	"edigw/lane/wire"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
	"edigw/web"
)

// settingsNow answers from the settings in force at the moment of the question.
type settingsNow struct{ *partner.Registry }

// Partner meets lane.Partners and dlq.Partners.
func (s settingsNow) Partner(id string) (*partner.Partner, bool) { return s.Current().Partner(id) }

// IDs meets lane.Partners.
func (s settingsNow) IDs() []string { return s.Current().IDs() }

// Identity meets dlq.Partners.
func (s settingsNow) Identity(id string) (queue.Identity, bool) {
	now := s.Current()
	p, ok := now.Partner(id)
	if !ok {
		return queue.Identity{}, false
	}
	return intake.Identity(now, p), true
}

// lanesForLetters is the scheduler as dlq sees it.
type lanesForLetters struct{ *lane.Scheduler }

// Breaker meets dlq.Lanes.
func (l lanesForLetters) Breaker(key string) breaker.State { return l.LaneView(key).Breaker }

// following is the store as lanes and letters write it: with what happens to the
// post of a received document, what that means to the document is recorded.
type following struct {
	*sqlite.Store
	g *gateway
}

// Record meets lane.Ledger and dlq.Ledger.
func (f following) Record(ctx context.Context, results ...*queue.Result) error {
	return f.g.inbox.Record(ctx, results...)
}

// partnersForAS2 finds agreements for the receiver.
type partnersForAS2 struct {
	settings *partner.Registry
	now      func() time.Time
}

// ByNames meets as2.Partners.
func (p partnersForAS2) ByNames(from, to string) (as2.Agreement, string, bool) {
	s := p.settings.Current()
	found, ok := s.ByAS2Names(from, to)
	if !ok {
		return as2.Agreement{}, "", false
	}
	a, err := s.Receiving(found.ID, p.now())
	return a, found.ID, err == nil
}

// partnersForAS4 finds P-Modes for the receiver.
type partnersForAS4 struct {
	settings *partner.Registry
	now      func() time.Time
}

// ByMessage meets as4.Partners.
func (p partnersForAS4) ByMessage(u *ebms.UserMessage) (as4.PMode, string, error) {
	return p.settings.Current().ByMessage(u, p.now())
}

// ByMPC meets as4.Partners.
func (p partnersForAS4) ByMPC(mpc string) []as4.Puller {
	return p.settings.Current().ByMPC(mpc, p.now())
}

// frontDoor is the way in as the API sees it.
type frontDoor struct {
	*intake.Intake
	settings *partner.Registry
}

// Accept meets web.Intake.
func (d frontDoor) Accept(ctx context.Context, doc web.Document, body io.Reader) (web.Accepted, error) {
	got, err := d.Intake.Accept(ctx, intake.Request{
		Partner: doc.Partner, Key: doc.Key, FileName: doc.FileName, ContentType: doc.ContentType, CorrelationID: doc.CorrelationID,
		DeliverBy: doc.DeliverBy, Properties: doc.Properties, Source: intake.Source(doc.Source), Actor: doc.Actor, Size: doc.Size,
	}, body)
	var no *intake.Refusal
	if errors.As(err, &no) {
		text := no.Detail + " " + no.Fix
		if no.Slug == intake.NotFound {
			text = d.settings.Current().NoPartner(doc.Partner)
		}
		return web.Accepted{}, &web.Problem{Slug: web.Slug(no.Slug), Detail: text, Field: no.Field, RetryAfter: no.RetryAfter, Message: no.Message, Holder: no.Holder}
	}
	return web.Accepted(got), err
}

// received takes up again what partners sent.
type received struct{ *inbox.Inbox }

// Process meets web.Received.
func (r received) Process(ctx context.Context, message string, by fault.Actor, note string) error {
	if len(note) > dlq.MaxNote || !utf8.ValidString(note) {
		return &web.Problem{Slug: web.BadRequest, Field: "reason", Detail: fmt.Sprintf("The reason has at most %d bytes of text.", dlq.MaxNote)}
	}
	err := r.Inbox.Process(ctx, message, by, note)
	var no *inbox.NotPossible
	var still *inbox.StillRefused
	switch {
	case errors.As(err, &no):
		return &web.Problem{Slug: web.Conflict, Detail: "Not possible: " + no.Why + ".", Message: no.Message}
	case errors.As(err, &still):
		return &web.Problem{Slug: web.StillRefused, Detail: "Opened again, and still refused: " + still.Why + ".", Message: still.Message}
	}
	return err
}

// Processing meets web.Received.
func (r received) Processing(ctx context.Context, message string) (web.Processing, error) {
	p, err := r.Inbox.Processing(ctx, message)
	return web.Processing(p), err
}

// Inbound meets web.Received.
func (r received) Inbound(ctx context.Context, message string) (web.Inbound, error) {
	s, err := r.Story(ctx, message)
	if err != nil {
		return web.Inbound{}, err
	}
	f := s.Record.Facts
	in := web.Inbound{
		From: f.From, To: f.To, Subject: f.Subject, Signed: f.Signed, Encrypted: f.Encrypted, Compressed: f.Compressed, Signer: f.Signer, MIC: f.MIC,
		Disposition: f.Disposition, Problem: f.Problem, Warning: f.Warning, Receipt: s.Receipt, Post: s.Post,
	}
	in.Asked, in.ReceiptURL = s.Record.Answered()
	if f.AS4 != nil {
		in.Header, in.Report = headerOf(f), f.AS4.Report
	}
	switch {
	case s.Record.Unread:
		in.Request = web.RequestHeader
	case s.Record.Cut:
		in.Request = web.RequestBegin
	case s.Record.Request != "":
		in.Request = web.RequestWhole
	}
	for i, a := range f.Attachments {
		in.Files = append(in.Files, web.InboundFile{N: i + 1, Name: a.Name, ContentType: a.ContentType, Size: a.Size, SHA256: a.SHA256, Properties: properties(a.Properties)})
	}
	return in, nil
}

// headerOf is what the facts keep of the header of an AS4 message.
func headerOf(f inbox.Facts) *web.Header {
	a := f.AS4
	h := &web.Header{
		From: web.Party{IDs: []web.Typed{{Value: f.From, Type: a.FromType}}, Role: a.FromRole}, To: web.Party{IDs: []web.Typed{{Value: f.To, Type: a.ToType}}, Role: a.ToRole},
		Service: web.Typed{Value: a.Service, Type: a.ServiceType}, Action: a.Action, ConversationID: a.ConversationID, RefToMessageID: a.RefToMessageID,
		MPC: ebms.Partition(a.MPC), Fetched: a.Pulled, Properties: properties(a.Properties), Payloads: []web.PartInfo{},
	}
	if a.Agreement != "" {
		h.Agreement = &web.Typed{Value: a.Agreement}
	}
	return h
}

func properties(list []inbox.Reference) []web.Typed {
	out := []web.Typed{}
	for _, r := range list {
		out = append(out, web.Typed{Name: r.Name, Value: r.Value})
	}
	return out
}

// reopener is the receiver as the inbox sees it, which is made before it.
type reopener struct{ g *gateway }

// Reopen meets inbox.Opener.
func (r reopener) Reopen(k as2.Kept, take func(as2.Received) error) error {
	return r.g.receiver.Reopen(k, take)
}

// reopenerAS4 is the receiver of AS4 in the same way.
type reopenerAS4 struct{ g *gateway }

// Reopen meets inbox.OpenerAS4.
func (r reopenerAS4) Reopen(k as4.Kept, take func(as4.Received) error) error {
	return r.g.receiverAS4.Reopen(k, take)
}

// pulls hands messages out to partners that fetch them.
type pulls struct{ g *gateway }

// Pull meets as4.Pulls.
func (p pulls) Pull(ctx context.Context, partner, _ string) (as4.Handed, error) {
	h, err := p.g.lanes.HandOut(ctx, partner)
	if errors.Is(err, queue.ErrNotFound) {
		return as4.Handed{}, as4.ErrEmpty
	}
	if err != nil {
		return as4.Handed{}, err
	}
	r, bytes, err := p.g.senderAS4.Wire(h.Build)
	if err != nil {
		h.Unread(*wire.Failed(err))
		return as4.Handed{}, err
	}
	return as4.Handed{Rendition: r, Wire: bytes, Cut: h.Cut, Done: h.Done}, nil
}

// judges verify acknowledgements that are kept, each protocol its own.
type judges struct{ g *gateway }

// Judge meets dlq.Judge.
func (j judges) Judge(ctx context.Context, m queue.Message, builds []queue.Build, raw string) fault.Outcome {
	if m.Protocol == "as4" {
		return j.g.senderAS4.Judge(ctx, m, builds, raw)
	}
	return j.g.sender.Judge(ctx, m, builds, raw)
}

// contents keeps edited documents in the spool.
type contents struct{ *spool.Spool }

// Keep meets dlq.Contents.
func (c contents) Keep(content []byte) (string, error) {
	if err := c.HasRoom(int64(len(content))); err != nil {
		return "", err
	}
	w, err := c.Create(spool.Payload, dlq.MaxEdit)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		return "", err
	}
	name, _, err := w.Commit()
	return name, err
}
