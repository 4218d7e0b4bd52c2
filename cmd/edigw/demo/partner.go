package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"edigw/as2"
	"edigw/partner"
)

// player is a scripted partner as the story sees it.
type player interface {
	open() error                        // listens, if it does not yet
	close()                             // goes down
	retire()                            // goes down for good
	list() []effect                     // what reached its business side, in order
	requests() (requests, messages int) // what arrived
}

// scripted is a trading partner that the demo plays: a real AS2 receiver on
// loopback, with keys and records of its own. What it does wrong is in its
// behaviour. It is safe for concurrent use.
type scripted struct {
	*premises
	*record[as2.Answer]
	agreement as2.Agreement
	behaviour behaviour
	client    *http.Client // posts receipts
	owed      sync.WaitGroup
}

// newScripted makes the partner of a settings file, seen from its own side. It
// does not listen yet.
func newScripted(s *partner.Snapshot, id string, k keys, b behaviour, scratch string, log *slog.Logger) (*scripted, error) {
	settings, ok := s.Partner(id)
	if !ok || settings.AS2 == nil {
		return nil, fmt.Errorf("demo: the sample files have no AS2 partner %s", id)
	}
	t := settings.AS2.Template
	at, err := premisesAt(id, t.URL)
	if err != nil {
		return nil, err
	}
	p := &scripted{premises: at, record: newRecord[as2.Answer](), behaviour: b, client: &http.Client{Timeout: 10 * time.Second}}
	p.agreement = k.mirror(id, t)
	if base := s.Gateway().Listen.Partners; base != nil {
		p.agreement.Receive.ReceiptURLs = []string{string(base.BaseURL)}
	}
	if b.pinsNext {
		p.agreement.Verify = p.agreement.Verify[1:]
	}
	receiver, err := as2.NewHandler(as2.Options{
		Partners: p, Inbox: p, Acks: noAcks{}, Scratch: scratch, Domain: id + ".example", Now: time.Now, Log: log, Product: "edigw demo partner",
	})
	if err != nil {
		return nil, err
	}
	p.server = p.counted(b.in(receiver))
	return p, nil
}

// ByNames meets as2.Partners: one agreement, one gateway.
func (p *scripted) ByNames(from, to string) (as2.Agreement, string, bool) {
	return p.agreement, "edigw", from == p.agreement.To && to == p.agreement.From
}

// Receive meets as2.Inbox.
func (p *scripted) Receive(_ context.Context, r as2.Received) (*as2.Answer, bool, error) {
	if !r.Accepted {
		return nil, false, nil
	}
	answer := r.Answer
	if p.behaviour.answer != nil && answer != nil {
		wrong, err := p.behaviour.answer(*answer, p.agreement)
		if err != nil {
			return nil, false, err
		}
		answer = &wrong
	}
	if first, again := p.record.take(effect{MessageID: r.MessageID, SHA256: r.SHA256}, answer); again {
		return first, true, nil
	}
	if answer != nil && answer.URL != "" {
		p.owe(answer)
	}
	return answer, true, nil
}

// owe posts an asynchronous receipt when the behaviour lets it go.
func (p *scripted) owe(a *as2.Answer) {
	gate := p.behaviour.receipts
	p.owed.Go(func() {
		if gate == nil || gate.wait() {
			p.post(a)
		}
	})
}

// post sends a receipt, a few times if it must.
func (p *scripted) post(a *as2.Answer) {
	for range 3 {
		req, err := http.NewRequest(http.MethodPost, a.URL, bytes.NewReader(a.Body))
		if err != nil {
			return
		}
		for _, f := range a.Headers {
			req.Header[http.CanonicalHeaderKey(f.Name)] = []string{f.Value}
		}
		resp, err := p.client.Do(req)
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode < 300 {
			return
		}
	}
}

// retire goes down for good. Receipts that nobody let go are dropped.
func (p *scripted) retire() {
	p.close()
	if g := p.behaviour.receipts; g != nil {
		g.drop()
	}
	p.owed.Wait()
	p.client.CloseIdleConnections()
}

// noAcks meets as2.Acks: partners send nothing that asks for a receipt.
type noAcks struct{}

// Acknowledge refuses.
func (noAcks) Acknowledge(context.Context, as2.Ack) error {
	return errors.New("demo: this partner waits for no receipt")
}
