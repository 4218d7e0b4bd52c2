package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"edigw/access"
	"edigw/alerts"
	"edigw/alerts/mail"
	"edigw/alerts/slack"
	"edigw/as2"
	"edigw/as4"
	"edigw/dlq"
	"edigw/inbox"
	"edigw/intake"
	"edigw/internal/scratch"
	"edigw/lane"
	"edigw/lane/as2sender"
	"edigw/lane/as4sender"
	webhooks "edigw/lane/webhook"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
	"edigw/web"
	"edigw/web/console"

	"github.com/prometheus/client_golang/prometheus"
)

// gateway is everything that runs in one process, wired together. open checks
// and opens, Start binds and begins, Stop ends.
type gateway struct {
	log         *slog.Logger
	now         func() time.Time
	settings    *partner.Registry
	store       *sqlite.Store
	spool       *spool.Spool
	sender      *as2sender.Sender
	lanes       *lane.Scheduler
	letters     *dlq.Service
	alerts      *alerts.Service
	intake      *intake.Intake
	outbox      *intake.Outbox
	inbox       *inbox.Inbox
	receiver    *as2.Handler
	receiverAS4 *as4.Handler
	scratch     string         // folder of what is put aside while messages are opened and built
	rooms       *scratch.Rooms // who shares the room there
	senderAS4   *as4sender.Sender
	fetcher     *as4sender.Fetcher
	access      *access.Service
	api         *web.API
	console     *console.Console
	metrics     *prometheus.Registry
	doors       doors
	jobs        jobs
	reloads     reloads
	files       starving

	strangers  prometheus.Counter // messages of senders whom nobody knows
	ebmsErrors ebmsErrors

	bad        []queue.Event // settings files that were bad at the start
	collecting sync.Mutex    // held while files are let go, or while a backup names them
}

// open loads the settings and opens the data folder. Problems of partner files
// do not stop a gateway: those partners are misconfigured.
func open(ctx context.Context, config string, log *slog.Logger) (*gateway, error) {
	settings, problems, err := partner.Open(config, time.Now)
	if err != nil {
		return nil, mistakes(err, problems)
	}
	return openWith(ctx, settings, problems, log)
}

// openWith is open with settings that are loaded already, and their problems.
func openWith(ctx context.Context, settings *partner.Registry, problems []partner.Problem, log *slog.Logger) (_ *gateway, err error) {
	now := time.Now
	g := &gateway{log: log, now: now, settings: settings, metrics: prometheus.NewRegistry(), strangers: newStrangers(), ebmsErrors: newEBMSErrors()}
	s := settings.Current()
	data := string(s.Gateway().Data)
	if err := restoredWhole(data); err != nil {
		return nil, err
	}
	commits := newCommits()
	if g.store, err = sqlite.Open(ctx, data, sqlite.Options{Observe: commits.observe}); err != nil {
		return nil, withoutRoom(data, err)
	}
	if err := g.build(data, commits); err != nil {
		return nil, errors.Join(withoutRoom(data, err), g.store.Close())
	}
	for _, p := range problems {
		log.Warn("settings", "problem", p.String())
	}
	g.bad = badEvents(now, problems)
	return g, nil
}

// mistakes tells an error of the settings with all their problems.
func mistakes(err error, problems []partner.Problem) error {
	lines := []string{err.Error()}
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}

func (g *gateway) build(data string, commits *commits) (err error) {
	s := g.settings.Current()
	if err := clearCopies(data); err != nil {
		return err
	}
	if err := keepDomain(context.Background(), g.store, data, s.Gateway().Identity.Domain); err != nil {
		return err
	}
	if g.spool, err = spool.Open(filepath.Join(data, spoolName), g.store.Bodies()); err != nil {
		return err
	}
	incarnation, err := queue.NewID(g.now(), rand.Reader)
	if err != nil {
		return err
	}
	current := settingsNow{g.settings}
	g.sender = as2sender.New(as2sender.Options{Product: product(), Settings: g.settings.Current, Spool: g.spool, Builds: g.store, Now: g.now, Log: g.log})
	g.scratch, g.rooms = filepath.Join(data, spoolName), scratch.NewRooms(spoolRoom(data))
	g.senderAS4 = as4sender.New(as4sender.Options{
		Product: product(), Settings: g.settings.Current, Spool: g.spool, Rooms: g.rooms, Scratch: g.scratch, Store: g.store, Now: g.now, Log: g.log,
	})
	senders, err := g.senders()
	if err != nil {
		return err
	}
	if g.lanes, err = lane.New(lane.Options{
		Store: following{g.store, g}, Partners: current, Incarnation: s.Gateway().Node + "/" + incarnation, Now: g.now, Log: g.log,
		Senders: senders, Sockets: s.Gateway().Limits.Sockets, RetryBudget: float64(s.Gateway().Limits.RetryBudget),
	}); err != nil {
		return err
	}
	if g.fetcher, err = g.newFetcher(); err != nil {
		return err
	}
	if g.letters, err = dlq.New(dlq.Options{
		Store: following{g.store, g}, Partners: current, Lanes: lanesForLetters{g.lanes}, Judge: judges{g}, Now: g.now, Log: g.log, Bounds: g.bounds, Contents: contents{g.spool},
	}); err != nil {
		return err
	}
	if g.alerts, err = alerts.New(alerts.Options{
		Store: g.store, Settings: func() alerts.Settings { return g.settings.Current() }, Now: g.now, Log: g.log,
		Channels: []alerts.Channel{mail.New(g.yaml, nil, g.log), slack.New(g.yaml, g.now, nil)},
	}); err != nil {
		return err
	}
	if g.intake, err = intake.New(intake.Options{
		Store: g.store, Spool: g.spool, Settings: func() intake.Settings { return g.settings.Current() }, Now: g.now, Log: g.log,
		Wake: g.lanes.Wake, Count: g.lanes.CountMessage,
	}); err != nil {
		return err
	}
	g.outbox = intake.NewOutbox(g.intake)
	if g.inbox, err = inbox.New(g.inboxOptions()); err != nil {
		return err
	}
	if g.access, err = access.New(access.Options{Store: g.store, Now: g.now, Log: g.log, SetupDone: g.dropSetupLink}); err != nil {
		return err
	}
	return g.measure(commits)
}

