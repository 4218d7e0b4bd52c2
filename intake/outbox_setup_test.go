package intake

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/queue"
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
