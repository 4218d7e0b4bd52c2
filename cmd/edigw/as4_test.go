package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edigw/queue"
)

const (
	channel   = `mpc: "urn:example:mpc:north"`
	fetchesIt = `fetch: {every: 1s, mpc: "urn:example:mpc:north"}`
	isPulled  = "mep: one-way/pull"
)

// TestAS4Push sends both ways, with receipts in the response and with those that
// come by themselves.
func TestAS4Push(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"receipt in the response":            {"profile: edelivery-1.15"},
		"receipt by itself":                  {"receipt: {mode: async, wait: 1m}", "receive: {receipt: {mode: async}}"},
		"not compressed, several algorithms": {"compress: none", "security: {sign: rsa-sha512, digest: sha512, token: issuer-serial, encrypt: aes256-gcm}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDuo(t)
			p.settleBoth(lines...)
			p.start()
			there, back := strings.Repeat("an order\r\n", 1000), "an invoice"
			one, other := p.acme.sent("north", "PO-1", []byte(there)), p.north.sent("acme", "INV-1", []byte(back))
			m := p.delivered(p.acme, p.north, one, there)
			p.delivered(p.north, p.acme, other, back)
			async := strings.Contains(strings.Join(lines, ""), "async")
			if told(m, queue.EventAwaiting) != async {
				t.Errorf("waited for the receipt: %v", told(m, queue.EventAwaiting))
			}
			if facts, err := filepath.Glob(p.north.path("inbox", "acme", "*", "*.json")); err != nil || len(facts) != 1 {
				t.Errorf("facts: %v, %v", facts, err)
			}
			for _, s := range []*site{p.acme, p.north} {
				if n := s.metric("edigw_dlq_depth"); n != 0 {
					t.Errorf("%v dead letters", n)
				}
			}
		})
	}
}

// TestAS4Pull has north fetch what acme holds for it, while acme is sent what
// north has: both roles of a pull, and their metrics.
func TestAS4Pull(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settle(p.acme, "http://"+p.north.receive, isPulled, channel)
	p.settle(p.north, "http://"+p.acme.receive)
	p.start()
	large := strings.Repeat("a line of an order\r\n", 200_000)
	m := p.acme.sent("north", "PO-1", []byte(large))
	p.acme.await("it waits to be fetched", func() bool { return p.acme.message(m.ID).Why == string(queue.WhyPull) })
	p.north.sent("acme", "INV-1", []byte("an invoice"))
	p.acme.await("the other way is open", func() bool { return len(arrivedAt(p.acme)) == 1 })
	if len(arrivedAt(p.north)) > 0 {
		t.Fatal("it was pushed")
	}
	p.settle(p.north, "http://"+p.acme.receive, fetchesIt)
	if code, text := p.north.run("reload"); code != exitFine {
		t.Fatalf("reload: %d %s", code, text)
	}
	m = p.delivered(p.acme, p.north, m, large)
	if !told(m, queue.EventAwaiting) || !told(m, queue.EventSending) {
		t.Errorf("timeline %+v", m.Timeline)
	}
	for _, a := range m.Attempts {
		if a.Counted {
			t.Errorf("an attempt was counted: %+v", a)
		}
	}
	if p.north.metric("edigw_fetches_total", "partner", "acme", "result", "message") != 1 {
		t.Error("the metric does not show the message")
	}
	p.north.await("an empty answer is counted", func() bool { return p.north.metric("edigw_fetches_total", "partner", "acme", "result", "empty") > 0 })
	if n := p.north.metric("edigw_fetches_total", "result", "failed"); n > 0 {
		t.Errorf("%v pull requests failed", n)
	}
}

