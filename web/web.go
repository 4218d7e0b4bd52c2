// Package web is the operator's side of the gateway: the HTTP API, metrics and
// health, and the console's pages beside them. Partners never reach it; their
// endpoints are another listener.
//
// It owns routes, the shape of requests and answers, who may ask for what, and
// the table that turns errors into problems (RFC 9457). It decides nothing
// about documents, letters or lanes: whoever does is given to it as an
// interface, and what it shows is read from the store.
package web

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"edigw/fault"
	"edigw/partner"
)

// Base is where the API's paths begin.
const Base = "/api/v1"

// Options is what an API needs. Fields after Log may be left zero.
type Options struct {
	Access   Access   // tokens and users; *access.Service
	Intake   Intake   // the way in for documents
	Ledger   Ledger   // what is shown; every store is one
	Letters  Letters  // *dlq.Service
	Received Received // what partners sent
	Lanes    Lanes    // the scheduler, as it is shown
	Operator Operator
	Alerts   Alerts // *alerts.Reader of the store
	Spool    Spool  // *spool.Spool
	Evidence Evidence
	Settings func() *partner.Snapshot
	// Reload reads all settings anew and tells everybody whom it concerns.
	// The problems are those of the files; the error is of our own side.
	Reload func(ctx context.Context, by fault.Actor) (partner.Change, []partner.Problem, error)
	// Ready reports why the gateway cannot do its work: store, listeners. It
	// must not block for long.
	Ready   func(ctx context.Context) error
	Metrics prometheus.Gatherer
	Now     func() time.Time // wall clock
	Log     *slog.Logger

	Acknowledger Acknowledger // nil: alerts cannot be acknowledged
	Importer     Importer     // nil: certificates cannot be imported over the API
	Claims       Claims       // nil: the console does not show who signed instead
	Fetching     Fetching     // nil: nothing is fetched from anybody
	Signals      Signals      // nil: of receipts and errors of AS4 only the verdict is shown
	// Backup writes a consistent copy of the data to a file that does not
	// exist, else fs.ErrExist; nil: not over the API.
	Backup  func(ctx context.Context, file string) error
	Version string // of the program, for /openapi.json
	// Console serves the pages: every path outside the API's, metrics' and
	// health's; nil: there are none.
	Console http.Handler
	Random  io.Reader // for request ids; safe for concurrent use
}

// API serves the operator's side. It is safe for concurrent use.
type API struct {
	Options
	reader   Reader
	router   *chi.Mux
	openapi  []byte
	stopping atomic.Bool
	misnamed atomic.Int64 // when a request under a foreign name was last logged
}

// New checks the options and builds the routes. It does no I/O.
func New(o Options) (*API, error) {
	if o.Access == nil || o.Intake == nil || o.Ledger == nil || o.Letters == nil || o.Received == nil || o.Lanes == nil || o.Operator == nil || o.Alerts == nil || o.Spool == nil || o.Evidence == nil ||
		o.Settings == nil || o.Reload == nil || o.Ready == nil || o.Metrics == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("web: all options up to Log are required")
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	a := &API{Options: o, reader: o.Reader(), router: chi.NewRouter()}
	routes := a.routes()
	for _, r := range routes {
		a.router.Method(r.method, Base+r.path, a.serve(r))
	}
	for path, h := range map[string]http.Handler{"/healthz": http.HandlerFunc(a.healthz), "/readyz": http.HandlerFunc(a.readyz), "/metrics": a.metrics()} {
		a.router.Method(http.MethodGet, path, h)
		a.router.Method(http.MethodHead, path, h)
	}
	a.router.NotFound(a.notFound)
	a.router.MethodNotAllowed(a.methodNotAllowed)
	var err error
	if a.openapi, err = describe(routes, o.Version); err != nil {
		return nil, err
	}
	return a, nil
}

// Reader reads what is shown.
func (o Options) Reader() Reader {
	return Reader{Ledger: o.Ledger, Lanes: o.Lanes, Fetching: o.Fetching, Settings: o.Settings, Now: o.Now}
}

// Handler serves every path of the operator's side.
func (a *API) Handler() http.Handler { return a.identified(a.recovered(a.running(a.router))) }

// ConsoleServer gives a server with the limits against slow and oversized
// clients, for the console's listener: it answers under the gateway's own
// names only. The caller runs and stops it.
func (a *API) ConsoleServer() *http.Server {
	return a.server(a.identified(a.recovered(a.addressed(a.running(a.router)))))
}

// Server is ConsoleServer for the local socket, where names mean nothing.
func (a *API) Server() *http.Server { return a.server(a.Handler()) }

func (a *API) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ConnContext:       LocalPeer,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(a.Log.Handler(), slog.LevelDebug),
	}
}

// Refuse makes every request of the API from now on end with a problem
// `stopping`; metrics and health go on. Requests that run are not cut.
func (a *API) Refuse() { a.stopping.Store(true) }
