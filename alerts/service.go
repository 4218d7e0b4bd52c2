package alerts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
)

// Options is what a Service needs; every field but Channels is required.
type Options struct {
	Store    Store
	Settings func() Settings // in force now; must not block
	Channels []Channel       // every kind there is; settings say which are used
	Now      func() time.Time
	Log      *slog.Logger
}

// Service is the running pipeline: one goroutine reads the ledger, one for
// each channel sends. Its methods may be called concurrently.
type Service struct {
	Options
	deliveries *prometheus.CounterVec
	senders    map[string]*sender
	poke       chan struct{}
	work       sync.WaitGroup

	mu      sync.Mutex
	end     context.CancelFunc
	started bool

	pipe    pipe // of the reading goroutine
	trouble trouble
}

// New checks the options. It does no I/O.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Settings == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("alerts: Store, Settings, Now and Log are required")
	}
	s := &Service{Options: o, deliveries: newDeliveries(), senders: map[string]*sender{}, poke: make(chan struct{}, 1)}
	for _, c := range o.Channels {
		if s.senders[c.Name()] != nil {
			return nil, fmt.Errorf("alerts: two channels are called %q", c.Name())
		}
		s.senders[c.Name()] = &sender{
			channel: c, records: o.Store, now: o.Now, log: o.Log, count: s.counted, wake: s.Poke, poke: make(chan struct{}, 1),
			active: func() bool { return slices.Contains(Route(s.Settings().Gateway()), c.Name()) },
		}
	}
	return s, nil
}

// Start begins to read and to send. It fails if it was called before, or if
// the store cannot be read.
func (s *Service) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("alerts: the service was started before")
	}
	incidents, err := s.Store.ActiveIncidents(ctx)
	if err != nil {
		return fmt.Errorf("alerts: %w", err)
	}
	for _, in := range incidents {
		if to := s.senders[in.Cause]; to != nil && in.Kind == KindChannel && in.Stage != Over {
			to.remember(in)
		}
	}
	s.started = true
	ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.work.Go(func() { s.read(ctx) })
	for _, to := range s.senders {
		s.work.Go(func() { to.run(ctx) })
	}
	return nil
}

// Stop ends reading and sending and waits for what runs, until ctx ends. What
// is not sent is sent after the next Start. It is idempotent and safe before
// Start.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	end := s.end
	s.started = true
	s.mu.Unlock()
	if end == nil {
		return nil
	}
	end()
	return instant.Await(ctx, s.work.Wait)
}

// Poke says that there may be something new in the ledger. It never blocks;
// without it the ledger is read every second.
func (s *Service) Poke() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// Conditions says how the channels of the route are, in its order.
func (s *Service) Conditions(ctx context.Context) ([]Condition, error) {
	unsent := map[string]int{}
	if r, ok := s.Store.(Reader); ok {
		var err error
		if unsent, err = r.UnsentNotifications(ctx); err != nil {
			return nil, err
		}
	}
	var all []Condition
	for _, name := range Route(s.Settings().Gateway()) {
		if to := s.senders[name]; to != nil {
			c := to.condition()
			c.Unsent = unsent[name]
			all = append(all, c)
		}
	}
	return all, nil
}

// Test sends a test to one channel now and waits for its answer, at most until
// ctx ends. The error is the channel's, or ErrNotSet.
func (s *Service) Test(ctx context.Context, channel string, by fault.Actor) error {
	to := s.senders[channel]
	if to == nil || !to.active() {
		return unknownChannel(channel)
	}
	g := s.Settings().Gateway()
	text := Text{Subject: "[INFO] edigw " + clean(g.Node) + " test of alerts", Lead: "edigw " + clean(g.Node), Line: "test of alerts, asked for by " + clean(by.String()),
		Body: "A test of alerts, asked for by " + clean(by.String()) + ". Nothing happened.\n" + g.ConsoleURL() + "\n", Link: g.ConsoleURL()}
	for _, n := range single("test", []string{channel}, text, s.Now()) {
		err := to.send(ctx, n)
		s.counted(channel, err == nil)
		return err
	}
	return nil
}

// Acknowledge notes that somebody has an incident: it sends no reminders any
// more, changes and its end are still told. A closed incident, or one that
// somebody has already, is queue.ErrConflict; an unknown one queue.ErrNotFound.
func (s *Service) Acknowledge(ctx context.Context, id string, by fault.Actor, note string) error {
	for try := 0; ; try++ {
		all, err := s.Store.ActiveIncidents(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(in Incident) bool { return in.ID == id })
		if i < 0 {
			return fmt.Errorf("alerts: no running incident %.40q: %w", id, queue.ErrNotFound)
		}
		in := all[i]
		if in.Ack != nil {
			return fmt.Errorf("alerts: %s has incident %s already: %w", in.Ack.By, id, queue.ErrConflict)
		}
		now := s.Now()
		in.Ack = &Ack{By: by, At: now, Note: clip(clean(note), maxText)}
		if in.News == NewsReminder {
			in.News, in.Due = NewsNone, time.Time{}
		}
		state, err := s.Store.AlertState(ctx)
		if err != nil {
			return err
		}
		err = s.Store.SaveAlerts(ctx, &Step{State: state, Incidents: []Incident{in}, Events: []queue.Event{{
			At: now, Type: EventAcknowledged, Partner: in.Partner, Lane: in.Lane, Actor: by, Text: id + " acknowledged: " + in.Ack.Note,
			Facts: map[string]string{"incident": id},
		}}})
		if !errors.Is(err, queue.ErrConflict) || try == 5 {
			return err
		}
	}
}
