package demo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"edigw/fault"
	"edigw/internal/apiclient"
	"edigw/queue"
)

// troubles are the faults that no retry mends, and receipts that come late.
func (s *story) troubles(ctx context.Context) error {
	async, err := s.post(ctx, x12Invoice, latePartner)
	if err != nil {
		return err
	}
	for _, t := range []struct {
		partner string
		sample  sample
	}{
		{signaturePartner, x12Invoice}, {micPartner, edifactInvoice}, {silentPartner, x12Order}, {wellPartner, brokenInvoice},
	} {
		if s.letters[t.partner], err = s.post(ctx, t.sample, t.partner); err != nil {
			return err
		}
	}
	s.sees(ctx, factSignature, s.lettered(signaturePartner, fault.ReasonSignature, false))
	s.sees(ctx, factMIC, s.lettered(micPartner, fault.ReasonReceiptInvalid, true))
	s.sees(ctx, factFormat, s.lettered(wellPartner, fault.ReasonFormat, false))
	s.sees(ctx, factAsync, func(v view) bool { return v.is(async, queue.Delivered) && v.told(async, queue.EventAwaiting, "") })
	return s.lateReceipt(ctx)
}

// lettered is met when the partner's troubled document is a letter.
func (s *story) lettered(partner string, reason fault.Reason, uncertain bool) func(view) bool {
	return func(v view) bool {
		l, ok := v.letterOf(s.letters[partner], reason)
		return ok && l.Uncertain == uncertain
	}
}

// lateReceipt holds a receipt until the gateway has given it up.
func (s *story) lateReceipt(ctx context.Context) error {
	s.late.hold()
	defer s.late.release()
	d, err := s.post(ctx, x12Order, latePartner)
	if err != nil {
		return err
	}
	s.sees(ctx, factSilent, s.lettered(silentPartner, fault.ReasonMaxAttempts, true))
	s.sees(ctx, factMissing, func(v view) bool { _, ok := v.letterOf(d, fault.ReasonReceiptMissing); return ok })
	s.late.release()
	s.print.fact("demo", "%s sends its receipt after all", latePartner)
	s.sees(ctx, factLate, func(v view) bool {
		l, ok := v.letterOf(d, fault.ReasonReceiptMissing)
		return ok && l.ClosedAs == string(queue.ClosedDeliveredLate) && v.is(d, queue.Delivered)
	})
	return nil
}

// comeBack ends the outage and replays its letters.
func (s *story) comeBack(ctx context.Context) error {
	if err := s.cast[downPartner].open(); err != nil {
		return err
	}
	s.print.fact("demo", "%s listens again", downPartner)
	if len(s.outages) == 0 {
		return errors.New("there was no outage")
	}
	s.sees(ctx, factClosed, func(v view) bool {
		return v.is(s.outages[0], queue.Delivered) && v.lanes[downPartner].State == string(queue.LaneSending)
	})
	id := s.outageOf(downPartner)
	if id == "" {
		return errors.New("there was no outage")
	}
	s.hears(ctx, factAnswers, "mail", id, "NOT delivered")
	if err := s.operator(ctx, "dlq", "replay", "--outage", id, "--yes", "--wait"); err != nil {
		return err
	}
	s.sees(ctx, factOutage, func(v view) bool {
		return !slices.ContainsFunc(s.outages, func(d *document) bool { return !v.is(d, queue.Delivered) })
	})
	s.sees(ctx, factEnded, func(v view) bool { return !v.outages[id].Ended.IsZero() })
	return nil
}

// mend is an operator's morning.
func (s *story) mend(ctx context.Context) error {
	return errors.Join(s.rebuild(ctx), s.settle(ctx), s.discard(ctx), s.outbox(ctx))
}

// rebuild takes our next key into use, which Fabrikam already believes in.
func (s *story) rebuild(ctx context.Context) error {
	d := s.letters[signaturePartner]
	l, ok := s.follow.last().letterOf(d, fault.ReasonSignature)
	if !ok {
		return errors.New("there is no letter to rebuild")
	}
	if err := s.place.useNextKey(); err != nil {
		return err
	}
	s.print.fact("demo", "edigw.yaml: our next key, keys/own-next.pem, signs from now on")
	if err := s.operator(ctx, "reload"); err != nil {
		return err
	}
	before, _ := s.follow.last().of(d)
	if err := s.operator(ctx, "dlq", "replay", l.ID); err != nil {
		return err
	}
	s.sees(ctx, factRebuilt, func(v view) bool {
		m, _ := v.of(d)
		return v.is(d, queue.Delivered) && v.told(d, queue.EventBuilt, "built anew") && m.MessageID == before.MessageID
	})
	return nil
}

// settle asks first what would happen, then closes the letter on the partner's
// word.
func (s *story) settle(ctx context.Context) error {
	d := s.letters[silentPartner]
	l, ok := s.follow.last().letterOf(d, fault.ReasonMaxAttempts)
	if !ok {
		return errors.New("there is no letter to settle")
	}
	err := s.feed.client.Post(ctx, "/letters/"+l.ID+"/replay", map[string][]string{}, nil)
	var p *apiclient.Problem
	if errors.As(err, &p) && p.Status == 428 && strings.Contains(string(p.Raw), "possible-duplicate") {
		s.list.seen(factAsked)
		s.print.fact(silentPartner, "a replay must be confirmed first: %s", p.Detail)
	}
	if err := s.operator(ctx, "dlq", "settle", l.ID, "--yes", "--note", "Ms Lee by phone: they have it, booked as 4711"); err != nil {
		return err
	}
	s.sees(ctx, factConfirmed, func(v view) bool {
		l, _ := v.letterOf(d, fault.ReasonMaxAttempts)
		return l.ClosedAs == string(queue.ClosedConfirmed)
	})
	return nil
}

// discard gives the malformed document up.
func (s *story) discard(ctx context.Context) error {
	d := s.letters[wellPartner]
	l, ok := s.follow.last().letterOf(d, fault.ReasonFormat)
	if !ok {
		return errors.New("there is no letter to discard")
	}
	if err := s.operator(ctx, "dlq", "discard", l.ID, "--yes", "--why", "malformed; the ERP sends it again"); err != nil {
		return err
	}
	s.sees(ctx, factDiscarded, func(v view) bool { return v.is(d, queue.Discarded) })
	return nil
}

// outbox waits for what was dropped at the beginning.
func (s *story) outbox(ctx context.Context) error {
	s.sees(ctx, factOutbox, func(v view) bool {
		return !slices.ContainsFunc(s.dropped, func(d *document) bool { return !v.is(d, queue.Delivered) || !s.feed.taken(d) })
	})
	return nil
}

// operator runs a command of edigw and shows it.
func (s *story) operator(ctx context.Context, args ...string) error {
	shown := slices.Clone(args)
	for i, a := range shown {
		if strings.Contains(a, " ") {
			shown[i] = `"` + a + `"`
		}
	}
	s.print.fact("operator", "$ edigw %s", strings.Join(shown, " "))
	out, err := s.feed.command(ctx, args...)
	if err != nil {
		return err
	}
	first, rest, _ := strings.Cut(out, "\n")
	s.print.quote("operator", first, rest)
	return nil
}
