package intake

import (
	"os"
	"strings"
	"testing"
	"time"

	"edigw/queue"
	"edigw/store/spool"
)

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
