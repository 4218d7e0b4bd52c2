package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
)

// TestRow38KillDuringExchange kills the gateway at each step of an exchange that
// the partner can see (delivery.md §8).
func TestRow38KillDuringExchange(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("a line of an invoice\r\n"), 200_000)
	small := []byte("an invoice")
	for _, test := range []struct {
		name     string
		document []byte
		first    func(v *visit, reached func()) // the first exchange
		bodies   int                            // complete ones that the partner saw, at least
	}{
		{"after sending was committed", large, func(v *visit, reached func()) { reached(); v.wait() }, 1},
		{"in the body", large, func(v *visit, reached func()) { _, _ = io.CopyN(io.Discard, v.r.Body, 64<<10); reached(); v.wait() }, 1},
		{"after the body", small, func(v *visit, reached func()) { v.read(); reached(); v.wait() }, 2},
		{"after the document was booked", small, func(v *visit, reached func()) { v.read(); v.process(); reached(); v.wait() }, 2},
		{"in the response", small, func(v *visit, reached func()) { v.read(); v.reply(v.process(), 100); reached(); v.wait() }, 2},
		{"after the response", small, func(v *visit, reached func()) { v.serve(); reached() }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			c := newCounterpart(s, "", "")
			reached := make(chan struct{})
			c.play(func(v *visit) {
				if v.n > 1 {
					v.serve()
					return
				}
				test.first(v, sync.OnceFunc(func() { close(reached) }))
			})
			s.start()
			m := s.sent("northwind", "INV-1", test.document)
			<-reached
			s.kill()
			s.start()
			m = s.end(m.ID)
			if m.State != string(queue.Delivered) || m.Proof != string(queue.ProofReceipt) || m.Uncertain {
				t.Errorf("the message is %s, proof %q, uncertain %v; want delivered by receipt", m.State, m.Proof, m.Uncertain)
			}
			if n := len(c.arrived(m.MessageID)); n < test.bodies || n > 2 {
				t.Errorf("%d complete bodies arrived, want %d", n, test.bodies)
			}
			if cut := test.bodies == 2; cut && !told(m, queue.EventCrashed) {
				t.Errorf("the timeline does not say that the outcome was unknown: %v", m.Timeline)
			}
			counted := 0
			for _, a := range m.Attempts {
				if a.Counted {
					counted++
				}
			}
			if counted > 1 {
				t.Errorf("%d attempts counted; a crash counts none", counted)
			}
			reckon(s, c, m.ID)
		})
	}
}

// TestKillWhileAccepting kills the gateway at the first sign of a document on
// its disk, before the caller has an answer, and right after the answer.
func TestKillWhileAccepting(t *testing.T) {
	t.Parallel()
	small, large := []byte("an invoice"), bytes.Repeat([]byte("an invoice of many lines\r\n"), 1+spool.MaxSmall/20)
	for _, test := range []struct {
		name string
		doc  []byte
		when func(s *site, answered <-chan messageView)
	}{
		{"payload durable", large, func(s *site, _ <-chan messageView) { awaitFile(s, "payload") }},
		{"small payload durable", small, func(s *site, _ <-chan messageView) { awaitBody(s) }},
		{"accepted and answered", small, func(_ *site, answered <-chan messageView) { <-answered }},
		{"message built", large, func(s *site, _ <-chan messageView) { awaitFile(s, "wire") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			c := newCounterpart(s, "", "")
			s.start()
			answered := make(chan messageView, 1)
			var promised []string
			var sender sync.WaitGroup
			sender.Go(func() {
				if m, err := s.send("northwind", "INV-1", test.doc); err == nil {
					promised = append(promised, m.ID)
					answered <- m
				}
			})
			test.when(s, answered)
			s.kill()
			sender.Wait()
			s.start()
			again := s.sent("northwind", "INV-1", test.doc) // as every caller does that got no answer
			if m := s.end(again.ID); m.State != string(queue.Delivered) {
				t.Errorf("the message is %s", m.State)
			}
			if all := s.settled(); len(all) != 1 {
				t.Errorf("one document became %d messages", len(all))
			}
			reckon(s, c, append(promised, again.ID)...)
		})
	}
}

// awaitBody waits for the first small body: the log of their database grows.
func awaitBody(s *site) {
	log := s.path("data", sqlite.BodiesName+"-wal")
	before, err := os.Stat(log)
	if err != nil {
		s.Fatal(err)
	}
	s.await("a small body", func() bool {
		now, err := os.Stat(log)
		return err == nil && now.Size() > before.Size()
	})
}

// awaitFile waits for the first finished file of a kind in the spool.
func awaitFile(s *site, kind string) {
	s.await("a file in spool/"+kind, func() bool {
		found := false
		err := filepath.WalkDir(s.path("data", spoolName, kind), func(_ string, d fs.DirEntry, err error) error {
			found = found || err == nil && d.Type().IsRegular()
			return nil
		})
		return err == nil && found
	})
}