// senders are who carries what, by protocol and kind.
func (g *gateway) senders() (map[lane.Route]lane.Sender, error) {
	hooks, err := webhooks.New(webhooks.Options{Settings: g.settings.Current, Spool: g.spool, Now: g.now})
	if err != nil {
		return nil, err
	}
	all := map[lane.Route]lane.Sender{
		{Protocol: "as2", Kind: queue.KindDocument}: g.sender,
		{Protocol: "as2", Kind: queue.KindReceipt}:  as2sender.Receipts{Sender: g.sender},
		{Protocol: "as2", Kind: queue.KindWebhook}:  hooks,
		{Protocol: "as4", Kind: queue.KindDocument}: heard{g.senderAS4, g.ebmsErrors},
		{Protocol: "as4", Kind: queue.KindReceipt}:  as4sender.Receipts{Sender: g.senderAS4},
		{Protocol: "as4", Kind: queue.KindWebhook}:  hooks,
	}
	for route, sender := range all {
		all[route] = noting{sender, g.starved}
	}
	return all, nil
}

// bounds says when dead letters raise an alert.
func (g *gateway) bounds() dlq.Bounds {
	a := g.settings.Current().Gateway().Alerts
	if a == nil {
		return dlq.Bounds{}
	}
	return dlq.Bounds{Depth: a.DLQ.Depth, Oldest: time.Duration(a.DLQ.Oldest), Growth: float64(a.DLQ.Growth)}
}

// Start binds the listeners, recovers what an earlier process left, and begins.
// After an error everything is closed.
func (g *gateway) Start(ctx context.Context) error {
	if err := g.bind(); err != nil {
		return errors.Join(err, g.doors.drop(), g.store.Close())
	}
	g.event(ctx, queue.EventStarted, "edigw "+version+" started")
	if err := g.store.AddEvents(ctx, g.bad...); err != nil {
		return errors.Join(err, g.Stop(ctx))
	}
	for _, begin := range []func(context.Context) error{g.lanes.Start, g.alerts.Start, g.inbox.Start, g.outbox.Start, g.fetcher.Start, g.jobs.start(g)} {
		if err := begin(ctx); err != nil {
			return errors.Join(err, g.Stop(ctx))
		}
	}
	g.doors.serve(g.log)
	return nil
}

// Stop ends the process' work (delivery.md §8): refuse what is new, stop
// starting, let running exchanges end, cut the rest, close.
func (g *gateway) Stop(ctx context.Context) error {
	limit := time.Duration(g.settings.Current().Gateway().StopTimeout)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	g.event(ctx, queue.EventStopping, "edigw is stopping")
	g.doors.refuse()
	if g.api != nil {
		g.api.Refuse()
		g.console.Stop()
	}
	errs := []error{g.inTime(together(ctx, g.lanes.Stop, g.outbox.Stop, g.intake.Stop, g.inbox.Stop, g.fetcher.Stop))}
	last, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer end()
	errs = append(errs, g.inTime(errors.Join(g.jobs.stop(last), g.alerts.Stop(last))), g.doors.close(last), g.store.Close())
	return errors.Join(errs...)
}

// inTime tells that work was cut because its time was over. That is a way to
// stop, not a failure: the next start takes up what was cut.
func (g *gateway) inTime(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		g.log.Warn("work was cut because its time was over; the next start takes it up", "err", err)
		return nil
	}
	return err
}

// together runs steps at once: one that takes all the time takes none from the
// others.
func together(ctx context.Context, steps ...func(context.Context) error) error {
	errs := make([]error, len(steps))
	var work sync.WaitGroup
	for i, step := range steps {
		work.Go(func() { errs[i] = step(ctx) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// event adds a fact about the gateway itself; it is told in the log if even
// the ledger fails.
func (g *gateway) event(ctx context.Context, t queue.EventType, text string) {
	if err := g.store.AddEvents(ctx, queue.Event{At: g.now(), Type: t, Text: text}); err != nil {
		g.log.Error(text, "err", err)
		return
	}
	g.log.Info(text)
}

// yaml is edigw.yaml as it is in force.
func (g *gateway) yaml() *partner.Gateway { return g.settings.Current().Gateway() }
