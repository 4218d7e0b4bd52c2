package intake

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edigw/partner"
	"edigw/queue"
)

func TestFileIsTakenWhenItIsStable(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	b.drop("a.edi", x12("000000001", "P", "A", 4)[:100])
	b.run(4 * time.Second)
	b.drop("a.edi", x12("000000001", "P", "A", 4))
	b.run(5 * time.Second)
	b.want("a.edi")
	b.run(2 * time.Second)
	all := b.messages(t)
	if len(all) != 1 || all[0].Payload.FileName != "a.edi" || all[0].Source != "outbox" || all[0].CorrelationID == "" {
		t.Fatalf("messages are %+v", all)
	}
	b.want(accepted("a.edi", all[0]))
	for _, dir := range []string{"", "accepted", "accepted/2026-12-01"} {
		if info, err := os.Stat(filepath.Join(b.dir("northwind"), dir)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q has mode %v, %v", dir, info.Mode(), err)
		}
	}
}

func TestWhatIsNoFinishedFileStays(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	dir := b.dir("northwind")
	for _, name := range []string{".hidden", "a.tmp", "a.part", ".claim~short", ".claim~" + strings.Repeat("i", 26) + "~not an id"} {
		b.drop(name, "x")
	}
	var log bytes.Buffer
	b.Intake.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, err := range []error{os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "in.edi"), []byte("x"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := b.tree()
	b.run(20 * time.Second)
	b.want(before...)
	if n := len(b.messages(t)); n != 0 {
		t.Errorf("%d messages", n)
	}
	if n := strings.Count(log.String(), "file=sub"); n != 1 {
		t.Errorf("the log tells of the folder %d times, want once:\n%s", n, &log)
	}
}

func TestFoldersAreNotLeftThroughLinks(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(b.dir("northwind"), "accepted")); err != nil {
		t.Fatal(err)
	}
	b.drop("a.edi", "x")
	b.run(10 * time.Second)
	if all, _ := os.ReadDir(outside); len(all) != 0 {
		t.Errorf("%v was written outside the outbox", all)
	}
}

