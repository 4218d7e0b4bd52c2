package interop

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestFigureForeignAS4 is what edigw's figures of AS4 are compared with: phase4
// sends to phase4, the work is that of B7 in docs/performance.md. Nothing is held
// to a time. It belongs into the same minutes of the same machine as the figures
// of edigw, which hand over the document that edigw sends.
func TestFigureForeignAS4(t *testing.T) {
	if os.Getenv("EDIGW_FIGURES") != "full" {
		t.Skip("figures of foreign products are taken with EDIGW_FIGURES=full only")
	}
	for _, l := range []as4Load{
		{"10KB", 4000, 1000, []int{1, 8}},
		{"10MB", 60, 20, []int{1, 4}},
	} {
		t.Run(l.name, func(t *testing.T) { newAS4Pair(t).rate(t, l) })
	}
}

// as4Load is how often a document is sent. A JVM stands still only after some
// thousand messages, so those of warm come first.
type as4Load struct {
	name        string
	warm, count int
	senders     []int
}

// as4Patience is how long each step of a load may take: it is cut short on a
// machine that is busy.
const as4Patience = 4 * time.Minute

// as4Pair is two JVMs with phase4 that know each other.
type as4Pair struct {
	sender, receiver *phase4
	terms            as4Terms // of the sender
	pids             [2]int
}

// newAS4Pair starts a receiver, and a sender as its partner under edigw's name.
func newAS4Pair(t *testing.T) as4Pair {
	t.Helper()
	work := completedAS4([]as4Profile{{name: "figure"}})[0]
	p := as4Pair{sender: newPhase4(), receiver: newPhase4()}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, one := range []*phase4{p.receiver, p.sender} {
		if err := one.install(ctx); err != nil {
			if os.Getenv("EDIGW_REQUIRE") == "all" {
				t.Fatalf("%s cannot be installed and EDIGW_REQUIRE=all: %v", one.product(), err)
			}
			t.Skipf("%s is NOT RUN: %v", one.product(), err)
		}
	}
	s := &site{TB: t, dir: t.TempDir()}
	var dirs [2]string
	var keys [2]keyPair
	for i, name := range []string{"sender", "receiver"} {
		dirs[i] = s.path(name)
		if err := os.MkdirAll(dirs[i], 0o700); err != nil {
			t.Fatal(err)
		}
		keys[i] = s.newKey(dirs[i], "rsa", name)
	}
	own := as4TermsOf(work, p.receiver)
	p.terms = own
	p.terms.Peer, p.terms.Edigw = own.Edigw, own.Peer
	p.terms.URL = p.receiver.url(work)
	for i, one := range []*phase4{p.sender, p.receiver} {
		m := as4Material{Dir: dirs[i], Keys: map[string]keyPair{"rsa": keys[i]}, Edigw: map[string]string{"rsa": keys[1-i].Cert}}
		t.Cleanup(one.stop)
		if err := one.start(ctx, m, []as4Terms{[]as4Terms{p.terms, own}[i]}); err != nil {
			t.Fatal(err)
		}
		p.pids[i] = one.process.Process.Pid
	}
	return p
}

// load sends a document count times and gives what that took.
func (p as4Pair) load(ctx context.Context, d paperwork, count, senders int) (b burst, err error) {
	var before [2]time.Duration
	for i, pid := range p.pids {
		if before[i], err = processorTime(pid); err != nil {
			return b, err
		}
	}
	err = p.sender.ask(ctx, question{Op: "load", Terms: &p.terms, Documents: []paperwork{d}, Count: count, Senders: senders, Wait: 120}, &b)
	if err != nil {
		return b, err
	}
	for i, pid := range p.pids {
		now, err := processorTime(pid)
		if err != nil {
			return b, err
		}
		b.cpu[i] = now - before[i]
	}
	return b, nil
}

// rate prints messages a second.
func (p as4Pair) rate(t *testing.T, l as4Load) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	d := figureDocument(t)
	most := slices.Max(l.senders)
	step, pace := max(1, l.warm/20), 0.0
	for begin, sent := time.Now(), 0; sent < l.warm && time.Since(begin) < as4Patience; sent += step {
		b, err := p.load(ctx, d, step, most)
		if err != nil {
			t.Fatal(err)
		}
		pace = float64(b.Delivered) / b.Seconds
	}
	for _, senders := range l.senders {
		b, err := p.load(ctx, d, min(l.count, max(most, int(pace*as4Patience.Seconds()/4))), senders)
		if err != nil {
			t.Fatal(err)
		}
		per := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.Delivered) }
		t.Logf("%s → %s, %d sender(s): %.1f messages/s, CPU %.1f + %.1f ms a message",
			p.sender.product(), p.receiver.product(), senders, float64(b.Delivered)/b.Seconds, per(b.cpu[0]), per(b.cpu[1]))
	}
}

// figureDocument is the document that edigw's figure sends, or an order where
// the test runs by itself.
func figureDocument(t *testing.T) paperwork {
	t.Helper()
	file := cmp.Or(os.Getenv("EDIGW_FIGURES_DOCUMENT"), newDocument(t, "figure", profile{content: order, fileName: "order.edi"}).file)
	return paperwork{File: file, FileName: filepath.Base(file), ContentType: "application/edi-x12"}
}