// TestAS4PullStopped: an operator's stop at either end holds it.
func TestAS4PullStopped(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settle(p.acme, "http://"+p.north.receive, isPulled, channel)
	p.settle(p.north, "http://"+p.acme.receive, fetchesIt)
	p.start()
	asked := func() float64 { return p.north.metric("edigw_fetches_total", "partner", "acme") }
	p.north.await("it is asked", func() bool { return asked() > 0 })
	if code, text := p.acme.run("partner", "stop", "north", "--reason", "test"); code != exitFine {
		t.Fatalf("%d %s", code, text)
	}
	m := p.acme.sent("north", "PO-1", []byte("an order"))
	n := asked()
	p.north.await("it is asked again", func() bool { return asked() > n+1 })
	if m = p.acme.message(m.ID); m.State != "waiting" || m.Why != string(queue.WhyStopped) {
		t.Errorf("the message is %s %s", m.State, m.Why)
	}
	if code, text := p.north.run("partner", "stop", "acme", "--reason", "test"); code != exitFine {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := p.acme.run("partner", "start", "north"); code != exitFine {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := p.north.run("partner", "start", "acme"); code != exitFine {
		t.Fatalf("%d %s", code, text)
	}
	p.delivered(p.acme, p.north, m, "an order")
}

// TestAS4PullKilled kills the gateway that hands out between the message and its
// receipt: the message comes back, as the same bytes, and has one effect.
func TestAS4PullKilled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		size  int
		whole bool // the response was read to its end
		state string
	}{
		"in the response":    {size: 40 << 20, state: "sending"},
		"after the response": {size: 1000, whole: true, state: "awaiting-ack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDuo(t)
			p.settle(p.acme, "http://"+p.north.receive, isPulled, channel, "receipt: {wait: 2s}", "compress: none", "security: {encrypt: none}")
			p.settle(p.north, "http://"+p.acme.receive, fetchesIt, "receive: {require: signed}")
			p.acme.start()
			content := strings.Repeat("x", test.size)
			m := p.acme.sent("north", "PO-1", []byte(content))
			first, err := p.pullRequest()
			if err != nil || first.StatusCode != http.StatusOK {
				t.Fatalf("%+v, %v", first, err)
			}
			defer first.Body.Close()
			var wire bytes.Buffer
			if test.whole {
				if _, err := io.Copy(&wire, first.Body); err != nil {
					t.Fatal(err)
				}
			}
			p.acme.await("it is "+test.state, func() bool { return p.acme.message(m.ID).State == test.state })
			p.acme.kill()
			p.acme.start()
			p.acme.await("it can be fetched again", func() bool { m = p.acme.message(m.ID); return m.Why == string(queue.WhyPull) })
			if !m.Uncertain || told(m, queue.EventCrashed) == test.whole {
				t.Errorf("uncertain %v, timeline %+v", m.Uncertain, m.Timeline)
			}
			if test.whole {
				again, err := p.pullRequest()
				if err != nil {
					t.Fatal(err)
				}
				same, err := io.ReadAll(again.Body)
				again.Body.Close()
				if err != nil || !bytes.Equal(same, wire.Bytes()) {
					t.Errorf("other bytes: %d, before %d, %v", len(same), wire.Len(), err)
				}
			}
			p.north.start()
			p.delivered(p.acme, p.north, m, content)
		})
	}
}

// TestAS4PullTwice keeps the receipts back until the message came a second time:
// it has one effect, and the receipt settles it.
func TestAS4PullTwice(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	way := newBetween(t, p.acme.receive)
	p.settle(p.acme, "http://"+p.north.receive, isPulled, channel, "receipt: {wait: 1s}")
	p.settle(p.north, way.server.URL, fetchesIt)
	p.start()
	m := p.acme.sent("north", "PO-1", []byte("an order"))
	p.north.await("the message came twice", func() bool { return p.north.metric("edigw_fetches_total", "result", "duplicate") > 0 })
	way.release()
	p.delivered(p.acme, p.north, m, "an order")
	receipts, messages := way.seen()
	if receipts == 0 || messages < 2 {
		t.Errorf("%d receipts, %d messages", receipts, messages)
	}
	if n := p.north.metric("edigw_duplicates_total", "partner", "acme"); n < 1 {
		t.Errorf("%v duplicates were counted", n)
	}
}

