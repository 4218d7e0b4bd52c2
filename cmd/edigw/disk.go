package main

import (
	"context"
	"errors"
	"fmt"

	"edigw/alerts"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
	"edigw/web"
)

// ready reports whether the gateway can take documents: the store commits, and
// there is room. A *web.Problem is for everybody to read.
func (g *gateway) ready(ctx context.Context) error {
	if err := g.store.Healthy(ctx); err != nil {
		g.log.Warn("the store cannot commit", "err", err)
		p := &web.Problem{Slug: web.Internal, Detail: "the store cannot commit", Err: err}
		if errors.Is(err, queue.ErrNoSpace) {
			p.Slug, p.Detail = web.DiskFull, "the store cannot commit: the disk of the data folder is full"
		}
		return p
	}
	return g.room()
}

// room fails where arrivals are refused for want of space.
func (g *gateway) room() error {
	free, err := spool.Free(string(g.yaml().Data))
	if err != nil {
		return err
	}
	if free < spool.Reserve {
		return &web.Problem{Slug: web.DiskFull, Detail: fmt.Sprintf("no room for documents: %d MB free on the disk of the data folder, %d MB are kept for results", free>>20, spool.Reserve>>20)}
	}
	return nil
}

// watchDisk looks whether documents can be kept: small ones in their database,
// and all of them for want of room.
func (g *gateway) watchDisk(ctx context.Context) error {
	bodies := g.store.Bodies().Healthy(ctx)
	if bodies == nil && g.store.Healthy(ctx) != nil {
		return nil // alerts tells that by itself, past the store
	}
	if bodies != nil {
		bodies = fmt.Errorf("small documents cannot be stored in %s: %w", sqlite.BodiesName, bodies)
	}
	return errors.Join(
		g.tell(ctx, alerts.BodiesBroken, bodies, "documents can be stored again"),
		g.tell(ctx, alerts.RoomShort, g.room(), "there is room for documents again"))
}

// tell puts into the ledger, while that commits, what documents lack, and that
// it is over. What was told is what the incidents say, also after a restart.
func (g *gateway) tell(ctx context.Context, what string, lack error, over string) error {
	active, err := g.store.ActiveIncidents(ctx)
	if err != nil {
		return err
	}
	told := false
	for _, in := range active {
		told = told || in.Kind == alerts.KindStore && in.Cause == what && in.Stage != alerts.Over
	}
	if (lack != nil) == told {
		return nil
	}
	e := queue.Event{At: g.now(), Type: queue.EventStoreBroken, Text: over, Facts: map[string]string{"what": what, "state": "ok"}}
	if lack != nil {
		e.Text, e.Facts["state"] = lack.Error(), "failing"
	}
	return g.store.AddEvents(ctx, e)
}

// toOpen is the room in which the databases surely open.
const toOpen = 16 << 20

// withoutRoom says what to do if the databases cannot be opened because the
// disk is full: even to read, SQLite must lay out its log and the index of it.
func withoutRoom(data string, err error) error {
	free, failed := spool.Free(data)
	if !errors.Is(err, queue.ErrNoSpace) && (failed != nil || free > toOpen/16) {
		return err
	}
	return fmt.Errorf("the disk of %s is full (%d KB free), and the databases in it cannot be opened without room. Free at least %d MB there, or let the volume grow, and start again; "+
		"delete nothing in the folder itself: what was accepted is in it and goes on then (%w)", data, max(free, 0)>>10, toOpen>>20, err)
}
