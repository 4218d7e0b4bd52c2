package as4sender

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/as4"
	"edigw/internal/testpki"
)

const (
	fetchLine = `fetch: {mpc: "urn:example:mpc:acme"}`
	pullLine  = `mep: one-way/pull`
	mpcLine   = `mpc: "urn:example:mpc:acme"`
)

// forFetching is acme that fetches what northwind holds for it.
func forFetching(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, fetchLine)
	h.north.configure(pullLine, mpcLine)
	return h
}

func (h *house) pull() answer {
	h.t.Helper()
	return h.sender.pull(h.t.Context(), "northwind", h.acme.handler)
}

// TestFetch: what they hold comes in as if it were pushed, one message a request,
// and its receipt is owed to them.
func TestFetch(t *testing.T) {
	t.Parallel()
	h := forFetching(t)
	if a := h.pull(); a.got != gotNothing {
		t.Fatalf("%+v", a)
	}
	h.north.hand("order-1", invoice)
	h.north.hand("order-2", []byte("second"))
	for range 2 {
		if a := h.pull(); a.got != gotMessage {
			t.Fatalf("%+v; refused %v", a, h.acme.refused)
		}
	}
	if a := h.pull(); a.got != gotNothing {
		t.Errorf("%+v", a)
	}
	if !slices.EqualFunc(h.acme.contents, [][]byte{invoice, []byte("second")}, bytes.Equal) {
		t.Errorf("came in: %q", h.acme.contents)
	}
	got := h.acme.received[0]
	if !got.Pulled || got.Partner != "northwind" || got.Answer == nil || got.Answer.URL != h.north.server.URL+"/as4" {
		t.Fatalf("received %+v", got)
	}
	m, b := h.owes(got.Answer)
	if o, _ := (Receipts{h.sender}).Exchange(t.Context(), m, b); o.Status/100 != 2 || len(h.north.signals) != 1 || h.north.signals[0].MessageID != "order-1@edi.northwind.example" {
		t.Errorf("%+v; they got %+v", o, h.north.signals)
	}
}

// TestFetchAnswers: what may come of a pull request, and what people are told.
func TestFetchAnswers(t *testing.T) {
	t.Parallel()
	page := func(status int, contentType, text string, headers ...string) func(h *house) {
		return func(h *house) {
			h.north.page = func(w http.ResponseWriter, _ *http.Request) {
				for i := 0; i < len(headers); i += 2 {
					w.Header().Set(headers[i], headers[i+1])
				}
				w.Header().Set("Content-Type", contentType)
				w.WriteHeader(status)
				io.WriteString(w, text)
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(h *house)
		want   got
		why    string
		do     string
		ours   bool
		after  time.Duration
	}{
		"the same again": {change: func(h *house) {
			h.north.hand("order-1", invoice)
			h.pull()
			h.north.hand("order-1", invoice)
		}, want: gotDuplicate},
		"a signer whom we do not know": {change: func(h *house) {
			h.north.hand("order-1", invoice)
			h.north.identity = testpki.SelfSigned(h.t, testpki.RSA(h.t, 2), "other.northwind.example", testpki.Valid())
			h.acme.configure(fetchLine)
		}, want: gotRefused},
		"they do not know our signature": {change: func(h *house) {
			h.acme.identity = testpki.SelfSigned(h.t, testpki.RSA(h.t, 2), "other.acme.example", testpki.Valid())
			h.north.configure(pullLine, mpcLine)
		}, want: gotFailure, why: "they answered EBMS:0101 FailedAuthentication: ", do: "certificate or login"},
		"another channel": {change: func(h *house) { h.acme.configure(`fetch: {mpc: "urn:example:mpc:other"}`) }, want: gotFailure, why: "EBMS:0101", do: "certificate or login"},
		"busy":            {change: page(503, "text/html", "<html>", "Retry-After", "77"), want: gotFailure, why: "they answered 503 and asked for ", do: "ask them", after: 77 * time.Second},
		"a login":         {change: page(401, "text/html", "<html>"), want: gotFailure, why: "they answered 401", do: "auth.basic"},
		"a page":          {change: page(200, "text/html", "<html>"), want: gotFailure, why: "the answer is no AS4 message", do: "as4.url"},
		"an empty answer": {change: page(202, "", ""), want: gotFailure, why: "the answer is no AS4 message", do: "as4.url"},
		"half a message": {change: func(h *house) {
			h.north.hand("order-1", bytes.Repeat(invoice, 1000))
			h.north.page = func(w http.ResponseWriter, r *http.Request) {
				half := &halved{ResponseWriter: w, left: 5000}
				h.north.handler.ServeHTTP(half, r)
				panic(http.ErrAbortHandler)
			}
		}, want: gotFailure, why: "before the end of its answer", do: "partner test"},
		"nobody there": {change: func(h *house) { h.north.server.Close() }, want: gotFailure, why: "refused", do: "partner test"},
		"our own key has expired": {change: func(h *house) { h.clock = h.acme.identity.Cert.NotAfter.Add(time.Hour) },
			want: gotFailure, why: "keys: ", do: "correct keys, then edigw reload", ours: true},
		"nothing is fetched": {change: func(h *house) { h.acme.configure() }, want: gotFailure, why: "nothing is fetched", do: "edigw check", ours: true},
		"it cannot be kept": {change: func(h *house) {
			h.north.hand("order-1", invoice)
			h.acme.fail = errors.New("disk full")
		}, want: gotFailure, why: "what came cannot be kept: ", do: "disk of the data folder", ours: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "nobody there" { // another test could take the port
				t.Parallel()
			}
			h := forFetching(t)
			tc.change(h)
			a := h.pull()
			if a.got != tc.want || !strings.Contains(a.why, tc.why) || !strings.Contains(a.do, tc.do) || a.ours != tc.ours {
				t.Errorf("%+v; want %s: %s (%s)", a, tc.want, tc.why, tc.do)
			}
			if a.hasAfter != (tc.after > 0) || a.after != tc.after {
				t.Errorf("Retry-After %v %v", a.after, a.hasAfter)
			}
			if tc.want == gotFailure && (a.why == "" || a.do == "") {
				t.Error("people hear nothing of it")
			}
			if tc.want != gotDuplicate && len(h.acme.received) > 0 {
				t.Errorf("%d messages came in", len(h.acme.received))
			}
		})
	}
}

// halved is a response that breaks off.
type halved struct {
	http.ResponseWriter
	left int
}

func (h *halved) Write(p []byte) (int, error) {
	n, err := h.ResponseWriter.Write(p[:min(h.left, len(p))])
	h.left -= n
	_ = http.NewResponseController(h.ResponseWriter).Flush()
	if err == nil && n < len(p) {
		err = io.ErrClosedPipe
	}
	return n, err
}

// TestFetchWithALogin: a user name in the request, not the signature, is what
// counts there; the password is read at each use.
func TestFetchWithALogin(t *testing.T) {
	t.Parallel()
	h := forFetching(t)
	h.acme.write("secrets/pull", "generated for a test\n")
	h.north.write("secrets/pull", "generated for a test")
	h.acme.configure(`fetch: {mpc: "urn:example:mpc:acme", user: acme, password_file: ../secrets/pull}`)
	h.north.configure(pullLine, mpcLine, `pull: {user: acme, password_file: ../secrets/pull}`)
	h.north.hand("order-1", invoice)
	if a := h.pull(); a.got != gotMessage {
		t.Fatalf("%+v", a)
	}
	h.acme.write("secrets/pull", "another")
	if a := h.pull(); a.got != gotFailure || !strings.Contains(a.why, "EBMS:0101") {
		t.Errorf("%+v", a)
	}
	h.acme.write("secrets/pull", "generated for a test")
	if a := h.pull(); a.got != gotNothing {
		t.Errorf("%+v", a)
	}
}

// TestFetchThroughACompressingProxy: nobody asked for it, and it is read.
func TestFetchThroughACompressingProxy(t *testing.T) {
	t.Parallel()
	h := forFetching(t)
	h.north.hand("order-1", invoice)
	h.north.page = func(w http.ResponseWriter, r *http.Request) {
		rec := &recorded{header: http.Header{}}
		h.north.handler.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", rec.header.Get("Content-Type"))
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(rec.body.Bytes())
		z.Close()
	}
	if a := h.pull(); a.got != gotMessage {
		t.Fatalf("%+v; refused %v", a, h.acme.refused)
	}
	h.north.page = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/soap+xml")
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, "not compressed")
	}
	if a := h.pull(); a.got != gotFailure || a.why == "" {
		t.Errorf("%+v", a)
	}
}

