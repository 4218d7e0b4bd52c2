package inbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/fault"
	"edigw/queue"
)

// bar puts a file where the partner's folder should be.
func (h *house) bar() {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.Dir, "northwind"), nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) unbar() {
	h.t.Helper()
	if err := os.Remove(filepath.Join(h.Dir, "northwind")); err != nil {
		h.t.Fatal(err)
	}
}

func TestFolderThatFailsDelaysNoAnswer(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.bar()
	h.receive(message("<1@n.example>", order, "wire-1"))
	if m := h.messages(queue.In)[0]; m.State != queue.Received {
		t.Fatalf("state is %s", m.State)
	}
	h.sweep(context.Background())
	h.unbar()
	h.sweep(context.Background())
	if m := h.messages(queue.In)[0]; m.State != queue.Delivered || h.read("2026-12-01/order.x12") != order {
		t.Errorf("state is %s, files %v", m.State, h.tree())
	}
	if h.troubled() {
		t.Error("failures are still remembered")
	}
}

func TestFolderThatFailsForLongMakesALetterThatCanBeProcessed(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := context.Background()
	h.bar()
	h.receive(message("<1@n.example>", order, "wire-1"))
	for range maxTries {
		h.sweep(ctx)
	}
	open := h.letters(queue.LetterOpen)
	if len(open) != 1 || open[0].Reason != fault.ReasonLocal || h.troubled() {
		t.Fatalf("letters are %+v", open)
	}
	by := fault.Actor{Name: "kim"}
	if err := h.Process(ctx, open[0].Message, by, "folder mended"); err == nil {
		t.Error("processed although the folder still fails")
	}
	if _, dup := h.receive(message("<1@n.example>", order, "wire-2")); !dup {
		t.Error("a copy of a message that was acknowledged is no duplicate")
	}
	h.unbar()
	if err := h.Process(ctx, open[0].Message, by, "folder mended"); err != nil {
		t.Fatal(err)
	}
	l, err := h.store.Letter(ctx, open[0].ID)
	if err != nil || l.Status != queue.LetterClosed || l.ClosedAs != queue.ClosedDelivered || l.Actor != by || l.Note != "folder mended" {
		t.Errorf("letter is %+v, %v", l, err)
	}
	var no *NotPossible
	if err := h.Process(ctx, open[0].Message, by, "again"); !errors.As(err, &no) || len(h.tree()) != 2 {
		t.Errorf("second time: %v, files %v", err, h.tree())
	}
}

func TestRefusedMessageCannotBeProcessed(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.receive(refused("<1@n.example>", "wire-1", "not signed"))
	var no *NotPossible
	if err := h.Process(context.Background(), h.messages(queue.In)[0].ID, fault.Actor{}, ""); !errors.As(err, &no) {
		t.Errorf("got %v", err)
	}
	if err := h.Process(context.Background(), "nothing", fault.Actor{}, ""); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// Each case is what a kill at one step of handing a document on leaves behind.
func TestKillAtEveryStepOfHandingOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		die  func(*house, *placing, queue.Message)
	}{
		{"before anything", func(*house, *placing, queue.Message) {}},
		{"half the document is written", func(_ *house, p *placing, _ queue.Message) {
			write(p.folder, p.document(), strings.NewReader(order[:50]))
		}},
		{"both are written", func(h *house, p *placing, m queue.Message) { h.prepare(*p, m, h.Inbox.factsFor(m)) }},
		{"the facts have their name", func(h *house, p *placing, m queue.Message) {
			h.prepare(*p, m, h.Inbox.factsFor(m))
			p.folder.Rename(p.facts(), p.name+factsSuffix)
		}},
		{"the document has its name", func(h *house, p *placing, m queue.Message) {
			h.prepare(*p, m, h.Inbox.factsFor(m))
			p.finish()
		}},
		{"the document was fetched", func(h *house, p *placing, m queue.Message) {
			h.prepare(*p, m, h.Inbox.factsFor(m))
			p.finish()
			p.folder.Remove(p.name)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.bar()
			h.receive(message("<1@n.example>", order, "wire-1"))
			h.unbar()
			m := h.messages(queue.In)[0]
			day := filepath.Join(h.Dir, "northwind", "2026-12-01")
			if err := os.MkdirAll(day, 0o700); err != nil {
				t.Fatal(err)
			}
			folder, err := os.OpenRoot(day)
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			tt.die(h, &placing{folder: folder, id: m.ID, name: "order.x12"}, m)
			h.restart(h.Dir)
			h.sweep(context.Background())
			want := []string{"2026-12-01/order.x12", "2026-12-01/order.x12.json"}
			if tt.name == "the document was fetched" {
				want = want[1:]
			} else if h.read(want[0]) != order {
				t.Error("the document is not whole")
			}
			if diff := cmp.Diff(want, h.tree()); diff != "" {
				t.Errorf("files differ:\n%s", diff)
			}
			if m := h.messages(queue.In)[0]; m.State != queue.Delivered {
				t.Errorf("state is %s", m.State)
			}
		})
	}
}

// factsFor reads the facts of a message back.
func (b *Inbox) factsFor(m queue.Message) Facts {
	builds, _ := b.Store.Builds(context.Background(), m.ID)
	r, _ := ReadRecord(builds)
	return r.Facts
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

func TestStartHandsOnWhatWasLeft(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.bar()
	h.receive(message("<1@n.example>", order, "wire-1"))
	h.restart(h.Dir)
	synctest.Test(t, func(t *testing.T) {
		if err := h.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := h.Start(context.Background()); err == nil {
			t.Error("it starts twice")
		}
		synctest.Wait()
		h.unbar()
		<-time.After(pause + time.Second)
		synctest.Wait()
		for range 2 {
			if err := h.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	if m := h.messages(queue.In)[0]; m.State != queue.Delivered {
		t.Errorf("state is %s", m.State)
	}
}
