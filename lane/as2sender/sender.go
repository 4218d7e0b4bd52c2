// Package as2sender carries messages of a lane to AS2 partners: it joins the
// protocol (as2), the settings in force (partner) and the files (spool), and
// meets lane.Sender.
//
// It decides nothing: what an outcome means is retry's, what follows is
// queue's, when something starts is lane's.
package as2sender

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime"
	"time"

	"edigw/as2"
	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
)

// Builds reads the builds of a message, oldest first.
type Builds interface {
	Builds(ctx context.Context, message string) ([]queue.Build, error)
}

// Options is what a Sender needs; all fields but Product and Cores are required.
type Options struct {
	Product  string                   // "edigw/1.4": told to partners of AS2 1.3, who want to know
	Settings func() *partner.Snapshot // in force now; must not block
	Spool    *spool.Spool
	Builds   Builds
	Now      func() time.Time // wall clock
	Log      *slog.Logger
	Cores    int // messages built at once; 0: one for each processor
}

// Sender sends to AS2 partners. All methods may be called concurrently.
type Sender struct {
	Options
	clients clients
	cores   chan struct{} // a place for each message that is being built
}

// New gives a Sender; it opens nothing.
func New(o Options) *Sender {
	if o.Cores <= 0 {
		o.Cores = runtime.GOMAXPROCS(0)
	}
	return &Sender{Options: o, clients: clients{now: o.Now, held: map[string]*client{}}, cores: make(chan struct{}, o.Cores)}
}

// Prepare meets lane.Sender. The stored wire bytes of the newest build are
// taken as they are, unless the agreement changed since or they are gone.
func (s *Sender) Prepare(ctx context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	a, err := s.Settings().Agreement(m.Partner, s.Now())
	if err != nil {
		return queue.Build{}, false, failed(err)
	}
	why := ""
	if n := len(builds); n > 0 {
		last := builds[n-1]
		if why, err = s.outdated(last, a); err != nil {
			return queue.Build{}, false, failed(err)
		}
		if why == "" {
			return last, false, nil
		}
	}
	b, err := s.build(ctx, m, a, len(builds)+1)
	if err != nil {
		return queue.Build{}, false, failed(err)
	}
	b.Why = why
	return b, true, nil
}

// outdated says why a build cannot be sent again, or "". While that cannot be
// told it fails: other bytes under the same Message-ID are for those cases only
// (delivery.md §2).
func (s *Sender) outdated(b queue.Build, a as2.Agreement) (string, error) {
	if b.Agreement != a.Fingerprint() {
		return "certificate, algorithm or identity changed since it was built", nil
	}
	gone, err := s.gone(b)
	if err != nil || !gone {
		return "", err
	}
	return "the wire bytes were gone (restored from a backup?)", nil
}

// gone reports whether the wire bytes of a build are not there as they were
// made. What cannot be read now is not gone: that is an error.
func (s *Sender) gone(b queue.Build) (bool, error) {
	size, err := s.Spool.Size(spool.Wire, b.SHA256)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, unread(err)
	}
	return size != b.Size, nil
}

// unread is an error of reading what is stored of a message.
func unread(err error) error {
	return fmt.Errorf("%w: the stored message cannot be read: %w", as2.ErrPayload, err)
}

// build writes the wire bytes of m into the spool.
func (s *Sender) build(ctx context.Context, m queue.Message, a as2.Agreement, n int) (queue.Build, error) {
	payload, err := s.Spool.Open(spool.Payload, m.Payload.SHA256)
	if err != nil {
		return queue.Build{}, fmt.Errorf("%w: %w", as2.ErrPayload, err)
	}
	defer payload.Close()
	w, err := s.Spool.Create(spool.Wire, 0)
	if err != nil {
		return queue.Build{}, err
	}
	defer w.Abort()
	if a.Version == "1.3" {
		a.ProductHeader = s.Product
	}
	now := s.Now()
	r, err := s.compute(ctx, w, a, document(m, now), payload, now)
	if err != nil {
		return queue.Build{}, err
	}
	name, size, err := w.Commit()
	if err != nil {
		return queue.Build{}, err
	}
	if name != r.SHA256 || size != r.Size {
		return queue.Build{}, fmt.Errorf("the spool holds %s (%d bytes) for wire bytes %s (%d bytes)", name, size, r.SHA256, r.Size)
	}
	record, err := json.Marshal(r)
	if err != nil {
		return queue.Build{}, err
	}
	return queue.Build{
		Message: m.ID, N: n, MessageID: r.MessageID, SHA256: r.SHA256, Size: r.Size, AckAsked: r.Ack,
		Token: r.Token, Agreement: r.Agreement, Record: record, Created: now,
	}, nil
}

