// Package dlq is the dead-letter queue as a service: what may be done with a
// letter, what must be asked before, replays of one or of very many, and the
// health of the whole.
//
// What an action means to a message is queue.Next's; this package reads, asks,
// and records in one transaction that is guarded by versions, so that of two
// clicks one wins and the other is told who was faster. It sends nothing, owns
// no breaker and keeps no list of letters in memory. Letters that an outage
// replays by itself (auto_replay) are the lane's.
package dlq

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"edigw/partner"
	"edigw/queue"
	"github.com/prometheus/client_golang/prometheus"
)

// Options is what a Service needs. Fields after Log may be left zero.
type Options struct {
	Store    Store
	Partners Partners
	Lanes    Lanes
	Judge    Judge
	Now      func() time.Time // wall clock
	Log      *slog.Logger

	Bounds   func() Bounds // when Health raises an alert; nil: never
	Random   io.Reader     // for ids; safe for concurrent use
	Contents Contents      // keeps edited documents; nil: none can be edited
}

// Service acts on letters. Its methods may be called concurrently and block
// for the time of a few transactions of the store.
type Service struct {
	Options
	poke   chan struct{} // wakes Run
	jobs   sync.Mutex    // held from reading a bulk replay to writing it
	pace   pace
	health health
	gauges gauges
	replay prometheus.Histogram
}

// New checks the options. It does no I/O and starts nothing.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Partners == nil || o.Lanes == nil || o.Judge == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("dlq: Store, Partners, Lanes, Judge, Now and Log are required")
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return &Service{Options: o, poke: make(chan struct{}, 1), pace: pace{next: map[string]time.Time{}}, replay: newReplayDuration()}, nil
}

// target is a letter with its message, as the store has them.
type target struct {
	letter  queue.Letter
	message queue.Message
	now     time.Time
}

// target reads a letter and its message. One that changed between the two
// reads is queue.ErrConflict.
func (s *Service) target(ctx context.Context, id string) (target, error) {
	l, err := s.Store.Letter(ctx, id)
	if err != nil {
		return target{}, err
	}
	m, err := s.Store.Message(ctx, l.Message)
	if err != nil {
		return target{}, err
	}
	if l.Status != queue.LetterClosed && m.Letter != l.ID {
		return target{}, queue.ErrConflict
	}
	return target{l, m, s.Now()}, nil
}

// input fills what every trigger needs.
func (t target) input(on queue.Trigger, ask Ask) queue.Input {
	l := t.letter
	return queue.Input{Trigger: on, At: t.now, Letter: &l, Actor: ask.Actor, Note: ask.Note}
}

// act reads a letter, decides and records. If somebody else was faster it
// reads and decides once more.
func (s *Service) act(ctx context.Context, id string, decide func(target) ([]*queue.Result, error)) error {
	return s.twice("letter", func() error {
		t, err := s.target(ctx, id)
		if err != nil {
			return err
		}
		results, err := decide(t)
		if err != nil {
			return err
		}
		return s.record(ctx, results...)
	})
}

// close acts on a letter by one step of its message and gives the letter as it
// then is.
func (s *Service) close(ctx context.Context, id string, step func(target) (queue.Result, error)) (queue.Letter, error) {
	var after *queue.Letter
	err := s.act(ctx, id, func(t target) ([]*queue.Result, error) {
		res, err := step(t)
		if err != nil {
			return nil, err
		}
		after = res.Closed
		return []*queue.Result{&res}, nil
	})
	if err != nil {
		return queue.Letter{}, err
	}
	return *after, nil
}

// twice tries a decision again if the versions that it was made on moved.
func (s *Service) twice(what string, try func() error) error {
	err := try()
	if errors.Is(err, queue.ErrConflict) {
		err = try()
	}
	if errors.Is(err, queue.ErrConflict) {
		return raced(what)
	}
	return err
}

// record writes results together and tells log and lanes.
func (s *Service) record(ctx context.Context, results ...*queue.Result) error {
	if err := s.Store.Record(ctx, results...); err != nil {
		return err
	}
	for _, r := range results {
		for _, e := range r.Events {
			s.Log.LogAttrs(ctx, slog.LevelInfo, e.Text, attrs(e)...)
		}
		if r.Message != nil {
			s.Lanes.Wake(r.Message.Lane)
		}
		if r.Closed != nil {
			s.Lanes.LettersChanged(r.Closed.Partner)
		}
	}
	return nil
}

// facts gathers what Assess needs.
func (s *Service) facts(l queue.Letter, now time.Time) Facts {
	b := s.Lanes.Breaker(l.Lane)
	f := Facts{Phase: b.Now(), Answering: b.Answering, Running: s.Lanes.Running(l.Lane, l.Message), Window: true}
	var p *partner.Partner
	if p, f.Known = s.Partners.Partner(l.Partner); !f.Known {
		return f
	}
	f.Duplicates = p.Duplicates
	// Windows and order are those of documents; other lanes of the partner
	// have neither (delivery.md §7).
	if l.Lane == queue.LaneKey(l.Partner, queue.KindDocument) {
		f.FIFO = p.Lane.Concurrency == 1
		f.Window, _, _, _ = p.Lane.Calendar.Open(now)
	}
	return f
}

// id gives an id for a message, letter or bulk replay.
func (s *Service) id() (string, error) { return queue.NewID(s.Now(), s.Random) }

// poked wakes Run.
func (s *Service) poked() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}
