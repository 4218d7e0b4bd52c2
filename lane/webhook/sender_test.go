package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"edigw/as2"
	"edigw/edi"
	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/spool"
	"edigw/store/storetest"
)

// signed computes a signature as Standard Webhooks describes it.
func signed(key string, p posted) string {
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s.%s.%s", p.header.Get("webhook-id"), p.header.Get("webhook-timestamp"), p.body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestDocumentIsPostedAsItIsAndSigned(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, open(t))
			s.start()
			m := s.receive("1", order, func(r *as2.Received) { r.FileName, r.From = "Grüße.x12", `NORTH WIND "N"` })
			got, post := s.ends(m, queue.Delivered, queue.Delivered)
			if got.Detail != "taken by the webhook" || post.Proof != queue.ProofHTTP || post.Attempts != 1 || post.CorrelationID != m.ID || post.Lane != "northwind/webhook" {
				t.Errorf("the document: %s; its post: %+v", got.Detail, post)
			}
			all := s.hook.all()
			if len(all) != 1 {
				t.Fatalf("%d posts", len(all))
			}
			p := all[0]
			if p.method != http.MethodPost || p.uri != "/in?tenant=1" || p.body != order || p.length != int64(len(order)) {
				t.Errorf("%s %s of %d bytes: %q", p.method, p.uri, p.length, p.body)
			}
			seconds, err := strconv.ParseInt(p.header.Get("webhook-timestamp"), 10, 64)
			if age := time.Since(time.Unix(seconds, 0)); err != nil || age < -time.Second || age > time.Minute {
				t.Errorf("webhook-timestamp %q", p.header.Get("webhook-timestamp"))
			}
			want := map[string]string{
				"webhook-id": m.ID, "webhook-signature": signed(key, p), "Content-Type": "application/edi-x12",
				"Content-Disposition": "attachment; filename*=utf-8''Gr%C3%BC%C3%9Fe.x12", "Edigw-Partner": "northwind",
				"Edigw-Message-Id": "<1@northwind.example>", "Edigw-From": `NORTH WIND "N"`, "Edigw-To": "ACME-AS2", "Edigw-Sha256": m.Payload.SHA256,
				"Idempotency-Key": "", "Authorization": "",
			}
			for header, value := range want {
				if got := p.header.Get(header); got != value {
					t.Errorf("%s is %q, want %q", header, got, value)
				}
			}
			if ref := p.header.Get("Edigw-References"); !strings.Contains(ref, "interchange=000000001") {
				t.Errorf("Edigw-References: %q", ref)
			}
		})
	}
}

func TestMultipartGoesAsItCame(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	s.start()
	content := "--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n"
	m := s.receive("1", content, func(r *as2.Received) { r.ContentType, r.FileName = `multipart/related; boundary="b"`, "" })
	s.ends(m, queue.Delivered, queue.Delivered)
	p := s.hook.all()[0]
	if p.body != content || p.header.Get("Content-Type") != `multipart/related; boundary="b"` || p.header.Get("Content-Disposition") != "" {
		t.Errorf("%q of type %q", p.body, p.header.Get("Content-Type"))
	}
}

func TestEmptyDocumentHasALength(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	s.start()
	s.ends(s.receive("1", ""), queue.Delivered, queue.Delivered)
	if p := s.hook.all()[0]; p.length != 0 || p.header.Get("webhook-signature") != signed(key, p) {
		t.Errorf("%d bytes announced", p.length)
	}
}

// endless answers as long as anybody reads.
func endless(t *testing.T) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		said := 0
		for piece := make([]byte, 1<<20); said < 1<<30; said += len(piece) {
			if _, err := w.Write(piece); err != nil {
				break
			}
		}
		if said > 16<<20 { // buffers of the system are some MB
			t.Errorf("%d bytes of an answer were read", said)
		}
	}
}

// answers is what a webhook says to the posts of one document, and what becomes
// of it.
type answers struct {
	name   string
	script []func(http.ResponseWriter, *http.Request)
	posts  int
	reason fault.Reason // of the letter, empty: delivered
}

// Each answer is classified as any partner's; what is not taken is a letter, and
// the document says so.
func TestAnswers(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	type script = []func(http.ResponseWriter, *http.Request)
	for _, tt := range []answers{
		{"200 with much to say", script{endless(t)}, 1, ""},
		{"202", script{status(202)}, 1, ""},
		{"500, then 200", script{status(500), status(200)}, 2, ""},
		{"503, 502, then 200", script{status(503), status(502), status(200)}, 3, ""},
		{"429 and when to come again, then 200", script{status(429, "Retry-After", "1"), status(200)}, 2, ""},
		{"409 at once", script{status(409)}, 1, fault.ReasonRejected},
		{"410", script{status(410)}, 1, fault.ReasonRejected},
		{"422", script{status(422)}, 1, fault.ReasonRejected},
		{"redirect", script{status(302, "Location", elsewhere.URL)}, 1, fault.ReasonRejected},
		{"redirect that keeps the method", script{status(307, "Location", elsewhere.URL)}, 1, fault.ReasonRejected},
		{"500 twice", script{status(500), status(500)}, 2, fault.ReasonMaxAttempts},
		{"401 twice", script{status(401), status(401)}, 2, fault.ReasonCredential},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, exchange.Limits{})
		})
	}
}

