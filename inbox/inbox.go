// Package inbox keeps what partners send: documents, durable before they are
// acknowledged, and acknowledgements that come by themselves, durable before
// anybody looks at them.
//
// It opens no message and verifies nothing: as2 or as4 has done so before, and what
// an acknowledgement means is for the lane. A document is handed on through
// the folder inbox/<partner>/, one file for each part of a multipart/related,
// or put in line for the partner's webhook, which is a lane's to post to. It is
// never changed on the way.
package inbox

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"edigw/as2"
	"edigw/as4"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
)

// Store is what the inbox asks of a store. Each method is one whole
// transaction; storetest.Store says what each promises.
type Store interface {
	Ledger
	Reader
}

// Ledger writes.
type Ledger interface {
	Record(ctx context.Context, results ...*queue.Result) error
	AddEvents(ctx context.Context, events ...queue.Event) error
}

// Reader reads.
type Reader interface {
	Message(ctx context.Context, id string) (queue.Message, error)
	Messages(ctx context.Context, f queue.MessageFilter, p queue.Page) ([]queue.Message, string, error)
	Editions(ctx context.Context, partner, key string) ([]queue.Edition, error)
	Builds(ctx context.Context, message string) ([]queue.Build, error)
	Carried(ctx context.Context, messageID string) (queue.Message, error)
}

// Acknowledger applies an acknowledgement that is kept in the spool as raw to
// the message that carried messageID; *lane.Scheduler is one. An unknown
// Message-ID is queue.ErrNotFound; after any other error the partner is told
// to try again.
type Acknowledger interface {
	Acknowledge(ctx context.Context, messageID, raw string) (fault.Outcome, error)
}

// Options is what an Inbox needs. Fields after Log may be left zero.
type Options struct {
	Store Store
	Spool *spool.Spool
	Lanes Acknowledger
	Dir   string           // the folder inbox; those of the partners are made in it
	Now   func() time.Time // wall clock
	Log   *slog.Logger

	Wake      func(lane string)         // a receipt that we owe, or a post to a webhook, was put in line; must not block
	Webhook   func(partner string) bool // documents of the partner go to a webhook now; nil: none do; must not block
	Unwrap    func(partner string) bool // documents of the partner are taken out of Standard Business Documents now; nil: none are; must not block
	Count     func(m queue.Message)     // a message was received, delivered or refused; must not block
	Random    io.Reader                 // for ids; safe for concurrent use
	Opener    Opener                    // opens refused AS2 messages again; nil: none can be
	OpenerAS4 OpenerAS4                 // opens refused AS4 messages again; nil: none can be
}

// Inbox meets as2.Inbox and as2.Acks, ForAS4 their likes in AS4. Its methods may be called concurrently.
type Inbox struct {
	Options
	turns    turns
	budget   budget
	couriers couriers
	flush    func(*os.File) error // makes a file or the names in a folder durable
	room     func() (free, disk int64, err error)
	repeats  *prometheus.CounterVec

	mu       sync.Mutex
	failures map[string]int    // message → how often it could not be handed on
	synced   map[string]string // partner → day whose folder is durable
	sweeper  sync.WaitGroup
	halt     context.CancelFunc
}

var (
	_ as2.Inbox = (*Inbox)(nil)
	_ as2.Acks  = (*Inbox)(nil)
	_ as4.Inbox = ForAS4{}
	_ as4.Acks  = ForAS4{}
)

// New checks the options; it does no I/O.
func New(o Options) (*Inbox, error) {
	if o.Store == nil || o.Spool == nil || o.Lanes == nil || o.Dir == "" || o.Now == nil || o.Log == nil {
		return nil, errors.New("inbox: Store, Spool, Lanes, Dir, Now and Log are required")
	}
	if o.Wake == nil {
		o.Wake = func(string) {}
	}
	if o.Webhook == nil {
		o.Webhook = func(string) bool { return false }
	}
	if o.Count == nil {
		o.Count = func(queue.Message) {}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	b := &Inbox{
		Options: o, turns: turns{held: map[string]chan struct{}{}}, budget: budget{spent: map[string]*share{}}, failures: map[string]int{}, synced: map[string]string{},
		flush: (*os.File).Sync, room: o.Spool.Room,
		repeats: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "edigw", Name: "duplicates_total", Help: "Documents and messages that came again.",
			ConstLabels: prometheus.Labels{"direction": string(queue.In)},
		}, []string{"partner"}),
	}
	b.couriers = couriers{lines: map[string]*line{}, moved: make(chan struct{}), handOn: b.handOn}
	return b, nil
}

// Collectors gives the metrics of the inbox, to be registered once.
func (b *Inbox) Collectors() []prometheus.Collector { return []prometheus.Collector{b.repeats} }
