package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"edigw/fault"
	"edigw/internal/conf"
	"edigw/partner"
	"edigw/queue"
)

func TestAcceptedDocumentIsStoredWhole(t *testing.T) {
	t.Parallel()
	h := open1(t, func(p *partner.Partner) { p.WarnBy, p.DeliverBy = 2*time.Hour, 48*time.Hour })
	body := x12("000020931", "P", "INV-20931", 4)
	a := h.mustSend(t, Request{FileName: `C:\out\invoice.edi`, CorrelationID: "corr-1", Source: SourceAPI, Actor: fault.Actor{Name: "erp"}}, body)
	m, err := h.store.Message(context.Background(), a.Message.ID)
	if err != nil {
		t.Fatal(err)
	}
	now := h.clock.now()
	if a.Outcome != queue.AdmitNew || m.State != queue.Queued || m.Lane != "northwind" || m.Kind != queue.KindDocument || m.Direction != queue.Out || m.Protocol != "as2" {
		t.Errorf("message is %+v, outcome %s", m, a.Outcome)
	}
	if m.KeyGiven || !strings.HasPrefix(m.Key, "x12:") || !strings.Contains(m.Key, "000020931") {
		t.Errorf("derived key is %q", m.Key)
	}
	if want := (queue.Identity{From: "ACME", To: "NORTHWIND", Domain: "edi.acme.example", Brackets: true}).MessageID(m.Key, 0); m.MessageID != want {
		t.Errorf("Message-ID is %s, want %s", m.MessageID, want)
	}
	if m.Payload.FileName != "invoice.edi" || m.Payload.ContentType != "application/edi-x12" || m.Payload.Size != int64(len(body)) || h.payload(t, m) != body {
		t.Errorf("payload is %+v", m.Payload)
	}
	if m.Business.Type != "810" || len(m.Business.References) == 0 || m.CorrelationID != "corr-1" || m.Source != "api" || m.Actor.Name != "erp" {
		t.Errorf("facts are %+v", m)
	}
	if !m.WarnBy.Equal(now.Add(2*time.Hour)) || !m.DeliverBy.Equal(now.Add(48*time.Hour)) || m.DeadlineGiven {
		t.Errorf("deadlines are %s and %s", m.WarnBy, m.DeliverBy)
	}
	if fmt.Sprint(h.woken) != "[northwind]" || len(h.counted) != 1 || h.counted[0].State != queue.Queued {
		t.Errorf("woken %v, counted %d", h.woken, len(h.counted))
	}
}

