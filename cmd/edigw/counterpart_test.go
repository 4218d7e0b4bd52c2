package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/internal/testpki"
)

// counterpart is the trading partner northwind: a real AS2 receiver on
// loopback with records of its own, and a script of what it does wrong. It
// recognises repeated Message-IDs unless it is forgetful.
type counterpart struct {
	site      *site
	server    *httptest.Server
	receiver  http.Handler
	agreement as2.Agreement
	forgetful bool
	receipts  func(*as2.Answer) // what becomes of asynchronous ones; nil: they go at once
	posts     sync.WaitGroup
	over      chan struct{} // closed when the test ends

	mu       sync.Mutex
	script   func(*visit) // nil: a good partner
	visits   int
	arrivals map[string][]string // SHA-256 of each complete body, by Message-ID
	effects  map[string]int      // documents booked, by Message-ID
	answers  map[string]*as2.Answer
}

// newCounterpart makes the partner and its file at the site. more is added to
// the file's section as2, rest to the file.
func newCounterpart(s *site, more, rest string) *counterpart {
	s.Helper()
	c := idleCounterpart(s)
	c.server = httptest.NewServer(c)
	s.Cleanup(c.close)
	c.file(c.server.URL, more, rest)
	return c
}

// idleCounterpart makes the partner without its server and file.
func idleCounterpart(s *site) *counterpart {
	s.Helper()
	theirs := testpki.SelfSigned(s, testpki.RSA(s, 1), "NORTHWIND", testpki.Valid())
	s.write("keys/northwind.crt", string(theirs.CertPEM()))
	c := &counterpart{site: s, over: make(chan struct{}), arrivals: map[string][]string{}, effects: map[string]int{}, answers: map[string]*as2.Answer{}}
	c.agreement = as2.Agreement{
		From: "NORTHWIND", To: "ACME-AS2", Sign: crypto.SHA256, SigningKey: theirs.Key, SigningCertificate: theirs.Cert,
		Verify: []*x509.Certificate{s.own.Cert}, Decrypt: []smime.Recipient{{Certificate: theirs.Cert, Key: theirs.Key.(crypto.Decrypter)}},
		Receive: as2.Receive{Signed: true, Encrypted: true, ReceiptURLs: []string{"http://" + s.receive}},
	}
	var err error
	if c.receiver, err = as2.NewHandler(as2.Options{
		Partners: c, Inbox: c, Acks: c, Scratch: s.TempDir(), Domain: "northwind.example", Now: time.Now,
		Log: slog.New(slog.DiscardHandler), Product: "Northwind",
	}); err != nil {
		s.Fatal(err)
	}
	return c
}

func (c *counterpart) file(url, more, rest string) {
	c.site.Helper()
	c.site.write("partners/northwind.yaml", fmt.Sprintf(`name: Northwind
protocol: as2
as2: {id: NORTHWIND, url: "%s/as2"%s}
certificates: {verify: ../keys/northwind.crt, encrypt: ../keys/northwind.crt}
%s`, url, more, rest))
}

func (c *counterpart) close() {
	close(c.over)
	c.server.CloseClientConnections()
	c.server.Close()
	c.posts.Wait()
}

// play sets what the partner does from now on.
func (c *counterpart) play(script func(*visit)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script = script
}

// ServeHTTP counts and plays.
func (c *counterpart) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	c.mu.Lock()
	c.visits++
	v := &visit{counterpart: c, w: w, r: r, n: c.visits}
	script := c.script
	c.mu.Unlock()
	if script == nil {
		script = (*visit).serve
	}
	script(v)
}

// ByNames meets as2.Partners.
func (c *counterpart) ByNames(from, to string) (as2.Agreement, string, bool) {
	return c.agreement, "acme", from == c.agreement.To && to == c.agreement.From
}

// Receive meets as2.Inbox: a document has its effect.
func (c *counterpart) Receive(_ context.Context, r as2.Received) (*as2.Answer, bool, error) {
	if !r.Accepted {
		return nil, false, nil
	}
	c.mu.Lock()
	first, again := c.answers[r.MessageID]
	if !again || c.forgetful {
		c.effects[r.MessageID]++
		c.answers[r.MessageID] = r.Answer
	}
	c.mu.Unlock()
	owed := r.Answer
	if again && !c.forgetful {
		owed = first
	}
	if owed != nil && owed.URL != "" {
		c.owe(owed)
	}
	if again && !c.forgetful {
		return first, true, nil
	}
	return r.Answer, false, nil
}

// owe lets an asynchronous receipt go.
func (c *counterpart) owe(a *as2.Answer) {
	if c.receipts != nil {
		c.receipts(a)
		return
	}
	c.posts.Go(func() { c.postReceipt(a) })
}

// postReceipt posts a receipt until it is taken or the test ends.
func (c *counterpart) postReceipt(a *as2.Answer) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		req, err := http.NewRequest(http.MethodPost, a.URL, bytes.NewReader(a.Body))
		if err != nil {
			return
		}
		for _, f := range a.Headers {
			req.Header[http.CanonicalHeaderKey(f.Name)] = []string{f.Value}
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode < 300 {
				return
			}
		}
		select {
		case <-again.C:
		case <-c.over:
			return
		}
	}
}

// Acknowledge meets as2.Acks: this partner sends nothing.
func (c *counterpart) Acknowledge(context.Context, as2.Ack) error {
	return errors.New("no receipt is waited for")
}

// booked gives the effects so far.
func (c *counterpart) booked() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.effects)
}

// arrived gives the bodies that arrived of a message.
func (c *counterpart) arrived(messageID string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.arrivals[messageID]...)
}

func (c *counterpart) visited() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.visits
}

// visit is one request to the partner.
type visit struct {
	*counterpart
	w    http.ResponseWriter
	r    *http.Request
	n    int // 1 for the first of all
	body []byte
}

// read takes the whole body; it reports whether all of it came.
func (v *visit) read() bool {
	var err error
	if v.body, err = io.ReadAll(v.r.Body); err != nil {
		return false
	}
	sum := sha256.Sum256(v.body)
	v.mu.Lock()
	defer v.mu.Unlock()
	id := v.r.Header.Get("Message-Id")
	v.arrivals[id] = append(v.arrivals[id], hex.EncodeToString(sum[:]))
	return true
}

// process books the document and gives the answer that is due.
func (v *visit) process() *httptest.ResponseRecorder {
	r := v.r.Clone(v.r.Context())
	r.Body = io.NopCloser(bytes.NewReader(v.body))
	w := httptest.NewRecorder()
	v.receiver.ServeHTTP(w, r)
	return w
}

// reply sends an answer, the whole of it or so many bytes.
func (v *visit) reply(a *httptest.ResponseRecorder, most int) {
	maps.Copy(v.w.Header(), a.Header())
	body := a.Body.Bytes()
	v.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	v.w.WriteHeader(a.Code)
	_, _ = v.w.Write(body[:min(most, len(body))]) // the test kills whoever reads it
	_ = http.NewResponseController(v.w).Flush()
}

const whole = 1 << 30

// serve is what a good partner does.
func (v *visit) serve() {
	if v.read() {
		v.reply(v.process(), whole)
	}
}

// reset cuts the connection at once.
func (v *visit) reset() {
	conn, _, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		v.site.Error(err)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// wait holds the request until the gateway gives up, as far as that can be
// seen, or the test ends.
func (v *visit) wait() {
	select {
	case <-v.r.Context().Done():
	case <-v.over:
	}
}
