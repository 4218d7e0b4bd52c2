package as4

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"edigw/fault"
	"edigw/internal/exchange"
)

// maxReply is the most of an answer that is kept, also once it is decompressed.
const maxReply = 1 << 20

// headSize is how much of an answer an Outcome keeps.
const headSize = 4 << 10

// Send posts the wire bytes of a build once, with the stored Content-Type, and
// reads the answer; so it does with a signal of ours that goes out by itself. The
// credentials are those that the P-Mode has now. body opens the wire bytes; it is
// called once. Nothing is retried and no redirect followed; c should come from
// package exchange.
//
// The Outcome holds the facts of the transport only: Interpret reads the Reply.
// Send blocks as long as ctx and lim allow.
func Send(ctx context.Context, c *http.Client, p PMode, r Rendition, body func() (io.ReadCloser, error), lim exchange.Limits) (Reply, fault.Outcome) {
	wire, err := body()
	if err != nil {
		return Reply{}, fault.Outcome{Cause: fault.CausePayload, Detail: "The stored message cannot be read: " + err.Error(), AckAsked: r.Ack}
	}
	req, wrong := p.request(ctx, r.ContentType, r.Size, wire)
	if wrong != nil {
		wire.Close()
		wrong.AckAsked = r.Ack
		return Reply{}, *wrong
	}
	res, out := exchange.Do(ctx, c, req, lim)
	out.AckAsked = r.Ack
	if res == nil {
		return Reply{}, out
	}
	reply := Reply{Status: res.Status, Header: res.Header, Body: res.Body, Truncated: res.Truncated}
	reply.decompress()
	out.Head = reply.Body[:min(len(reply.Body), headSize)]
	return reply, out
}

// request is a POST to the partner. wrong says that there can be none.
func (p PMode) request(ctx context.Context, contentType string, size int64, body io.Reader) (req *http.Request, wrong *fault.Outcome) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, body)
	if err != nil || req.URL.Host == "" {
		return nil, &fault.Outcome{Cause: fault.CauseBuild, Detail: "as4.url is not a URL", Suspect: "as4.url"}
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", cmp.Or(p.ProductHeader, "edigw"))
	if p.AuthUser != "" {
		req.SetBasicAuth(p.AuthUser, p.AuthPassword) // at once: a challenge would cost the whole document twice
	}
	return req, nil
}

// decompress undoes a Content-Encoding that nobody asked for, as far as it is
// whole and not too long. What cannot be read stays as it came.
// QUIRK(servers behind some proxies): gzip without an Accept-Encoding.
func (r *Reply) decompress() {
	header := http.Header(r.Header)
	switch strings.ToLower(strings.TrimSpace(header.Get("Content-Encoding"))) {
	case "gzip", "x-gzip":
	default:
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxReply+1))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	r.Truncated = r.Truncated || err != nil || len(plain) > maxReply
	r.Body = plain[:min(len(plain), maxReply)]
	header = header.Clone()
	header.Del("Content-Encoding")
	header.Del("Content-Length")
	r.Header = header
}

// Interpret completes the outcome of Send with what the reply says: the receipt,
// error or fault in it, if it carries one, judged against all builds that were
// sent under this MessageId. A reply that is no SOAP (a page, nothing) leaves Ack
// nil and Protocol false; SOAP that acknowledges nothing leaves Ack nil. A receipt
// from a partner who got nothing yet counts only if its digests show that he has
// the message from before (see exchange.Do).
func Interpret(out fault.Outcome, reply Reply, sent []Rendition, p PMode, now time.Time) (fault.Outcome, Signal) {
	ack, signal := VerifySignal(reply.Header, reply.Body, sent, p, now)
	if ack.Verdict == fault.AckNone {
		out.Protocol = signal.Kind != "" || signal.Problem != ""
		out.Detail = cmp.Or(out.Detail, signal.Problem)
		return out, signal
	}
	if !out.Phase.Reached() && ack.Positive && len(signal.References) == 0 {
		return out, Signal{} // nothing was sent, and nothing shows that they have it from before
	}
	out.Protocol = true
	out.Ack, out.Status = &ack, reply.Status
	out.Detail = cmp.Or(out.Detail, signal.Problem)
	return out, signal
}
