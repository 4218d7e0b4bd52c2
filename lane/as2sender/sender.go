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
	"fmt"
	"io"
	"log/slog"
	"time"

	"edigw/as2"
	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/lane/wire"
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
	desk *wire.Desk
}

// New gives a Sender; it opens nothing.
func New(o Options) *Sender {
	return &Sender{Options: o, desk: wire.New(o.Spool, o.Now, o.Cores)}
}

// Prepare meets lane.Sender. The stored wire bytes of the newest build are
// taken as they are, unless the agreement changed since or they are gone.
func (s *Sender) Prepare(ctx context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	a, err := s.Settings().Agreement(m.Partner, s.Now())
	if err != nil {
		return queue.Build{}, false, wire.Failed(err)
	}
	why := ""
	if n := len(builds); n > 0 {
		last := builds[n-1]
		if why, err = s.desk.Outdated(last, a.Fingerprint()); err != nil {
			return queue.Build{}, false, wire.Failed(err)
		}
		if why == "" {
			return last, false, nil
		}
	}
	b, err := s.build(ctx, m, a, len(builds)+1)
	if err != nil {
		return queue.Build{}, false, wire.Failed(err)
	}
	b.Why = why
	return b, true, nil
}

// build writes the wire bytes of m into the spool.
func (s *Sender) build(ctx context.Context, m queue.Message, a as2.Agreement, n int) (queue.Build, error) {
	payload, err := s.desk.Document(m)
	if err != nil {
		return queue.Build{}, err
	}
	defer payload.Close()
	if a.Version == "1.3" {
		a.ProductHeader = s.Product
	}
	now := s.Now()
	var r as2.Rendition
	err = s.desk.Build(ctx, func(w io.Writer) (_ string, _ int64, err error) {
		r, err = as2.Build(w, a, document(m, now), payload, now, nil)
		return r.SHA256, r.Size, err
	})
	if err != nil {
		return queue.Build{}, err
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
	c, limits, err := s.desk.Client(snapshot, m.Partner)
	if err != nil {
		return s.local(b, err), ""
	}
	body, err := s.desk.Open(b)
	if err != nil {
		return s.local(b, err), ""
	}
	reply, o := as2.Send(ctx, c, a, r, func() (io.ReadCloser, error) { return body, nil }, limits)
	o.AckAsked = b.AckAsked
	if reply.Status == 0 {
		return o, ""
	}
	o, _ = as2.Interpret(o, reply, s.sent(ctx, m, b.N, r), a)
	if o.Ack == nil {
		return o, ""
	}
	raw, err := s.desk.Keep(as2.Receipt{Header: reply.Header, Body: reply.Body}.Write)
	if err != nil {
		s.Log.Error("a receipt could not be kept as evidence", "partner", m.Partner, "message", m.ID, "err", err)
	}
	return o, raw
}

func (s *Sender) local(b queue.Build, err error) fault.Outcome {
	o := *wire.Failed(err)
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

// Judge meets lane.Sender: an acknowledgement that came by itself, or a kept
// one that is verified again under today's certificates and settings.
func (s *Sender) Judge(_ context.Context, m queue.Message, builds []queue.Build, raw string) fault.Outcome {
	f, err := s.Spool.Open(spool.Receipt, raw)
	if err != nil {
		return *wire.Failed(fmt.Errorf("%w: the kept receipt cannot be read: %w", fault.ErrPayload, err))
	}
	defer f.Close()
	receipt, err := as2.ReadReceipt(f)
	if err != nil {
		return fault.Outcome{Cause: fault.CausePayload, Detail: err.Error()}
	}
	a, err := s.Settings().Acknowledging(m.Partner, wire.FirstSent(builds, m.Accepted), s.Now())
	if err != nil {
		return *wire.Failed(err)
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
		return exchange.Report{Outcome: *wire.Failed(fmt.Errorf("%s: %w", id, partner.ErrUnknown))}
	}
	c, limits, err := s.desk.Client(snapshot, id)
	if err != nil {
		return exchange.Report{Outcome: *wire.Failed(err)}
	}
	return exchange.Check(ctx, c, p.AS2.Template.URL, limits)
}