// TestAS4PushTwice: a copy of a message gets the receipt of the first and has no
// second effect, also over a kill.
func TestAS4PushTwice(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	way := newBetween(t, p.north.receive)
	way.release()
	var copied [][]byte
	var header http.Header
	way.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Method == http.MethodPost {
			copied, header = append(copied, body), r.Header.Clone()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		way.ServeHTTP(w, r)
	})
	p.settle(p.acme, way.server.URL)
	p.settle(p.north, "http://"+p.acme.receive)
	p.start()
	m := p.acme.sent("north", "PO-1", []byte("an order"))
	p.delivered(p.acme, p.north, m, "an order")
	var receipts [][]byte
	for range 2 {
		res, err := http.Post("http://"+p.north.receive+"/as4", header.Get("Content-Type"), bytes.NewReader(copied[0]))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("NonRepudiationInformation")) {
			t.Fatalf("%d %v: %.300s", res.StatusCode, err, body)
		}
		receipts = append(receipts, body)
		p.north.kill()
		p.north.start()
	}
	if !bytes.Equal(receipts[0], receipts[1]) {
		t.Error("the second receipt is another one")
	}
	if got := arrivedAt(p.north); len(got) != 1 {
		t.Errorf("%d documents", len(got))
	}
}

// TestAS4FetchingFails: nobody would notice that nothing comes, so people are
// told, and told when it is over.
func TestAS4FetchingFails(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settle(p.acme, "http://"+p.north.receive, isPulled, channel)
	p.settle(p.north, "http://"+p.acme.receive, `fetch: {every: 1s, mpc: "urn:example:mpc:other"}`)
	p.start()
	type incident struct {
		Kind    string `json:"kind"`
		State   string `json:"state"`
		Partner string `json:"partner"`
		Detail  string `json:"detail"`
	}
	fetching := func() (found incident) {
		for _, in := range everything[incident](p.north, "/alerts", nil) {
			if in.Kind == "fetch" {
				found = in
			}
		}
		return found
	}
	p.north.await("people are told", func() bool { return fetching().State == "running" })
	if in := fetching(); in.Partner != "acme" || !strings.Contains(in.Detail, "EBMS:0101") {
		t.Errorf("%+v", in)
	}
	p.north.kill()
	p.settle(p.north, "http://"+p.acme.receive, fetchesIt)
	p.north.start()
	p.north.await("its end is told", func() bool { return fetching().State == "over" })
}