func TestOldestFileGoesFirst(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	for i, name := range []string{"c", "a", "b", "d"} {
		b.drop(name, name)
		at := b.clock.now().Add(time.Duration(i) * time.Millisecond)
		if err := os.Chtimes(filepath.Join(b.dir("northwind"), name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	b.run(7 * time.Second)
	var got []string
	for _, m := range b.messages(t) {
		got = append(got, m.Payload.FileName)
	}
	if fmt.Sprint(got) != "[c a b d]" {
		t.Errorf("taken in the order %v", got)
	}
}

func TestFileThatMustWaitStaysAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		bar  func(*box)
		free func(*box)
	}{
		{"backlog", func(b *box) { b.settings.partners["northwind"].Backlog.Messages = 1; fill(b.house) }, func(b *box) { b.settings.partners["northwind"].Backlog.Messages = 0 }},
		{"disk full", func(b *box) { b.disk.set(0) }, func(b *box) { b.disk.set(-1) }},
		{"in progress", func(b *box) { b.keys.hold(key{"northwind", contentKey}) }, func(b *box) { b.keys.release(key{"northwind", contentKey}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, open1(t, nil))
			tt.bar(b)
			had := len(b.messages(t))
			b.drop("a.edi", "x")
			b.drop("b.edi", "y")
			b.run(3 * time.Minute)
			b.want("a.edi", "b.edi")
			if tt.name != "in progress" && b.disk.asks > 30 {
				t.Errorf("the files were tried too often: the disk was asked %d times in three minutes", b.disk.asks)
			}
			if n := len(b.messages(t, queue.Refused)); n > 2 {
				t.Errorf("waiting made %d refused messages", n)
			}
			tt.free(b)
			refused := len(b.messages(t, queue.Refused))
			b.run(time.Minute)
			all := b.messages(t)
			if len(all) != had+refused+2 {
				t.Fatalf("%d messages", len(all))
			}
			b.want(accepted("a.edi", all[len(all)-2]), accepted("b.edi", all[len(all)-1]))
		})
	}
}

// contentKey is the key of a file a.edi that holds "x".
const contentKey = "content:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881/a.edi"

func TestFileOfTheSameNameIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	root, err := os.OpenRoot(b.dir("northwind"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	b.drop("a.edi", "first")
	c, err := b.claim(root, "a.edi", b.clock.now())
	if err != nil {
		t.Fatal(err)
	}
	b.drop("a.edi", "second")
	unclaim(root, c)
	if b.read("a.edi") != "second" || b.read(c.file()) != "first" {
		t.Fatal("a file was overwritten")
	}
	b.run(8 * time.Second)
	if n := len(b.messages(t)); n != 2 {
		t.Errorf("%d messages", n)
	}
}

func TestFileThatGrowsWhileItIsReadGoesBack(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	b.drop("a.edi", "half")
	b.run(time.Second)
	path := filepath.Join(b.dir("northwind"), "a.edi")
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	body := &steady{file: file, before: info}
	b.drop("a.edi", "half and half")
	if _, err := b.Accept(context.Background(), Request{Partner: "northwind", Size: info.Size()}, body); err == nil || !body.changed {
		t.Errorf("accepted, changed %v, %v", body.changed, err)
	}
	if n := len(b.messages(t)); n != 0 {
		t.Errorf("%d messages, refused ones included", n)
	}
}

func TestReloadMakesFoldersAndForgetsOthers(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	b.settings.partners["contoso"] = newPartner("contoso")
	if err := b.Reload(); err != nil {
		t.Fatal(err)
	}
	delete(b.settings.partners, "northwind")
	if err := b.Reload(); err != nil {
		t.Fatal(err)
	}
	b.drop("a.edi", "x")
	if err := os.WriteFile(filepath.Join(b.dir("contoso"), "b.edi"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run(10 * time.Second)
	if all := b.messages(t); len(all) != 1 || all[0].Partner != "contoso" {
		t.Errorf("messages are %+v", all)
	}
	b.want("a.edi")
}

// thousands is an outbox of n folders.
func thousands(t testing.TB, n int) (*Outbox, *house) {
	h := &house{clock: &clock{t: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}, settings: &settings{dir: t.TempDir(), partners: map[string]*partner.Partner{}}}
	for i := range n {
		id := fmt.Sprintf("p%05d", i)
		h.settings.partners[id] = &partner.Partner{ID: id}
	}
	h.Intake = &Intake{Options: Options{Settings: func() Settings { return h.settings }, Now: h.clock.now}}
	o := NewOutbox(h.Intake)
	if err := o.Reload(); err != nil {
		t.Fatal(err)
	}
	return o, h
}

func TestIdleFoldersCostOnlyALook(t *testing.T) {
	t.Parallel()
	o, h := thousands(t, 3000)
	for range 30 {
		h.clock.advance(time.Second)
		o.look(h.clock.now())
	}
	looks := 0
	for range round {
		h.clock.advance(time.Second)
		looked, read := o.look(h.clock.now())
		looks += looked
		if read != 0 {
			t.Errorf("%d idle folders were read", read)
		}
	}
	if looks != 3000 {
		t.Errorf("%d looks in %d ticks, want each of 3000 folders once", looks, round)
	}
	if err := os.WriteFile(filepath.Join(h.settings.dir, "outbox", "p02999", "a.edi"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := 0
	for range round {
		h.clock.advance(time.Second)
		_, n := o.look(h.clock.now())
		read += n
	}
	if read == 0 {
		t.Error("a new file was not seen within a round")
	}
}

// A look is due every second: the time of one is the share of a core that
// 10,000 idle partners cost.
func BenchmarkLookAtIdleFolders(b *testing.B) {
	o, h := thousands(b, 10_000)
	for range 30 {
		h.clock.advance(time.Second)
		o.look(h.clock.now())
	}
	b.ResetTimer()
	for b.Loop() {
		o.look(h.clock.now())
	}
}

func TestOutboxRunsAndStops(t *testing.T) {
	t.Parallel()
	h := open1(t, nil)
	synctest.Test(t, func(t *testing.T) {
		h.clock.t = time.Now()
		in, err := New(Options{Store: h.store, Spool: h.disk, Settings: func() Settings { return h.settings }, Now: time.Now, Log: h.Log})
		if err != nil {
			t.Fatal(err)
		}
		h.Intake = in
		b := &box{house: h, Outbox: NewOutbox(in), t: t}
		if err := b.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(context.Background()); err == nil {
			t.Error("it starts twice")
		}
		for i := range 250 {
			b.drop(fmt.Sprintf("%03d.edi", i), fmt.Sprint("document ", i))
		}
		deadline := time.Now().Add(30 * time.Second)
		for len(b.messages(t)) < 250 && time.Now().Before(deadline) {
			<-time.After(time.Second)
			synctest.Wait()
		}
		if n := len(b.messages(t)); n != 250 {
			t.Errorf("%d messages", n)
		}
		b.drop("late.edi", "x")
		for range 2 {
			if err := b.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(b.dir("northwind"), "late.edi")); err != nil {
			t.Error(err)
		}
	})
}

func TestAFileOutOfAcceptedKeepsItsName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"inv.edi~t65c8kgx":  "inv.edi",
		"inv.edi":           "inv.edi",
		"inv.edi~short":     "inv.edi~short",
		"~t65c8kgx":         "~t65c8kgx",
		"a~b~t65c8kgx":      "a~b",
		"inv.edi~T65C8KGX":  "inv.edi~T65C8KGX",
		"inv.edi~t65c8kgxz": "inv.edi~t65c8kgxz",
	} {
		if got := dropped(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