// TestKillBetweenEventAndAlert kills the gateway when a letter's event is
// committed and its alert has not gone out: the next process tells it.
func TestKillBetweenEventAndAlert(t *testing.T) {
	t.Parallel()
	slack := newWebhook(t)
	slack.refuse(true)
	s := newSite(t, "alerts:\n  slack: {webhook_file: secrets/slack}\n  group_wait: 50ms\n")
	s.write("secrets/slack", slack.URL)
	c := newCounterpart(s, "", "check: envelope\n")
	s.start()
	m := s.sent("northwind", "INV-1", brokenInvoice(1))
	if m.State != string(queue.Dead) {
		t.Fatalf("the broken document is %s", m.State)
	}
	s.kill()
	if n := slack.taken(); n > 0 {
		t.Fatalf("%d alerts were taken though the webhook refuses", n)
	}
	slack.refuse(false)
	s.start()
	s.await("the alert", func() bool { return slack.mentions("northwind") || slack.mentions("Northwind") })
	reckon(s, c, m.ID)
}

// brokenInvoice is an X12 interchange whose segment count is wrong.
func brokenInvoice(n int) []byte {
	return fmt.Appendf(nil, "ISA*00*          *00*          *ZZ*ACME           *ZZ*NORTHWIND      *260101*1200*U*00401*%09d*0*P*>~"+
		"GS*IN*A*B*20260101*1200*%d*X*004010~ST*810*0001~BIG*20260101*INV-%d~SE*9*0001~GE*1*%d~IEA*1*%09d~", n, n, n, n, n)
}

// TestKillWhileBurying kills the gateway while an outage turns a backlog into
// letters, in batches: every document becomes one letter of the outage.
func TestKillWhileBurying(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "breaker: {on_open: dead-letter, cooldown: 10m, max_cooldown: 10m}\n")
	s.start()
	s.post("/partners/northwind/stop", map[string]string{"reason": "test"}, nil)
	const documents = 1200
	ids := sendMany(s, documents)
	c.server.Listener.Close() // refused from now on
	s.post("/partners/northwind/start", nil, nil)
	s.await("the first letters", func() bool { return s.metric("edigw_dlq_depth") > 0 })
	s.kill()
	s.start()
	s.await("the backlog is buried", func() bool { return s.metric("edigw_lane_depth") <= 1 })
	letters := everything[letterView](s, "/letters", nil)
	of := map[string]int{}
	for _, l := range letters {
		of[l.Message]++
		if l.Outage == "" || l.Reason != "circuit-open" {
			t.Fatalf("letter %s: reason %s, outage %q", l.ID, l.Reason, l.Outage)
		}
	}
	waiting := 0
	for _, id := range ids {
		switch n := of[id]; {
		case n == 0:
			waiting++ // the one whose failure opened the breaker stays as the next test
		case n > 1:
			t.Errorf("%s has %d letters", id, n)
		}
	}
	if waiting != 1 || len(letters) != documents-1 {
		t.Errorf("%d letters, %d documents without one; want %d and the probe holder", len(letters), waiting, documents-1)
	}
	s.await("edigw_dlq_depth counts the letters", func() bool { return s.metric("edigw_dlq_depth") == float64(len(letters)) })
}

// TestKillWhileReplaying kills the gateway twice during a bulk replay: it goes
// on by itself, and every letter goes out once.
func TestKillWhileReplaying(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "check: envelope\n")
	s.start()
	const documents = 60
	var ids []string
	for n := range documents {
		ids = append(ids, s.sent("northwind", fmt.Sprint("INV-", n), brokenInvoice(n+1)).ID)
	}
	var job replayView
	s.post("/letters/replays", map[string]any{"filter": map[string]string{"partner": "northwind"}}, &job)
	for _, part := range []int{5, 30} {
		s.await("some of the letters went out", func() bool { return len(c.booked()) >= part })
		s.kill()
		s.start()
	}
	s.await("the replay is done", func() bool { s.get("/letters/replays/"+job.ID, nil, &job); return job.Status == "done" })
	for _, m := range s.settled() {
		if m.State != string(queue.Delivered) {
			t.Errorf("%s is %s", m.Key, m.State)
		}
	}
	if n := job.Counts; n.Total != documents || n.Replayed != documents || n.Failed+n.Skipped+n.Pending != 0 {
		t.Errorf("counts of the replay: %+v", n)
	}
	reckon(s, c, ids...)
}

// sendMany hands many documents in, several at a time.
func sendMany(s *site, n int) []string {
	s.Helper()
	ids := make([]string, n)
	errs := make([]error, n)
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() {
			for i := w; i < n; i += 8 {
				var m messageView
				m, errs[i] = s.send("northwind", fmt.Sprint("DOC-", i), fmt.Appendf(nil, "document %d", i))
				ids[i] = m.ID
			}
		})
	}
	work.Wait()
	for i, err := range errs {
		if err != nil {
			s.Fatalf("document %d: %v", i, err)
		}
	}
	return ids
}
