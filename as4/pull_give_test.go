package as4

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// notedWriter is a response that notes its deadlines.
type notedWriter struct {
	http.ResponseWriter
	deadlines []time.Time
	flushed   int
	fail      error // of Flush
}

func (w *notedWriter) SetWriteDeadline(t time.Time) error {
	w.deadlines = append(w.deadlines, t)
	return nil
}

func (w *notedWriter) FlushError() error { w.flushed++; return w.fail }

// given is a message on its way.
func given(content []byte, size int64, cut context.Context) (m Handed, done *[]error) {
	done = &[]error{}
	return Handed{Rendition: Rendition{ContentType: "text/plain", Size: size}, Wire: io.NopCloser(bytes.NewReader(content)), Cut: cut,
		Done: func(err error) { *done = append(*done, err) }}, done
}

// TestGivenMessageMustGoOn: each write has a minute, the next response on the
// connection its own time, and what was not flushed was not written whole.
func TestGivenMessageMustGoOn(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("x"), 100_000)
	w := &notedWriter{ResponseWriter: httptest.NewRecorder()}
	m, done := given(content, int64(len(content)), nil)
	began := time.Now()
	m.give(w)
	if len(*done) != 1 || (*done)[0] != nil || w.flushed != 1 {
		t.Errorf("done %v, flushed %d times", *done, w.flushed)
	}
	n := len(w.deadlines)
	if n < 2 || !w.deadlines[n-1].IsZero() {
		t.Fatalf("deadlines %v", w.deadlines)
	}
	for _, d := range w.deadlines[:n-1] {
		if d.Before(began.Add(writeStall)) || d.After(time.Now().Add(writeStall)) {
			t.Errorf("a write has until %v", d)
		}
	}
	w.fail = errDisk
	m, done = given(content, int64(len(content)), nil)
	if m.give(w); len(*done) != 1 || !errors.Is((*done)[0], errDisk) {
		t.Errorf("not flushed: %v", *done)
	}
	m, done = given(content, int64(len(content))+1, nil)
	if m.give(&notedWriter{ResponseWriter: httptest.NewRecorder()}); len(*done) != 1 || (*done)[0] == nil {
		t.Errorf("shorter than recorded: %v", *done)
	}
}

// TestGivenMessageIsCut: a partner who takes nothing does not keep the process
// from ending.
func TestGivenMessageIsCut(t *testing.T) {
	t.Parallel()
	stopping := errors.New("the gateway is stopping")
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		m := Handed{Rendition: Rendition{ContentType: "text/plain", Size: 1 << 40}, Wire: io.NopCloser(endless{}), Cut: ctx, Done: func(err error) { done <- err }}
		m.give(w)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: acme\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil { // it has begun
		t.Fatal(err)
	}
	cancel(stopping)
	select {
	case err := <-done:
		if !errors.Is(err, stopping) {
			t.Errorf("done with %v", err)
		}
	case <-time.After(writeStall / 2):
		t.Fatal("the process waits for the partner")
	}
	m, told := given([]byte("x"), 1, ctx)
	if m.give(httptest.NewRecorder()); len(*told) != 1 {
		t.Errorf("after the end: %v", *told)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestPullerHasHisShare: who is proved to have sent a pull request is told of
// before a message is handed out; whose share is used up hears that he must come
// again, and nothing is handed out.
func TestPullerHasHisShare(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{true, false} {
		m := &receiver{pullers: []Puller{{"north", pulledFrom()}}}
		_, wire, done := hands(t, m, pulledFrom().MPC)
		h := receiverHandler(t, m)
		var told []string
		h.o.Identified = func(_ *http.Request, partner string) bool {
			told = append(told, partner)
			return free
		}
		res := serve(h, pullRequest(t, pulls()))
		body := readBody(t, res)
		if len(told) != 1 || told[0] != "north" {
			t.Errorf("told of %q", told)
		}
		if free && (!bytes.Equal(body, wire) || len(*done) != 1) || !free && (res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || len(*done) != 0) {
			t.Errorf("free %t: status %d, handed out %d times", free, res.StatusCode, len(*done))
		}
		h.o.Identified = func(*http.Request, string) bool { t.Error("a stranger was told of as a partner"); return true }
		stranger := pulls()
		stranger.Sign.Algorithm = ""
		serve(h, pullRequest(t, stranger))
	}
}
