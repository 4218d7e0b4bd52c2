// Package intake is every way in for a document that is to be sent: HTTP body,
// command line and outbox folders all end in Accept, which returns only when
// the document is on disk and in the store (delivery.md §3).
//
// It decides at the door: stage, size, disk, deadline, idempotency key. It
// sends nothing, builds nothing and knows no protocol; the rules for repeated
// keys are queue.Admit's.
package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"edigw/internal/instant"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
)

// Store is what the door asks of a store. Each method is one whole
// transaction; storetest.Store says what each promises.
type Store interface {
	Accept(ctx context.Context, a queue.Arrival) (queue.Admission, error)
	Record(ctx context.Context, results ...*queue.Result) error
	Editions(ctx context.Context, partner, key string) ([]queue.Edition, error)
	LaneWork(ctx context.Context, lane string) (queue.Work, error)
}

// Spool keeps the bytes; *spool.Spool is one.
type Spool interface {
	Create(k spool.Kind, limit int64) (*spool.Writer, error)
	HasRoom(n int64) error
}

// Settings are those in force, never changed; *partner.Snapshot is one.
type Settings interface {
	Partner(id string) (*partner.Partner, bool)
	IDs() []string // of all partners with a settings file, sorted
	Gateway() *partner.Gateway
	Names(id string) (ours, theirs string) // that Message-IDs are made of
	Dir() string                           // of edigw.yaml; the outbox lies beside it
}

var (
	_ Spool    = (*spool.Spool)(nil)
	_ Settings = (*partner.Snapshot)(nil)
)

// Options is what an Intake needs. Fields after Log may be left zero.
type Options struct {
	Store    Store
	Spool    Spool
	Settings func() Settings  // in force now; must not block
	Now      func() time.Time // wall clock
	Log      *slog.Logger

	Wake   func(lane string)     // something was put in line; must not block
	Count  func(m queue.Message) // a message was accepted or refused; must not block
	Random io.Reader             // for ids; safe for concurrent use
}

// Intake accepts documents. Its methods may be called concurrently.
type Intake struct {
	Options
	keys    keys
	door    door
	repeats *prometheus.CounterVec

	mu       sync.Mutex
	stopping bool
	running  sync.WaitGroup
}

// New checks the options; it does no I/O.
func New(o Options) (*Intake, error) {
	if o.Store == nil || o.Spool == nil || o.Settings == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("intake: Store, Spool, Settings, Now and Log are required")
	}
	if o.Wake == nil {
		o.Wake = func(string) {}
	}
	if o.Count == nil {
		o.Count = func(queue.Message) {}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return &Intake{Options: o, keys: keys{held: map[key]bool{}}, door: newDoor(), repeats: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "edigw", Name: "duplicates_total", Help: "Documents and messages that came again.",
		ConstLabels: prometheus.Labels{"direction": string(queue.Out)},
	}, []string{"partner"})}, nil
}

// Collectors gives the metrics of the door, to be registered once.
func (in *Intake) Collectors() []prometheus.Collector { return []prometheus.Collector{in.repeats} }

// Stop refuses new documents with Stopping and waits for those that are being
// taken in; it returns ctx's error if they take longer. It is idempotent.
func (in *Intake) Stop(ctx context.Context) error {
	in.mu.Lock()
	in.stopping = true
	in.mu.Unlock()
	return instant.Await(ctx, in.running.Wait)
}

// enter reports whether another document may come in; running.Done follows.
func (in *Intake) enter() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopping {
		return false
	}
	in.running.Add(1)
	return true
}
