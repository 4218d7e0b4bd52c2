package demo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"edigw/fault"
	"edigw/queue"
)

// speakAS4 is what happens to a partner that speaks AS4: the same as to others,
// with its own words for it.
func (s *story) speakAS4(ctx context.Context) error {
	return errors.Join(s.loseReceipt(ctx), s.holdInLine(ctx), s.disagree(ctx))
}

// loseReceipt cuts the line behind a message that was taken: the gateway sends
// the same bytes again, and the partner's stored receipt comes back (AS4 §3.2).
func (s *story) loseReceipt(ctx context.Context) error {
	s.as4.cut.next(1)
	before := len(s.as4.list())
	d, err := s.post(ctx, ublInvoice, as4Partner)
	if err != nil {
		return err
	}
	s.sees(ctx, factLost, func(v view) bool {
		m, _ := v.of(d)
		return v.is(d, queue.Delivered) && m.Proof == string(queue.ProofReceipt) && len(m.Attempts) == 2 && len(s.as4.list()) == before+1
	})
	return nil
}

// holdInLine lets the partner be down until its lane has stopped. Its settings
// say hold: what waits makes no letters and goes out in order afterwards.
func (s *story) holdInLine(ctx context.Context) error {
	s.as4.close()
	s.print.fact("demo", "%s stops listening", as4Partner)
	begin := len(s.as4.list())
	var held []*document
	for _, sample := range []sample{ciiInvoice, edifactInvoice, ublInvoice} {
		d, err := s.post(ctx, sample, as4Partner)
		if err != nil {
			return err
		}
		held = append(held, d)
	}
	s.sees(ctx, factHeld, func(v view) bool {
		return v.lanes[as4Partner].State == string(queue.LaneOpen) && v.told(held[0], queue.EventRetry, "") &&
			!slices.ContainsFunc(held, func(d *document) bool { m, ok := v.of(d); return !ok || len(m.Letters) > 0 })
	})
	if err := s.as4.open(); err != nil {
		return err
	}
	s.print.fact("demo", "%s listens again", as4Partner)
	s.sees(ctx, factInOrder, func(v view) bool {
		booked := s.as4.list()[begin:]
		if len(booked) != len(held) {
			return false
		}
		for i, d := range held {
			if m, _ := v.of(d); !v.is(d, queue.Delivered) || m.Proof != string(queue.ProofReceipt) || booked[i].SHA256 != d.sha256 {
				return false
			}
		}
		return true
	})
	return nil
}

// disagree lets the partner answer with an ebMS error until it has mended its
// settings; then an operator replays the letter.
func (s *story) disagree(ctx context.Context) error {
	s.as4.outdated.Store(true)
	defer s.as4.outdated.Store(false)
	d, err := s.post(ctx, edifactOrder, as4Partner)
	if err != nil {
		return err
	}
	s.sees(ctx, factEBMS, func(v view) bool {
		l, ok := v.letterOf(d, fault.ReasonRejected)
		return ok && !l.Uncertain && strings.Contains(l.Detail, "EBMS:0010")
	})
	l, ok := s.follow.last().letterOf(d, fault.ReasonRejected)
	if !ok {
		return errors.New("there is no letter of an ebMS error")
	}
	before, _ := s.follow.last().of(d)
	s.as4.outdated.Store(false)
	s.print.fact("demo", "%s takes our agreement into its settings", as4Partner)
	if err := s.operator(ctx, "dlq", "replay", l.ID); err != nil {
		return err
	}
	s.sees(ctx, factAgreed, func(v view) bool {
		m, _ := v.of(d)
		return v.is(d, queue.Delivered) && m.MessageID == before.MessageID && m.Proof == string(queue.ProofReceipt)
	})
	return nil
}