// A webhook that does not answer in time may have the document.
func TestNoAnswerInTime(t *testing.T) {
	t.Parallel()
	type script = []func(http.ResponseWriter, *http.Request)
	for _, tt := range []answers{
		{"then 200", script{silence, status(200)}, 2, ""},
		{"then 409: it has it", script{silence, status(409)}, 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, exchange.Limits{Response: 2 * time.Second}) // ample for an answer that comes
		})
	}
}

func (tt answers) check(t *testing.T, limits exchange.Limits) {
	s := newSite(t, storetest.NewMemory())
	s.limits = limits
	s.hook.play(tt.script...)
	s.start()
	m := s.receive("1", order)
	if tt.reason == "" {
		s.ends(m, queue.Delivered, queue.Delivered)
	} else {
		got, post := s.ends(m, queue.Received, queue.Dead)
		if l := s.letter(post); l.Reason != tt.reason || l.Direction != queue.Out || l.Lane != "northwind/webhook" || !strings.HasPrefix(got.Detail, "its webhook post is a dead letter: ") {
			t.Errorf("letter %+v; the document says %q", l, got.Detail)
		}
	}
	all := s.hook.all()
	if len(all) != tt.posts {
		t.Errorf("%d posts, want %d", len(all), tt.posts)
	}
	for _, p := range all {
		if p.header.Get("webhook-id") != m.ID || p.header.Get("webhook-signature") != signed(key, p) || p.body != order {
			t.Errorf("a repeat came under %s, signed %s: %q", p.header.Get("webhook-id"), p.header.Get("webhook-signature"), p.body)
		}
	}
}

// Retry-After binds the whole lane.
func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	s.hook.play(status(429, "Retry-After", "600"))
	s.start()
	m := s.receive("1", order)
	s.until("it waits", func() bool { return s.post(m).State == queue.Waiting })
	if next, at := s.post(m).NextAt, time.Now(); next.Before(at.Add(9 * time.Minute)) {
		t.Errorf("next try at %v, now is %v", next, at)
	}
	if l, err := s.store.Lane(t.Context(), "northwind/webhook"); err != nil || l.NotBefore.Before(time.Now().Add(9*time.Minute)) {
		t.Errorf("the lane may go on at %v: %v", l.NotBefore, err)
	}
}

// breakers reads the states of breakers by their label.
func breakers(t *testing.T, all []prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(all...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "edigw_breaker_state" {
			continue
		}
		for _, m := range f.GetMetric() {
			states[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
	}
	return states
}

// A webhook that is down opens the lane's own breaker: what waits and what
// comes waits on and becomes no letter, and the partner's documents go on.
func TestDownWebhookHoldsItsLane(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	s.server.Close()
	p := s.start()
	var all []queue.Message
	for i := range 7 {
		all = append(all, s.receive(fmt.Sprint(i), fmt.Sprint(order, i)))
	}
	s.until("its breaker opens", func() bool { return p.lanes.LaneView("northwind/webhook").State == queue.LaneOpen })
	late := s.receive("late", order)
	for _, m := range append(all, late) {
		if post := s.post(m); !post.State.Lined() && post.State != queue.Sending || s.message(m.ID).State != queue.Received {
			t.Errorf("post of %s is %s", m.MessageID, post.State)
		}
	}
	if v := p.lanes.View("northwind"); v.State != queue.LaneSending {
		t.Errorf("the lane of documents is %s", v.State)
	}
	want := map[string]float64{"northwind/webhook": 2} // open
	if diff := cmp.Diff(want, breakers(t, p.lanes.Collectors())); diff != "" {
		t.Errorf("edigw_breaker_state:\n%s", diff)
	}
}

func TestSecretIsReadAtEachUse(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	s.start()
	for i, text := range []string{secret, "plain text as a key\n", "plain text as a key\r\n", "whsec_bmV3IGtleQ"} {
		s.write("secrets/erp", text)
		s.ends(s.receive(fmt.Sprint(i), fmt.Sprint(order, i)), queue.Delivered, queue.Delivered)
		want := []string{key, "plain text as a key", "plain text as a key", "new key"}[i]
		if p := s.hook.all()[i]; p.header.Get("webhook-signature") != signed(want, p) {
			t.Errorf("not signed with %q", want)
		}
	}
	s.write("secrets/erp", "whsec_***")
	m := s.receive("bad", order)
	_, post := s.ends(m, queue.Received, queue.Dead)
	if l := s.letter(post); l.Reason != fault.ReasonLocal || strings.Contains(l.Detail, "***") || !strings.Contains(l.Detail, "secrets/erp") {
		t.Errorf("letter: %+v", l)
	}
	if n := len(s.hook.all()); n != 4 {
		t.Errorf("%d posts", n)
	}
}

// The setting is gone: what waits becomes letters that say so, and after three
// the rest waits. With the setting back they go out.
func TestSettingThatWasTakenOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	p := s.awake()
	var all []queue.Message
	for i := range 5 {
		all = append(all, s.receive(fmt.Sprint(i), fmt.Sprint(order, i)))
	}
	s.configure("-")
	if err := p.lanes.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.until("the lane needs a fix", func() bool { return p.lanes.LaneView("northwind/webhook").State == queue.LaneNeedsFix })
	dead := 0
	for _, m := range all {
		if post := s.post(m); post.State == queue.Dead {
			dead++
			if l := s.letter(post); l.Reason != fault.ReasonLocal || !strings.Contains(l.Detail, "names no inbox.webhook any more") {
				t.Errorf("letter: %+v", l)
			}
		}
	}
	if dead < 3 || len(s.hook.all()) != 0 {
		t.Errorf("%d letters, %d posts", dead, len(s.hook.all()))
	}
	s.configure("")
	if err := p.lanes.StartLane(t.Context(), "northwind", kim); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if post := s.post(m); post.State == queue.Dead {
			s.replay(p, post.Letter)
		}
	}
	for _, m := range all {
		s.ends(m, queue.Delivered, queue.Delivered)
	}
}

