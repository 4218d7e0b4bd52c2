// Package as4sender carries messages of a lane to AS4 partners: it joins the
// protocol (as4), the settings in force (partner) and the files (spool), and
// meets lane.Sender. It also fetches what partners hold for us (Fetcher), which
// as4 and the inbox then receive.
//
// It decides nothing: what an outcome means is retry's, what follows is
// queue's, when something starts is lane's.
package as4sender

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/internal/scratch"
	"edigw/lane/directory"
	"edigw/lane/wire"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
)

// Store reads what a message refers to.
type Store interface {
	Builds(ctx context.Context, message string) ([]queue.Build, error) // oldest first
	Message(ctx context.Context, id string) (queue.Message, error)     // queue.ErrNotFound if there is none
}

// Options is what a Sender needs; all fields but Product and Cores are required.
type Options struct {
	Product  string                   // "edigw/1.4"
	Settings func() *partner.Snapshot // in force now; must not block
	Spool    *spool.Spool
	Rooms    *scratch.Rooms // for payloads while they are compressed
	Scratch  string         // folder of those
	Store    Store
	Now      func() time.Time // wall clock
	Log      *slog.Logger
	Cores    int // messages built at once; 0: one for each processor
}

// Sender sends to AS4 partners. All methods may be called concurrently.
type Sender struct {
	Options
	desk      *wire.Desk
	directory *directory.Directory
	points    points
}

// New gives a Sender; it opens nothing.
func New(o Options) *Sender {
	return &Sender{Options: o, desk: wire.New(o.Spool, o.Now, o.Cores), directory: directory.New(o.Now)}
}

// Prepare meets lane.Sender. The stored wire bytes of the newest build are
// taken as they are, unless the P-Mode changed since or they are gone. While the
// directory of a network does not answer, a message that was never built is
// given without a build: Exchange says why then.
func (s *Sender) Prepare(ctx context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	t, fail := s.terms(ctx, s.Settings(), m)
	switch {
	case fail != nil && awaited(*fail) && len(builds) > 0:
		return builds[len(builds)-1], false, nil
	case fail != nil && awaited(*fail):
		return queue.Build{AckAsked: acknowledged(t.p)}, false, nil
	case fail != nil:
		return queue.Build{}, false, fail
	}
	why, err := "", error(nil)
	if n := len(builds); n > 0 {
		last := builds[n-1]
		if why, err = s.desk.Outdated(last, t.agreement); err != nil {
			return queue.Build{}, false, wire.Failed(err)
		}
		if why == "" {
			return last, false, nil
		}
	}
	b, err := s.build(ctx, m, t, len(builds)+1)
	if err != nil {
		return queue.Build{}, false, barred(err)
	}
	b.Why = why
	return b, true, nil
}

// build writes the wire bytes of m into the spool.
func (s *Sender) build(ctx context.Context, m queue.Message, t terms, n int) (queue.Build, error) {
	space := s.Rooms.Space(s.Scratch, m.Partner, "")
	defer space.Close()
	d, done, err := s.document(ctx, m, space)
	if err != nil {
		return queue.Build{}, err
	}
	defer done()
	t.p.ProductHeader = s.Product
	var r as4.Rendition
	err = s.desk.Build(ctx, func(w io.Writer) (_ string, _ int64, err error) {
		r, err = as4.Build(w, t.p, d, space, s.Now())
		return r.SHA256, r.Size, err
	})
	if err != nil {
		return queue.Build{}, err
	}
	kept, err := json.Marshal(record{r, t.point})
	if err != nil {
		return queue.Build{}, err
	}
	return queue.Build{
		Message: m.ID, N: n, MessageID: r.MessageID, SHA256: r.SHA256, Size: r.Size, AckAsked: r.Ack,
		Agreement: t.agreement, Record: kept, Created: d.Timestamp,
	}, nil
}

