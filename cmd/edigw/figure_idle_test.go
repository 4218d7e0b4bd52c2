package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

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
	p := newPair(t, inAS2, 0)
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
