package main

import (
	"context"
	"errors"
	"io/fs"

	"edigw/as2"
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
			return c.receipt(m.Partner, attempts[i].Raw)
		}
	}
	return nil, nil
}

// receipt looks into a kept receipt; one that retention let go says nothing.
func (c claims) receipt(partner, raw string) ([]as2.Claim, error) {
	f, err := c.g.spool.Open(spool.Receipt, raw)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := as2.ReadReceipt(f)
	if err != nil {
		return nil, err
	}
	a, err := c.g.settings.Current().Receiving(partner, c.g.now())
	if err != nil {
		return nil, nil // the partner's file is gone: there is nothing to compare with
	}
	return as2.ReceiptClaims(r, a.Verify), nil
}