// What is damaged on the disk is never posted.
func TestDamagedDocumentIsNotPosted(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	s.awake()
	m := s.receive("1", order)
	if _, err := s.spool.Remove(spool.Payload, time.Now().Add(time.Hour), m.Payload.SHA256); err != nil {
		t.Fatal(err)
	}
	if err := s.live.lanes.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, post := s.ends(m, queue.Received, queue.Dead)
	if l := s.letter(post); l.Reason != fault.ReasonLocal || l.Class != retry.Configuration || len(s.hook.all()) != 0 {
		t.Errorf("letter: %+v", l)
	}
}

func TestSignRefusesOtherBytes(t *testing.T) {
	t.Parallel()
	stored := queue.Payload{SHA256: strings.Repeat("0", 64), Size: 3}
	if _, err := sign(t.Context(), []byte("k"), "id", time.Unix(1, 0), strings.NewReader("abc"), stored); err == nil || !strings.Contains(err.Error(), "reads back as") {
		t.Errorf("%v", err)
	}
}

// A vector that openssl made: printf 'id.1.abc' | openssl dgst -sha256 -hmac k -binary | base64.
func TestSignatureAsOthersComputeIt(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("abc"))
	got, err := sign(t.Context(), []byte("k"), "id", time.Unix(1, 0), strings.NewReader("abc"), queue.Payload{SHA256: hex.EncodeToString(sum[:]), Size: 3})
	if want := "v1,p/GZZsSo7GsgvQ/lWBo2YnMGd2queZYZYfDcbTU9XgQ="; err != nil || got != want {
		t.Errorf("%s, want %s: %v", got, want, err)
	}
}

func TestHeadersHoldNoLineEndsAndAreBounded(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	m := queue.Message{Partner: "northwind", Payload: queue.Payload{ContentType: "text/plain\r\nEvil: 1", FileName: "a\r\nb"}}
	m.Business.References = []edi.Reference{{Name: "po", Value: "45 00\r\n&=ü"}, {Name: "invoice", Value: "I-1"}}
	describe(h, m, queue.Origin{From: "N\r\nEvil: 2"})
	for name, values := range h {
		if strings.ContainsAny(strings.Join(values, ""), "\r\n") {
			t.Errorf("%s: %q", name, values)
		}
	}
	if got, want := h.Get("Edigw-References"), "po=45+00%0D%0A%26%3D%C3%BC&invoice=I-1"; got != want {
		t.Errorf("Edigw-References: %q, want %q", got, want)
	}
	m.Business.References = append(m.Business.References, edi.Reference{Name: "po", Value: strings.Repeat("x", 2<<10)})
	long := http.Header{}
	describe(long, m, queue.Origin{})
	if diff := cmp.Diff([]string(nil), long.Values("Edigw-References")); diff != "" {
		t.Errorf("too long, but there:\n%s", diff)
	}
}

// A large document is read, signed and sent in pieces.
func TestMemoryDoesNotGrowWithTheDocument(t *testing.T) {
	s := newSite(t, storetest.NewMemory())
	sum := sha256.New()
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(sum, r.Body) })
	const size = 64 << 20
	w, err := s.spool.Create(spool.Payload, 0)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 1<<20)
	for range size / len(piece) {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	name, _, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	sender, err := New(Options{Settings: s.settings.Load, Spool: s.spool, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	m := queue.Message{ID: "post", Partner: "northwind", Kind: queue.KindWebhook, Payload: queue.Payload{SHA256: name, Size: size}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o, _ := sender.Exchange(t.Context(), m, queue.Build{Record: []byte(`{"message":"m"}`)})
	runtime.ReadMemStats(&after)
	if o.Status != 200 || hex.EncodeToString(sum.Sum(nil)) != name {
		t.Fatalf("%+v", o)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated for a document of %d", n, size)
	}
}
