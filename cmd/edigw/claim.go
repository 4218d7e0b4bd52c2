package main

import (
	"context"
	"errors"
	"io/fs"

	"edigw/as2"
	"edigw/as4"
	"edigw/inbox"
	"edigw/queue"
	"edigw/store/spool"
)

// claims finds who is said to have signed what could not be verified.
type claims struct{ g *gateway }

// Claims meets web.Claims.
func (c claims) Claims(ctx context.Context, m queue.Message) ([]as2.Claim, error) {
	if m.Direction == queue.In {
		builds, err := c.g.store.Builds(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		record, err := inbox.ReadRecord(builds)
		return record.Claims, err
	}
	attempts, err := c.g.store.Attempts(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	for i := len(attempts) - 1; i >= 0; i-- {
		if attempts[i].Raw != "" {
			return c.receipt(m, attempts[i].Raw)
		}
	}
	return nil, nil
}

// receipt looks into a kept receipt; one that retention let go says nothing, and
// nor does one of a partner whose file is gone: there is nothing to compare with.
func (c claims) receipt(m queue.Message, raw string) ([]as2.Claim, error) {
	r, err := c.g.receipt(raw)
	if r == nil || err != nil {
		return nil, err
	}
	settings, now := c.g.settings.Current(), c.g.now()
	if m.Protocol != "as4" {
		a, err := settings.Receiving(m.Partner, now)
		if err != nil {
			return nil, nil
		}
		return as2.ReceiptClaims(*r, a.Verify), nil
	}
	p, err := settings.ReceivingPMode(m.Partner, now)
	if err != nil {
		return nil, nil
	}
	var all []as2.Claim
	for _, claim := range as4.ReceiptClaims(r.Header, r.Body, p, now) {
		all = append(all, as2.Claim(claim))
	}
	return all, nil
}

// receipt reads a kept receipt; nil if retention let it go.
func (g *gateway) receipt(raw string) (*as2.Receipt, error) {
	f, err := g.spool.Open(spool.Receipt, raw)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := as2.ReadReceipt(f)
	return &r, err
}

// signals reads the receipts and errors of AS4 that were kept.
type signals struct{ g *gateway }

// Signal meets web.Signals.
func (s signals) Signal(_ context.Context, m queue.Message, builds []queue.Build, a queue.Attempt) (*as4.Signal, error) {
	r, err := s.g.receipt(a.Raw)
	if r == nil || err != nil {
		return nil, err
	}
	found := s.g.senderAS4.Signal(m, builds, *r)
	return &found, nil
}
