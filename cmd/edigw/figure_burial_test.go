package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"edigw/fault"
	"edigw/intake"
	"edigw/queue"
	"edigw/store/spool"
)

// TestFigureBurial lines up many documents for a partner that refuses
// connections. Its breaker opens and all of them become letters; meanwhile
// another partner's documents must go on.
func TestFigureBurial(t *testing.T) {
	figureAlone(t)
	n := size(700, 100_000)
	healthy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer healthy.Close()
	down, err := net.Listen("tcp", "127.0.0.1:0") // holds the port, answers nobody: closed before the lane starts
	if err != nil {
		t.Fatal(err)
	}
	p := newPair(t, inAS2, 0)
	for id, address := range map[string]string{"down": down.Addr().String(), "well": healthy.Listener.Addr().String()} {
		p.out.partner(t, id, fmt.Sprintf(`protocol: as2
as2: {id: %s, url: "http://%s/as2", sign: none, encrypt: none, mdn: {mode: none}}
lane: {concurrency: 4}
breaker: {failures: 5, cooldown: 30m, on_open: dead-letter}
backlog: {messages: 1000000, size: 100GB}
`, id, address))
	}
	g := p.out.start(t)
	by := fault.Actor{Name: "figures", From: "local"}
	if err := g.lanes.StopLane(t.Context(), "down", by, "to line documents up", time.Time{}); err != nil {
		t.Fatal(err)
	}
	lineUp(t, g, "down", n)
	down.Close()

	const interval = 5 * time.Millisecond
	quiet := trickle(t, g, interval, size(50, 2000), 0, func(sent int) bool { return true })
	var buried time.Duration
	begin := time.Now()
	if err := g.lanes.StartLane(t.Context(), "down", by); err != nil {
		t.Fatal(err)
	}
	busy := trickle(t, g, interval, size(50, 2000), 1_000_000, func(int) bool {
		if buried == 0 && letters(t, g, "down") >= n-1 {
			buried = time.Since(begin)
		}
		return buried > 0
	})
	if got, left := letters(t, g, "down"), lined(t, g); got != n-1 || left != 1 {
		t.Fatalf("%d letters and %d in line: want %d letters, and the one that is the test", got, left, n-1)
	}
	if full() {
		t.Logf(`
%d documents of one lane become letters when its breaker opens: in %.1f s, %.0f a second
another lane, a document each %v     p50        p99    longest   longest gap between deliveries
without                        %10.1f %10.1f %10.1f %10.1f ms
meanwhile                      %10.1f %10.1f %10.1f %10.1f ms
ratio                          %10.1f %10.1f %10.1f %10.1f`,
			n, buried.Seconds(), float64(n)/buried.Seconds(), interval,
			quiet.ms(0), quiet.ms(1), quiet.ms(2), quiet.ms(3), busy.ms(0), busy.ms(1), busy.ms(2), busy.ms(3),
			busy.ms(0)/quiet.ms(0), busy.ms(1)/quiet.ms(1), busy.ms(2)/quiet.ms(2), busy.ms(3)/quiet.ms(3))
	}
}

// lineUp accepts n documents of the same content by hand, many at once.
func lineUp(t *testing.T, g *gateway, partner string, n int) {
	t.Helper()
	w, err := g.spool.Create(spool.Payload, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(invoice(1)); err != nil {
		t.Fatal(err)
	}
	name, bytes, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	spread(t, n, 128, func(i int) error {
		now := time.Now()
		id, err := queue.NewID(now, rand.Reader)
		if err != nil {
			return err
		}
		letter, err := queue.NewID(now, rand.Reader)
		if err != nil {
			return err
		}
		ad, err := g.store.Accept(t.Context(), queue.Arrival{
			Message: queue.Message{ID: id, Partner: partner, Lane: partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2",
				Key: fmt.Sprintf("INV-%09d", i), KeyGiven: true, Source: "api", Payload: queue.Payload{SHA256: name, Size: bytes, ContentType: "application/edi-x12"}},
			Identity: queue.Identity{From: "ACME-AS2", To: partner, Domain: "edi.acme.example", Brackets: true}, Now: now, LetterID: letter,
		})
		if err == nil && ad.Outcome != queue.AdmitNew {
			err = fmt.Errorf("document %d: %s", i, ad.Outcome)
		}
		return err
	})
}

// letters counts the open letters of a partner.
func letters(t *testing.T, g *gateway, partner string) (n int) {
	t.Helper()
	all, err := g.store.Depths(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.Partner == partner {
			for _, open := range d.Letters {
				n += open
			}
		}
	}
	return n
}

// flow is how long documents took: p50, p99 and longest from acceptance to
// delivery, and the longest gap between two deliveries.
type flow [4]time.Duration

func (f flow) ms(i int) float64 { return float64(f[i].Microseconds()) / 1000 }

// trickle hands documents to the partner that is well, one each interval, at
// least so many and until enough says so, and waits for their delivery. They
// are told apart by numbers from first on.
func trickle(t *testing.T, g *gateway, interval time.Duration, least, first int, enough func(sent int) bool) flow {
	t.Helper()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	begin := time.Now()
	sent := 0
	for done := false; sent < least || !done; sent++ {
		if time.Since(begin) > 10*time.Minute {
			t.Fatal("it took more than 10 minutes")
		}
		doc := invoice(first + sent)
		if _, err := g.intake.Accept(t.Context(), intake.Request{Partner: "well", Source: intake.SourceAPI, Size: int64(len(doc))}, bytes.NewReader(doc)); err != nil {
			t.Fatal(err)
		}
		if sent%20 == 0 || sent >= least {
			done = enough(sent)
		}
		<-tick.C
	}
	var all []queue.Message
	until(t, time.Minute, "all are delivered", func() bool {
		all = slices.DeleteFunc(every(t, g, queue.MessageFilter{Partner: "well"}), func(m queue.Message) bool { return m.Accepted.Before(begin) })
		return len(all) == sent && !slices.ContainsFunc(all, func(m queue.Message) bool { return m.State != queue.Delivered })
	})
	return flowOf(all)
}

func flowOf(all []queue.Message) (f flow) {
	slices.SortFunc(all, func(a, b queue.Message) int { return a.Finished.Compare(b.Finished) })
	took := make([]time.Duration, len(all))
	for i, m := range all {
		took[i] = m.Finished.Sub(m.Accepted)
		if i > 0 {
			f[3] = max(f[3], m.Finished.Sub(all[i-1].Finished))
		}
	}
	slices.Sort(took)
	f[0], f[1], f[2] = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return f
}
