package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/fault"
	"edigw/internal/apiclient"
	"edigw/queue"
)

// patience is how long a fact may take to be seen.
const patience = 45 * time.Second

// The partners of the story: their settings files.
const (
	wellPartner      = "northwind"
	busyPartner      = "northwind-flaky"
	downPartner      = "contoso-down"
	signaturePartner = "fabrikam-signature"
	latePartner      = "wingtip-late"
	silentPartner    = "tailspin-silent"
	micPartner       = "litware-mic"
	as4Partner       = "proseware-as4"
)

// What the story must show.
const (
	factAPI       = "a document accepted by the API and delivered"
	factSend      = "a document accepted by edigw send and delivered"
	factOutbox    = "a document accepted from the outbox folder and delivered"
	factRepeat    = "the same document again changes nothing"
	factStage     = "a test document for a live partner refused at the door"
	factRetry     = "503 with Retry-After, then delivered by a retry"
	factOpened    = "a breaker opened, what waits became letters circuit-open"
	factMail      = "the outage in a mail"
	factSlack     = "the outage in Slack"
	factSignature = "a letter signature"
	factAsync     = "a receipt that came by itself"
	factMIC       = "a letter receipt-invalid, uncertain"
	factSilent    = "a letter max-attempts, uncertain"
	factMissing   = "a letter receipt-missing"
	factLate      = "a letter closed as delivered-late"
	factFormat    = "a letter format"
	factAnswers   = "a mail that asks what to do with the letters of a partner that answers again"
	factClosed    = "the breaker closed by a test that was delivered"
	factOutage    = "the outage's letters replayed and delivered"
	factEnded     = "the outage ended"
	factLost      = "an AS4 message whose receipt was lost sent again, and booked once"
	factHeld      = "an AS4 partner that is down: documents wait in line"
	factInOrder   = "what waited delivered in order, with receipts, when the AS4 partner answered again"
	factEBMS      = "a letter rejected, by an ebMS error"
	factAgreed    = "the document of the ebMS error replayed under the same MessageId and delivered"
	factRebuilt   = "the signature letter rebuilt under the same Message-ID and delivered"
	factAsked     = "a replay of an uncertain letter asks to be confirmed"
	factConfirmed = "a letter settled on the partner's word"
	factDiscarded = "a letter discarded"
)

// story plays what happens and watches for it. It touches the gateway as a
// user would, and the scripted partners as fate would.
type story struct {
	place   installation
	feed    *feed
	follow  *follower
	sinks   *sinks
	print   *printer
	list    *checklist
	cast    map[string]player
	as4     *scriptedAS4 // one of the cast
	busy    *busy
	late    *gate
	outages []*document // that fell into the outage, the first being its test
	dropped []*document // into the outbox
	letters map[string]*document
}

// play tells the whole story. What does not come right stays on the checklist;
// the story goes on all the same.
func (s *story) play(ctx context.Context) {
	s.list.expect(factAPI, factSend, factOutbox, factRepeat, factStage, factRetry, factOpened, factMail, factSlack, factSignature, factAsync,
		factMIC, factSilent, factMissing, factLate, factFormat, factAnswers, factClosed, factOutage, factEnded, factLost, factHeld, factInOrder, factEBMS, factAgreed, factRebuilt, factAsked, factConfirmed, factDiscarded)
	for _, chapter := range []struct {
		title string
		tell  func(context.Context) error
	}{
		{"Documents come in, by three ways", s.waysIn},
		{"A partner is busy", s.beBusy},
		{"A partner is down", s.goDown},
		{"Partners that answer wrong, late or never", s.troubles},
		{"The partner that was down answers again", s.comeBack},
		{"A partner that speaks AS4", s.speakAS4},
		{"An operator mends what is left", s.mend},
	} {
		if ctx.Err() != nil {
			return
		}
		s.print.line("\n%s", title(chapter.title))
		if err := chapter.tell(ctx); err != nil && ctx.Err() == nil {
			s.print.fact("demo", "%v", err)
		}
	}
}

func title(text string) string {
	return "── " + text + " " + strings.Repeat("─", max(0, 72-len(text)))
}

// sees waits for a fact and ticks it off.
func (s *story) sees(ctx context.Context, fact string, met func(view) bool) {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.tick(ctx, fact, s.follow.until(patient, met))
}

// hears waits for an alert that holds all words, and ticks the fact off.
func (s *story) hears(ctx context.Context, fact, channel string, words ...string) {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.tick(ctx, fact, s.sinks.waitFor(patient, channel, words...))
}

// tick ticks a fact off, or says that it did not come.
func (s *story) tick(ctx context.Context, fact string, seen bool) {
	switch {
	case seen:
		s.list.seen(fact)
	case ctx.Err() == nil:
		s.print.fact("demo", "NOT SEEN: %s", fact)
	}
}

