package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/as2"
	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/partner"
)

// world is an installation of the demo on ports of its own, made once.
type world struct {
	place    installation
	keys     keys
	settings *partner.Snapshot
	problems []partner.Problem
	err      error
}

var makeWorld = sync.OnceValue(func() (w world) {
	shift, _, err := claim() // held until the tests end
	if err != nil {
		return world{err: err}
	}
	dir, err := os.MkdirTemp("", "edigw-demo-test-")
	if err != nil {
		return world{err: err}
	}
	if w.place, w.keys, w.err = install(filepath.Join(dir, "installation"), shift); w.err != nil {
		return w
	}
	w.settings, w.problems, w.err = partner.Load(w.place.config(), time.Now())
	return w
})

func TestMain(m *testing.M) {
	code := m.Run()
	if w := makeWorld(); w.place.dir != "" {
		os.RemoveAll(filepath.Dir(w.place.dir))
	}
	os.Exit(code)
}

func theWorld(t *testing.T) world {
	t.Helper()
	w := makeWorld()
	if w.err != nil {
		t.Fatalf("the demo's installation: %v", w.err)
	}
	return w
}

// hired opens one scripted partner.
func (w world) hired(t *testing.T, id string, b behaviour) *scripted {
	t.Helper()
	p, err := newScripted(w.settings, id, w.keys, b, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.retire)
	return p
}

// wire is a built message.
type wire struct {
	agreement as2.Agreement
	rendition as2.Rendition
	bytes     []byte
}

// open gives its bytes to send.
func (m wire) open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.bytes)), nil }

// built makes a message for a partner as the gateway would.
func (w world) built(t *testing.T, id, content string) wire {
	t.Helper()
	a, err := w.settings.Agreement(id, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return builtBy(t, a, content)
}

// builtBy makes a message by an agreement.
func builtBy(t *testing.T, a as2.Agreement, content string) wire {
	t.Helper()
	d := as2.Document{MessageID: "<" + rand.Text() + "@edi.acme.example>", ContentType: "application/edi-x12", Size: int64(len(content)), Token: "token", Date: time.Now()}
	var body bytes.Buffer
	r, err := as2.Build(&body, a, d, strings.NewReader(content), time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return wire{agreement: a, rendition: r, bytes: body.Bytes()}
}

// sent sends a message once, with the time-outs of the partner's file.
func (w world) sent(t *testing.T, id string, m wire) fault.Outcome {
	t.Helper()
	settings, err := w.settings.Transport(id, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	client, err := exchange.NewClient(settings)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	p, _ := w.settings.Partner(id)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, out := as2.Send(ctx, client, m.agreement, m.rendition, m.open, exchange.Limits{Response: p.Timeout.Response})
	out, _ = as2.Interpret(out, reply, []as2.Rendition{m.rendition}, m.agreement)
	return out
}
