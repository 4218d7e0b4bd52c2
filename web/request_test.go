package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/queue"

	"github.com/prometheus/client_golang/prometheus"
)

func TestEveryRequestHasAnIDAndIsLogged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := b.as(access.Read, http.MethodGet, Base+"/messages?reference=INV-20931", "").want(http.StatusOK)
	two := b.as("", http.MethodGet, Base+"/messages", "", "X-Request-Id", "forged")
	id := one.header.Get("X-Request-Id")
	if len(id) != 26 || two.header.Get("X-Request-Id") == "forged" || two.header.Get("X-Request-Id") == id {
		t.Errorf("request ids %q, %q", id, two.header.Get("X-Request-Id"))
	}
	var entry map[string]any
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, id) {
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, want := range map[string]any{"msg": "request", "method": "GET", "path": "/api/v1/messages", "status": 200.0, "actor": "only-read", "from": "192.0.2.1"} {
		if entry[name] != want {
			t.Errorf("log: %s is %v, want %v", name, entry[name], want)
		}
	}
	if log := b.log.String(); strings.Contains(log, "INV-20931") || strings.Contains(log, b.tokens[access.Read]) || strings.Contains(log, "Bearer") {
		t.Errorf("the log tells too much:\n%s", log)
	}
}

func TestAPanicIsAProblem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.identified(b.recovered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("index out of range") })))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, Base+"/x", nil))
	p := answer{t, w.Code, w.Result().Header, w.Body.Bytes()}.problem(Internal)
	if strings.Contains(w.Body.String(), "index") {
		t.Errorf("the answer: %s", w.Body)
	}
	if log := b.log.String(); !strings.Contains(log, "index out of range") || !strings.Contains(log, p.RequestID) || !strings.Contains(log, "request_test.go") {
		t.Errorf("the log: %s", log)
	}
}

func TestAPanicAfterTheAnswerBeganCutsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := httptest.NewServer(b.identified(b.recovered(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
		panic("half")
	}))))
	defer s.Close()
	resp, err := http.Get(s.URL)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("half an answer looks whole")
	}
}

func TestWhileStoppingTheAPIRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.as("", http.MethodGet, "/readyz", "").want(http.StatusOK)
	b.Refuse()
	for _, path := range []string{"/messages", "/nothing", "/openapi.json"} {
		got := b.get(path)
		got.problem(Stopping)
		if got.header.Get("Retry-After") != "10" {
			t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
		}
	}
	b.as(access.Send, http.MethodPost, documents, "a").problem(Stopping)
	b.as("", http.MethodGet, "/healthz", "").want(http.StatusOK)
	b.as("", http.MethodGet, "/metrics", "").want(http.StatusOK)
	b.as("", http.MethodGet, "/readyz", "").want(http.StatusServiceUnavailable)
}

func TestHealthNeedsNoToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		b.as("", method, "/healthz", "").want(http.StatusOK)
		b.as("", method, "/readyz", "").want(http.StatusOK)
	}
	b.ready = errBroken
	b.as("", http.MethodGet, "/healthz", "").want(http.StatusOK)
	got := b.as("", http.MethodGet, "/readyz", "").want(http.StatusServiceUnavailable)
	if strings.Contains(string(got.body), "secret") || !strings.Contains(b.log.String(), "/secret/place") {
		t.Errorf("answer %s", got.body)
	}
	b.ready = &Problem{Slug: DiskFull, Detail: "no room for documents: 3 MB free", Err: errBroken}
	if got := b.as("", http.MethodGet, "/readyz", "").want(http.StatusServiceUnavailable); string(got.body) != "not ready: no room for documents: 3 MB free\n" {
		t.Errorf("answer %s", got.body)
	}
}

func TestMetricsAreThoseOfTheRegistry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "edigw", Name: "retries_exhausted_total", Help: "Letters max-attempts."})
	b.metrics.MustRegister(c)
	c.Add(3)
	got := b.as("", http.MethodGet, "/metrics", "").want(http.StatusOK)
	if text := string(got.body); !strings.Contains(text, "\nedigw_retries_exhausted_total 3\n") || strings.Contains(text, "go_goroutines") {
		t.Errorf("metrics: %s", text)
	}
}

// serve runs the API on a listener of the network.
func serve(t *testing.T, b *bench, network, address string) net.Addr {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s := b.Server()
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr()
}

