package exchange

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"

	"edigw/fault"
)

// recorder follows one exchange. The transport calls it from several
// goroutines, also after the exchange ended.
type recorder struct {
	host   string // host:port of the partner, for sentences
	secure bool   // https
	limits Limits
	wait   time.Duration // for 100 Continue
	watch  watch
	body   *sentBody // nil: the request has none

	mu        sync.Mutex
	phase     fault.Phase // while connecting
	target    string      // address being dialled
	proxy     bool        // target is our proxy
	ready     bool        // a connection was taken; what dials still do is not ours
	reused    bool
	conn      *conn // nil for a foreign transport
	bodyWire  int64 // bytes on conn before the first of the body
	sentAll   bool
	answered  bool // the first byte of an answer came
	timings   fault.Timings
	resolveAt time.Time
	connectAt time.Time
	readyAt   time.Time
	sendingAt time.Time
	sentAt    time.Time
	headersAt time.Time
}

type recorderKey struct{}

// stripped never goes to a partner as the caller set it.
// QUIRK(BizTalk behind proxies): 100-continue is refused or never comes, so
// Expect is sent only with Limits.Expect.
var stripped = []string{"Idempotency-Key", "X-Idempotency-Key", "Expect"}

func newRecorder(req *http.Request, l Limits, wait time.Duration, cancel context.CancelCauseFunc) *recorder {
	return &recorder{
		wait:   wait,
		host:   req.URL.Host,
		secure: req.URL.Scheme == "https",
		limits: l,
		watch:  watch{cancel: cancel},
	}
}

// recorderFrom finds the recorder of the exchange that asked for a connection.
// A dial without one records into nothing.
func recorderFrom(ctx context.Context) *recorder {
	if r, ok := ctx.Value(recorderKey{}).(*recorder); ok {
		return r
	}
	return &recorder{}
}

// prepare gives the request as the transport gets it.
func (r *recorder) prepare(ctx context.Context, req *http.Request) *http.Request {
	ctx = context.WithValue(ctx, recorderKey{}, r)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { r.resolving() },
		DNSDone:              func(httptrace.DNSDoneInfo) { r.resolved() },
		ConnectStart:         func(string, string) { r.connecting() },
		ConnectDone:          func(_, _ string, err error) { r.connected(err) },
		TLSHandshakeStart:    func() { r.reach(fault.PhaseTLS) },
		GotConn:              r.gotConn,
		WroteRequest:         func(i httptrace.WroteRequestInfo) { r.wroteRequest(i.Err) },
		GotFirstResponseByte: r.firstByte,
		Wait100Continue:      r.expecting,
		Got100Continue:       r.goOn,
	})
	out := req.Clone(ctx)
	if out.Header == nil {
		out.Header = make(http.Header)
	}
	// net/http sends a request again over a new connection if it can rewind
	// the body or finds an Idempotency-Key.
	out.GetBody = nil
	for name := range out.Header {
		if slices.Contains(stripped, http.CanonicalHeaderKey(name)) {
			delete(out.Header, name)
		}
	}
	if out.Body != nil && out.Body != http.NoBody {
		r.body = &sentBody{rec: r, body: out.Body, asked: make(chan struct{}), over: make(chan struct{})}
		out.Body = r.body
		if r.limits.Expect {
			out.Header["Expect"] = []string{"100-continue"}
		} else {
			r.body.goOn()
		}
	}
	return out
}

// release ends the use of the caller's body.
func (r *recorder) release() {
	if r.body != nil {
		r.body.release()
	}
}

func (r *recorder) dialling(addr string, proxy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ready {
		r.target, r.proxy = addr, proxy
	}
	r.reachLocked(fault.PhaseConnect)
}

func (r *recorder) reach(p fault.Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reachLocked(p)
}

func (r *recorder) reachLocked(p fault.Phase) {
	if !r.ready {
		r.phase = p
	}
}

func (r *recorder) resolving() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reachLocked(fault.PhaseResolve)
	r.resolveAt = time.Now()
}

func (r *recorder) resolved() {
	r.took(func(t *fault.Timings) { t.Resolve = time.Since(r.resolveAt) })
}

func (r *recorder) connecting() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reachLocked(fault.PhaseConnect)
	if r.connectAt.IsZero() {
		r.connectAt = time.Now()
	}
}

func (r *recorder) connected(err error) {
	if err == nil {
		r.took(func(t *fault.Timings) { t.Connect = time.Since(r.connectAt) })
	}
}