// refusals is every way to be turned away.
var refusals = []struct {
	name     string
	change   func(*house, *partner.Partner)
	request  Request
	body     string
	slug     Slug
	field    string
	later    bool
	recorded bool
}{
	{"no such partner", nil, Request{Partner: "nobody"}, "x", NotFound, "partner", false, true},
	{"name that is no id is not recorded", nil, Request{Partner: "../x"}, "x", NotFound, "partner", false, false},
	{"setup", func(_ *house, p *partner.Partner) { p.Stage = partner.StageSetup }, Request{}, "x", WrongStage, "stage", false, true},
	{"retired", func(_ *house, p *partner.Partner) { p.Stage = partner.StageRetired }, Request{}, "x", WrongStage, "stage", false, true},
	{"test interchange to a live partner", nil, Request{}, x12("000000001", "T", "A", 4), WrongStage, "stage", false, true},
	{"production interchange to a test partner", func(_ *house, p *partner.Partner) { p.Stage = partner.StageTest }, Request{}, x12("000000001", "P", "A", 4), WrongStage, "stage", false, true},
	{"deadline passed", nil, Request{DeliverBy: time.Date(2026, 12, 1, 8, 59, 59, 0, time.UTC)}, "x", TooLate, "Deliver-By", false, true},
	{"empty", nil, Request{}, "", Empty, "", false, true},
	{"unannounced and too large", func(h *house, _ *partner.Partner) { h.settings.gateway.Limits.Document = 10 }, Request{Size: -1}, strings.Repeat("x", 11), TooLarge, "", false, true},
	{"announced too large", func(h *house, _ *partner.Partner) { h.settings.gateway.Limits.Document = 10 }, Request{}, strings.Repeat("x", 11), TooLarge, "", false, true},
	{"shorter than announced", nil, Request{Size: 100}, "x", BadRequest, "Content-Length", false, true},
	{"key too long", nil, Request{Key: strings.Repeat("k", 201)}, "x", BadRequest, "Idempotency-Key", false, true},
	{"key with control characters", nil, Request{Key: "a\nb"}, "x", BadRequest, "Idempotency-Key", false, true},
	{"key beyond ASCII", nil, Request{Key: "schlüssel"}, "x", BadRequest, "Idempotency-Key", false, true},
	{"correlation id with control characters", nil, Request{CorrelationID: "a\x00"}, "x", BadRequest, "Correlation-Id", false, true},
	{"form", nil, Request{ContentType: "multipart/form-data; boundary=x"}, "x", BadRequest, "Content-Type", false, true},
	{"several files without a boundary", nil, Request{ContentType: "multipart/related"}, "x", BadRequest, "Content-Type", false, true},
	{"several files of an endless type", nil, Request{ContentType: "multipart/related; boundary=b; type=" + strings.Repeat("x", 300)}, "x", BadRequest, "Content-Type", false, true},
	{"several files that are none", nil, Request{ContentType: "multipart/related; boundary=b"}, "ISA*00*", BadParts, "", false, true},
	{"several files without an end", nil, Request{ContentType: "multipart/related; boundary=b"}, "--b\r\n\r\nISA*00*\r\n", BadParts, "", false, true},
	{"several files of broken base64", nil, Request{ContentType: "multipart/related; boundary=b"}, "--b\r\nContent-Transfer-Encoding: base64\r\n\r\n!\r\n--b--", BadParts, "", false, true},
	{"too many files", nil, Request{ContentType: "multipart/related; boundary=b"}, strings.Repeat("--b\r\n\r\n\r\n", 501) + "--b--", BadParts, "", false, true},
	{"several files, too large", func(h *house, _ *partner.Partner) { h.settings.gateway.Limits.Document = 10 }, Request{ContentType: "multipart/related; boundary=b", Size: -1}, "--b\r\n\r\nISA*00*\r\n--b--", TooLarge, "", false, true},
	{"several files, test interchange", nil, Request{ContentType: "multipart/related; boundary=b"}, related(x12("000000001", "T", "A", 4)), WrongStage, "stage", false, true},
	{"disk full, announced", func(h *house, _ *partner.Partner) { h.disk.free = 1 << 20 }, Request{}, "x", DiskFull, "", true, true},
	{"disk full, found out", func(h *house, _ *partner.Partner) { h.disk.free = 1<<20 + 100 }, Request{Size: -1}, strings.Repeat("x", 1000), DiskFull, "", true, true},
	{"backlog of messages", func(h *house, p *partner.Partner) { p.Backlog.Messages = 1; fill(h) }, Request{}, "x", Backlog, "", true, true},
	{"backlog of bytes", func(h *house, p *partner.Partner) { p.Backlog.Bytes = 8; fill(h) }, Request{}, "xxxxx", Backlog, "", true, true},
	{"given key, other content", func(h *house, _ *partner.Partner) { fill(h) }, Request{Key: "first"}, "other", KeyReused, "Idempotency-Key", false, true},
	{"first request still running", func(h *house, _ *partner.Partner) { h.keys.hold(key{"northwind", "k"}) }, Request{Key: "k"}, "x", InProgress, "", true, false},
	{"derived key still running", func(h *house, _ *partner.Partner) {
		h.keys.hold(key{"northwind", "x12:ZZ/ACMESUPPLY/ZZ/NORTHWIND/261130/0429/000000001/P"})
	}, Request{}, x12("000000001", "P", "A", 4), InProgress, "", true, false},
	{"properties to a partner of AS2", nil, Request{Properties: wanted()}, "x", NoProperties, "Message-Property", false, true},
	{"a property of edigw's", func(_ *house, p *partner.Partner) { speaksAS4(p) }, Request{Properties: queue.Properties{Part: []queue.Property{{Name: "MimeType", Value: "x"}}}}, "x", ReservedProperty, "Part-Property", false, true},
	{"a property is missing", func(_ *house, p *partner.Partner) { speaksAS4(p) }, Request{}, "x", MissingProperty, "Message-Property", false, true},
	{"stopping", func(h *house, _ *partner.Partner) { h.Stop(context.Background()) }, Request{}, "x", Stopping, "", true, false},
}