// post makes a document and hands it in by the API.
func (s *story) post(ctx context.Context, sample sample, partner string) (*document, error) {
	d, err := s.feed.make(sample, partner)
	if err != nil {
		return nil, err
	}
	_, _, err = s.feed.post(ctx, d)
	return d, err
}

// is reports whether a document's message is in a state.
func (v view) is(d *document, state queue.State) bool {
	m, ok := v.of(d)
	return ok && m.State == string(state)
}

// letterOf gives the newest letter of a document for a reason.
func (v view) letterOf(d *document, reason fault.Reason) (letter, bool) {
	m, _ := v.of(d)
	for _, l := range slices.Backward(m.Letters) {
		if l.Reason == string(reason) {
			return l, true
		}
	}
	return letter{}, false
}

// told reports whether a document's timeline holds an event.
func (v view) told(d *document, t queue.EventType, text string) bool {
	m, _ := v.of(d)
	return slices.ContainsFunc(m.Timeline, func(e event) bool { return e.Type == string(t) && strings.Contains(e.Text, text) })
}

func (s *story) waysIn(ctx context.Context) error {
	for _, sample := range []sample{x12Order, ublInvoice} {
		d, err := s.feed.make(sample, wellPartner)
		if err != nil {
			return err
		}
		if err := s.feed.drop(d); err != nil {
			return err
		}
		s.dropped = append(s.dropped, d)
		s.print.fact("demo", "%s put into outbox/%s; it is taken when it has not changed for 5s", d.name, d.partner)
	}
	var posted []*document
	for _, sample := range []sample{x12Invoice, edifactInvoice, edifactOrder, ciiInvoice} {
		d, err := s.post(ctx, sample, wellPartner)
		if err != nil {
			return err
		}
		posted = append(posted, d)
	}
	sent, err := s.feed.make(x12Order, wellPartner)
	if err != nil {
		return err
	}
	if err := s.feed.send(ctx, sent); err != nil {
		return err
	}
	s.sees(ctx, factAPI, func(v view) bool {
		return !slices.ContainsFunc(posted, func(d *document) bool { return !v.is(d, queue.Delivered) })
	})
	s.sees(ctx, factSend, func(v view) bool { return v.is(sent, queue.Delivered) })
	m, repeated, err := s.feed.post(ctx, posted[0])
	if err != nil {
		return err
	}
	if repeated {
		s.list.seen(factRepeat)
		s.print.fact(wellPartner, "%s handed in again: it is here already, nothing is sent twice", m.title())
	}
	return s.wrongStage(ctx)
}

func (s *story) wrongStage(ctx context.Context) error {
	d, err := s.feed.make(testOrder, wellPartner)
	if err != nil {
		return err
	}
	_, _, err = s.feed.post(ctx, d)
	var p *apiclient.Problem
	if !errors.As(err, &p) || p.Slug() != "wrong-stage" {
		return fmt.Errorf("a test order for a live partner was not refused: %w", err)
	}
	var refused struct {
		Message string `json:"message"` // as which the refusal is in the books
	}
	if err := json.Unmarshal(p.Raw, &refused); err != nil {
		return err
	}
	s.sees(ctx, factStage, func(v view) bool { return v.messages[refused.Message].State == string(queue.Refused) })
	return nil
}

func (s *story) beBusy(ctx context.Context) error {
	s.busy.next(2)
	d, err := s.post(ctx, x12Invoice, busyPartner)
	if err != nil {
		return err
	}
	s.sees(ctx, factRetry, func(v view) bool {
		m, _ := v.of(d)
		return v.is(d, queue.Delivered) && len(m.Attempts) == 3 && m.Attempts[0].Status == 503 && v.told(d, queue.EventRetry, "")
	})
	return nil
}

func (s *story) goDown(ctx context.Context) error {
	s.cast[downPartner].close()
	s.print.fact("demo", "%s stops listening", downPartner)
	for _, sample := range []sample{x12Invoice, edifactInvoice, edifactOrder, x12Order} {
		d, err := s.post(ctx, sample, downPartner)
		if err != nil {
			return err
		}
		s.outages = append(s.outages, d)
	}
	s.sees(ctx, factOpened, func(v view) bool {
		return !slices.ContainsFunc(s.outages[1:], func(d *document) bool {
			_, ok := v.letterOf(d, fault.ReasonCircuitOpen)
			return !ok
		})
	})
	if id := s.outageOf(downPartner); id != "" {
		s.hears(ctx, factMail, "mail", id, "[PAGE]")
		s.hears(ctx, factSlack, "slack", id)
	}
	return nil
}

// outageOf is the id of a partner's outage; empty if there is none.
func (s *story) outageOf(partner string) string {
	for id, o := range s.follow.last().outages {
		if o.Partner == partner {
			return id
		}
	}
	return ""
}
