package as4

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"edigw/as4/ebms"
	"edigw/internal/scratch"
)

// PullResult is what came of a pull of ours.
type PullResult struct {
	Empty     bool         // nothing waits (EBMS:0006)
	Errors    []ebms.Error // of the partner, not believed: they settle nothing
	Problem   string       // why what came is none of these and no message, in one sentence; empty: it is
	MessageID string       // of the message that came; empty: none
	Accepted  bool         // it was taken; its receipt, if one is due, is owed
	Duplicate bool         // it was taken before
	Code      string       // why it was refused, for the partner
}

// TakePulled takes the response to a PullRequest of ours to partner. A message in
// it goes the way of one that was pushed: it is kept with its answer before
// TakePulled returns, and the answer, which has no response to go into, is owed
// to the P-Mode's URL. Body is read to its end, or to the limit of
// Options.Body. The error is one of ours, after which the message must be
// pulled again; what the partner did wrong is in the PullResult.
func (h *Handler) TakePulled(ctx context.Context, partner string, p PMode, header http.Header, body io.Reader) (PullResult, error) {
	f, err := framingOf(header.Get("Content-Type"))
	if err != nil {
		return pulledOtherwise(header, body, err), nil
	}
	u := newUpload(http.MaxBytesReader(nil, io.NopCloser(body), h.o.Body), h.o.Room.Space(h.o.Scratch, partner, "pulled"))
	defer u.close()
	f.room = &envelopeShare{of: &h.envelopes, address: "pulled from " + partner}
	defer f.room.free()
	env, err := h.envelope(f, u)
	if err == nil || env != nil {
		if failed := u.finish(); failed != nil {
			err = failed
		}
	}
	switch {
	case errors.Is(err, scratch.ErrDisk):
		return PullResult{}, err
	case errors.Is(err, errBroken):
		return PullResult{Problem: "The answer broke off: " + err.Error()}, nil
	case env != nil && env.User != nil:
		a := arrival{h: h, from: partner, header: header, framing: f, upload: u, env: env}
		if err := a.acknowledge(ctx); err != nil {
			return PullResult{}, err
		}
		return h.takePulled(ctx, partner, p, delivery{
			h: h, framing: f, env: env, problem: err, pulled: true,
			header: header, wire: u.wire, layer: u.layer, size: u.layer.Size(), sum: u.digest(), space: u.space,
		})
	}
	return pulledSignal(env, err), nil
}

// pulledOtherwise reads what has another Content-Type than a message: it may be
// an error all the same.
// QUIRK(phase4): errors come as text/plain.
func pulledOtherwise(header http.Header, body io.Reader, why error) PullResult {
	content, err := io.ReadAll(io.LimitReader(body, maxSignal))
	if err == nil {
		if env, _ := readSignal(header, content); env != nil && env.User == nil {
			return pulledSignal(env, why)
		}
	}
	return PullResult{Problem: "The answer is no AS4 message: " + why.Error()}
}

// pulledSignal tells what is there in place of a message.
func pulledSignal(env *ebms.Envelope, err error) PullResult {
	switch {
	case env != nil && env.Errors() != nil:
		told := env.Errors().Errors
		empty := slices.ContainsFunc(told, func(e ebms.Error) bool { return code(e) == codeEmpty })
		return PullResult{Empty: empty, Errors: told}
	case env != nil && env.Fault != nil:
		return PullResult{Problem: "They answered with a " + env.Fault.Error()}
	case err != nil:
		return PullResult{Problem: "The answer cannot be read: " + err.Error()}
	}
	return PullResult{Problem: "The answer holds neither a message nor an error"}
}

// takePulled receives a pulled message under the P-Mode that it was pulled by: it
// must be from that very partner.
func (h *Handler) takePulled(ctx context.Context, partner string, p PMode, d delivery) (PullResult, error) {
	found, err := h.delivery(d.env, d.problem)
	switch {
	case errors.Is(err, ErrNoPMode) || err == nil && found.partner != partner:
		d.problem = &MismatchError{Code: codeValue, Field: "From", Got: partyText(d.env.User.From), Want: partyText(p.To)}
	case err != nil:
		return PullResult{}, err
	default:
		d.problem = found.problem
	}
	d.p, d.partner = p, partner
	_, rec, err := d.receive(ctx)
	if err != nil {
		return PullResult{}, err
	}
	return PullResult{MessageID: rec.MessageID, Accepted: rec.Accepted, Duplicate: d.duplicate, Code: rec.Code, Problem: rec.Problem}, nil
}
