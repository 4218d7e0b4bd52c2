package intake

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/as2"
	"edigw/internal/conf"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/storetest"
)

// settings are fixed ones.
type settings struct {
	dir      string
	gateway  partner.Gateway
	partners map[string]*partner.Partner
}

func (s *settings) Partner(id string) (*partner.Partner, bool) { p, ok := s.partners[id]; return p, ok }
func (s *settings) IDs() []string                              { return slices.Sorted(maps.Keys(s.partners)) }
func (s *settings) Gateway() *partner.Gateway                  { return &s.gateway }
func (s *settings) Dir() string                                { return s.dir }

// Names are as partner.Snapshot has them.
func (s *settings) Names(id string) (ours, theirs string) {
	p := s.partners[id]
	if p == nil || p.AS2 == nil {
		return s.gateway.Identity.AS2, id
	}
	return cmp.Or(p.AS2.Template.From, s.gateway.Identity.AS2), cmp.Or(p.AS2.Template.To, id)
}

// clock is a wall clock that only the test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// disk is a spool whose free space the test says.
type disk struct {
	*spool.Spool
	mu   sync.Mutex
	free int64 // -1: as much as there is
	asks int   // how often it was asked
}

func (d *disk) HasRoom(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asks++
	if d.free >= 0 && n > d.free {
		return fmt.Errorf("full: %w", queue.ErrNoSpace)
	}
	return nil
}

func (d *disk) set(free int64) { d.mu.Lock(); defer d.mu.Unlock(); d.free = free }

// house is a door with all that is behind it.
type house struct {
	*Intake
	store    *storetest.Memory
	disk     *disk
	settings *settings
	clock    *clock
	mu       sync.Mutex
	woken    []string
	counted  []queue.Message
}

func newPartner(id string) *partner.Partner {
	return &partner.Partner{
		ID: id, Name: id, Stage: partner.StageLive, Protocol: "as2", CheckEnvelope: true,
		AS2: &partner.AS2{Template: as2.Agreement{From: "ACME", To: strings.ToUpper(id)}, ContentType: "auto"},
	}
}

func open1(t *testing.T, change func(*partner.Partner)) *house {
	t.Helper()
	p := newPartner("northwind")
	if change != nil {
		change(p)
	}
	return openHouse(t, p)
}

func openHouse(t *testing.T, partners ...*partner.Partner) *house {
	t.Helper()
	sp, err := spool.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{store: storetest.NewMemory(), disk: &disk{Spool: sp, free: -1}, clock: &clock{t: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}}
	h.settings = &settings{dir: t.TempDir(), partners: map[string]*partner.Partner{}}
	h.settings.gateway.Identity.Domain = "edi.acme.example"
	h.settings.gateway.Limits.Document = conf.Size(1 << 20)
	for _, p := range partners {
		h.settings.partners[p.ID] = p
	}
	h.restart(t)
	return h
}

// restart gives the house a new door, as after a restart of the process.
func (h *house) restart(t *testing.T) {
	t.Helper()
	in, err := New(Options{
		Store: h.store, Spool: h.disk, Settings: func() Settings { return h.settings }, Now: h.clock.now, Log: slog.New(slog.DiscardHandler),
		Wake:   func(lane string) { h.mu.Lock(); defer h.mu.Unlock(); h.woken = append(h.woken, lane) },
		Count:  func(m queue.Message) { h.mu.Lock(); defer h.mu.Unlock(); h.counted = append(h.counted, m) },
		Random: rand.Reader,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Intake = in
}

func (h *house) send(r Request, body string) (Accepted, error) {
	if r.Partner == "" {
		r.Partner = "northwind"
	}
	if r.Size == 0 {
		r.Size = int64(len(body))
	}
	return h.Accept(context.Background(), r, strings.NewReader(body))
}

func (h *house) mustSend(t *testing.T, r Request, body string) Accepted {
	t.Helper()
	a, err := h.send(r, body)
	if err != nil {
		t.Fatalf("Accept: %v", err)
	}
	return a
}

func (h *house) messages(t *testing.T, states ...queue.State) []queue.Message {
	t.Helper()
	all, _, err := h.store.Messages(context.Background(), queue.MessageFilter{States: states}, queue.Page{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(all)
	return all
}

func (h *house) events(t *testing.T, typ queue.EventType) (n int) {
	t.Helper()
	all, err := h.store.Events(context.Background(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// files counts the payloads in the spool.
func (h *house) files(t *testing.T) (n int) {
	t.Helper()
	if err := h.disk.Walk(spool.Payload, time.Now().Add(time.Hour), func(string) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// payload is the stored document of a message.
func (h *house) payload(t *testing.T, m queue.Message) string {
	t.Helper()
	f, err := h.disk.Open(spool.Payload, m.Payload.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// x12 is an interchange; counted is what SE01 says of its 4 segments.
func x12(control, usage, invoice string, counted int) string {
	isa := fmt.Sprintf("ISA*00*          *00*          *ZZ*ACMESUPPLY     *ZZ*NORTHWIND      *261130*0429*U*00401*%s*0*%s*>~", control, usage)
	return isa + "GS*IN*ACMESUPPLY*NORTHWIND*20261130*0429*1*X*004010~ST*810*0001~BIG*20261130*" + invoice + "~CUR*SE*USD~" +
		fmt.Sprintf("SE*%d*0001~GE*1*1~IEA*1*%s~", counted, control)
}
