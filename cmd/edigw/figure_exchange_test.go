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
	files       partnerFiles
	lanes       []string // partner ids at the sender
}

// partnerFiles are what both sides agreed on in one protocol, as the n-th partner
// file of each.
type partnerFiles struct {
	protocol string
	receiver func(n int) string
	sender   func(n int, address string) string // address is where the receiver listens
}

// inAS2 is the agreement of B1.
var inAS2 = partnerFiles{
	protocol: "as2",
	receiver: func(n int) string {
		return fmt.Sprintf(`protocol: as2
as2: {id: ACME-AS2, our_id: NORTHWIND-%d, url: "http://127.0.0.1:1/as2", receive: {require: [signed, encrypted]}}
`, n)
	},
	sender: func(n int, address string) string {
		return fmt.Sprintf(`protocol: as2
as2: {id: NORTHWIND-%d, url: "http://%s/as2", sign: sha256, encrypt: aes256-cbc, mdn: {mode: sync, signed: true, algorithm: sha256}}
`, n, address)
	},
}

// newPair makes both installations. The sender's partner files come with
// connect, when it is known where the receiver listens.
func newPair(t testing.TB, files partnerFiles, lanes int) pair {
	t.Helper()
	p := pair{files: files, own: testpki.SelfSigned(t, testpki.RSA(t, 0), "ACME-AS2", testpki.Valid()), theirs: testpki.SelfSigned(t, testpki.RSA(t, 1), "NORTHWIND", testpki.Valid())}
	p.out, p.in = newHouse(t, "ACME-AS2", p.own), newHouse(t, "NORTHWIND", p.theirs)
	p.in.write(t, "keys/acme.crt", string(p.own.CertPEM()))
	p.out.write(t, "keys/northwind.crt", string(p.theirs.CertPEM()))
	for n := range lanes {
		p.lanes = append(p.lanes, fmt.Sprintf("northwind-%d", n))
		p.in.partner(t, fmt.Sprintf("acme-%d", n), files.receiver(n)+"certificates: {verify: ../keys/acme.crt, encrypt: ../keys/acme.crt}\n")
	}
	return p
}

// connect tells the sender where the receiver listens.
func (p pair) connect(t testing.TB, address string, concurrency int) {
	t.Helper()
	for n, id := range p.lanes {
		p.out.partner(t, id, p.files.sender(n, address)+fmt.Sprintf(`certificates: {verify: ../keys/northwind.crt, encrypt: ../keys/northwind.crt}
lane: {concurrency: %d, connections: %d}
`, concurrency, concurrency))
	}
}

// TestFigureExchange is B1: 10 KB, RSA-2048 signed, AES-256-CBC, signed
// synchronous MDN, two gateways with durable stores on this machine. Accepting
// is done before the clock starts.
func TestFigureExchange(t *testing.T) {
	figureAlone(t)
	work := newCryptoWork(t, newPair(t, inAS2, 1), invoice(1))
	l := load{name: "10 KB", files: inAS2, n: size(40, 4000), document: invoice}
	c := ceiling{engineName: "as2/smime"}
	c.measure(t, work)
	many, manyCosts := exchanged(t, l, 16, 4)
	c.measure(t, work)
	one, oneCosts := exchanged(t, l, 1, 32)
	c.measure(t, work)
	others := rivals(t, "^TestFigureForeign$/^rate$", l.document(1))
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
		runtime.GOMAXPROCS(0), l.n, rsakey.Backend, c.rows(), many.row(c.top()), manyCosts, one.row(c.top()), oneCosts, rivalRows(many, others))
}

// ceiling is the cryptography alone. Whoever computes with the private keys of
// the gateways does so in it; beside OpenSSL, Go alone is shown too.
type ceiling struct {
	engineName             string
	standard, bare, engine pace
}

// worker does the cryptography of messages alone.
type worker interface {
	bare(t testing.TB, span time.Duration, own, theirs rsakey.Key) pace
	engine(t testing.TB, span time.Duration) pace
	keys() cryptoWork
}

// span is how long one measurement takes.
func (*ceiling) span() time.Duration { return size(20*time.Millisecond, 4*time.Second) }

// measure keeps the best of what it saw each time.
func (c *ceiling) measure(t *testing.T, w worker) {
	t.Helper()
	k := w.keys()
	first := *c == ceiling{engineName: c.engineName}
	now := ceiling{engineName: c.engineName, bare: w.bare(t, c.span(), k.own, k.theirs), engine: w.engine(t, c.span())}
	now.standard = now.bare
	if rsakey.Backend != "Go" {
		now.standard = w.bare(t, c.span(), k.ownGo, k.theirsGo)
	}
	if !first {
		now.standard, now.bare, now.engine = c.standard.better(now.standard), c.bare.better(now.bare), c.engine.better(now.engine)
	}
	*c = now
}

// top is what the gateways are measured by.
func (c *ceiling) top() pace { return c.bare.better(c.engine) }

func (c *ceiling) rows() string {
	row := func(what string, p pace) string { return fmt.Sprintf("%-26s%s\n", what, p.row(c.top())) }
	rows := row("bare, RSA by "+rsakey.Backend, c.bare) + row("engine "+c.engineName, c.engine)
	if rsakey.Backend != "Go" {
		rows = row("bare, RSA by Go", c.standard) + rows
	}
	return strings.TrimSuffix(rows, "\n")
}

// load is documents that go from one gateway to the other.
type load struct {
	name     string
	files    partnerFiles
	n        int
	document func(n int) []byte // the n-th, from 1 on
}

// exchanged sends the documents through so many lanes.
func exchanged(t *testing.T, l load, lanes, concurrency int) (p pace, costs string) {
	t.Helper()
	n, both := l.n, newPair(t, l.files, lanes)
	in := both.in.start(t)
	both.connect(t, in.doors.address("partners"), concurrency)
	out := both.out.start(t)
	by := fault.Actor{Name: "figures", From: "local"}
	for _, id := range both.lanes {
		if err := out.lanes.StopLane(t.Context(), id, by, "to line documents up", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	acceptAll(t, out, both.lanes, l, min(64, 1+(64<<20)/len(l.document(1))))
	sent, received, allocated := commitsOf(out), commitsOf(in), allocatedSoFar()
	took, cpu := profiled(t, fmt.Sprintf("exchange-%s-%s-%d-lanes", l.files.protocol, strings.ReplaceAll(l.name, " ", ""), lanes), func() {
		for _, id := range both.lanes {
			if err := out.lanes.StartLane(t.Context(), id, by); err != nil {
				t.Fatal(err)
			}
		}
		allDelivered(t, out)
	})
	costs = fmt.Sprintf("a message: commits of the sender %.2f, of the receiver %.2f; %d KB allocated",
		float64(commitsOf(out)-sent)/float64(n), float64(commitsOf(in)-received)/float64(n), (allocatedSoFar()-allocated)>>10/uint64(n))
	checkDelivered(t, out, in, n)
	return pace{float64(n) / took.Seconds(), cpu / time.Duration(n)}, costs
}

// allocatedSoFar is what this process has taken of memory, with what it gave
// back: the collector's work grows with it.
func allocatedSoFar() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
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

// acceptAll hands documents in, to the partners in turn, by so many clients at
// once.
func acceptAll(t testing.TB, g *gateway, partners []string, l load, clients int) {
	t.Helper()
	spread(t, l.n, clients, func(i int) error {
		doc := l.document(i + 1)
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
