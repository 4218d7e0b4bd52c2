package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// gateway pretends to be one: it notes what it was asked and answers.
type gateway struct {
	status int
	header http.Header
	body   string

	method, uri, token, content string
	asked                       http.Header
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	g.method, g.uri, g.token, g.content, g.asked = r.Method, r.RequestURI, r.Header.Get("Authorization"), string(b), r.Header
	for k, v := range g.header {
		w.Header()[k] = v
	}
	w.WriteHeader(g.status)
	io.WriteString(w, g.body)
}

func start(t *testing.T, g *gateway) *Client {
	t.Helper()
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	c, err := New(s.URL+"/", "secret")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "127.0.0.1:4000", "ftp://host", "http://", "://", "localhost"} {
		if _, err := New(address, ""); err == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}

func TestGetSendsTokenAndQuery(t *testing.T) {
	t.Parallel()
	g := &gateway{status: 200, body: `{"id": "m1"}`}
	c := start(t, g)
	var out struct{ ID string }
	if err := c.Get(t.Context(), "/messages", url.Values{"reference": {"INV 1&2"}}, &out); err != nil {
		t.Fatal(err)
	}
	if out.ID != "m1" || g.method != http.MethodGet || g.uri != "/api/v1/messages?reference=INV+1%262" || g.token != "Bearer secret" {
		t.Errorf("%+v, %+v", out, g)
	}
}

func TestPostSendsJSONOrNothing(t *testing.T) {
	t.Parallel()
	g := &gateway{status: 202, body: `{}`}
	c := start(t, g)
	if err := c.Post(t.Context(), "/letters/l1/replay", map[string]any{"confirm": []string{"overdue"}}, nil); err != nil {
		t.Fatal(err)
	}
	if g.content != `{"confirm":["overdue"]}` || g.asked.Get("Content-Type") != "application/json" {
		t.Errorf("%+v", g)
	}
	if err := c.Post(t.Context(), "/reload", nil, nil); err != nil {
		t.Fatal(err)
	}
	if g.content != "" || g.asked.Get("Content-Type") != "" {
		t.Errorf("%+v", g)
	}
	if err := c.Post(t.Context(), "/x", func() {}, nil); err == nil {
		t.Error("a function became JSON")
	}
}

func TestAnAnswerWithoutContentIsFine(t *testing.T) {
	t.Parallel()
	var out map[string]any
	if err := start(t, &gateway{status: 204}).Post(t.Context(), "/tokens/erp/revoke", nil, &out); err != nil {
		t.Error(err)
	}
}

func TestSendGivesTheHeaders(t *testing.T) {
	t.Parallel()
	g := &gateway{status: 200, header: http.Header{"Idempotency-Replayed": {"true"}}, body: `{"id": "m1"}`}
	var out struct{ ID string }
	header, err := start(t, g).Send(t.Context(), "/partners/northwind/messages", http.Header{"Idempotency-Key": {"K1"}}, strings.NewReader("ISA*"), &out)
	if err != nil || header.Get("Idempotency-Replayed") != "true" || out.ID != "m1" || g.content != "ISA*" || g.asked.Get("Idempotency-Key") != "K1" {
		t.Errorf("%v, %v, %+v", err, header, g)
	}
}

func TestDownloadCopies(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := start(t, &gateway{status: 200, body: "zip"}).Download(t.Context(), "/messages/m1/evidence", &b); err != nil || b.String() != "zip" {
		t.Errorf("%v, %q", err, &b)
	}
	b.Reset()
	err := start(t, &gateway{status: 404, body: `{"title": "Not found", "type": "/problems/not-found"}`}).Download(t.Context(), "/messages/m1/evidence", &b)
	if err == nil || b.Len() > 0 {
		t.Errorf("a problem was downloaded: %v, %q", err, &b)
	}
}

