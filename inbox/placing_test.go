package inbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edigw/queue"
)

// Each case is what a kill at one step of handing a batch of two documents on
// leaves behind. Both have the same file name.
func TestKillAtEveryStepOfHandingOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		die  func(*house, []*parcel)
		gone bool // the first document was fetched before the next start
	}{
		{"before anything", func(*house, []*parcel) {}, false},
		{"half a document is written", func(h *house, all []*parcel) {
			h.half(all[0])
		}, false},
		{"one document is written", func(h *house, all []*parcel) { h.prepared(all[:1]) }, false},
		{"one is written, half of the other", func(h *house, all []*parcel) {
			h.prepared(all[:1])
			h.half(all[1])
		}, false},
		{"all are written", func(h *house, all []*parcel) { h.prepared(all) }, false},
		{"all are durable", func(h *house, all []*parcel) {
			h.prepared(all)
			h.flushFiles(all)
		}, false},
		{"the first facts have their name", func(h *house, all []*parcel) {
			h.prepared(all)
			h.flushFiles(all)
			h.must(all[0].folder.Rename(all[0].hiddenFacts(), all[0].name+factsSuffix))
		}, false},
		{"the first document has its name", func(h *house, all []*parcel) {
			h.prepared(all)
			h.flushFiles(all)
			h.must(h.name(all[0]))
		}, false},
		{"the first has its name, the second's facts", func(h *house, all []*parcel) {
			h.prepared(all)
			h.flushFiles(all)
			h.must(h.name(all[0]))
			h.must(all[1].choose(nil))
			h.must(all[1].folder.Rename(all[1].hiddenFacts(), all[1].name+factsSuffix))
		}, false},
		{"all have their names", func(h *house, all []*parcel) { h.place(all) }, false},
		{"the first was fetched", func(h *house, all []*parcel) {
			h.prepared(all)
			h.flushFiles(all)
			h.must(h.name(all[0]))
			h.must(all[0].folder.Remove(all[0].name))
		}, true},
		{"one is recorded", func(h *house, all []*parcel) {
			h.place(all)
			h.deliver(context.Background(), all[:1])
		}, false},
		{"all are recorded", func(h *house, all []*parcel) {
			h.place(all)
			h.deliver(context.Background(), all)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			all := h.waiting(2)
			tt.die(h, all)
			h.restart(h.Dir)
			h.sweep()
			other := "order~" + queue.Short(all[1].message.ID) + ".x12"
			second := other
			if strings.Contains(strings.Join(h.tree(), " "), "order~"+queue.Short(all[0].message.ID)) {
				second = "order~" + queue.Short(all[0].message.ID) + ".x12" // the sweep may begin with the other
			}
			want := []string{"2026-12-01/order.x12", "2026-12-01/order.x12.json", "2026-12-01/" + second, "2026-12-01/" + second + ".json"}
			if tt.gone {
				want = want[1:]
			}
			if diff := cmp.Diff(want, h.tree()); diff != "" {
				t.Errorf("files differ:\n%s", diff)
			}
			ids := map[string]bool{}
			for _, name := range want {
				if document, isFacts := strings.CutSuffix(name, factsSuffix); isFacts {
					ids[h.facts(name).ID] = true
				} else if h.read(document) != order {
					t.Errorf("%s is not whole", name)
				}
			}
			if len(ids) != 2 {
				t.Errorf("the facts are of %d messages", len(ids))
			}
			for _, m := range h.messages(queue.In) {
				if m.State != queue.Delivered {
					t.Errorf("state is %s", m.State)
				}
			}
		})
	}
}

func TestFactsGetTheirNameFirst(t *testing.T) {
	t.Parallel()
	h := open(t)
	all := h.waiting(1)
	h.prepared(all)
	h.flushFiles(all)
	h.must(all[0].folder.Remove(all[0].document()))
	if err := h.name(all[0]); err == nil {
		t.Error("a document that is not there got its name")
	}
	if diff := cmp.Diff([]string{"2026-12-01/order.x12.json"}, h.tree()); diff != "" {
		t.Errorf("files differ:\n%s", diff)
	}
}

// waiting receives documents that are not handed on, and gives them.
func (h *house) waiting(n int) (all []*parcel) {
	h.t.Helper()
	h.bar()
	for i := range n {
		id := string(rune('a' + i))
		h.receive(message("<"+id+"@n.example>", order, "wire-"+id))
	}
	h.unbar()
	for _, m := range h.messages(queue.In) {
		p, err := h.parcel(context.Background(), m, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// prepared writes documents under their hidden names.
func (h *house) prepared(all []*parcel) {
	h.t.Helper()
	open := folders{inbox: h.Inbox, byPath: map[string]*folder{}}
	h.t.Cleanup(open.close)
	for _, p := range all {
		h.must(h.prepare(&open, p))
	}
}

// half leaves half of a document under its hidden name.
func (h *house) half(p *parcel) {
	h.t.Helper()
	day := filepath.Join(h.Dir, "northwind", "2026-12-01")
	h.must(os.MkdirAll(day, 0o700))
	h.must(os.WriteFile(filepath.Join(day, ".tmp~"+p.message.ID), []byte(order[:50]), 0o600))
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func TestNoFileIsOverwrittenOrUnsafe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		given string
		there []string
		want  func(short string) string
	}{
		{"free", "a.x12", nil, func(string) string { return "a.x12" }},
		{"taken", "a.x12", []string{"a.x12"}, func(s string) string { return "a~" + s + ".x12" }},
		{"its facts are taken", "a", []string{"a.json"}, func(s string) string { return "a~" + s }},
		{"no name", "", nil, func(s string) string { return "document-" + s + ".x12" }},
		{"way out", "../a.x12", nil, func(s string) string { return "document-" + s + ".x12" }},
		{"hidden", ".a", nil, func(s string) string { return "document-" + s + ".x12" }},
		{"too long", strings.Repeat("a", 201), nil, func(s string) string { return "document-" + s + ".x12" }},
		{"not text", "a\xff", nil, func(s string) string { return "document-" + s + ".x12" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			day := filepath.Join(h.Dir, "northwind", "2026-12-01")
			if err := os.MkdirAll(day, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range tt.there {
				if err := os.WriteFile(filepath.Join(day, name), []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := message("<1@n.example>", order, "wire-1")
			r.FileName = tt.given
			h.receive(r)
			name := "2026-12-01/" + tt.want(queue.Short(h.messages(queue.In)[0].ID))
			if h.read(name) != order || h.facts(name+".json").SHA256 != digest(order) {
				t.Errorf("files are %v", h.tree())
			}
			for _, there := range tt.there {
				if h.read("2026-12-01/"+there) != "mine" {
					t.Errorf("%s was overwritten", there)
				}
			}
		})
	}
}

func TestFolderIsNotLeftThroughLinks(t *testing.T) {
	t.Parallel()
	h := open(t)
	outside := t.TempDir()
	if err := os.Mkdir(filepath.Join(h.Dir, "northwind"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(h.Dir, "northwind", "2026-12-01")); err != nil {
		t.Fatal(err)
	}
	h.receive(message("<1@n.example>", order, "wire-1"))
	if all, _ := os.ReadDir(outside); len(all) != 0 || h.messages(queue.In)[0].State != queue.Received {
		t.Errorf("%v was written outside", all)
	}
}
