package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
)

// box is an outbox whose time the test moves.
type box struct {
	*house
	*Outbox
	t *testing.T
}

func newBox(t *testing.T, h *house) *box {
	t.Helper()
	b := &box{house: h, Outbox: NewOutbox(h.Intake), t: t}
	if err := b.Reload(); err != nil {
		t.Fatal(err)
	}
	return b
}

// crash gives the box a new process: nothing of the old one's memory is left.
func (b *box) crash() *box {
	b.restart(b.t)
	return newBox(b.t, b.house)
}

func (b *box) dir(id string) string { return filepath.Join(b.settings.dir, "outbox", id) }

func (b *box) drop(name, content string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir("northwind"), name), []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run lets d pass, looking every second.
func (b *box) run(d time.Duration) {
	for range d / time.Second {
		b.clock.advance(time.Second)
		b.look(b.clock.now())
		for len(b.work) > 0 {
			b.visit(context.Background(), <-b.work)
		}
	}
}

// tree lists the files below the folder; ids are written as #.
func (b *box) tree() []string {
	b.t.Helper()
	var all []string
	root := b.dir("northwind")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

func (b *box) want(files ...string) {
	b.t.Helper()
	slices.Sort(files)
	if diff := cmp.Diff(files, b.tree()); diff != "" {
		b.t.Errorf("files differ (-want +got):\n%s", diff)
	}
}

func (b *box) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir("northwind"), name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// accepted is where the file of a message ends.
func accepted(name string, m queue.Message) string {
	return "accepted/2026-12-01/" + name + "~" + queue.Short(m.ID)
}

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

// TestWhatIsNoPlainFileIsRefused: links, pipes and sockets are put aside once,
// with a note, and never followed or opened.
func TestWhatIsNoPlainFileIsRefused(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	dir := b.dir("northwind")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	odd := []string{"link.edi", "nowhere.edi", "folder.edi", "pipe", "socket"}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, err := range []error{
		os.Symlink(secret, filepath.Join(dir, odd[0])), os.Symlink("/nowhere", filepath.Join(dir, odd[1])), os.Symlink(t.TempDir(), filepath.Join(dir, odd[2])),
		syscall.Mkfifo(filepath.Join(dir, odd[3]), 0o600), os.Symlink(secret, filepath.Join(dir, ".claim~"+strings.Repeat("0", 26)+"~claimed")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b.drop("real.edi", "x")
	b.run(20 * time.Second)
	var want []string
	for _, name := range append(odd, "claimed") {
		want = append(want, "rejected/"+b.today()+"/"+name, "rejected/"+b.today()+"/"+name+".error.txt")
	}
	var got []string
	for _, name := range b.tree() {
		if !strings.HasPrefix(name, acceptedFolder) {
			got = append(got, name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
	if text := b.read(want[1]); !strings.Contains(text, "Not a plain file") || !strings.Contains(text, "Copy the document itself.") {
		t.Errorf("the note says:\n%s", text)
	}
	if all := b.messages(t); len(all) != 1 || all[0].Payload.FileName != "real.edi" {
		t.Errorf("messages %+v, want the plain file alone", all)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" {
		t.Errorf("what a link points to: %q, %v", text, err)
	}
	after := b.tree()
	b.run(20 * time.Second)
	if diff := cmp.Diff(after, b.tree()); diff != "" {
		t.Errorf("later something changed:\n%s", diff)
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

func TestRefusedFileIsExplained(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	for range 2 {
		b.drop("a.edi", x12("000000001", "T", "A", 4))
		b.run(7 * time.Second)
	}
	got := b.tree()
	if len(got) != 4 || got[0] != "rejected/2026-12-01/a.edi" || got[1] != "rejected/2026-12-01/a.edi.error.txt" || !strings.HasPrefix(got[2], "rejected/2026-12-01/a.edi~") {
		t.Fatalf("files are %v", got)
	}
	text := b.read(got[1])
	for _, part := range []string{"a.edi", "test interchange (ISA15 is T), but partner northwind has stage: live", "Fix:", "test indicator", "outbox/northwind/"} {
		if !strings.Contains(text, part) {
			t.Errorf("the note does not say %q:\n%s", part, text)
		}
	}
	if n := len(b.messages(t, queue.Refused)); n == 0 {
		t.Error("the refusal is not recorded")
	}
}

// asNobody runs a test once more in a process of a user without rights.
func asNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "edigw") // not TempDir: others may not enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "intake.test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(copied, program, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = os.TempDir(), []string{"TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// nobody is a user that owns nothing.
const nobody = 65534

func TestUnreadableFileIsExplained(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 { // root may read everything
		asNobody(t)
		return
	}
	b := newBox(t, open1(t, nil))
	b.drop("a.edi", "x")
	if err := os.Chmod(filepath.Join(b.dir("northwind"), "a.edi"), 0); err != nil {
		t.Fatal(err)
	}
	b.run(7 * time.Second)
	b.want("rejected/2026-12-01/a.edi", "rejected/2026-12-01/a.edi.error.txt")
}

func TestDuplicateFileNamesTheFirst(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	b.drop("a.edi", x12("000000001", "P", "A", 4))
	b.run(7 * time.Second)
	b.drop("again.edi", x12("000000001", "P", "A", 4))
	b.run(7 * time.Second)
	first := b.messages(t)[0]
	b.want(accepted("a.edi", first), accepted("again.edi", first), "accepted/2026-12-01/again.edi.duplicate.txt")
	if text := b.read("accepted/2026-12-01/again.edi.duplicate.txt"); !strings.Contains(text, first.ID) {
		t.Errorf("the note does not name the first message:\n%s", text)
	}
}

// A file that takes the place of an earlier one says so; one that is dead on
// arrival takes none.
func TestFileThatReplacesAnotherSaysSo(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	for _, f := range []struct {
		name    string
		invoice string
		counted int
	}{{"a.edi", "A", 4}, {"bad.edi", "B", 5}, {"good.edi", "C", 4}} {
		b.drop(f.name, x12("000000001", "P", f.invoice, f.counted))
		b.run(7 * time.Second)
		if f.name == "bad.edi" {
			if all := b.messages(t); len(all) != 2 || all[0].State != queue.Queued || all[1].State != queue.Dead || !all[1].Parked {
				t.Fatalf("the good one and the bad one: %+v", all)
			}
		}
	}
	all := b.messages(t)
	if len(all) != 3 || all[0].State != queue.Superseded || all[1].State != queue.Superseded || all[2].State != queue.Queued {
		t.Fatalf("messages %+v", all)
	}
	const name = "accepted/2026-12-01/good.edi.replaces.txt"
	b.want(accepted("a.edi", all[0]), accepted("bad.edi", all[1]), accepted("good.edi", all[2]), name)
	if text := b.read(name); !strings.Contains(text, all[0].ID) || !strings.Contains(text, all[1].ID) || !strings.Contains(text, "not sent any more") {
		t.Errorf("the note says:\n%s", text)
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

// Each case is what a kill at one step of taking a.edi in leaves behind.
func TestKillAtEveryStepOfTakingAFileIn(t *testing.T) {
	t.Parallel()
	body := x12("000000001", "P", "A", 4)
	claimed := func(t *testing.T, b *box, root *os.Root) claim {
		c, err := b.claim(root, "a.edi", b.clock.now())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	take := func(t *testing.T, b *box, c claim) Accepted {
		return b.mustSend(t, Request{ID: c.id, FileName: c.name, Source: SourceOutbox}, body)
	}
	for _, tt := range []struct {
		name string
		die  func(*testing.T, *box, *os.Root)
	}{
		{"before the claim", func(*testing.T, *box, *os.Root) {}},
		{"after the claim", func(t *testing.T, b *box, root *os.Root) { claimed(t, b, root) }},
		{"after the document is in the spool", func(t *testing.T, b *box, root *os.Root) {
			claimed(t, b, root)
			w, err := b.disk.Create(spool.Payload, 0)
			if err != nil {
				t.Fatal(err)
			}
			w.Write([]byte(body))
			if _, _, err := w.Commit(); err != nil {
				t.Fatal(err)
			}
		}},
		{"after it is accepted", func(t *testing.T, b *box, root *os.Root) { take(t, b, claimed(t, b, root)) }},
		{"after the folder of the day is made", func(t *testing.T, b *box, root *os.Root) {
			take(t, b, claimed(t, b, root))
			if err := root.MkdirAll("accepted/2026-12-01", 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"after it is moved", func(t *testing.T, b *box, root *os.Root) {
			c := claimed(t, b, root)
			a := take(t, b, c)
			if err := place(root, c, "accepted/2026-12-01", c.name+"~"+queue.Short(a.Message.ID)); err != nil {
				t.Fatal(err)
			}
		}},
		{"after it was given back", func(t *testing.T, b *box, root *os.Root) { unclaim(root, claimed(t, b, root)) }},
		{"between the two names while it is given back", func(t *testing.T, b *box, root *os.Root) {
			c := claimed(t, b, root)
			if err := root.Link(c.file(), c.name); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, open1(t, nil))
			b.drop("a.edi", body)
			root, err := os.OpenRoot(b.dir("northwind"))
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			tt.die(t, b, root)
			b = b.crash()
			b.run(10 * time.Second)
			all := b.messages(t)
			if len(all) != 1 || b.payload(t, all[0]) != body {
				t.Fatalf("%d messages", len(all))
			}
			b.want(accepted("a.edi", all[0]))
		})
	}
}

func TestKillWhileAFileIsRejected(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, nil))
	b.drop("a.edi", "")
	root, err := os.OpenRoot(b.dir("northwind"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := b.claim(root, "a.edi", b.clock.now()); err != nil {
		t.Fatal(err)
	}
	if err := note(root, "rejected/2026-12-01", "a.edi.error.txt", "half a no"); err != nil {
		t.Fatal(err)
	}
	b = b.crash()
	b.run(3 * time.Second)
	b.want("rejected/2026-12-01/a.edi", "rejected/2026-12-01/a.edi.error.txt")
	if text := b.read("rejected/2026-12-01/a.edi.error.txt"); !strings.Contains(text, "no bytes") {
		t.Errorf("the note is %q", text)
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
