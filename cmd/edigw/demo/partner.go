package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"edigw/as2"
	"edigw/partner"
)

// reopening bounds how long a partner tries to get its port back.
const reopening = 5 * time.Second

// scripted is a trading partner that the demo plays: a real AS2 receiver on
// loopback, with keys and records of its own. What it does wrong is in its
// behaviour. It is safe for concurrent use.
type scripted struct {
	id        string
	address   string // host and port
	agreement as2.Agreement
	record    *record
	behaviour behaviour
	server    http.Handler
	client    *http.Client // posts receipts

	mu     sync.Mutex
	listen net.Listener // nil while it is down
	http   *http.Server
	owed   sync.WaitGroup
}

// newScripted makes the partner of a settings file, seen from its own side. It
// does not listen yet.
func newScripted(s *partner.Snapshot, id string, k keys, b behaviour, scratch string, log *slog.Logger) (*scripted, error) {
	settings, ok := s.Partner(id)
	if !ok || settings.AS2 == nil {
		return nil, fmt.Errorf("demo: the sample files have no AS2 partner %s", id)
	}
	t := settings.AS2.Template
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	p := &scripted{id: id, address: u.Host, record: newRecord(), behaviour: b, client: &http.Client{Timeout: 10 * time.Second}}
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

// counted notes every message that arrives, before anything else happens.
func (p *scripted) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			p.record.arrived(r.Header.Get("Message-ID"))
		}
		next.ServeHTTP(w, r)
	})
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

// open listens at the partner's address and serves.
func (p *scripted) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listen != nil {
		return nil
	}
	l, err := listen(p.address)
	if err != nil {
		return fmt.Errorf("demo: %s: %w", p.id, err)
	}
	server := &http.Server{Handler: p.server, ReadHeaderTimeout: 10 * time.Second}
	p.listen, p.http = l, server
	go func() { _ = server.Serve(l) }() // ends when both are closed
	return nil
}

// listen waits for a port that was given up a moment ago, or that a program which
// is being started still holds: it has copies of our sockets until it runs.
func listen(address string) (net.Listener, error) {
	for end := time.Now().Add(reopening); ; {
		l, err := net.Listen("tcp", address)
		if err == nil || time.Now().After(end) {
			return l, err
		}
		<-time.After(50 * time.Millisecond)
	}
}

// close goes down: connections are refused, running exchanges cut.
func (p *scripted) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listen != nil {
		p.listen.Close()
		_ = p.http.Close() // whoever was in the middle of an exchange is cut off
		p.listen, p.http = nil, nil
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
