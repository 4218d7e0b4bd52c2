package main

import (
	"context"
	"path/filepath"

	"edigw/fault"
	"edigw/queue"
	"edigw/web"
)

// operatorSide is the console, the API, metrics and health.
func (g *gateway) operatorSide() (_ *web.API, err error) {
	o := web.Options{
		Access: g.access, Intake: frontDoor{g.intake, g.settings}, Ledger: g.store, Letters: g.letters, Received: received{g.inbox}, Lanes: g.lanes, Operator: g.lanes,
		Alerts: g.store, Spool: g.spool, Evidence: g.sender, Settings: g.settings.Current, Reload: g.reload, Ready: g.ready, Metrics: g.metrics,
		Now: g.now, Log: g.log, Acknowledger: g.alerts, Importer: importer{g}, Claims: claims{g}, Backup: g.backup, Version: version,
	}
	if g.console, err = g.pages(o); err != nil {
		return nil, err
	}
	o.Console = g.console
	return web.New(o)
}

// backup writes a consistent copy while the gateway goes on; retention waits
// meanwhile.
func (g *gateway) backup(ctx context.Context, file string) error {
	if err := g.outside(file); err != nil {
		return err
	}
	g.collecting.Lock()
	defer g.collecting.Unlock()
	e := queue.Event{At: g.now(), Type: queue.EventAccess, Actor: fault.Actor{Name: "cli", From: "local"}, Text: "backup to " + file}
	if err := g.store.AddEvents(ctx, e); err != nil {
		return err
	}
	return writeBackup(ctx, g.store, string(g.yaml().Data), g.yaml().Identity.Domain, file)
}

// outside refuses a file in a folder of the installation that means something:
// from an outbox a backup would be sent to a partner.
func (g *gateway) outside(file string) error {
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return err
	}
	own := []string{string(g.yaml().Data), string(g.yaml().Partners)}
	for _, name := range []string{"outbox", "inbox", "keys", "secrets"} {
		own = append(own, filepath.Join(g.settings.Current().Dir(), name))
	}
	for _, folder := range own {
		root, err := filepath.EvalSymlinks(folder)
		if err != nil {
			continue // there is no such folder
		}
		if within, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(within) {
			return &web.Problem{Slug: web.BadRequest, Field: "file", Detail: "A backup does not belong there: name a file outside " + root + "."}
		}
	}
	return nil
}
