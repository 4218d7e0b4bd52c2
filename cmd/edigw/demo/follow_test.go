package demo

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/internal/apiclient"
)

// pretended is an API whose answers a test sets.
type pretended struct {
	mu       sync.Mutex
	messages []message
	lanes    []lane
	outages  []outage
	broken   bool
}

func (p *pretended) set(change func(*pretended)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// ServeHTTP answers lists newest first, two items a page.
func (p *pretended) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	var answer any
	switch path := strings.TrimPrefix(r.URL.Path, "/api/v1"); path {
	case "/messages":
		list := page[message]{Items: p.messages}
		if r.URL.Query().Get("limit") == "500" {
			list = page[message]{Items: p.messages[:1], Next: "more"}
			if r.URL.Query().Get("cursor") == "more" {
				list = page[message]{Items: p.messages[1:]}
			}
		}
		answer = list
	case "/partners":
		answer = page[lane]{Items: p.lanes}
	case "/outages":
		answer = page[outage]{Items: p.outages}
	default:
		for _, m := range p.messages {
			if path == "/messages/"+m.ID {
				answer = m
			}
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func follow(t *testing.T, p *pretended) (*follower, *strings.Builder) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: p}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	out := &strings.Builder{}
	return newFollower(apiclient.Local(socket), &teller{print: &printer{out: out}}), out
}

// TestFollowerTellsEachFactOnce, however often it looks.
func TestFollowerTellsEachFactOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	m := message{ID: "1", Partner: "p", Direction: "out", State: "queued", FileName: "a.edi", Timeline: []event{{At: at, Type: "accepted"}}}
	p := &pretended{messages: []message{m}, lanes: []lane{{ID: "p", State: "sending"}}}
	f, out := follow(t, p)
	f.poll(t.Context())
	f.poll(t.Context())
	if got := strings.Count(out.String(), "a.edi accepted"); got != 1 {
		t.Errorf("told %d times:\n%s", got, out)
	}
	p.set(func(p *pretended) {
		p.broken = true
	})
	f.poll(t.Context()) // what fails is asked again
	m.State = "dead"
	m.Timeline = append(m.Timeline, event{At: at.Add(2 * time.Second), Type: "dead", Text: "refused", Facts: map[string]string{"reason": "signature"}})
	p.set(func(p *pretended) {
		p.broken, p.messages = false, []message{m}
		p.lanes = []lane{{ID: "p", State: "open", Since: at.Add(time.Second), NextAt: at.Add(time.Hour)}}
		p.outages = []outage{{ID: "OUT-1", Partner: "p", Since: at.Add(time.Second), Detail: "Connection refused"}}
	})
	f.poll(t.Context())
	told := out.String()
	for _, want := range []string{"breaker opened, OUT-1: Connection refused", "Stopped: partner not answering. Next test", "a.edi is a dead letter, signature: refused"} {
		if strings.Count(told, want) != 1 {
			t.Errorf("not told once: %q in\n%s", want, told)
		}
	}
	if strings.Index(told, "OUT-1") > strings.Index(told, "dead letter") {
		t.Errorf("not in the order in which it happened:\n%s", told)
	}
}

func TestUntilWaitsForAView(t *testing.T) {
	t.Parallel()
	p := &pretended{messages: []message{{ID: "1", Partner: "p", Direction: "out", State: "queued"}}}
	f, _ := follow(t, p)
	f.poll(t.Context())
	met := make(chan bool)
	go func() {
		met <- f.until(t.Context(), func(v view) bool { return v.messages["1"].State == "delivered" })
	}()
	p.set(func(p *pretended) {
		p.messages = []message{{ID: "1", Partner: "p", Direction: "out", State: "delivered"}}
	})
	f.poll(t.Context())
	if !<-met {
		t.Error("the view was not seen")
	}
}

func TestLedgerReadsEveryPage(t *testing.T) {
	t.Parallel()
	p := &pretended{messages: []message{{ID: "3"}, {ID: "2"}, {ID: "1"}}, outages: []outage{{ID: "OUT-1"}}}
	f, _ := follow(t, p)
	v, err := f.ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(v.messages) != 3 || len(v.outages) != 1 {
		t.Errorf("%d messages, %d outages; want 3, 1", len(v.messages), len(v.outages))
	}
	p.set(func(p *pretended) { p.broken = true })
	if _, err := f.ledger(t.Context()); err == nil {
		t.Error("books that cannot be read: no error")
	}
}
