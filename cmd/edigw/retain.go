package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"edigw/inbox"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/store/spool"
)

// retainBatch is how much one step of retention lets go.
const retainBatch = 500

// orphanAge is how long a file may lie in the spool before a row must name it:
// an arrival that is under way has not made its row yet.
const orphanAge = 24 * time.Hour

// keep is what the settings say of retention.
func (g *gateway) keep() queue.Keep {
	s := g.settings.Current()
	k := s.Gateway().Retention
	keep := queue.Keep{
		Keys: time.Duration(k.Keys), Payloads: time.Duration(k.Payloads), Evidence: time.Duration(k.Evidence), Wire: time.Duration(k.Wire),
		Partners: map[string]queue.KeepPartner{},
	}
	for _, id := range s.IDs() {
		p, ok := s.Partner(id)
		if !ok {
			continue
		}
		if own := (queue.KeepPartner{Payloads: p.Retention.Payloads, Evidence: p.Retention.Evidence}); own != keep.Of("") {
			keep.Partners[id] = own
		}
	}
	return keep
}

// retain lets go what retention no longer keeps. It waits while a backup is
// written.
func (g *gateway) retain(ctx context.Context) error {
	g.collecting.Lock()
	defer g.collecting.Unlock()
	keep := g.keep()
	for {
		now := g.now()
		garbage, err := g.store.Expired(ctx, now, keep, retainBatch)
		if err != nil {
			return err
		}
		if err := g.letGo(ctx, garbage, now.Add(-orphanAge)); err != nil {
			return err
		}
		if len(garbage) < retainBatch {
			break
		}
	}
	for keep.Keys > 0 {
		n, err := g.store.Trim(ctx, g.now().Add(-keep.Keys), retainBatch)
		if err != nil || n < retainBatch {
			return err
		}
	}
	return nil
}

// letGo drops the rows first and then the files that no row names: from then
// on no new edition takes such a document up. A file that was committed after
// before stays, because an arrival of the same bytes may be about to name it.
// It, and what a crash in between leaves, is for sweep.
func (g *gateway) letGo(ctx context.Context, garbage []queue.Garbage, before time.Time) error {
	if len(garbage) == 0 {
		return nil
	}
	if err := g.store.Forget(ctx, garbage...); err != nil {
		return err
	}
	files := map[spool.Kind][]string{}
	for _, x := range garbage {
		if x.File != "" && !x.Shared {
			kind := spool.Kind(x.What)
			files[kind] = append(files[kind], x.File)
		}
	}
	for kind, names := range files {
		if err := g.removeUnnamed(ctx, kind, names, before); err != nil {
			return err
		}
	}
	return nil
}

// removeUnnamed removes those of the files that no row names.
func (g *gateway) removeUnnamed(ctx context.Context, kind spool.Kind, names []string, before time.Time) error {
	free, err := g.store.Unnamed(ctx, string(kind), names)
	if err != nil {
		return err
	}
	_, err = g.spool.Remove(kind, before, free...)
	return err
}

// sweep removes files that no row names, left by arrivals that came to
// nothing, and requests of partners that are older than evidence is kept.
func (g *gateway) sweep(ctx context.Context) error {
	g.collecting.Lock()
	defer g.collecting.Unlock()
	before := g.now().Add(-orphanAge)
	for _, kind := range []spool.Kind{spool.Payload, spool.Wire, spool.Receipt} {
		if err := g.sweepKind(ctx, kind, before); err != nil {
			return err
		}
	}
	return g.sweepRequests(ctx)
}

// sweepRequests removes requests of partners that are older than evidence is
// kept of any partner, but for those of messages that are not settled.
func (g *gateway) sweepRequests(ctx context.Context) error {
	keep := g.keep()
	longest := keep.Evidence
	for _, p := range keep.Partners {
		longest = max(longest, p.Evidence)
	}
	before := g.now().Add(-max(longest, orphanAge))
	needed, err := g.openRequests(ctx)
	if err != nil {
		return err
	}
	return g.inBatches(ctx, spool.Inbox, before, func(names []string) error {
		names = slices.DeleteFunc(names, func(name string) bool { return needed[name] })
		_, err := g.spool.Remove(spool.Inbox, before, names...)
		return err
	})
}

// openRequests names the requests of received messages that are not settled.
// A record that cannot be read keeps what it may name, and no other request:
// people are told.
func (g *gateway) openRequests(ctx context.Context) (map[string]bool, error) {
	needed := map[string]bool{}
	var damaged []error
	var first queue.Message
	f := queue.MessageFilter{Direction: queue.In, States: []queue.State{queue.Dead, queue.Received}}
	for p := (queue.Page{Limit: retainBatch}); ; {
		list, next, err := g.store.Messages(ctx, f, p)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			builds, err := g.store.Builds(ctx, m.ID)
			if err != nil {
				return nil, err
			}
			record, err := inbox.ReadRecord(builds)
			if err != nil {
				if damaged = append(damaged, err); len(damaged) == 1 {
					first = m
				}
				for _, b := range builds {
					for _, name := range spoolNames.FindAll(b.Record, -1) {
						needed[string(name)] = true
					}
				}
				continue
			}
			needed[record.Request] = true
		}
		if p.Cursor = next; next == "" {
			return needed, g.tellUnread(ctx, first, damaged)
		}
	}
}

// spoolNames finds in a damaged record what may be the name of a request.
var spoolNames = regexp.MustCompile(`[0-9a-f]{64}`)

// tellUnread puts into the ledger that records of received messages cannot be
// read: one event for all of a night.
func (g *gateway) tellUnread(ctx context.Context, first queue.Message, damaged []error) error {
	if len(damaged) == 0 {
		return nil
	}
	return g.store.AddEvents(ctx, queue.Event{At: g.now(), Type: queue.EventDefect, Partner: first.Partner, Lane: first.Lane, Message: first.ID,
		Text: fmt.Sprintf("%s of received messages cannot be read, so their requests may not be found: %.300s", words.Count(len(damaged), "record", "records"), damaged[0])})
}

func (g *gateway) sweepKind(ctx context.Context, kind spool.Kind, before time.Time) error {
	return g.inBatches(ctx, kind, before, func(names []string) error { return g.removeUnnamed(ctx, kind, names, before) })
}

// inBatches calls do with the names of old bodies, some at a time. do may
// change the slice and must not keep it.
func (g *gateway) inBatches(ctx context.Context, kind spool.Kind, before time.Time, do func(names []string) error) error {
	var batch []string
	err := g.spool.Walk(kind, before, func(name string) error {
		if batch = append(batch, name); len(batch) < retainBatch {
			return ctx.Err()
		}
		err := do(batch)
		batch = batch[:0]
		return err
	})
	if err != nil {
		return err
	}
	return do(batch)
}
