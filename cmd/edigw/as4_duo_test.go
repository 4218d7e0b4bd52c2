package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/as4"
	"edigw/internal/testpki"
	"edigw/partner"
)

// duo are two gateways, each a process of its own, that exchange documents by
// AS4: acme and north.
type duo struct {
	testing.TB
	acme, north *site
}

// newDuo makes both, without files for each other.
func newDuo(t *testing.T) *duo {
	t.Helper()
	return acquaint(t, newSite(t, ""))
}

// acquaint gives a site that did not start yet a name in AS4, and a north to speak
// it with.
func acquaint(t testing.TB, acme *site) *duo {
	t.Helper()
	p := &duo{TB: t, acme: acme, north: newSite(t, "")}
	p.north.own = testpki.SelfSigned(t, testpki.RSA(t, 1), "NORTH", testpki.Valid())
	p.north.write("keys/own.pem", string(p.north.own.KeyPEM(t))+string(p.north.own.CertPEM()))
	for name, s := range map[string]*site{"acme": p.acme, "north": p.north} {
		text, err := os.ReadFile(s.path("edigw.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		s.write("edigw.yaml", strings.Replace(string(text), "identity: {domain: edi.acme.example, as2: ACME-AS2}",
			fmt.Sprintf("identity: {domain: edi.%s.example, as2: ACME-AS2, as4: {party: \"urn:example:ids:%s\"}}", name, name), 1))
	}
	p.north.write("keys/acme.crt", string(p.acme.own.CertPEM()))
	p.acme.write("keys/north.crt", string(p.north.own.CertPEM()))
	return p
}

// settle writes a site's file of the other; url is where the other is reached,
// lines are more keys of the section as4.
func (p *duo) settle(s *site, url string, lines ...string) {
	p.Helper()
	other := "north"
	if s == p.north {
		other = "acme"
	}
	text := fmt.Sprintf("protocol: as4\nretry: {base: 100ms, cap: 400ms, attempts: 4, jitter: none}\nas4:\n  url: %s/as4\n  to: {party: \"urn:example:ids:%s\"}\n", url, other)
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	s.write("partners/"+other+".yaml", text+fmt.Sprintf("certificates: {verify: ../keys/%s.crt, encrypt: ../keys/%s.crt}\n", other, other))
}

// settleBoth is settle for both, with the same lines.
func (p *duo) settleBoth(lines ...string) {
	p.Helper()
	p.settle(p.acme, "http://"+p.north.receive, lines...)
	p.settle(p.north, "http://"+p.acme.receive, lines...)
}

func (p *duo) start() {
	p.Helper()
	p.acme.start()
	p.north.start()
}

// arrived are the documents that a site received, without those of facts.
func arrivedAt(s *site) (contents []string) {
	s.Helper()
	files, err := filepath.Glob(s.path("inbox", "*", "*", "*"))
	if err != nil {
		s.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, ".json") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			s.Fatal(err)
		}
		contents = append(contents, string(b))
	}
	return contents
}

// delivered waits for a document of s and holds it against what arrived there.
func (p *duo) delivered(from, to *site, m messageView, content string) messageView {
	p.Helper()
	m = from.end(m.ID)
	if m.State != "delivered" || m.Proof != "receipt" || m.Uncertain {
		p.Fatalf("the message is %s, proof %q, uncertain %v (%s)", m.State, m.Proof, m.Uncertain, m.Detail)
	}
	to.await("the document lies in the inbox", func() bool { return len(arrivedAt(to)) > 0 })
	if got := arrivedAt(to); len(got) != 1 || got[0] != content {
		p.Errorf("%d documents arrived, want the one: %.200q", len(got), got)
	}
	return m
}

// between is what stands between a site and the other: it passes everything on,
// but keeps receipts waiting while it is closed.
type between struct {
	server *httptest.Server
	to     string

	mu       sync.Mutex
	open     chan struct{} // closed: receipts pass
	receipts int
	messages int
}

func newBetween(t *testing.T, to string) *between {
	t.Helper()
	b := &between{to: to, open: make(chan struct{})}
	b.server = httptest.NewServer(b)
	t.Cleanup(func() {
		b.server.CloseClientConnections()
		b.server.Close()
	})
	return b
}

func (b *between) release() { close(b.open) }

// seen counts receipts and messages that came.
func (b *between) seen() (receipts, messages int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.receipts, b.messages
}

// ServeHTTP implements http.Handler.
func (b *between) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	receipt := bytes.Contains(body, []byte("NonRepudiationInformation"))
	b.mu.Lock()
	if receipt {
		b.receipts++
	}
	b.mu.Unlock()
	if receipt {
		select {
		case <-b.open:
		case <-r.Context().Done():
			return
		}
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+b.to+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	if strings.Contains(res.Header.Get("Content-Type"), "multipart/related") {
		b.mu.Lock()
		b.messages++
		b.mu.Unlock()
	}
	for k, v := range res.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body) // who left gets nothing
}

// pullRequest is one of north's, made without its gateway.
func (p *duo) pullRequest() (*http.Response, error) {
	p.Helper()
	s, problems, err := partner.Load(p.north.path("edigw.yaml"), time.Now())
	if err != nil {
		p.Fatal(err, problems)
	}
	mode, err := s.FetchingPMode("acme", time.Now())
	if err != nil {
		p.Fatal(err)
	}
	request, err := as4.NewPullRequest(mode, fmt.Sprintf("pull-%d@edi.north.example", time.Now().UnixNano()), time.Now())
	if err != nil {
		p.Fatal(err)
	}
	return http.Post("http://"+p.acme.receive+"/as4", request.ContentType, bytes.NewReader(request.Body))
}
