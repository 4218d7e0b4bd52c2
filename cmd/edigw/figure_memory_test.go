package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFigureMemory sends a large document between two gateways that are
// processes of their own, and shows how much memory either took for it.
func TestFigureMemory(t *testing.T) {
	figureAlone(t)
	p := newPair(t, 1)
	in := p.in.serve(t)
	p.connect(t, in.partners, 4)
	out := p.out.serve(t)
	exchangeOne(t, out, 64<<10) // connections, statements and keys are warm
	idle := [2]int64{out.status(t, "VmRSS"), in.status(t, "VmRSS")}

	bytes := size[int64](3<<20, 200<<20)
	took := exchangeOne(t, out, bytes)
	until(t, 5*time.Minute, "the document lies in the receiver's folder", func() bool { return slices.Contains(inboxSizes(t, p.in), bytes) })
	peak := [2]int64{out.status(t, "VmHWM"), in.status(t, "VmHWM")}
	if full() {
		const mb = 1 << 20
		t.Logf(`
A document of %d MB, signed and encrypted, two processes; bar: < 64 MB above idle
            idle MB   peak MB   above idle MB   of the document
sender    %9.1f %9.1f %15.1f   %13.1f %%
receiver  %9.1f %9.1f %15.1f   %13.1f %%
from acceptance to delivery %.1f MB/s`, bytes/mb,
			float64(idle[0])/mb, float64(peak[0])/mb, float64(peak[0]-idle[0])/mb, 100*float64(peak[0]-idle[0])/float64(bytes),
			float64(idle[1])/mb, float64(peak[1])/mb, float64(peak[1]-idle[1])/mb, 100*float64(peak[1]-idle[1])/float64(bytes),
			float64(bytes)/mb/took.Seconds())
	}
}

// exchangeOne hands a document of random bytes in and waits until it is
// delivered.
func exchangeOne(t *testing.T, out *process, bytes int64) time.Duration {
	t.Helper()
	begin := time.Now()
	noise := rand.NewChaCha8([32]byte{byte(bytes >> 20), 1})
	sum := sha256.New()
	var m struct{ ID, State, Detail, SHA256 string }
	if _, err := out.api.Send(t.Context(), "/partners/northwind-0/messages", nil, io.TeeReader(io.LimitReader(noise, bytes), sum), &m); err != nil {
		t.Fatal(err)
	}
	if m.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
		t.Fatalf("the gateway took %s for a document %x", m.SHA256, sum.Sum(nil))
	}
	until(t, 5*time.Minute, "the document is delivered", func() bool {
		if err := out.api.Get(t.Context(), "/messages/"+m.ID, nil, &m); err != nil {
			t.Fatal(err)
		}
		if m.State == "dead" {
			t.Fatalf("the document is dead: %s", m.Detail)
		}
		return m.State == "delivered"
	})
	return time.Since(begin)
}

// inboxSizes gives the sizes of the documents in the receiver's folder.
func inboxSizes(t *testing.T, h house) (sizes []int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.dir, "inbox", "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), ".") { // on its way into the folder
			continue
		}
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	return sizes
}

// TestFigureIdle starts a gateway with many partners that do nothing, and shows
// what they cost.
func TestFigureIdle(t *testing.T) {
	figureAlone(t)
	few := idlePartners(t, 5)
	n := size(200, 10_000)
	begin := few.goroutines
	many := idlePartners(t, n)
	if many.goroutines > begin+20 {
		t.Errorf("%d goroutines with %d partners, %d with 5: an idle partner holds some", many.goroutines, n, begin)
	}
	if many.partners != n {
		t.Errorf("%d outbox folders for %d partners", many.partners, n)
	}
	if full() {
		row := func(x idleGateway, n int) string {
			return fmt.Sprintf("%8d %9.2f s %9.2f s %8.1f MB %8.1f MB %11.2f %% %11d", n, x.first.Seconds(), x.ready.Seconds(), float64(x.rss)/(1<<20), float64(x.peak)/(1<<20), 100*x.share, x.goroutines)
		}
		t.Logf(`
Idle partners, a process of its own, GOGC as it is; bars: start < 2 s, RSS < 150 MB, CPU < 1 %% of a core over 60 s
partners first start  next start         RSS        peak   of one core  goroutines
%s
%s`, row(few, 5), row(many, n))
	}
}

// idleGateway is what a gateway costs that has nothing to do.
type idleGateway struct {
	first, ready time.Duration // the very first start, and a later one
	rss, peak    int64
	share        float64 // of one core
	goroutines   int
	partners     int
}

func idlePartners(t *testing.T, n int) (x idleGateway) {
	t.Helper()
	p := newPair(t, 0)
	for i := range n {
		p.out.partner(t, fmt.Sprintf("partner-%05d", i), fmt.Sprintf(`name: Partner %d
protocol: as2
as2: {id: PARTNER-%d, url: "https://as2-%d.northwind.example/as2", sign: sha256, encrypt: aes256-cbc, mdn: {mode: sync, signed: true}}
certificates:
  verify: [{file: ../keys/northwind.crt}]
  encrypt: [{file: ../keys/northwind.crt}]
retry: {base: 2s, attempts: 5}
`, i, i, i))
	}
	g := p.out.serve(t)
	x.first = g.ready
	g.stop(t)
	g = p.out.serve(t)
	folders, err := filepath.Glob(filepath.Join(p.out.dir, "outbox", "partner-*"))
	if err != nil {
		t.Fatal(err)
	}
	x.ready, x.partners, x.goroutines = g.ready, len(folders), int(g.metric(t, "go_goroutines"))
	if !full() {
		return x
	}
	rest := time.NewTimer(10 * time.Second) // what the start left to do is done
	<-rest.C
	before, begin := g.cpu(t), time.Now()
	rest.Reset(time.Minute)
	<-rest.C
	x.share = (g.cpu(t) - before).Seconds() / time.Since(begin).Seconds()
	x.rss, x.peak = g.status(t, "VmRSS"), g.status(t, "VmHWM")
	return x
}