func TestAProblemIsAnError(t *testing.T) {
	t.Parallel()
	g := &gateway{status: 428, body: `{"type": "/problems/confirm-needed", "title": "To be confirmed first", "status": 1, "detail": "Overdue.", "field": "confirm", "request_id": "r1", "confirm": ["overdue"]}`}
	err := start(t, g).Post(t.Context(), "/letters/l1/replay", nil, nil)
	var p *Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v", err)
	}
	if p.Slug() != "confirm-needed" || p.Status != 428 || p.Field != "confirm" || p.Error() != "To be confirmed first: Overdue. [confirm] (request r1)" {
		t.Errorf("%+v: %v", p, p)
	}
	var more struct{ Confirm []string }
	if err := json.Unmarshal(p.Raw, &more); err != nil || len(more.Confirm) != 1 {
		t.Errorf("members of its own are lost: %s", p.Raw)
	}
}

func TestWhatIsNoProblemIsToldAsItIs(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"a page": "<html>502 from a proxy", "other JSON": `{"error": "502 from a proxy"}`} {
		err := start(t, &gateway{status: 502, body: body}).Get(t.Context(), "/messages", nil, nil)
		if err == nil || !strings.Contains(err.Error(), "502 from a proxy") || errors.As(err, new(*Problem)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := start(t, &gateway{status: 200, body: "<html>"}).Get(t.Context(), "/messages", nil, new(struct{}))
	if err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a page for an answer: %v", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	g := &gateway{status: 302, header: http.Header{"Location": {"http://elsewhere.example/"}}}
	if err := start(t, g).Get(t.Context(), "/messages", nil, nil); err == nil || !strings.Contains(err.Error(), "no gateway's API") {
		t.Errorf("the token went elsewhere, or nobody is told what is wrong: %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	l.Close()
	remote, err := New(address, "secret")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "edigw.sock")
	for where, c := range map[string]*Client{address: remote, socket: Local(socket)} {
		err := c.Get(t.Context(), "/messages", nil, nil)
		var down *UnreachableError
		if !errors.As(err, &down) || !strings.Contains(err.Error(), where) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestASocketOfSomebodyElse: a gateway may run there, so it is not called gone.
func TestASocketOfSomebodyElse(t *testing.T) {
	t.Parallel()
	denied := &UnreachableError{Where: "data/edigw.sock", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}}
	if text := denied.Error(); !denied.Denied() || !strings.Contains(text, "not allowed to use data/edigw.sock") || !strings.Contains(text, "sudo") {
		t.Error(text)
	}
}

func TestAnUnknownTokenIsToldWhereOneComesFrom(t *testing.T) {
	t.Parallel()
	g := &gateway{status: 401, body: `{"type":"/problems/unauthorized","title":"No valid token","detail":"This token is unknown or was revoked."}`}
	if err := start(t, g).Get(t.Context(), "/messages", nil, nil); err == nil || !strings.Contains(err.Error(), "edigw token new") {
		t.Error(err)
	}
}

func TestLocalSpeaksOverTheSocketWithoutToken(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{status: 200, body: `{}`}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: g}}
	s.Start()
	defer s.Close()
	if err := Local(socket).Get(t.Context(), "/messages", nil, new(struct{})); err != nil {
		t.Fatal(err)
	}
	if g.uri != "/api/v1/messages" || g.token != "" {
		t.Errorf("%+v", g)
	}
}

func TestWaitLooksWithGrowingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, looks := time.Now(), 0
		err := Wait(t.Context(), func() (bool, error) { looks++; return looks == 8, nil })
		// 50, 100, 200, 400, 800, 1000, 1000 ms
		if took := time.Since(begin); err != nil || looks != 8 || took != 3550*time.Millisecond {
			t.Errorf("%d looks in %v: %v", looks, took, err)
		}
	})
}

func TestWaitEndsWithItsContextOrAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Wait(ctx, func() (bool, error) { return false, nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := Wait(t.Context(), func() (bool, error) { return false, io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
}
