package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edigw/internal/testpki"
)

// TestFigureForeign is what edigw's figures are compared with: as2-lib sends,
// as2-lib or OpenAS2 receives, the work is that of B1 and B2 in
// docs/performance.md. Nothing is held to a time. It belongs into the same
// minutes of the same machine as the figures of edigw.
func TestFigureForeign(t *testing.T) {
	if os.Getenv("EDIGW_FIGURES") != "full" {
		t.Skip("figures of foreign products are taken with EDIGW_FIGURES=full only")
	}
	work := profiles[slices.IndexFunc(profiles, func(p profile) bool { return p.name == "signed-encrypted-aes256" })]
	receivers := []struct {
		make func(heap string) peer
		rate string         // heap for small messages
		file map[int]string // heap for one message of so many MB, as small as it gets along with
	}{
		{func(heap string) peer { p := newAS2Lib().(*as2lib); p.heap = heap; return p }, "1g", map[int]string{100: "400m", 1000: "4g"}},
		{func(heap string) peer { return &openAS2{only: &work, heap: heap} }, "1g", map[int]string{100: "1200m", 1000: "9g"}},
	}
	for _, r := range receivers {
		t.Run("rate/"+r.make("").name(), func(t *testing.T) { rate(t, newPair(t, r.make(r.rate), work, "1g")) })
	}
	for _, size := range []int{100, 1000} {
		for _, r := range receivers {
			t.Run(fmt.Sprintf("%d MB/%s", size, r.make("").name()), func(t *testing.T) {
				oneFile(t, newPair(t, r.make(r.file[size]), work, r.file[1000]), size)
			})
		}
	}
}

// pair is two foreign products that know each other.
type pair struct {
	sender   *as2lib
	receiver peer
	terms    terms // of the sender
	pids     [2]int
}

// newPair starts a receiver, and as2-lib as its partner under edigw's name.
func newPair(t *testing.T, receiver peer, work profile, heap string) pair {
	t.Helper()
	p := pair{sender: newAS2Lib().(*as2lib), receiver: receiver, terms: termsOf(receiver, work)}
	p.sender.heap = heap
	p.terms.Peer, p.terms.Edigw = p.terms.Edigw, p.terms.Peer
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, one := range []peer{receiver, p.sender} {
		if err := one.install(ctx); err != nil {
			if os.Getenv("EDIGW_REQUIRE") == "all" {
				t.Fatalf("%s cannot be installed and EDIGW_REQUIRE=all: %v", one.product(), err)
			}
			t.Skipf("%s is NOT RUN: %v", one.product(), err)
		}
	}
	s := &site{TB: t, dir: t.TempDir()}
	a, b := testpki.SelfSigned(t, testpki.RSA(t, 1), "sender", testpki.Valid()), testpki.SelfSigned(t, testpki.RSA(t, 2), "receiver", testpki.Valid())
	t.Cleanup(receiver.stop)
	if err := receiver.start(ctx, s.keysOf("receiver", b, a, "http://127.0.0.1:1/nobody")); err != nil {
		t.Fatal(err)
	}
	messages, _ := receiver.endpoints(work)
	t.Cleanup(p.sender.stop)
	if err := p.sender.start(ctx, s.keysOf("sender", a, b, messages)); err != nil {
		t.Fatal(err)
	}
	p.pids[0] = p.sender.process.Process.Pid
	switch r := receiver.(type) {
	case *as2lib:
		p.pids[1] = r.process.Process.Pid
	case *openAS2:
		p.pids[1] = r.process.Process.Pid
	}
	return p
}

// keysOf is the material of a product whose partner has the certificate theirs.
func (s *site) keysOf(name string, own, theirs testpki.Identity, url string) material {
	s.Helper()
	file := func(n string) string { return s.path(name, n) }
	m := material{
		Dir: s.path(name), URL: url, Key: file("own.key"), Cert: file("own.crt"),
		Edigw: file("theirs.crt"), Store: file("own.p12"), Password: "interop-test",
	}
	s.write(string(theirs.CertPEM()), name, "theirs.crt")
	s.identity(own, m.Key, m.Cert, m.Store, m)
	return m
}

// burst is what a load cost.
type burst struct {
	Seconds   float64 `json:"seconds"`
	Delivered int     `json:"delivered"`
	cpu       [2]time.Duration
}

// load sends a document count times and gives what that took.
func (p pair) load(ctx context.Context, d document, count, senders int) (b burst, err error) {
	var before [2]time.Duration
	for i, pid := range p.pids {
		if before[i], err = processorTime(pid); err != nil {
			return b, err
		}
	}
	err = p.sender.ask(ctx, question{
		Op: "load", Terms: &p.terms, Document: &paperwork{File: d.file, FileName: d.fileName}, Count: count, Senders: senders, Wait: 1200,
	}, &b)
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

// rate prints messages a second, 10 KB each. A JVM stands still only after some
// thousand messages, so those come first.
func rate(t *testing.T, p pair) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	d := newDocument(t, "figure", profile{content: order, fileName: "order.edi"})
	if _, err := p.load(ctx, d, 4000, 8); err != nil {
		t.Fatal(err)
	}
	for _, senders := range []int{1, 8} {
		b, err := p.load(ctx, d, 1000, senders)
		if err != nil {
			t.Fatal(err)
		}
		per := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.Delivered) }
		t.Logf("%s → %s, %d sender(s): %.1f messages/s, CPU %.1f + %.1f ms a message",
			p.sender.product(), p.receiver.product(), senders, float64(b.Delivered)/b.Seconds, per(b.cpu[0]), per(b.cpu[1]))
	}
}

// oneFile prints what one large message takes; that a product cannot hold it is
// a result, too.
func oneFile(t *testing.T, p pair, megabytes int) {
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	d := document{file: filepath.Join(t.TempDir(), "large.bin"), fileName: "large.bin"}
	if err := os.WriteFile(d.file, noise("figure", megabytes*1_000_000, 256), 0o600); err != nil {
		t.Fatal(err)
	}
	what := fmt.Sprintf("%s → %s, %d MB", p.sender.product(), p.receiver.product(), megabytes)
	b, err := p.load(ctx, d, 1, 1)
	if err != nil {
		t.Logf("%s: fails: %.300v", what, err)
		return
	}
	var peak [2]int64
	for i, pid := range p.pids {
		if peak[i], err = peakMemory(pid); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s: %.1f s, %.1f MB/s, peak RSS %d + %d MB", what, b.Seconds, float64(megabytes)/b.Seconds, peak[0]>>20, peak[1]>>20)
}

// processorTime is what a process has used.
func processorTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest) // from the third on; utime and stime are 14 and 15, in 1/100 s
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// peakMemory is the largest resident set of a process, in bytes.
func peakMemory(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status names no VmHWM", pid)
}
