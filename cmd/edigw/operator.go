package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"

	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/lane"
	"edigw/queue"
	"edigw/web"
)

// operatorSide is the console, the API, metrics and health.
func (g *gateway) operatorSide() (_ *web.API, err error) {
	o := web.Options{
		Access: g.access, Intake: frontDoor{g.intake, g.settings}, Ledger: g.store, Letters: g.letters, Received: received{g.inbox}, Lanes: g.lanes, Operator: operator{g.lanes, g},
		Alerts: g.store, Spool: g.spool, Evidence: evidences{g}, Settings: g.settings.Current, Reload: g.reload, Ready: g.ready, Metrics: g.metrics,
		Now: g.now, Log: g.log, Acknowledger: g.alerts, Importer: importer{g}, Claims: claims{g}, Signals: signals{g}, Fetching: g.fetcher, Backup: g.backup, Version: version,
	}
	if g.console, err = g.pages(o); err != nil {
		return nil, err
	}
	o.Console = g.console
	return web.New(o)
}

// operator is the scheduler as operators see it.
type operator struct {
	*lane.Scheduler
	g *gateway
}

// Test meets web.Operator: the connection, and where the partner speaks AS4 and
// answers, his test service as well. Only the connection counts for the breaker.
func (o operator) Test(ctx context.Context, id string, by fault.Actor) (fault.Outcome, error) {
	out, err := o.Scheduler.Test(ctx, id, by)
	p, ok := o.g.settings.Current().Partner(id)
	if err != nil || !ok || p.AS4 == nil || p.AS4.Pulled() || !exchange.Answers(out) {
		return out, err
	}
	ping := o.g.senderAS4.Ping(ctx, id)
	out.Ack, out.Detail, out.Protocol = ping.Ack, ping.Sentence(), true
	if elsewhere(ping) {
		out.Detail += "; is as4.url the address of their MSH?"
	}
	return out, nil
}

// elsewhere reports whether a ping was answered as by a web server that has no
// MSH at the address: an MSH says in SOAP what it does not like.
func elsewhere(ping fault.Outcome) bool {
	switch ping.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return ping.Ack == nil
	}
	return false
}

// evidences prove deliveries, each protocol its own.
type evidences struct{ g *gateway }

// Evidence meets web.Evidence.
func (e evidences) Evidence(ctx context.Context, w io.Writer, m queue.Message, attempts []queue.Attempt, builds []queue.Build) error {
	if m.Protocol == "as4" {
		return e.g.senderAS4.Evidence(ctx, w, m, attempts, builds)
	}
	return e.g.sender.Evidence(ctx, w, m, attempts, builds)
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