// took writes a timing of the connection, unless the exchange already runs
// over another one.
func (r *recorder) took(set func(*fault.Timings)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ready {
		set(&r.timings)
	}
}

func (r *recorder) gotConn(i httptrace.GotConnInfo) {
	r.mu.Lock()
	r.ready, r.reused = true, i.Reused
	r.readyAt = time.Now()
	if i.Reused {
		r.timings = fault.Timings{}
	}
	r.conn, _ = i.Conn.(*conn)
	r.mu.Unlock()
	r.firstBodyByte() // not before now, and for a request without a body at once
	r.watch.progress(stageSend, r.limits.Send)
}

// firstBodyByte notes what is on the wire before the body.
func (r *recorder) firstBodyByte() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil {
		r.bodyWire = r.conn.wire().written
	}
}

// sending notes that the transport took more of the body.
func (r *recorder) sending() {
	r.mu.Lock()
	r.sendingAt = time.Now()
	r.mu.Unlock()
	r.watch.progress(stageSend, r.limits.Send)
}

// sent notes that the last byte of the request was handed over.
func (r *recorder) sent() {
	r.mu.Lock()
	first := !r.sentAll
	r.sentAll = true
	if first && r.headersAt.IsZero() {
		r.sentAt = time.Now()
		r.timings.Send = between(r.readyAt, r.sentAt)
	}
	r.mu.Unlock()
	if first {
		r.watch.progress(stageResponse, r.limits.Response)
	}
}

// wroteRequest is also told when the body was held back for good.
func (r *recorder) wroteRequest(err error) {
	if err == nil && !r.withheld() {
		r.sent()
	}
}

// expecting notes that the partner was asked whether the body may come.
func (r *recorder) expecting() {
	r.firstBodyByte()                                 // what was written so far is not of the body
	r.watch.progress(stageSend, r.limits.Send+r.wait) // the wait is ours
}

// goOn notes that the body may come.
func (r *recorder) goOn() {
	r.mu.Lock()
	r.answered = false // what came was not the answer
	r.mu.Unlock()
	r.body.goOn()
}

// overdue reports whether the body may go out unanswered: the partner was
// silent as long as we wait for 100 Continue.
func (r *recorder) overdue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.answered
}

// withheld reports whether nothing of the body was sent, because the partner
// was asked first and did not say 100 Continue.
func (r *recorder) withheld() bool {
	return r.body != nil && !r.body.wentOut()
}

// unasked is the outcome of an exchange in which the partner gave his final
// answer, a good one, to a document that he never got.
func (r *recorder) unasked(answer fault.Outcome) fault.Outcome {
	return fault.Outcome{
		Phase: fault.PhaseRequest, Cause: fault.CauseReset, Suspect: r.host, Headers: answer.Headers,
		Detail: fmt.Sprintf("%s answered %d without having taken the document, which waited for 100 Continue", r.host, answer.Status),
	}
}

func (r *recorder) firstByte() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered = true
}

func (r *recorder) headersRead() {
	r.mu.Lock()
	r.answered = true
	r.headersAt = time.Now()
	if !r.sentAll { // the answer came before the end, or before we looked for it
		r.sentAt = r.sendingAt
		r.timings.Send = between(r.readyAt, r.sentAt)
	}
	r.timings.Wait = between(r.sentAt, r.headersAt)
	r.mu.Unlock()
	r.watch.progress(stageReceive, r.limits.Send)
	r.watch.bound(r.limits.Response)
}

// between is zero if one of the two never happened.
func between(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return to.Sub(from)
}

func (r *recorder) received() { r.watch.progress(stageReceive, r.limits.Send) }

// reached is the phase of an exchange without an answer. It never says less
// than what may have left this machine.
func (r *recorder) reached() fault.Phase {
	var taken int64
	if r.body != nil {
		taken, _ = r.body.state()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ready && taken == 0 {
		return r.phase
	}
	var w wire
	if r.conn != nil {
		_ = r.conn.Close() // what is not on its way now never will be
		w = r.conn.wire()
		if w.written == r.bodyWire && !w.writing {
			return fault.PhaseRequest
		}
	}
	switch {
	case r.body != nil && taken == 0 && !r.sentAll:
		return fault.PhaseRequest
	case r.sentAll && w.writeErr == nil && !w.writing:
		return fault.PhaseSent
	case r.body == nil:
		return fault.PhaseRequest
	}
	return fault.PhaseBody
}
