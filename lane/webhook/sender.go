// Package webhook carries received documents on to the address that a
// partner's settings name (inbox.webhook): it joins the settings in force
// (partner), the files (spool) and one HTTP exchange, and meets lane.Sender for
// queue.KindWebhook.
//
// It decides nothing: what an answer means is retry's, what follows is queue's.
// The address is one of our own house, so nothing of how the partner is
// reached holds for it: no client certificate, trust, proxy or login of his.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
)

// connections bounds those to one host. A lane has four at most; of partners
// whose documents go to the same host none waits for another's.
const connections = 1000

// maxAnswer bounds what is read of an answer: people see the beginning of one
// that refuses.
const maxAnswer = 64 << 10

// Options is what a Sender needs. Fields after Now may be left zero.
type Options struct {
	Settings func() *partner.Snapshot // in force now; must not block
	Spool    *spool.Spool
	Now      func() time.Time // wall clock

	Limits exchange.Limits // time-outs; zero fields: 60 s without progress, 5 min for the answer
}

// Sender posts documents to webhooks. All methods may be called concurrently.
type Sender struct {
	Options
	client *http.Client
}

// New gives a Sender; it opens nothing.
func New(o Options) (*Sender, error) {
	if o.Settings == nil || o.Spool == nil || o.Now == nil {
		return nil, errors.New("webhook: Settings, Spool and Now are required")
	}
	o.Limits.Body, o.Limits.Now = maxAnswer, o.Now
	c, err := exchange.NewClient(exchange.Settings{Connections: connections, Now: o.Now})
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return &Sender{o, c}, nil
}

// hook is the webhook of a partner, as the settings in force say.
func (s *Sender) hook(id string) (*partner.Webhook, error) {
	p, ok := s.Settings().Partner(id)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: %w", id, partner.ErrUnknown)
	case p.Webhook == nil:
		return nil, fmt.Errorf("the file of partner %s names no inbox.webhook any more, and this document began its way to one: put the setting back, or process the document again into the folder inbox/%s", id, id)
	}
	return p.Webhook, nil
}

// Prepare meets lane.Sender. There is nothing to build: the stored document is
// sent as it is. The only build holds where the document came from.
func (s *Sender) Prepare(_ context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	fail := func(cause fault.Cause, err error) (queue.Build, bool, *fault.Outcome) {
		o := local(cause, err)
		return queue.Build{}, false, &o
	}
	if _, err := s.hook(m.Partner); err != nil {
		return fail(fault.CauseBuild, err)
	}
	if len(builds) == 0 {
		return fail(fault.CausePayload, errors.New("it was not kept where the document came from"))
	}
	size, err := s.Spool.Size(spool.Payload, m.Payload.SHA256)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(fault.CausePayload, errors.New("the received document is gone (restored from a backup?)"))
	case err != nil:
		return fail(fault.CausePayload, fmt.Errorf("the received document cannot be read: %w", err))
	case size != m.Payload.Size:
		return fail(fault.CausePayload, fmt.Errorf("the received document has %d bytes, %d were stored", size, m.Payload.Size))
	}
	return builds[len(builds)-1], false, nil
}

// Exchange meets lane.Sender: it posts the document once. Any 2xx says that the
// webhook has taken it. The document is read twice, to sign it and to send it,
// and never held in memory.
func (s *Sender) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	hook, err := s.hook(m.Partner)
	if err != nil {
		return local(fault.CauseBuild, err), ""
	}
	origin, err := queue.ReadOrigin(b)
	if err != nil {
		return local(fault.CauseBuild, err), ""
	}
	key, err := hook.Key()
	if err != nil {
		return local(fault.CauseKey, err), ""
	}
	document, err := s.Spool.Open(spool.Payload, m.Payload.SHA256)
	if err != nil {
		return local(fault.CausePayload, fmt.Errorf("the received document cannot be read: %w", err)), ""
	}
	defer document.Close()
	at := s.Now()
	signature, err := sign(ctx, key, origin.Message, at, document, m.Payload)
	if err == nil {
		_, err = document.Seek(0, io.SeekStart)
	}
	if err != nil {
		return local(fault.CausePayload, err), ""
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, io.NopCloser(document))
	if err != nil {
		return local(fault.CauseBuild, errors.New("inbox.webhook.url is not a URL")), ""
	}
	req.ContentLength = m.Payload.Size
	if m.Payload.Size == 0 {
		req.Body = http.NoBody // else an empty body goes out without Content-Length
	}
	describe(req.Header, m, origin)
	req.Header.Set("Webhook-Id", origin.Message)
	req.Header.Set("Webhook-Timestamp", stamp(at))
	req.Header.Set("Webhook-Signature", signature)
	_, o := exchange.Do(ctx, s.client, req, s.Limits)
	o.AckAsked = fault.AckNotAsked
	return o, ""
}

// Judge has nothing to verify: nobody acknowledges a post.
func (*Sender) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return fault.Outcome{Phase: fault.PhaseDone, AckAsked: fault.AckNotAsked, Detail: "what is posted to a webhook is not acknowledged"}
}

// Check meets lane.Sender: it contacts the webhook without a document.
func (s *Sender) Check(ctx context.Context, id string) fault.Outcome {
	hook, err := s.hook(id)
	if err != nil {
		return local(fault.CauseBuild, err)
	}
	return exchange.Check(ctx, s.client, hook.URL, s.Limits).Outcome
}

// local tells a fault of our own side as facts. A store that does not answer
// now, too few file descriptors and the end of ctx pass by themselves: the
// message is tried again and becomes no letter.
func local(cause fault.Cause, err error) fault.Outcome {
	if fault.OutOfFiles(err) || errors.Is(err, queue.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		cause = fault.CauseStopped
	}
	return fault.Outcome{Cause: cause, Detail: err.Error(), AckAsked: fault.AckNotAsked}
}
