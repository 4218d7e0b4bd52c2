package as4

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"edigw/internal/repeats"
	"edigw/internal/scratch"
)

// Options are what a Handler needs. Those from Pulls on may be left out.
type Options struct {
	Partners Partners
	Inbox    Inbox
	Acks     Acks
	Scratch  string           // folder for messages while they are opened
	Domain   string           // right side of the MessageIds of our signals
	Now      func() time.Time // wall clock
	Log      *slog.Logger

	Pulls    Pulls  // nil: nobody may pull
	Body     int64  // largest message, also once decompressed; 0: 2 GiB
	Header   int    // largest HTTP header; 0: 64 KiB
	Envelope int    // largest SOAP envelope; 0: 4 MiB
	Product  string // Server; empty: "edigw"
	// Room is what messages may take while they are opened; nil: unbounded.
	Room *scratch.Rooms

	// Crowded is told when messages begin to be refused for want of room, once
	// until that has ended; partner is empty for strangers. It must not block
	// for long. Nil: only the log is.
	Crowded func(partner string, err error)
	// Stranger is told of each message of parties without a P-Mode, to be
	// counted: the log has one line a minute of each pair. May be nil.
	Stranger func()
	// Identified is told whose names the envelope of a request uses, before the
	// rest is read; nothing proves them yet. It is told as well who proved to have
	// sent a pull request, before a message is handed out. False: he must try again
	// later. May be nil.
	Identified func(r *http.Request, partner string) bool
	// Tested is told of each message to the test service that was answered with
	// a receipt, or would have been if one were settled. May be nil.
	Tested func(partner string)
}

// Bounds that hold where Options names none.
const (
	defaultBody     = 2 << 30
	defaultHeader   = 64 << 10
	defaultEnvelope = 4 << 20
	retryAfter      = "60"
)

// Handler is the address that partners post messages and signals to. It is safe
// for concurrent use; of a message its envelope, as a tree, and at most 64 KiB a
// part lie in memory, the rest in files without names.
type Handler struct {
	o         Options
	crowded   scratch.Stretch
	strangers repeats.Counter
	faults    repeats.Counter // of ours, by partner and what was being done
	tests     repeats.Counter // messages to the test service that were refused, by partner
	odd       repeats.Counter // what is no message, or leads to nothing, by address and what it was
	logins    logins          // of pull requests
	envelopes envelopes
}

// NewHandler checks that nothing required is missing.
func NewHandler(o Options) (*Handler, error) {
	if o.Partners == nil || o.Inbox == nil || o.Acks == nil || o.Scratch == "" || o.Domain == "" || o.Now == nil || o.Log == nil {
		return nil, errors.New("as4: a required option of the handler is missing")
	}
	if o.Body <= 0 {
		o.Body = defaultBody
	}
	if o.Header <= 0 {
		o.Header = defaultHeader
	}
	if o.Envelope <= 0 {
		o.Envelope = defaultEnvelope
	}
	if o.Product == "" {
		o.Product = "edigw"
	}
	return &Handler{o: o, envelopes: envelopes{limit: allEnvelopes * int64(o.Envelope)}}, nil
}