// TestAS4FetchingThatFailsIsShown: the list of partners says since when and why, for
// a host that refuses, one that is unknown, a wrong password and a password file of
// ours that is gone.
func TestAS4FetchingThatFailsIsShown(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.acme.write("secrets/north", "the-right-password\n")
	p.north.write("secrets/acme", "the-right-password\n")
	p.settle(p.acme, "http://"+p.north.receive, isPulled, channel, `pull: {user: north, password_file: ../secrets/north}`)
	const fetches = `fetch: {every: 1s, mpc: "urn:example:mpc:north", user: north, password_file: ../secrets/acme}`
	p.settle(p.north, "http://"+p.acme.receive, fetches)
	p.start()
	shown := func() string {
		code, text := p.north.run("partner", "list")
		if code != exitFine {
			t.Fatalf("exit code %d: %s", code, text)
		}
		return text
	}
	p.north.await("it is fetched", func() bool { return p.north.metric("edigw_fetches_total", "result", "empty") > 0 })
	if text := shown(); strings.Contains(text, "fetched") {
		t.Errorf("all is well: %s", text)
	}
	for _, c := range []struct{ name, url, password, says string }{
		{"refused", "http://127.0.0.1:1", "the-right-password", "onnection refused by 127.0.0.1:1"},
		{"unknown host", "http://north.invalid", "the-right-password", "north.invalid"},
		{"wrong password", "http://" + p.acme.receive, "another", "EBMS:0101"},
		{"no password file", "http://" + p.acme.receive, "", "as4.fetch.password_file"},
	} {
		p.settle(p.north, c.url, fetches)
		p.north.write("secrets/acme", c.password+"\n")
		p.north.run("reload")
		if c.password == "" {
			if err := os.Remove(p.north.path("secrets/acme")); err != nil {
				t.Fatal(err)
			}
		}
		var text string
		p.north.await(c.name+" is shown", func() bool { text = shown(); return strings.Contains(text, c.says) })
		if !strings.Contains(text, "Their messages cannot be fetched since ") {
			t.Errorf("%s: %s", c.name, text)
		}
		if _, text := p.north.run("partner", "show", "acme"); !strings.Contains(text, c.says) || !strings.Contains(text, "Do: ") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
	p.north.write("secrets/acme", "the-right-password\n")
	p.north.run("reload")
	p.north.await("it is over", func() bool { return !strings.Contains(shown(), "fetched") })
}

// TestAS4Ping: `partner test` tries the whole way, and delivers nothing.
func TestAS4Ping(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settleBoth()
	p.start()
	code, text := p.acme.run("partner", "test", "north")
	if code != exitFine || !pinged.MatchString(text) {
		t.Errorf("exit code %d: %s", code, text)
	}
	type report struct {
		Test struct {
			OK    bool `json:"ok"`
			Steps []struct {
				Name  string `json:"name"`
				OK    bool   `json:"ok"`
				Words string `json:"words"`
			} `json:"steps"`
		} `json:"test"`
	}
	var good, bad report
	p.acme.post("/partners/north/test", nil, &good)
	if n := len(good.Test.Steps); !good.Test.OK || n == 0 || good.Test.Steps[n-1].Name != "Ping" || !good.Test.Steps[n-1].OK {
		t.Errorf("%+v", good)
	}
	if len(arrivedAt(p.north)) > 0 || len(everything[messageView](p.north, "/messages", nil)) > 0 {
		t.Error("it was kept or delivered")
	}
	p.settle(p.north, "http://"+p.acme.receive, "receive: {algorithms: [rsa-sha512]}")
	if code, text := p.north.run("reload"); code != exitFine {
		t.Fatalf("reload: %d %s", code, text)
	}
	if code, text = p.acme.run("partner", "test", "north"); code != exitFailed || pinged.MatchString(text) || !strings.Contains(text, "north answers, and the ping failed: EBMS:0103") {
		t.Errorf("refused: exit code %d: %s", code, text)
	}
	p.acme.post("/partners/north/test", nil, &bad)
	if n := len(bad.Test.Steps); bad.Test.OK || n == 0 || bad.Test.Steps[n-1].OK {
		t.Errorf("refused: %+v", bad)
	}
	if len(everything[messageView](p.north, "/messages", nil)) > 0 {
		t.Error("a refused test was kept")
	}
	p.settle(p.acme, "http://"+p.north.receive+"/elsewhere")
	if code, text := p.acme.run("reload"); code != exitFine {
		t.Fatalf("reload: %d %s", code, text)
	}
	if code, text = p.acme.run("partner", "test", "north"); code != exitFailed || !strings.Contains(text, "is as4.url the address of their MSH?") {
		t.Errorf("another address: exit code %d: %s", code, text)
	}
}

// pinged is what says that the test service answered.
var pinged = regexp.MustCompile(`(?m)^Ping +ok `)

// TestAS4PullCutByStop: a partner who takes nothing of what he fetches does not
// keep the gateway from stopping, and the message is known to be uncertain.
func TestAS4PullCutByStop(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	text, err := os.ReadFile(p.acme.path("edigw.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.acme.write("edigw.yaml", string(text)+"stop_timeout: 1s\n")
	p.settle(p.acme, "http://"+p.north.receive, isPulled, channel, "compress: none", "security: {encrypt: none}")
	p.settle(p.north, "http://"+p.acme.receive, fetchesIt)
	p.acme.start()
	m := p.acme.sent("north", "PO-1", bytes.Repeat([]byte("x"), 40<<20))
	res, err := p.pullRequest()
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", res, err)
	}
	defer res.Body.Close()
	p.acme.await("it is being fetched", func() bool { return p.acme.message(m.ID).State == "sending" })
	p.acme.stop()
	p.acme.start()
	m = p.acme.message(m.ID)
	if m.Why != string(queue.WhyPull) || !m.Uncertain || told(m, queue.EventCrashed) {
		t.Errorf("the message is %s %s, uncertain %v; timeline %+v", m.State, m.Why, m.Uncertain, m.Timeline)
	}
}
