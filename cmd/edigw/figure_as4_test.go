package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"edigw/internal/rsakey"
)

// inAS4 is the agreement of B7: what is built in for AS4, signed with RSA, gzip,
// AES-128-GCM under a key by RSA-OAEP, and a signed receipt with digests in the
// response.
var inAS4 = partnerFiles{
	protocol: "as4",
	receiver: func(n int) string {
		return fmt.Sprintf(`protocol: as4
as4: {url: "http://127.0.0.1:1/as4", to: {party: "urn:example:acme"}, from: {party: "urn:example:northwind-%d"}}
`, n)
	},
	sender: func(n int, address string) string {
		return fmt.Sprintf(`protocol: as4
as4: {url: "http://%s/as4", to: {party: "urn:example:northwind-%d"}, from: {party: "urn:example:acme"}}
`, address, n)
	},
}

// TestFigureExchangeAS4 is the first part of B7: documents of 10 KB and of 10 MB,
// signed, encrypted and compressed, with a receipt of non-repudiation, between two
// gateways with durable stores on this machine. Accepting is done before the
// clock starts.
func TestFigureExchangeAS4(t *testing.T) {
	figureAlone(t)
	small := load{name: "10 KB", files: inAS4, n: size(40, 4000), document: invoice}
	large := load{name: "10 MB", files: inAS4, n: size(2, 60), document: func(n int) []byte { return invoices(n, size(100, 1035)) }}
	rows := as4Rows(t, small, []shape{{16, 4}, {1, 32}}, "10KB") + "\n" + as4Rows(t, large, []shape{{1, 4}}, "10MB")
	if full() {
		t.Logf(`
B7: AS4, RSA-2048 signed, RSA-OAEP, AES-128-GCM, gzip, receipt with digests, two gateways in one process, SQLite durable
cores %d; accepting is not counted; RSA by %s; bar: 80 %% of the ceiling's messages/s at 10 KB
%s`, runtime.GOMAXPROCS(0), rsakey.Backend, rows)
	}
}

// shape is how a load goes through lanes.
type shape struct{ lanes, concurrency int }

// as4Rows is one size of document, beside its ceiling and foreign products of the
// same minutes.
func as4Rows(t *testing.T, l load, shapes []shape, rival string) string {
	t.Helper()
	work := newAS4Work(t, newPair(t, l.files, 1), l.document(1))
	c := ceiling{engineName: "as4/wssec"}
	c.measure(t, work)
	packing := paced(t, c.span(), work.pack)
	var rows []string
	var best pace
	for i, s := range shapes {
		p, costs := exchanged(t, l, s.lanes, s.concurrency)
		c.measure(t, work)
		best = best.faster(p, i)
		rows = append(rows, fmt.Sprintf("%-26s%s   %s", fmt.Sprintf("%d lanes, concurrency %d", s.lanes, s.concurrency), p.row(c.top()), costs))
	}
	head := fmt.Sprintf("%d documents of %s, by gzip %d KB; both one after the other: %.0f a second", l.n, l.name, len(work.packed)>>10, 1/(1/c.top().rate+1/packing.rate))
	head += fmt.Sprintf("\n%26smessages/s   of the ceiling   CPU a message   of the ceiling", "")
	rows = append([]string{head, c.rows(), "gzip and back alone       " + packing.row(c.top())}, rows...)
	return strings.Join(rows, "\n") + rivalRows(best, rivals(t, "^TestFigureForeignAS4$/^"+rival+"$", l.document(1)))
}

// TestFigureLargeAS4 is the second part of B7: what a document of 100 MB costs two
// gateways that are processes of their own.
func TestFigureLargeAS4(t *testing.T) {
	figureAlone(t)
	n := size[int64](3<<20, 100<<20)
	if rows := durableRows(t, inAS4, n); full() {
		t.Logf("\nB7: AS4, a document of %d MB, signed, gzip, AES-128-GCM\n%s", n>>20, rows)
	}
}

// invoices are so many of them in one document that nobody sent before.
func invoices(n, of int) []byte {
	var b bytes.Buffer
	for i := range of {
		b.Write(invoice(n*of + i))
	}
	return b.Bytes()
}