func TestOverTheLocalSocketNoTokenIsNeeded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, b, "unix", socket)
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Post("http://edigw"+documents, "application/edi-x12", strings.NewReader("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d", resp.StatusCode)
	}
	if d := b.intake.got[0]; d.Actor.Name != "cli" || d.Actor.From != "local" || d.Source != "cli" {
		t.Errorf("document %+v", d)
	}
	req, err := http.NewRequest(http.MethodGet, "http://edigw"+Base+"/tokens", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.tokens[access.Read]) // who sends a token is judged by it
	resp, err = c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestOverTheNetworkNobodyIsLocal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	addr := serve(t, b, "tcp", "127.0.0.1:0")
	resp, err := http.Get("http://" + addr.String() + Base + "/messages")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestAForeignProcessOnTheSocketNeedsAToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := httptest.NewRequest(http.MethodGet, Base+"/messages", nil)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), keyOfPeer, peer{})))
	answer{t, w.Code, w.Result().Header, w.Body.Bytes()}.problem(Unauthorized)
}

// TestASlowClientIsCutOff sends headers that never end; the server's limit is
// made short, its being there is what is tested.
func TestASlowClientIsCutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Server()
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > 30*time.Second || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 64<<10 {
		t.Fatalf("limits %v, %v, %d", s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes)
	}
	s.ReadHeaderTimeout = 50 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	defer func() { s.Close(); <-done }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /api/v1/messages HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a client that never ends its headers is not cut off")
	}
}

func TestHeadersThatAreTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	addr := serve(t, b, "tcp", "127.0.0.1:0")
	req, err := http.NewRequest(http.MethodGet, "http://"+addr.String()+Base+"/messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("a", 2*maxHeader))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// TestAKeptConnectionServesAgainAndAgain guards against a deadline that
// outlives its request.
func TestAKeptConnectionServesAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	addr := serve(t, b, "tcp", "127.0.0.1:0")
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for i, request := range []string{
		"POST " + Base + "/reload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + b.tokens[access.Admin] + "\r\nContent-Length: 2\r\n\r\n{}",
		"POST " + documents + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + b.tokens[access.Admin] + "\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET " + Base + "/messages HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		fmt.Fprint(c, request)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		resp.Body.Close()
	}
	if d := b.intake.got[0]; d.Size != -1 {
		t.Errorf("a body of unknown length has size %d", d.Size)
	}
}

// FuzzListQuery asks lists with anything: they answer, or say what is wrong.
func FuzzListQuery(f *testing.F) {
	for _, q := range []string{"", "state=dead,queued&limit=5", "cursor=bWVzc2FnZXM6NQ", "from=2026-12-01&to=2026-12-02T00:00:00Z", "reference=INV*", "limit=-1", "partner=..%2f", "%zz", "a;b", "uncertain=true&uncertain=true"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		a := &API{Options: Options{Now: func() time.Time { return now }}}
		for _, rt := range append(a.messageRoutes(), a.auditRoutes()...) {
			if len(rt.query) == 0 {
				continue
			}
			r := httptest.NewRequest(http.MethodGet, "/x", nil)
			r.URL.RawQuery = query
			values, err := rt.parameters(r)
			if err != nil {
				if p := ProblemOf(err); p.Slug != BadRequest || p.Detail == "" {
					t.Fatalf("%q: %+v", query, p)
				}
				continue
			}
			c := &call{r: r, query: values}
			f, p, err := messageFilter(c)
			if err != nil {
				if p := ProblemOf(err); p.Slug != BadRequest || p.Detail == "" {
					t.Fatalf("%q: %+v", query, p)
				}
				continue
			}
			if p.Limit < 1 || p.Limit > maxLimit || len(f.Reference) > maxReference || len(p.Cursor) > maxReference {
				t.Fatalf("%q: %+v, %+v", query, f, p)
			}
			for _, s := range f.States {
				if !strings.Contains(fmt.Sprint(queue.States), string(s)) {
					t.Fatalf("%q: state %q", query, s)
				}
			}
			if _, _, err := cut([]int{1, 2, 3}, "x", p); err != nil && !errors.Is(err, queue.ErrBadCursor) {
				t.Fatal(err)
			}
		}
	})
}

// TestOnlyUTF8IsRead: what is not would be kept as something else.
func TestOnlyUTF8IsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	for _, path := range []string{"/letters/" + m.Letter + "/discard", "/letters/" + m.Letter + "/settle", "/partners/northwind/stop", "/letters/replays", "/tokens"} {
		if p := b.post(path, "{\"reason\": \"caf\xe9\"}").problem(BadRequest); p.Detail != "The body is not UTF-8." {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
	if p := b.get("/messages?reference=caf%E9").problem(BadRequest); p.Detail != "The query of the URL is not UTF-8." {
		t.Error(p.Detail)
	}
	b.get("/messages?reference=caf%C3%A9").want(http.StatusOK)
	b.post("/partners/northwind/stop", `{"reason": "café"}`).want(http.StatusOK)
}