// document is what m carries; done closes its payloads.
func (s *Sender) document(ctx context.Context, m queue.Message, space *scratch.Space) (d as4.Document, done func(), err error) {
	d = as4.Document{MessageID: m.MessageID, Timestamp: s.Now()}
	if d.RefToMessageID, d.ConversationID, err = s.answers(ctx, m); err != nil {
		return d, nil, err
	}
	stored, err := s.desk.Document(m)
	if err != nil {
		return d, nil, err
	}
	if _, related, _ := as2.RelatedBoundary(m.Payload.ContentType); !related {
		d.Payloads = []as4.Payload{{ContentType: m.Payload.ContentType, FileName: m.Payload.FileName, Size: m.Payload.Size, Content: stored}}
		if err = s.wrap(m, &d); err != nil {
			stored.Close()
		}
		return d, func() { stored.Close() }, err
	}
	defer stored.Close()
	err = as2.TakeApart(stored, m.Payload.ContentType, func(part as2.RelatedPart, content io.Reader) error {
		layer := space.New()
		if _, err := io.Copy(layer, content); err != nil {
			return err
		}
		d.Payloads = append(d.Payloads, as4.Payload{ContentType: part.ContentType, FileName: part.Name, Size: layer.Size(), Content: layer.Open()})
		return nil
	})
	if errors.Is(err, as2.ErrRelated) {
		err = fmt.Errorf("%w: %w", fault.ErrPayload, err)
	}
	return d, func() {}, err
}

// answers is the MessageId of the received message that m answers, and the
// conversation of both: the message that the correlation id of m names (two-way
// exchanges, ebMS 3.0 Core §2.2.3 and §5.2.2.9). Empty if it names none of this
// partner's.
func (s *Sender) answers(ctx context.Context, m queue.Message) (messageID, conversation string, err error) {
	if len(m.CorrelationID) != queue.IDLength {
		return "", "", nil
	}
	first, err := s.Store.Message(ctx, m.CorrelationID)
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return "", "", nil
	case err != nil:
		return "", "", err
	case first.Direction != queue.In || first.Partner != m.Partner || first.Protocol != m.Protocol:
		return "", "", nil
	}
	builds, err := s.Store.Builds(ctx, first.ID)
	if err != nil || len(builds) == 0 {
		return first.MessageID, "", err
	}
	var kept arrived
	if err := json.Unmarshal(builds[0].Record, &kept); err != nil {
		return "", "", fmt.Errorf("the record of message %s, which this one answers, cannot be read back: %w", first.ID, err)
	}
	return first.MessageID, kept.Facts.AS4.ConversationID, nil
}

// arrived is what a reply needs of the record that package inbox keeps of a
// received message. Lanes do not know the inbox, so it is read by its names
// alone, which the documents' .json files have too and which do not change.
type arrived struct {
	Facts struct {
		AS4 struct {
			ConversationID string `json:"conversation_id"`
		} `json:"as4"`
	} `json:"facts"`
}

// Exchange meets lane.Sender.
func (s *Sender) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	snapshot := s.Settings()
	t, fail := s.terms(ctx, snapshot, m)
	if fail == nil {
		fail = t.unfit(b)
	}
	if fail != nil {
		o := *fail
		o.AckAsked = b.AckAsked
		return o, ""
	}
	r, err := rendition(b)
	if err != nil {
		return fault.Outcome{Cause: fault.CauseBuild, Detail: err.Error(), AckAsked: b.AckAsked}, ""
	}
	p := t.p
	p.ProductHeader = s.Product
	c, limits, err := s.desk.Client(snapshot, m.Partner)
	if err != nil {
		return local(b, err), ""
	}
	body, err := s.desk.Open(b)
	if err != nil {
		return local(b, err), ""
	}
	reply, o := as4.Send(ctx, c, p, r, func() (io.ReadCloser, error) { return body, nil }, limits)
	o.AckAsked = b.AckAsked
	if reply.Status == 0 {
		s.forget(t, o)
		return o, ""
	}
	o, _ = as4.Interpret(o, reply, s.sent(ctx, m, b.N, r), p, s.Now())
	s.forget(t, o)
	if o.Ack == nil {
		return o, ""
	}
	raw, err := s.desk.Keep(as2.Receipt{Header: reply.Header, Body: reply.Body}.Write)
	if err != nil {
		s.Log.Error("a receipt could not be kept as evidence", "partner", m.Partner, "message", m.ID, "err", err)
	}
	return o, raw
}

