package console

import (
	"context"
	"errors"
	"time"

	"edigw/dlq"
	"edigw/queue"
)

// Bounds of what a set is compared with.
const (
	mostOfSet = 500   // letters whose purchase orders are looked at
	mostNewer = 2_000 // newer documents
)

// newer counts the documents of a partner that were accepted after the oldest
// letter of a set was made, and are delivered.
type newer struct {
	n      int
	more   bool // there are more than were looked at
	shared int  // of these, with a purchase order of the set
}

// meanwhile counts what reached the partner while a set lay dead: after it the
// set arrives out of order. Sets of several partners are not compared.
func (c *Console) meanwhile(ctx context.Context, sel dlq.Selection) (got newer, partner string, err error) {
	letters, more, err := c.ofSet(ctx, sel)
	if err != nil || len(letters) == 0 {
		return got, "", err
	}
	oldest, orders := letters[0].Created, map[string]bool{}
	partner = letters[0].Partner
	for _, l := range letters {
		if l.Partner != partner {
			return newer{}, "", nil
		}
		if l.Created.Before(oldest) {
			oldest = l.Created
		}
		m, err := c.Ledger.Message(ctx, l.Message)
		if errors.Is(err, queue.ErrNotFound) {
			continue
		}
		if err != nil {
			return got, partner, err
		}
		for _, order := range ordersOf(m) {
			orders[order] = true
		}
	}
	if more {
		if oldest, partner, err = c.oldestOfSet(ctx, sel.Filter); err != nil || partner == "" {
			return newer{}, "", err
		}
	}
	got, err = c.delivered(ctx, partner, oldest, orders)
	return got, partner, err
}

// ofSet reads the newest letters of a set.
func (c *Console) ofSet(ctx context.Context, sel dlq.Selection) (letters []queue.Letter, more bool, err error) {
	if len(sel.IDs) == 0 {
		found, next, err := c.Ledger.Letters(ctx, sel.Filter, queue.Page{Limit: mostOfSet})
		return found, next != "", err
	}
	for _, id := range sel.IDs {
		l, err := c.Ledger.Letter(ctx, id)
		if errors.Is(err, queue.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		letters = append(letters, l)
	}
	return letters, false, nil
}

// oldestOfSet is when the oldest letter of a large set was made, and whose they
// are; nobody's if they are of several partners.
func (c *Console) oldestOfSet(ctx context.Context, f queue.LetterFilter) (oldest time.Time, partner string, err error) {
	f.To = time.Time{}
	groups, err := c.Ledger.LetterGroups(ctx, f)
	for _, g := range groups {
		if partner != "" && g.Partner != partner {
			return oldest, "", err
		}
		if partner = g.Partner; oldest.IsZero() || g.Oldest.Before(oldest) {
			oldest = g.Oldest
		}
	}
	return oldest, partner, err
}

// delivered counts what a partner got of what was accepted since.
func (c *Console) delivered(ctx context.Context, partner string, since time.Time, orders map[string]bool) (got newer, err error) {
	f := queue.MessageFilter{Partner: partner, Direction: queue.Out, States: []queue.State{queue.Delivered}, From: since}
	for cursor := ""; ; {
		found, next, err := c.Ledger.Messages(ctx, f, queue.Page{Limit: 500, Cursor: cursor})
		if err != nil {
			return got, err
		}
		for _, m := range found {
			got.n++
			for _, order := range ordersOf(m) {
				if orders[order] {
					got.shared++
					break
				}
			}
		}
		if cursor = next; cursor == "" {
			return got, nil
		}
		if got.n >= mostNewer {
			got.more = true
			return got, nil
		}
	}
}

// ordersOf are the purchase orders that a document names.
func ordersOf(m queue.Message) (orders []string) {
	for _, r := range m.Business.References {
		if r.Name == "order" {
			orders = append(orders, r.Value)
		}
	}
	return orders
}
