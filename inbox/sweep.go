package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edigw/internal/instant"
	"edigw/queue"
)

// Documents that could not be handed on are taken up again so often.
const (
	pause    = 30 * time.Second
	patience = time.Second // how long a sweep waits for one partner's courier
	pageSize = 500
)

// Start hands on what an earlier process left, and from then on what could not
// be handed on at once.
func (b *Inbox) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.halt != nil {
		return errors.New("inbox: it was started before")
	}
	ctx, b.halt = context.WithCancel(context.WithoutCancel(ctx))
	b.sweeper.Go(func() {
		t := time.NewTicker(pause)
		defer t.Stop()
		for again := true; ; {
			if again || b.troubled() {
				again = !b.sweep(ctx)
			}
			select {
			case <-t.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// Stop ends what Start began and what couriers are at, within ctx. What waits
// for them stays received: the next process takes it up. It is idempotent and
// safe before Start.
func (b *Inbox) Stop(ctx context.Context) error {
	b.mu.Lock()
	halt := b.halt
	b.mu.Unlock()
	if halt != nil {
		halt()
	}
	b.couriers.stop()
	return instant.Await(ctx, func() {
		b.sweeper.Wait()
		b.couriers.work.Wait()
	})
}

// troubled reports whether documents could not be handed on.
func (b *Inbox) troubled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failures) > 0
}

// sweep gives every document that is received and not handed on to a courier.
// It reports whether it came to the end with all of them.
func (b *Inbox) sweep(ctx context.Context) bool {
	f := queue.MessageFilter{Direction: queue.In, States: []queue.State{queue.Received}}
	busy := map[string]bool{} // partners whose couriers do not get on
	for cursor := ""; ; {
		page, next, err := b.Store.Messages(ctx, f, queue.Page{Limit: pageSize, Cursor: cursor})
		if err != nil {
			b.Log.Error("received documents cannot be listed", keyErr, err)
			return false
		}
		for _, m := range page {
			if ctx.Err() != nil {
				return false
			}
			if !busy[m.Partner] {
				busy[m.Partner] = !b.takeUp(ctx, m.ID)
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	for _, one := range busy {
		if one {
			return false
		}
	}
	return true
}

// takeUp gives one document to a courier, unless somebody has it in hand or it
// was handed on meanwhile. It reports false if the courier has too much to do.
func (b *Inbox) takeUp(ctx context.Context, id string) bool {
	done, _ := b.turns.try(id)
	if done == nil {
		return true
	}
	p, err := b.left(ctx, id)
	if err != nil {
		b.failed(id, true)
		b.Log.Warn("a received document cannot be handed on yet", keyMessage, id, keyErr, err)
	}
	if p == nil {
		done()
		return true
	}
	p.done = done
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for {
		full := b.couriers.pass(p)
		if full == nil {
			return true
		}
		select {
		case <-full:
			continue
		case <-enough.C:
		case <-ctx.Done():
		}
		done()
		return false
	}
}

// left is a document that is received and waits for its folder, nil if it does
// not do so any more, or goes to a webhook. The caller holds its turn.
func (b *Inbox) left(ctx context.Context, id string) (*parcel, error) {
	m, err := b.Store.Message(ctx, id)
	if err != nil {
		return nil, err
	}
	if m.State != queue.Received {
		b.settled(id)
		return nil, nil
	}
	p, err := b.parcel(ctx, m, nil)
	if err != nil || p.post == "" {
		return p, err
	}
	post, err := b.Store.Message(ctx, p.post)
	if err != nil {
		return nil, fmt.Errorf("inbox: the post of document %s: %w", m.ID, err)
	}
	if post.State == queue.Superseded {
		return p, nil // see intoFolder
	}
	if err := b.mend(ctx, m, post); err != nil {
		return nil, err
	}
	b.settled(id)
	return nil, nil
}