func fill(h *house) {
	if _, err := h.send(Request{Key: "first"}, "first"); err != nil {
		panic(err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	seen := map[Slug]bool{}
	for _, tt := range refusals {
		seen[tt.slug] = true
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := open1(t, nil)
			if tt.change != nil {
				tt.change(h, h.settings.partners["northwind"])
			}
			before := len(h.messages(t))
			_, err := h.send(tt.request, tt.body)
			var no *Refusal
			if !errors.As(err, &no) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if no.Slug != tt.slug || no.Field != tt.field || no.Later() != tt.later || no.Title == "" || no.Detail == "" || no.Fix == "" {
				t.Errorf("got %+v", no)
			}
			refused := h.messages(t, queue.Refused)
			if got := len(refused) == 1 && refused[0].ID == no.Message; got != tt.recorded {
				t.Errorf("recorded: %v, want %v (%d messages, %q)", got, tt.recorded, len(refused), no.Message)
			}
			if tt.recorded {
				if m := refused[0]; m.Detail != no.Detail || m.Payload.SHA256 != "" || m.MessageID != "" || h.events(t, queue.EventRefused) != 1 {
					t.Errorf("recorded as %+v", m)
				}
			}
			if made := len(h.messages(t)) - before - len(refused); made != 0 {
				t.Errorf("%d messages were made", made)
			}
		})
	}
	for s := range slugs {
		if !seen[s] {
			t.Errorf("no case for %s", s)
		}
	}
}

func TestSlugsAreThoseOfTheManual(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "## 3.")
	for s := range slugs {
		if !strings.Contains(part, "\n| "+string(s)+" |") {
			t.Errorf("docs/errors.md part 3 does not name %s", s)
		}
	}
}

func TestChecksThatThePartnerFileSwitchesOff(t *testing.T) {
	t.Parallel()
	h := open1(t, func(p *partner.Partner) { p.CheckEnvelope, p.AllowEmpty = false, true })
	for _, body := range []string{"", x12("000000001", "T", "A", 4), x12("000000002", "P", "A", 99)} {
		if a := h.mustSend(t, Request{}, body); a.Message.State != queue.Queued {
			t.Errorf("%.30q is %s", body, a.Message.State)
		}
	}
}

func TestBrokenEnvelopeIsAcceptedAsALetter(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	a := h.mustSend(t, Request{}, x12("000000001", "P", "A", 99))
	if a.Message.State != queue.Dead {
		t.Fatalf("state is %s", a.Message.State)
	}
	l, err := h.store.Letter(context.Background(), a.Message.Letter)
	if err != nil || l.Reason != fault.ReasonFormat || !strings.Contains(l.Detail, "SE01 says 99") {
		t.Errorf("letter is %+v, %v", l, err)
	}
}

func TestRepeatedKeys(t *testing.T) {
	t.Parallel()
	first, corrected := x12("000000001", "P", "A", 4), x12("000000001", "P", "A-corrected", 4)
	h := open1(t, nil)
	a := h.mustSend(t, Request{}, first)
	for i := range 5 {
		b := h.mustSend(t, Request{}, first)
		if b.Outcome != queue.AdmitReplayed || b.Message.ID != a.Message.ID {
			t.Fatalf("repeat %d is %s, message %s", i, b.Outcome, b.Message.ID)
		}
	}
	if n := h.events(t, queue.EventReplayedKey); n != 2 {
		t.Errorf("five repeats in a moment made %d events, want that of the first and one more", n)
	}
	b := h.mustSend(t, Request{}, corrected)
	if b.Outcome != queue.AdmitNew || b.Message.Edition != 1 || b.Message.Previous != a.Message.ID || b.Message.MessageID == a.Message.MessageID {
		t.Errorf("corrected document is %s: %+v", b.Outcome, b.Message)
	}
	if old, _ := h.store.Message(context.Background(), a.Message.ID); old.State != queue.Superseded {
		t.Errorf("the queued first edition is %s", old.State)
	}
	if again := h.mustSend(t, Request{}, first); again.Outcome != queue.AdmitReplayed || again.Message.ID != a.Message.ID {
		t.Errorf("a repeat of the first edition is %s of %s", again.Outcome, again.Message.ID)
	}
}

