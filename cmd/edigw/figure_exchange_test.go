package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/intake"
	"edigw/internal/rsakey"
	"edigw/internal/testpki"
	"edigw/queue"
)

// pair is two gateways on this machine: one sends, the other receives, by
// several agreements, each a lane of its own.
type pair struct {
	own, theirs testpki.Identity
	out, in     house
	lanes       []string // partner ids at the sender
}

// newPair makes both installations. The sender's partner files come with
// connect, when it is known where the receiver listens.
func newPair(t testing.TB, lanes int) pair {
	t.Helper()
	p := pair{own: testpki.SelfSigned(t, testpki.RSA(t, 0), "ACME-AS2", testpki.Valid()), theirs: testpki.SelfSigned(t, testpki.RSA(t, 1), "NORTHWIND", testpki.Valid())}
	p.out, p.in = newHouse(t, "ACME-AS2", p.own), newHouse(t, "NORTHWIND", p.theirs)
	p.in.write(t, "keys/acme.crt", string(p.own.CertPEM()))
	p.out.write(t, "keys/northwind.crt", string(p.theirs.CertPEM()))
	for n := range lanes {
		p.lanes = append(p.lanes, fmt.Sprintf("northwind-%d", n))
		p.in.partner(t, fmt.Sprintf("acme-%d", n), fmt.Sprintf(`protocol: as2
as2: {id: ACME-AS2, our_id: NORTHWIND-%d, url: "http://127.0.0.1:1/as2", receive: {require: [signed, encrypted]}}
certificates: {verify: ../keys/acme.crt, encrypt: ../keys/acme.crt}
`, n))
	}
	return p
}

// connect tells the sender where the receiver listens.
func (p pair) connect(t testing.TB, address string, concurrency int) {
	t.Helper()
	for n, id := range p.lanes {
		p.out.partner(t, id, fmt.Sprintf(`protocol: as2
as2: {id: NORTHWIND-%d, url: "http://%s/as2", sign: sha256, encrypt: aes256-cbc, mdn: {mode: sync, signed: true, algorithm: sha256}}
certificates: {verify: ../keys/northwind.crt, encrypt: ../keys/northwind.crt}
lane: {concurrency: %d, connections: %d}
`, n, address, concurrency, concurrency))
	}
}

// TestFigureExchange is B1: 10 KB, RSA-2048 signed, AES-256-CBC, signed
// synchronous MDN, two gateways with durable stores on this machine. Accepting
// is done before the clock starts.
func TestFigureExchange(t *testing.T) {
	figureAlone(t)
	work := newCryptoWork(t, newPair(t, 1), invoice(1))
	n := size(40, 4000)
	c := ceiling{}
	c.measure(t, work)
	many, manyCosts := exchanged(t, n, 16, 4)
	c.measure(t, work)
	one, oneCosts := exchanged(t, n, 1, 32)
	c.measure(t, work)
	others := rivals(t)
	if !full() {
		return
	}
	t.Logf(`
B1: 10 KB, RSA-2048 signed, AES-256-CBC, signed sync MDN, two gateways in one process, SQLite durable
cores %d, documents %d; accepting is not counted; RSA by %s; bar: 80 %% of the ceiling's messages/s
                          messages/s   of the ceiling   CPU a message   of the ceiling
%s
16 lanes, concurrency 4   %s   %s
1 lane, concurrency 32    %s   %s%s`,
		runtime.GOMAXPROCS(0), n, rsakey.Backend, c.rows(), many.row(c.top()), manyCosts, one.row(c.top()), oneCosts, rivalRows(many, others))
}

// ceiling is the cryptography alone. Whoever computes with the private keys of
// the gateways does so in it; beside OpenSSL, Go alone is shown too.
type ceiling struct{ standard, bare, engine pace }

// measure keeps the best of what it saw each time.
func (c *ceiling) measure(t *testing.T, w cryptoWork) {
	t.Helper()
	span := size(20*time.Millisecond, 4*time.Second)
	first := *c == ceiling{}
	now := ceiling{bare: w.bare(t, span, w.own, w.theirs), engine: w.engine(t, span)}
	now.standard = now.bare
	if rsakey.Backend != "Go" {
		now.standard = w.bare(t, span, w.ownGo, w.theirsGo)
	}
	if first {
		*c = now
		return
	}
	*c = ceiling{c.standard.better(now.standard), c.bare.better(now.bare), c.engine.better(now.engine)}
}

