package as2

import (
	"context"
	"io"
	"net/http"

	"edigw/fault"
	"edigw/internal/exchange"
)

// Reply is what a partner answered in the same exchange. The zero Reply is
// none.
type Reply struct {
	Status    int
	Header    http.Header
	Body      []byte // at most 1 MiB
	Truncated bool   // the body ended before its end, or is longer
}

// Send posts the wire bytes of a build once, with the stored headers, and reads
// the answer. Whether the body goes out with its length or in chunks, and
// whether the partner is asked first, is as the agreement has it now, and so are
// the credentials. body opens the wire bytes; it is called once. Nothing is
// retried and no redirect followed; c should come from package exchange.
//
// The Outcome holds the facts of the transport only: Interpret reads the Reply.
// Send blocks as long as ctx and lim allow.
func Send(ctx context.Context, c *http.Client, a Agreement, r Rendition, body func() (io.ReadCloser, error), lim exchange.Limits) (Reply, fault.Outcome) {
	wire, err := body()
	if err != nil {
		return Reply{}, fault.Outcome{Cause: fault.CausePayload, Detail: "The stored message cannot be read: " + err.Error(), AckAsked: r.Ack}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, wire)
	if err != nil {
		wire.Close()
		return Reply{}, fault.Outcome{Cause: fault.CauseBuild, Detail: "as2.url is not a URL", Suspect: "as2.url", AckAsked: r.Ack}
	}
	req.ContentLength = r.Size
	switch {
	case r.Size == 0:
		wire.Close()
		req.Body = http.NoBody // else an empty body goes out without Content-Length
	case a.Chunked:
		// QUIRK(Liaison, iSoft, old ones): take no chunks, so Content-Length is what
		// goes out unless the partner's file says otherwise.
		req.ContentLength = -1
	}
	lim.Expect = a.ExpectContinue
	for _, f := range r.Headers {
		// The spelling of RFC 4130 is kept where net/http would write As2-From.
		if canonical := http.CanonicalHeaderKey(f.Name); canonical == "User-Agent" {
			req.Header[canonical] = []string{f.Value}
		} else {
			req.Header[f.Name] = []string{f.Value}
		}
	}
	if a.AuthUser != "" {
		req.SetBasicAuth(a.AuthUser, a.AuthPassword) // at once: a challenge would cost the whole document twice
	}
	res, out := exchange.Do(ctx, c, req, lim)
	out.AckAsked = r.Ack
	if res == nil {
		return Reply{}, out
	}
	if res.Status == http.StatusExpectationFailed && a.ExpectContinue {
		out.Suspect = "as2.expect_continue"
		out.Detail = "The partner does not let itself be asked before a document is sent (417): set as2.expect_continue to false, then replay"
	}
	return Reply{Status: res.Status, Header: res.Header, Body: res.Body, Truncated: res.Truncated}, out
}

// Interpret completes the outcome of Send with what the reply says: the
// acknowledgement, if it carries one, verified against all builds that were
// sent under this Message-ID. A reply that is no MDN (a page, nothing) leaves
// Ack nil and Protocol false. The MDN is zero then. So it is with one that says
// yes and names no digest before it got the document (see exchange.Do).
func Interpret(out fault.Outcome, reply Reply, sent []Rendition, a Agreement) (fault.Outcome, MDN) {
	ack, mdn := VerifyMDN(reply.Header, reply.Body, sent, a)
	if ack.Verdict == fault.AckNone {
		return out, MDN{}
	}
	if !out.Phase.Reached() && ack.Positive && mdn.MIC == (MIC{}) {
		return out, MDN{} // nothing was sent, and nothing shows that they have it from before
	}
	out.Protocol = true
	out.Ack, out.Status = &ack, reply.Status // also if it came instead of 100 Continue
	if out.Detail == "" {
		out.Detail = mdn.Problem
	}
	return out, mdn
}
