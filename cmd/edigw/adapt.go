package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"edigw/as2"
	"edigw/breaker"
	"edigw/dlq"
	"edigw/fault"
	"edigw/inbox"
	"edigw/intake"
	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
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
	return intake.Identity(now.Gateway(), p), true
}

// lanesForLetters is the scheduler as dlq sees it.
type lanesForLetters struct{ *lane.Scheduler }

// Breaker meets dlq.Lanes.
func (l lanesForLetters) Breaker(key string) breaker.State { return l.LaneView(key).Breaker }

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

// frontDoor is the way in as the API sees it.
type frontDoor struct {
	*intake.Intake
	settings *partner.Registry
}

// Accept meets web.Intake.
func (d frontDoor) Accept(ctx context.Context, doc web.Document, body io.Reader) (web.Accepted, error) {
	got, err := d.Intake.Accept(ctx, intake.Request{
		Partner: doc.Partner, Key: doc.Key, FileName: doc.FileName, ContentType: doc.ContentType, CorrelationID: doc.CorrelationID,
		DeliverBy: doc.DeliverBy, Source: intake.Source(doc.Source), Actor: doc.Actor, Size: doc.Size,
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
	if errors.As(err, &no) {
		return &web.Problem{Slug: web.Conflict, Detail: no.Error(), Message: no.Message}
	}
	return err
}

// importer puts certificates into a partner's file and takes it into use.
type importer struct{ g *gateway }

// Import meets web.Importer.
func (i importer) Import(ctx context.Context, in web.Import) ([]partner.CertificateInfo, error) {
	uses := in.Uses
	if len(uses) == 0 {
		uses = []string{partner.UseVerify, partner.UseEncrypt}
	}
	var from time.Time
	if in.From != "" {
		var err error
		if from, err = firstUse(in.From); err != nil {
			return nil, &web.Problem{Slug: web.BadRequest, Detail: err.Error(), Field: "from"}
		}
	}
	got, err := i.g.settings.Current().ImportCertificate(in.Partner, uses, in.Certificate, from, i.g.now())
	switch {
	case errors.Is(err, partner.ErrUnknown):
		return nil, &web.Problem{Slug: web.NotFound, Detail: i.g.settings.Current().NoPartner(in.Partner), Field: "partner"}
	case err != nil:
		return nil, &web.Problem{Slug: web.BadRequest, Detail: err.Error(), Field: "certificate", Err: err}
	}
	ctx = context.WithoutCancel(ctx) // the file is written: whoever asked may go away
	_, _, failed := i.g.reload(ctx, in.By)
	e := queue.Event{At: i.g.now(), Type: queue.EventCertificate, Partner: in.Partner, Actor: in.By,
		Text: "certificate imported: serial " + got.Serial + ", SHA-256 " + got.SHA256}
	if err := errors.Join(failed, i.g.store.AddEvents(ctx, e)); err != nil {
		return nil, err
	}
	var theirs []partner.CertificateInfo
	for _, c := range i.g.settings.Current().Certificates(i.g.now()) {
		if c.Owner == in.Partner {
			theirs = append(theirs, c)
		}
	}
	return theirs, nil
}

// firstUse reads a day or an instant; a day begins at its midnight UTC.
func firstUse(text string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%.40q is neither a day (2027-01-31) nor a time (2027-01-31T06:00:00Z)", text)
	}
	return t, nil
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