// compute builds on one of few processors. Waiting for the disk comes later: it
// takes no place, so that the bytes of many messages become durable together.
func (s *Sender) compute(ctx context.Context, w io.Writer, a as2.Agreement, d as2.Document, payload io.ReadSeeker, now time.Time) (as2.Rendition, error) {
	select {
	case s.cores <- struct{}{}:
	case <-ctx.Done():
		return as2.Rendition{}, ctx.Err()
	}
	defer func() { <-s.cores }()
	return as2.Build(stoppable{ctx, w}, a, d, payload, now, nil)
}

func document(m queue.Message, now time.Time) as2.Document {
	d := as2.Document{
		MessageID: m.MessageID, ContentType: m.Payload.ContentType, FileName: m.Payload.FileName, Reference: m.Key,
		Size: m.Payload.Size, Token: token(), Date: now,
	}
	for _, r := range m.Business.References {
		if r.Name != "interchange" && r.Name != "group" && r.Name != "sender" && r.Name != "receiver" {
			d.Reference = r.Value
			break
		}
	}
	return d
}

// token is what the URL of an asynchronous receipt carries: 128 random bits.
func token() string {
	var b [16]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// failed tells an error of our own side as facts. A store that does not answer
// now, a full disk, too few file descriptors and the end of ctx pass by
// themselves: the message is tried again and becomes no letter.
func failed(err error) *fault.Outcome {
	if passes(err) {
		return &fault.Outcome{Cause: fault.CauseStopped, Detail: err.Error()}
	}
	o := as2.BuildOutcome(err)
	return &o
}

// passes reports whether an error goes by itself.
func passes(err error) bool {
	return fault.OutOfFiles(err) || errors.Is(err, queue.ErrUnavailable) || errors.Is(err, queue.ErrNoSpace) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// stoppable ends a long write when ctx does.
type stoppable struct {
	ctx context.Context
	w   io.Writer
}

func (s stoppable) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

// Exchange meets lane.Sender.
func (s *Sender) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	snapshot := s.Settings()
	r, err := rendition(b)
	if err != nil {
		return fault.Outcome{Cause: fault.CauseBuild, Detail: err.Error(), AckAsked: b.AckAsked}, ""
	}
	a, err := snapshot.Agreement(m.Partner, s.Now())
	if err != nil {
		return s.local(b, err), ""
	}
	c, limits, err := s.client(snapshot, m.Partner)
	if err != nil {
		return s.local(b, err), ""
	}
	wire, err := s.Spool.Open(spool.Wire, b.SHA256)
	if err != nil {
		return s.local(b, unread(err)), ""
	}
	reply, o := as2.Send(ctx, c, a, r, func() (io.ReadCloser, error) { return wire, nil }, limits)
	o.AckAsked = b.AckAsked
	if reply.Status == 0 {
		return o, ""
	}
	o, _ = as2.Interpret(o, reply, s.sent(ctx, m, b.N, r), a)
	if o.Ack == nil {
		return o, ""
	}
	raw, err := s.keep(as2.Receipt{Header: reply.Header, Body: reply.Body})
	if err != nil {
		s.Log.Error("a receipt could not be kept as evidence", "partner", m.Partner, "message", m.ID, "err", err)
	}
	return o, raw
}

func (s *Sender) local(b queue.Build, err error) fault.Outcome {
	o := *failed(err)
	o.AckAsked = b.AckAsked
	return o
}

// sent are the renditions that a receipt may fit: r of build n, and every earlier build
// that went out, since a partner may answer a repeat with his first receipt.
func (s *Sender) sent(ctx context.Context, m queue.Message, n int, r as2.Rendition) []as2.Rendition {
	if n == 1 { // there is no earlier one
		return []as2.Rendition{r}
	}
	builds, err := s.Builds.Builds(ctx, m.ID)
	if err != nil {
		return []as2.Rendition{r}
	}
	return append([]as2.Rendition{r}, renditions(builds, r.SHA256)...)
}

// renditions are those of the builds that were sent, without the one whose
// wire bytes are except.
func renditions(builds []queue.Build, except string) []as2.Rendition {
	var out []as2.Rendition
	for _, b := range builds {
		if r, err := rendition(b); err == nil && b.Sent && b.SHA256 != except {
			out = append(out, r)
		}
	}
	return out
}

func rendition(b queue.Build) (r as2.Rendition, err error) {
	if err := json.Unmarshal(b.Record, &r); err != nil {
		return r, fmt.Errorf("build %d of message %s cannot be read back: %w", b.N, b.Message, err)
	}
	return r, nil
}

// keep makes a raw receipt durable and returns its spool name.
func (s *Sender) keep(r as2.Receipt) (string, error) {
	w, err := s.Spool.Create(spool.Receipt, 0)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if err := r.Write(w); err != nil {
		return "", err
	}
	name, _, err := w.Commit()
	return name, err
}

// Judge meets lane.Sender: an acknowledgement that came by itself, or a kept
// one that is verified again under today's certificates and settings.
func (s *Sender) Judge(_ context.Context, m queue.Message, builds []queue.Build, raw string) fault.Outcome {
	f, err := s.Spool.Open(spool.Receipt, raw)
	if err != nil {
		return *failed(fmt.Errorf("%w: the kept receipt cannot be read: %w", as2.ErrPayload, err))
	}
	defer f.Close()
	receipt, err := as2.ReadReceipt(f)
	if err != nil {
		return fault.Outcome{Cause: fault.CausePayload, Detail: err.Error()}
	}
	a, err := s.Settings().Acknowledging(m.Partner, firstSent(builds, m.Accepted), s.Now())
	if err != nil {
		return *failed(err)
	}
	o := fault.Outcome{Phase: fault.PhaseDone, Protocol: true, AckAsked: m.AckAsked}
	if n := len(builds); n > 0 {
		o.AckAsked = builds[n-1].AckAsked
	}
	ack, mdn := as2.VerifyMDN(receipt.Header, receipt.Body, renditions(builds, ""), a)
	if ack.Verdict == fault.AckNone {
		o.Protocol, o.Detail = false, "what was kept is no receipt"
		return o
	}
	ack.Token = genuine(builds, receipt.Token)
	o.Ack, o.Detail = &ack, ""
	if mdn.Problem != "" {
		o.Detail = mdn.Problem
	}
	return o
}

// firstSent is when the oldest build that went out was made.
func firstSent(builds []queue.Build, otherwise time.Time) time.Time {
	for _, b := range builds {
		if b.Sent {
			return b.Created
		}
	}
	return otherwise
}

// genuine reports whether t is the token of a build that was sent.
func genuine(builds []queue.Build, t string) bool {
	ok := false
	for _, b := range builds {
		if b.Sent && b.Token != "" && subtle.ConstantTimeCompare([]byte(b.Token), []byte(t)) == 1 {
			ok = true
		}
	}
	return ok
}

// Check meets lane.Sender.
func (s *Sender) Check(ctx context.Context, id string) fault.Outcome {
	return s.Report(ctx, id).Outcome
}

// Report contacts a partner without a document and tells each step.
func (s *Sender) Report(ctx context.Context, id string) exchange.Report {
	snapshot := s.Settings()
	p, ok := snapshot.Partner(id)
	if !ok || p.AS2 == nil {
		return exchange.Report{Outcome: *failed(fmt.Errorf("%s: %w", id, partner.ErrUnknown))}
	}
	c, limits, err := s.client(snapshot, id)
	if err != nil {
		return exchange.Report{Outcome: *failed(err)}
	}
	return exchange.Check(ctx, c, p.AS2.Template.URL, limits)
}