type recorded struct {
	header http.Header
	body   bytes.Buffer
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) WriteHeader(int)             {}
func (r *recorded) Write(p []byte) (int, error) { return r.body.Write(p) }

// TestLargeFetchDoesNotLieInMemory: 96 MiB come in, and their receiver has a small
// part of that at any time.
func TestLargeFetchDoesNotLieInMemory(t *testing.T) {
	h := newHouse(t, fetchLine, "security: {encrypt: none}", "receive: {require: [signed]}", "compress: none")
	h.north.configure(pullLine, mpcLine, "security: {encrypt: none}", "compress: none")
	const size = 96 << 20
	sent := largeAnswer(t, h, size)
	taken := &counting{}
	take := handler(t, h.acme, taken)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a := h.sender.pull(t.Context(), "northwind", take)
	runtime.ReadMemStats(&after)
	if a.got != gotMessage || taken.size != size {
		t.Fatalf("%+v, %d bytes", a, taken.size)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 48<<20 {
		t.Errorf("the heap grew by %d MiB for a message of %d MiB", grown>>20, *sent>>20)
	}
}

// largeAnswer has northwind answer with a message of so many bytes, from a file.
func largeAnswer(t *testing.T, h *house, size int64) *int64 {
	t.Helper()
	p, err := h.north.settings.Load().PMode("acme", h.now())
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/wire"
	r, n := buildFile(t, p, file, size, h.now())
	h.north.page = func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", r.ContentType)
		http.ServeFile(w, req, file)
	}
	return &n
}

// counting is an inbox that takes and counts.
type counting struct {
	size int64
}

// Receive implements as4.Inbox.
func (c *counting) Receive(_ context.Context, r as4.Received) (*as4.Answer, bool, error) {
	for _, p := range r.Payloads {
		n, err := io.Copy(io.Discard, p.Content)
		c.size += n
		if err != nil {
			return nil, false, err
		}
	}
	if !r.Accepted {
		return nil, false, errors.New(r.Problem)
	}
	return nil, false, nil
}

// handler is a receiver of a side's with another inbox.
func handler(t *testing.T, s *side, inbox as4.Inbox) *as4.Handler {
	t.Helper()
	h, err := as4.NewHandler(as4.Options{Partners: s, Inbox: inbox, Acks: s, Scratch: t.TempDir(), Domain: "edi.acme.example", Now: s.now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// buildFile builds a message with one payload of zeros into a file.
func buildFile(t *testing.T, p as4.PMode, file string, size int64, now time.Time) (as4.Rendition, int64) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content := io.NewSectionReader(zeros{}, 0, size)
	r, err := as4.Build(f, p, as4.Document{MessageID: "large@edi.northwind.example", Timestamp: now,
		Payloads: []as4.Payload{{ContentType: "application/octet-stream", Size: size, Content: content}}}, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	return r, r.Size
}

// zeros is an endless file.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }
