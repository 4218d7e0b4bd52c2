package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"edigw/fault"
)

// failure is the outcome of an exchange in which no status was read.
func (r *recorder) failure(ctx context.Context, err error) fault.Outcome {
	phase := r.reached()
	var bodyErr error
	if r.body != nil {
		_, bodyErr = r.body.state()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := fault.Outcome{Phase: phase, Timings: r.timings, Suspect: r.host}
	dial, dialling := errors.AsType[*dialError](err)
	ownDial := dialling                                                     // never the echo of a cancellation: dials run on when an exchange is cancelled
	if !dialling && phase > fault.PhaseNone && phase < fault.PhaseRequest { // a foreign transport
		dial, dialling = &dialError{phase, r.host, false, err}, true
	}
	switch {
	case ctx.Err() != nil && !ownDial:
		out.Cause, out.Detail = r.cancelled(ctx, phase)
	case bodyErr != nil:
		out.Cause, out.Suspect = fault.CausePayload, ""
		out.Detail = fmt.Sprintf("The stored message cannot be read: %v", bodyErr)
	case dialling && starved(dial):
		out.Phase, out.Cause, out.Suspect = dial.phase, fault.CauseStopped, fault.SuspectFiles
		out.Detail = fmt.Sprintf("No open file is left on our side for a connection to %s (%s)", dial.addr, plainError(dial.err))
	case dialling:
		r.dialFailure(&out, dial)
	default:
		r.connectionFailure(&out, err)
	}
	return out
}

// cancelled explains an exchange that was cut from this side.
func (r *recorder) cancelled(ctx context.Context, phase fault.Phase) (fault.Cause, string) {
	cause := context.Cause(ctx)
	late, isLate := errors.AsType[*timeoutError](cause)
	switch {
	case isLate:
		return fault.CauseTimeout, fmt.Sprintf("%s: %v", r.host, late)
	case errors.Is(cause, ErrStopping):
		return fault.CauseStopped, fmt.Sprintf("The gateway was stopped while this exchange was at %q", phase)
	case errors.Is(cause, context.DeadlineExceeded) && phase < fault.PhaseRequest:
		return fault.CauseConnectTimeout, fmt.Sprintf("No connection to %s in the time allowed", r.host)
	case errors.Is(cause, context.DeadlineExceeded):
		return fault.CauseTimeout, fmt.Sprintf("No complete answer from %s in the time allowed", r.host)
	}
	return fault.CauseStopped, fmt.Sprintf("The exchange was cancelled by this side at %q", phase)
}

// brokenAnswer explains a response that broke after its headers.
func (r *recorder) brokenAnswer(ctx context.Context, err error) (fault.Cause, string) {
	if ctx.Err() != nil {
		return r.cancelled(ctx, fault.PhaseResponse)
	}
	if isTimeout(err) {
		return fault.CauseTimeout, fmt.Sprintf("The answer of %s stopped before its end", r.host)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fault.CauseReset, fmt.Sprintf("%s closed the connection before the end of its answer", r.host)
	}
	return fault.CauseReset, fmt.Sprintf("The connection to %s broke before the end of its answer (%s)", r.host, plainError(err))
}

// starved reports whether a dial failed for want of a file descriptor of our
// own. The resolver does not always say so: without one it cannot read its
// files, nor ask, and takes the name for unknown.
func starved(e *dialError) bool {
	if fault.OutOfFiles(e.err) {
		return true
	}
	if e.phase != fault.PhaseResolve {
		return false
	}
	f, err := os.Open(os.DevNull)
	if err == nil {
		_ = f.Close()
	}
	return fault.OutOfFiles(err)
}

// dialFailure fills in why no connection came about.
func (r *recorder) dialFailure(out *fault.Outcome, e *dialError) {
	out.Phase, out.Suspect = e.phase, e.addr
	who := e.addr
	if e.proxy {
		who = "our proxy " + e.addr
	}
	switch e.phase {
	case fault.PhaseResolve:
		out.Cause, out.Detail = fault.CauseDNS, dnsDetail(e)
	case fault.PhaseConnect:
		out.Cause, out.Detail, out.Suspect = connectDetail(e, who)
	case fault.PhaseProxy:
		out.Cause, out.Detail = proxyDetail(e)
	default:
		out.Cause, out.Detail, out.Suspect = tlsDetail(e.err, e.addr)
	}
	// What keeps us from our own proxy says nothing about the partner.
	if e.proxy && out.Cause != fault.CauseProxyAuth {
		out.Cause = fault.CauseProxy
	}
}

func dnsDetail(e *dialError) string {
	host, _, _ := net.SplitHostPort(e.addr)
	dns, _ := errors.AsType[*net.DNSError](e.err)
	switch {
	case dns == nil:
		return fmt.Sprintf("The name %s could not be looked up", host)
	case dns.IsNotFound:
		return fmt.Sprintf("The name %s does not exist in DNS", host)
	case dns.IsTimeout || isTimeout(e.err):
		return fmt.Sprintf("The name server did not answer in time for %s", host)
	}
	return fmt.Sprintf("The name %s could not be looked up: the name server failed", host)
}

func connectDetail(e *dialError, who string) (fault.Cause, string, string) {
	at := e.addr
	if op, ok := errors.AsType[*net.OpError](e.err); ok && op.Addr != nil {
		at = op.Addr.String()
	}
	if at != e.addr {
		who += " (" + at + ")"
	}
	switch {
	case errors.Is(e.err, syscall.ECONNREFUSED):
		return fault.CauseRefused, "Connection refused by " + who, at
	case isTimeout(e.err):
		return fault.CauseConnectTimeout, "No connection to " + who + " in the time allowed", at
	case errors.Is(e.err, syscall.EHOSTUNREACH), errors.Is(e.err, syscall.ENETUNREACH),
		errors.Is(e.err, syscall.EHOSTDOWN), errors.Is(e.err, syscall.ENETDOWN),
		errors.Is(e.err, syscall.EADDRNOTAVAIL), errors.Is(e.err, syscall.EACCES), errors.Is(e.err, syscall.EPERM):
		return fault.CauseUnreachable, fmt.Sprintf("No route to %s (%s)", who, plainError(e.err)), at
	case isReset(e.err):
		return fault.CauseReset, "Connection reset by " + who + " while it was opened", at
	}
	return fault.CauseUnreachable, fmt.Sprintf("No connection to %s (%s)", who, plainError(e.err)), at
}

func proxyDetail(e *dialError) (fault.Cause, string) {
	refusal, refused := errors.AsType[*proxyRefusal](e.err)
	switch {
	case refused && refusal.status == 407:
		return fault.CauseProxyAuth, fmt.Sprintf("Our proxy %s refuses our login (407)", e.addr)
	case refused:
		return fault.CauseProxy, fmt.Sprintf("Our proxy %s refused to connect us: %s", e.addr, clean(refusal.text, 100))
	case isTimeout(e.err):
		return fault.CauseProxy, fmt.Sprintf("Our proxy %s did not answer in time", e.addr)
	}
	return fault.CauseProxy, fmt.Sprintf("Our proxy %s did not open the connection (%s)", e.addr, plainError(e.err))
}

// connectionFailure fills in why a connection in use broke before a status
// was read.
func (r *recorder) connectionFailure(out *fault.Outcome, err error) {
	if r.conn != nil {
		// What was read tells more than the write that failed because of it.
		err = errors.Join(r.conn.wire().readErr, err)
	}
	if detail, ok := r.clientCertificateRefused(err); ok {
		// The partner's handshake never ended, so it read no byte of ours as
		// a request (RFC 8446 §4.4.2.4: TLS 1.3 refuses after our Finished).
		out.Phase, out.Cause, out.Detail = fault.PhaseTLS, fault.CauseTLS, detail
		return
	}
	where := map[fault.Phase]string{
		fault.PhaseRequest: "before anything was sent",
		fault.PhaseBody:    "while the document was being sent",
		fault.PhaseSent:    "after everything was sent, without an answer",
	}[out.Phase]
	out.Cause = fault.CauseReset
	switch {
	case r.answered && (errors.Is(err, io.ErrUnexpectedEOF) || isReset(err)):
		out.Detail = fmt.Sprintf("%s closed the connection within the headers of its answer", r.host)
	case r.answered:
		out.Detail = fmt.Sprintf("%s answered with something that is not HTTP, or with more than %d KiB of headers", r.host, maxHeader>>10)
	case isTimeout(err):
		out.Cause, out.Detail = fault.CauseTimeout, fmt.Sprintf("The connection to %s timed out %s", r.host, where)
	case out.Phase == fault.PhaseNone:
		out.Cause, out.Suspect = fault.CauseBuild, ""
		out.Detail = fmt.Sprintf("The request cannot be sent (%s)", plainError(err))
	default:
		out.Detail = fmt.Sprintf("%s closed the connection %s", r.host, where)
	}
}

// plainError is the innermost reason, without addresses, URLs or credentials.
func plainError(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return clean(err.Error(), 200)
		}
		err = inner
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
