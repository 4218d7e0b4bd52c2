package intake

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/queue"
)

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
