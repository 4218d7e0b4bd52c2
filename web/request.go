package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"edigw/queue"
)

// Bounds of what a client may cost.
const (
	headerTimeout = 10 * time.Second // until the headers are complete
	idleTimeout   = 2 * time.Minute  // of a connection between requests
	maxHeader     = 32 << 10
	bodyTimeout   = 30 * time.Second // for a JSON body
	stallTimeout  = time.Minute      // without progress, for documents and answers
	maxBody       = 1 << 20          // of a JSON body
)

// Keys of log records.
const (
	keyRequest  = "request_id"
	keyMethod   = "method"
	keyPath     = "path"
	keyStatus   = "status"
	keyBytes    = "bytes"
	keyDuration = "duration"
	keyActor    = "actor"
	keyFrom     = "from"
	keyErr      = "err"
	keyStack    = "stack"
)

// contextKey keeps what middleware knows of a request.
type contextKey int

const (
	keyOfVisit contextKey = iota
	keyOfPeer
)

// visit is what is known of one request while it runs.
type visit struct {
	id    string
	actor string // set when it is known
}

// RequestID is the id under which a request stands in the log; empty outside
// one.
func RequestID(ctx context.Context) string {
	if v, ok := ctx.Value(keyOfVisit).(*visit); ok {
		return v.id
	}
	return ""
}

// NoteActor tells the log who made a request.
func NoteActor(ctx context.Context, name string) {
	if v, ok := ctx.Value(keyOfVisit).(*visit); ok {
		v.actor = name
	}
}

// recorder notes what was answered, and cuts off a client that does not take
// it. Deadlines of connections are wall clock.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// extend gives the client time for what comes next. It must precede every
// write: a deadline outlives the request on a connection that is kept.
func (r *recorder) extend() {
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(stallTimeout))
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.extend()
	r.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.extend()
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// identified gives every request an id, says it to the client, and logs how it
// ended.
func (a *API) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := a.Now()
		id, err := queue.NewID(began, a.Random)
		if err != nil {
			a.Log.Error("no request id", keyErr, err)
		}
		v := &visit{id: id}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		rec := &recorder{ResponseWriter: w}
		defer func() {
			a.Log.LogAttrs(r.Context(), loudness(r, rec.status), "request", slog.String(keyRequest, id), slog.String(keyMethod, Clean(r.Method)),
				slog.String(keyPath, Clean(r.URL.Path)), slog.Int(keyStatus, rec.status), slog.Int64(keyBytes, rec.bytes),
				slog.Duration(keyDuration, a.Now().Sub(began)), slog.String(keyActor, v.actor), slog.String(keyFrom, Remote(r)))
		}()
		next.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), keyOfVisit, v)))
	})
}

// loudness keeps what programs ask every few seconds out of the usual log.
func loudness(r *http.Request, status int) slog.Level {
	switch {
	case status >= 500 && status != http.StatusServiceUnavailable && status != http.StatusInsufficientStorage:
		return slog.LevelError
	case !strings.HasPrefix(r.URL.Path, Base+"/") && status < 500:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// Clean bounds what a client wrote before it is logged.
func Clean(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}

// Remote is the address that asks; "local" over the socket.
func Remote(r *http.Request) string {
	if _, ok := r.Context().Value(keyOfPeer).(peer); ok {
		return "local"
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// recovered turns a panic into a problem: one request's defect is not the
// gateway's end.
func (a *API) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // a sentinel that net/http compares the same way
				panic(p)
			}
			a.Log.Error("a defect of edigw: a request panicked", keyRequest, RequestID(r.Context()), keyPath, Clean(r.URL.Path),
				keyErr, fmt.Sprint(p), keyStack, string(debug.Stack()))
			if rec, ok := w.(*recorder); ok && rec.status != 0 {
				panic(http.ErrAbortHandler) // the answer has begun: it must not look complete
			}
			a.refuse(w, r, &Problem{Slug: Internal, Detail: "The gateway has a defect here. The log says more, under the request id."})
		}()
		next.ServeHTTP(w, r)
	})
}

// running refuses the API's requests while the gateway stops.
func (a *API) running(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.stopping.Load() && strings.HasPrefix(r.URL.Path, Base+"/") {
			a.refuse(w, r, &Problem{Slug: Stopping, Detail: "The gateway is stopping. Repeat when it runs again.", RetryAfter: 10 * time.Second})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	if a.Console != nil && !strings.HasPrefix(r.URL.Path, "/api/") {
		a.Console.ServeHTTP(w, r)
		return
	}
	a.refuse(w, r, &Problem{Slug: NotFound, Detail: fmt.Sprintf("There is no path %.200q.", r.URL.Path)})
}

func (a *API) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allow []string
	path := r.URL.Path
	if r.URL.RawPath != "" {
		path = r.URL.RawPath
	}
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if a.router.Match(chi.NewRouteContext(), m, path) {
			allow = append(allow, m)
		}
	}
	a.refuse(w, r, &Problem{Slug: MethodNotAllowed, Allow: allow, Detail: fmt.Sprintf("This path takes %s.", strings.Join(allow, ", "))})
}