func TestChangedContentOfASentDocumentIsParked(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	a := h.mustSend(t, Request{}, x12("000000001", "P", "A", 4))
	start, err := queue.Next(a.Message, queue.Input{Trigger: queue.OnStart, At: h.clock.now(), By: "me"}, queue.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.Record(context.Background(), &start); err != nil {
		t.Fatal(err)
	}
	b := h.mustSend(t, Request{}, x12("000000001", "P", "B", 4))
	if b.Outcome != queue.AdmitParked || b.Message.State != queue.Dead || !b.Message.Parked {
		t.Errorf("outcome %s, %+v", b.Outcome, b.Message)
	}
	if h.payload(t, b.Message) == "" {
		t.Error("the parked document is not kept")
	}
}

func TestHundredConcurrentRequestsOfOneKeyMakeOneMessage(t *testing.T) {
	t.Parallel()
	for _, k := range []string{"given", ""} {
		t.Run("key "+k, func(t *testing.T) {
			t.Parallel()
			h := open1(t, nil)
			body := x12("000000001", "P", "A", 4)
			var wg sync.WaitGroup
			ends := make(chan string, 100)
			for range 100 {
				wg.Go(func() {
					for {
						a, err := h.send(Request{Key: k}, body)
						var no *Refusal
						if errors.As(err, &no) && no.Slug == InProgress {
							continue // as a caller does
						}
						ends <- fmt.Sprint(a.Outcome, err)
						return
					}
				})
			}
			wg.Wait()
			close(ends)
			count := map[string]int{}
			for e := range ends {
				count[e]++
			}
			if count["new<nil>"] != 1 || count["replayed<nil>"] != 99 || len(h.messages(t)) != 1 {
				t.Errorf("got %v, %d messages", count, len(h.messages(t)))
			}
			if len(h.keys.held) != 0 {
				t.Errorf("%d keys are still held", len(h.keys.held))
			}
		})
	}
}

func TestGivenKeyIsHeldBeforeTheBody(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := h.Accept(context.Background(), Request{Partner: "northwind", Key: "k", Size: -1}, r)
		done <- err
	}()
	w.Write([]byte("first")) // returns once it is being read
	_, err := h.send(Request{Key: "k"}, "second")
	var no *Refusal
	if !errors.As(err, &no) || no.Slug != InProgress {
		t.Errorf("got %v, want in-progress", err)
	}
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestStopWaitsForWhoIsInside(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := h.Accept(context.Background(), Request{Partner: "northwind", Size: -1}, r)
		done <- err
	}()
	w.Write([]byte("x"))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Stop(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Stop gave %v while a document was being read", err)
	}
	w.Close()
	if err := h.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestProducerThatLoopsLeavesLittleBehind(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	h.mustSend(t, Request{Key: "same"}, "the first")
	for i := range 500 {
		if _, err := h.send(Request{Key: "same"}, fmt.Sprintf("document %d", i)); err == nil {
			t.Fatal("accepted under a used key")
		}
		h.send(Request{Partner: fmt.Sprintf("unknown-%d", i)}, "x")
		h.send(Request{Key: fmt.Sprintf("empty-%d", i)}, "")
		h.clock.advance(time.Millisecond)
	}
	if n := h.files(t); n > 2 {
		t.Errorf("%d documents lie in the spool", n)
	}
	if n := len(h.messages(t, queue.Refused)); n > 2*rowsPerMinute {
		t.Errorf("%d refusals are recorded", n)
	}
	if n := h.events(t, queue.EventKeyReused); n < 1 || n > 2 {
		t.Errorf("%d events key-reused", n)
	}
	h.clock.advance(2 * time.Minute)
	h.send(Request{Key: "same"}, "document")
	if n := h.events(t, queue.EventKeyReused); n < 2 || n > 3 {
		t.Errorf("%d events key-reused after two minutes", n)
	}
}

func TestBodyThatBreaksLeavesNothing(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	_, err := h.Accept(context.Background(), Request{Partner: "northwind", Size: -1}, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("reset"))))
	var no *Refusal
	if !errors.As(err, &no) || no.Slug != BadRequest {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Accept(ctx, Request{Partner: "northwind", Size: -1}, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if _, err := h.Accept(context.Background(), Request{Partner: "northwind", Size: -1}, endless{}); err == nil {
		t.Error("a reader that gives nothing was read to its end")
	}
	if n := h.files(t); n != 0 {
		t.Errorf("%d files", n)
	}
}

type endless struct{}

func (endless) Read([]byte) (int, error) { return 0, nil }

func TestDiskThatFillsWhileReading(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	h.settings.gateway.Limits.Document = conf.Size(1 << 30)
	h.disk.set(20 << 20)
	var read int64
	_, err := h.Accept(context.Background(), Request{Partner: "northwind", Size: -1}, readerFunc(func(p []byte) (int, error) { read += int64(len(p)); return len(p), nil }))
	var no *Refusal
	if !errors.As(err, &no) || no.Slug != DiskFull {
		t.Errorf("got %v", err)
	}
	if read > 32<<20 {
		t.Errorf("%d bytes were taken before the disk was looked at", read)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestMisconfiguredPartnersShareNoMessageID(t *testing.T) {
	t.Parallel()
	h := openHouse(t, &partner.Partner{ID: "a", Stage: partner.StageLive, Misconfigured: true}, &partner.Partner{ID: "b", Stage: partner.StageLive, Misconfigured: true})
	a, b := h.mustSend(t, Request{Partner: "a", Key: "k"}, "x"), h.mustSend(t, Request{Partner: "b", Key: "k"}, "x")
	if a.Message.MessageID == b.Message.MessageID || a.Message.Protocol != "as2" {
		t.Errorf("%s and %s over %q", a.Message.MessageID, b.Message.MessageID, a.Message.Protocol)
	}
}

func TestIDThatIsTakenGetsAnotherOne(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	a := h.mustSend(t, Request{Key: "1"}, "x")
	b := h.mustSend(t, Request{Key: "2", ID: a.Message.ID}, "y")
	if b.Outcome != queue.AdmitNew || b.Message.ID == a.Message.ID {
		t.Errorf("%s, id %s", b.Outcome, b.Message.ID)
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	auto := newPartner("a")
	fixed := newPartner("b")
	fixed.AS2.ContentType = "application/edi-consent"
	for _, tt := range []struct {
		name  string
		p     *partner.Partner
		given string
		body  string
		want  string
	}{
		{"x12", auto, "", x12("000000001", "P", "A", 4), "application/edi-x12"},
		{"what curl sends", auto, "application/x-www-form-urlencoded", x12("000000001", "P", "A", 4), "application/edi-x12"},
		{"what is recognised counts", auto, "text/plain", x12("000000001", "P", "A", 4), "application/edi-x12"},
		{"charset of the caller is kept", auto, "application/EDI-X12; charset=us-ascii", x12("000000001", "P", "A", 4), "application/edi-x12; charset=us-ascii"},
		{"xml by any name", auto, "application/vnd.acme+xml", "<a/>", "application/vnd.acme+xml"},
		{"nothing recognised", auto, "text/csv", "a;b", "text/csv"},
		{"nothing at all", auto, "", "a;b", "application/octet-stream"},
		{"broken", auto, "text/\r\nX: y", "a;b", "application/octet-stream"},
		{"would be taken apart", auto, "multipart/mixed; boundary=b", "a;b", "application/octet-stream"},
		{"partner file", fixed, "text/csv", x12("000000001", "P", "A", 4), "application/edi-consent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := openHouse(t, tt.p)
			if a := h.mustSend(t, Request{Partner: tt.p.ID, ContentType: tt.given}, tt.body); a.Message.Payload.ContentType != tt.want {
				t.Errorf("got %q, want %q", a.Message.Payload.ContentType, tt.want)
			}
		})
	}
}

func TestDerivedKeysTellDocumentsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := open1(t, nil)
		made := map[string]string{} // key and content → message
		for range rapid.IntRange(1, 12).Draw(rt, "documents") {
			control := rapid.SampledFrom([]string{"000000001", "000000002"}).Draw(rt, "control")
			invoice := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(rt, "invoice")
			a, err := h.send(Request{FileName: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "file")}, x12(control, "P", invoice, 4))
			if err != nil {
				rt.Fatal(err)
			}
			same, repeated := made[control+invoice]
			if repeated != (a.Outcome == queue.AdmitReplayed) || repeated && same != a.Message.ID {
				rt.Fatalf("%s/%s: outcome %s of %s, before it was %q", control, invoice, a.Outcome, a.Message.ID, same)
			}
			made[control+invoice] = a.Message.ID
			if !strings.Contains(a.Message.Key, control) {
				rt.Fatalf("key %s of control number %s", a.Message.Key, control)
			}
		}
		ids := map[string]bool{}
		for _, m := range h.messages(t) {
			if ids[m.MessageID] {
				rt.Fatalf("Message-ID %s twice", m.MessageID)
			}
			ids[m.MessageID] = true
		}
	})
}

func TestFileNamesAreSafe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a.edi": "a.edi", "../../etc/passwd": "passwd", `C:\x\y.edi`: "y.edi", ".hidden": "hidden", "a\nb": "a_b", "...": "",
		strings.Repeat("é", 200): strings.Repeat("é", 100), "\xff": "_", "a/": "", " a ": "a",
	} {
		if got := cleanFileName(in); got != want {
			t.Errorf("cleanFileName(%q) = %q, want %q", in, got, want)
		}
	}
}