// top is what the gateways are measured by.
func (c *ceiling) top() pace { return c.bare.better(c.engine) }

func (c *ceiling) rows() string {
	row := func(what string, p pace) string { return fmt.Sprintf("%-26s%s\n", what, p.row(c.top())) }
	rows := row("bare, RSA by "+rsakey.Backend, c.bare) + row("engine as2/smime", c.engine)
	if rsakey.Backend != "Go" {
		rows = row("bare, RSA by Go", c.standard) + rows
	}
	return strings.TrimSuffix(rows, "\n")
}

// exchanged sends n documents through so many lanes.
func exchanged(t *testing.T, n, lanes, concurrency int) (p pace, costs string) {
	t.Helper()
	both := newPair(t, lanes)
	in := both.in.start(t)
	both.connect(t, in.doors.address("partners"), concurrency)
	out := both.out.start(t)
	by := fault.Actor{Name: "figures", From: "local"}
	for _, id := range both.lanes {
		if err := out.lanes.StopLane(t.Context(), id, by, "to line documents up", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	acceptAll(t, out, both.lanes, n, 64)
	sent, received := commitsOf(out), commitsOf(in)
	took, cpu := profiled(t, fmt.Sprintf("exchange-%d-lanes", lanes), func() {
		for _, id := range both.lanes {
			if err := out.lanes.StartLane(t.Context(), id, by); err != nil {
				t.Fatal(err)
			}
		}
		allDelivered(t, out)
	})
	costs = fmt.Sprintf("commits a message: sender %.2f, receiver %.2f",
		float64(commitsOf(out)-sent)/float64(n), float64(commitsOf(in)-received)/float64(n))
	checkDelivered(t, out, in, n)
	return pace{float64(n) / took.Seconds(), cpu / time.Duration(n)}, costs
}

// commitsOf counts the commits of both databases.
func commitsOf(g *gateway) int64 { return g.store.Stats().Commits + g.store.Bodies().Stats().Commits }

// allDelivered waits until nothing is in line; it asks seldom, since the answer
// costs the time that is measured.
func allDelivered(t *testing.T, out *gateway) {
	t.Helper()
	tick := time.NewTicker(size(time.Millisecond, 50*time.Millisecond))
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Minute); lined(t, out) > 0; <-tick.C {
		if time.Now().After(end) {
			t.Fatal("not all were delivered within 10 minutes")
		}
	}
}

// acceptAll hands n documents in, to the partners in turn, by so many clients
// at once.
func acceptAll(t testing.TB, g *gateway, partners []string, n, clients int) {
	t.Helper()
	spread(t, n, clients, func(i int) error {
		doc := invoice(i + 1)
		got, err := g.intake.Accept(t.Context(), intake.Request{
			Partner: partners[i%len(partners)], FileName: fmt.Sprintf("invoice-%d.x12", i), Source: intake.SourceAPI, Size: int64(len(doc)),
		}, bytes.NewReader(doc))
		if err == nil && got.Message.State != queue.Queued {
			err = fmt.Errorf("document %d is %s: %s", i, got.Message.State, got.Message.Detail)
		}
		return err
	})
}

// checkDelivered holds the books of both sides against each other: every
// document delivered with proof after one attempt, and received once.
func checkDelivered(t testing.TB, out, in *gateway, n int) {
	t.Helper()
	sent := every(t, out, queue.MessageFilter{Direction: queue.Out})
	got := every(t, in, queue.MessageFilter{Direction: queue.In})
	if len(sent) != n || len(got) != n {
		t.Fatalf("%d messages sent, %d received, want %d of each", len(sent), len(got), n)
	}
	arrived := map[string]string{}
	for _, m := range got {
		arrived[m.MessageID] = m.Payload.SHA256
	}
	for _, m := range sent {
		if m.State != queue.Delivered || m.Proof != queue.ProofReceipt || m.Total != 1 {
			t.Fatalf("message %s is %s (%s) with proof %q after %d attempts", m.ID, m.State, m.Detail, m.Proof, m.Total)
		}
		if arrived[m.MessageID] != m.Payload.SHA256 {
			t.Fatalf("message %s arrived as %q, was %s", m.ID, arrived[m.MessageID], m.Payload.SHA256)
		}
	}
}

// every reads all messages of a filter.
func every(t testing.TB, g *gateway, f queue.MessageFilter) (all []queue.Message) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := g.store.Messages(t.Context(), f, queue.Page{Limit: 500, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if cursor = next; next == "" {
			return all
		}
	}
}