// Wire opens the wire bytes of a build that a partner fetches; the caller closes
// them.
func (s *Sender) Wire(b queue.Build) (as4.Rendition, io.ReadCloser, error) {
	r, err := rendition(b)
	if err != nil {
		return r, nil, err
	}
	body, err := s.desk.Open(b)
	return r, body, err
}

func local(b queue.Build, err error) fault.Outcome {
	o := *wire.Failed(err)
	o.AckAsked = b.AckAsked
	return o
}

// sent are the renditions that a receipt may fit: r of build n, and every
// earlier build that went out, since a partner may answer a repeat with his
// first receipt.
func (s *Sender) sent(ctx context.Context, m queue.Message, n int, r as4.Rendition) []as4.Rendition {
	if n == 1 { // there is no earlier one
		return []as4.Rendition{r}
	}
	builds, err := s.Store.Builds(ctx, m.ID)
	if err != nil {
		return []as4.Rendition{r}
	}
	return append([]as4.Rendition{r}, renditions(builds, r.SHA256)...)
}

// renditions are those of the builds that were sent, without the one whose
// wire bytes are except.
func renditions(builds []queue.Build, except string) []as4.Rendition {
	var out []as4.Rendition
	for _, b := range builds {
		if r, err := rendition(b); err == nil && b.Sent && b.SHA256 != except {
			out = append(out, r)
		}
	}
	return out
}

func rendition(b queue.Build) (r as4.Rendition, err error) {
	if err := json.Unmarshal(b.Record, &r); err != nil {
		return r, fmt.Errorf("build %d of message %s cannot be read back: %w", b.N, b.Message, err)
	}
	return r, nil
}

// Judge meets lane.Sender: a receipt or error that came by itself, or a kept
// one that is verified again under today's certificates and settings.
func (s *Sender) Judge(_ context.Context, m queue.Message, builds []queue.Build, raw string) fault.Outcome {
	f, err := s.Spool.Open(spool.Receipt, raw)
	if err != nil {
		return *wire.Failed(fmt.Errorf("%w: the kept receipt cannot be read: %w", fault.ErrPayload, err))
	}
	defer f.Close()
	kept, err := as2.ReadReceipt(f)
	if err != nil {
		return fault.Outcome{Cause: fault.CausePayload, Detail: err.Error()}
	}
	p, err := s.Settings().AcknowledgingPMode(m.Partner, wire.FirstSent(builds, m.Accepted), s.Now())
	if err != nil {
		return *wire.Failed(err)
	}
	o := fault.Outcome{Phase: fault.PhaseDone, Protocol: true, AckAsked: m.AckAsked}
	if n := len(builds); n > 0 {
		o.AckAsked = builds[n-1].AckAsked
	}
	s.knew(&p, builds)
	ack, signal := as4.VerifySignal(kept.Header, kept.Body, renditions(builds, ""), p, s.Now())
	if ack.Verdict == fault.AckNone {
		o.Protocol, o.Detail = false, "what was kept is no receipt"
		return o
	}
	o.Ack, o.Detail = &ack, signal.Problem
	return o
}

// Check meets lane.Sender.
func (s *Sender) Check(ctx context.Context, id string) fault.Outcome {
	return s.Report(ctx, id).Outcome
}

// Report contacts a partner without a document and tells each step.
func (s *Sender) Report(ctx context.Context, id string) exchange.Report {
	snapshot := s.Settings()
	p, err := snapshot.ReceivingPMode(id, s.Now())
	if err != nil {
		return exchange.Report{Outcome: *wire.Failed(err)}
	}
	address := cmp.Or(p.URL, s.points.last(id))
	switch {
	case address != "":
	case networkOf(snapshot, id).Directory:
		return exchange.Report{Outcome: fault.Outcome{Cause: fault.CauseBuild, Detail: "each receiver is looked up (as4.smp), and none was since the start: there is nobody to contact yet"}}
	default:
		return exchange.Report{Outcome: fault.Outcome{Cause: fault.CauseBuild, Detail: "they fetch what we have for them, and no as4.url is settled: there is nobody to contact"}}
	}
	c, limits, err := s.desk.Client(snapshot, id)
	if err != nil {
		return exchange.Report{Outcome: *wire.Failed(err)}
	}
	return exchange.Check(ctx, c, address, limits)
}
