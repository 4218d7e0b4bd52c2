package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"edigw/as2"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/queue"
	"edigw/retry"
)

// ending is what the API says of a document when it is over.
type ending struct {
	state     queue.State
	proof     queue.Proof
	reason    fault.Reason // of its letter
	uncertain bool
	classes   []retry.Class // of the attempts
	opened    bool          // the breaker opened
}

// TestRow25FaultOfPartner plays what partners do wrong and checks state, reason,
// uncertainty, attempts and breaker.
func TestRow25FaultOfPartner(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("a line of an invoice\r\n"), 200_000)
	twice := func(c retry.Class) []retry.Class { return []retry.Class{c, c} }
	lost := ending{queue.Dead, "", fault.ReasonMaxAttempts, true, twice(retry.Unknown), true}
	for _, test := range []struct {
		name     string
		document []byte
		script   func(*visit)
		want     ending
		effects  int
	}{
		{name: "never answers", script: func(v *visit) { v.read(); v.process(); v.wait() }, want: lost, effects: 1},
		{name: "resets in the body", document: large, script: func(v *visit) { _, _ = v.r.Body.Read(make([]byte, 64<<10)); v.reset() }, want: lost},
		{name: "resets after the body", script: func(v *visit) { v.read(); v.process(); v.reset() }, want: lost, effects: 1},
		{name: "cuts the receipt off", script: func(v *visit) { v.read(); v.reply(v.process(), 300); v.reset() }, want: lost, effects: 1},
		{name: "answers a page", script: func(v *visit) {
			v.read()
			v.w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(v.w, "<html><body>It works!</body></html>")
		}, want: lost},
		{name: "answers 500", script: func(v *visit) { v.read(); http.Error(v.w, "no", http.StatusInternalServerError) },
			want: ending{queue.Dead, "", fault.ReasonMaxAttempts, false, twice(retry.Limited), true}},
		{name: "answers 403", script: func(v *visit) { v.read(); http.Error(v.w, "no", http.StatusForbidden) },
			want: ending{queue.Dead, "", fault.ReasonRejected, false, []retry.Class{retry.Permanent}, false}},
		{name: "does nothing wrong", script: (*visit).serve,
			want: ending{queue.Delivered, queue.ProofReceipt, "", false, []retry.Class{retry.Success}, false}, effects: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			c := newCounterpart(s, "", "timeout: {response: 700ms}\nretry: {attempts: 2}\nbreaker: {failures: 1, on_open: dead-letter}\n")
			c.play(test.script)
			s.start()
			document := test.document
			if document == nil {
				document = []byte("an invoice")
			}
			m := s.end(s.sent("northwind", "INV-1", document).ID)
			checkEnding(s, m, test.want)
			var kept bytes.Buffer
			if err := s.api.Download(t.Context(), "/messages/"+m.ID+"/payload", &kept); err != nil || !bytes.Equal(kept.Bytes(), document) {
				t.Errorf("%d of %d bytes of the document are kept, %v", kept.Len(), len(document), err)
			}
			if n := c.booked()[m.MessageID]; n != test.effects {
				t.Errorf("the partner booked it %d times, want %d", n, test.effects)
			}
			reckon(s, c, m.ID)
		})
	}
}

func checkEnding(s *site, m messageView, want ending) {
	s.Helper()
	got := ending{state: queue.State(m.State), proof: queue.Proof(m.Proof), uncertain: m.Uncertain}
	if m.Letter != "" {
		var l letterView
		s.get("/letters/"+m.Letter, nil, &l)
		got.reason = l.Reason
		if l.Uncertain != m.Uncertain {
			s.Errorf("letter uncertain: %v, message: %v", l.Uncertain, m.Uncertain)
		}
	}
	for _, a := range m.Attempts {
		got.classes = append(got.classes, retry.Class(a.Class))
	}
	got.opened = s.metric("edigw_breaker_transitions_total", "partner", "northwind", "to", "open") > 0
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("got  %+v\nwant %+v\n%s", got, want, m.Detail)
	}
}

// TestFaultInReceipt spoils receipts: the partner has the document, and what it
// says of it cannot be believed.
func TestFaultInReceipt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(c *counterpart)
	}{
		{"wrong digest", func(c *counterpart) {
			c.play(func(v *visit) { v.read(); v.reply(wrongMIC(v.process()), whole) })
		}},
		{"another key signed it", func(c *counterpart) {
			other := testpki.SelfSigned(c.site, testpki.RSA(c.site, 2), "NORTHWIND", testpki.Valid())
			c.agreement.SigningKey, c.agreement.SigningCertificate = other.Key, other.Cert
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			c := newCounterpart(s, "", "breaker: {failures: 1, consecutive: 1}\n")
			test.spoil(c)
			s.start()
			m := s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
			checkEnding(s, m, ending{queue.Dead, "", fault.ReasonReceiptInvalid, true, []retry.Class{retry.Permanent}, false})
			if n := c.booked()[m.MessageID]; n != 1 {
				t.Errorf("the partner booked it %d times", n)
			}
			reckon(s, c, m.ID)
		})
	}
}

// wrongMIC changes a character of the digest that a receipt reports, which also
// breaks its signature.
func wrongMIC(a *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	const field = "Received-Content-MIC: "
	body := a.Body.Bytes()
	if i := bytes.Index(body, []byte(field)); i >= 0 {
		c := &body[i+len(field)]
		if *c == 'A' {
			*c = 'B'
		} else {
			*c = 'A'
		}
	}
	return a
}

// TestRow27Row31FaultOfCertificate meets a partner whose TLS certificate has expired: the
// document never leaves, the breaker opens at once and waits long.
func TestRow27Row31FaultOfCertificate(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := idleCounterpart(s)
	ca := testpki.CA(s, "Authority", testpki.Valid())
	c.server = startTLS(c, ca.Issue(s, testpki.P256(s), "as2.northwind.example", testpki.Expired(), "127.0.0.1"))
	s.Cleanup(c.close)
	s.write("keys/tls.pem", string(ca.CertPEM()))
	c.file(c.server.URL, "", "tls: {trust: ../keys/tls.pem}\nbreaker: {cooldown: 1m, max_cooldown: 10m}\n")
	s.start()
	id := s.sent("northwind", "INV-1", []byte("an invoice")).ID
	var m messageView
	s.await("the first attempt", func() bool { m = s.message(id); return len(m.Attempts) > 0 })
	a := m.Attempts[0]
	if a.Class != string(retry.Transient) || m.Uncertain || m.State != string(queue.Waiting) {
		t.Errorf("class %s, uncertain %v, state %s; want transient, certain, waiting", a.Class, m.Uncertain, m.State)
	}
	var p partnerView
	s.get("/partners/northwind", nil, &p)
	if p.State != string(queue.LaneOpen) || time.Until(p.NextAt) < 8*time.Minute {
		t.Errorf("lane %s, next at %v; want open for the longest cool-down", p.State, p.NextAt)
	}
	if c.visited() != 0 {
		t.Errorf("%d requests reached a server that we must not believe", c.visited())
	}
}

func startTLS(c *counterpart, as testpki.Identity) *httptest.Server {
	server := httptest.NewUnstartedServer(c)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{as.TLS()}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	return server
}

// TestFaultRetryAfter meets 429 with Retry-After in both of its forms: it is
// obeyed, and it is no failure of the partner.
func TestFaultRetryAfter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		after func(allowed time.Time) string
	}{
		{"seconds", func(time.Time) string { return "2" }},
		{"date", func(allowed time.Time) string { return allowed.Add(time.Second).UTC().Format(http.TimeFormat) }}, // it has no fractions
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			c := newCounterpart(s, "", "retry: {cap: 1m}\nbreaker: {failures: 1, consecutive: 1}\n")
			var allowed time.Time
			c.play(func(v *visit) {
				if v.n > 1 {
					if time.Now().Before(allowed) {
						t.Error("it came back before the partner allowed it")
					}
					v.serve()
					return
				}
				v.read()
				allowed = time.Now().Add(2 * time.Second)
				v.w.Header().Set("Retry-After", test.after(allowed))
				v.w.WriteHeader(http.StatusTooManyRequests)
			})
			s.start()
			m := s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
			checkEnding(s, m, ending{queue.Delivered, queue.ProofReceipt, "", false, []retry.Class{retry.Transient, retry.Success}, false})
			reckon(s, c, m.ID)
		})
	}
}

// TestFaultOfAsynchronousReceipt plays receipts that come before the response,
// and such as never come.
func TestFaultOfAsynchronousReceipt(t *testing.T) {
	t.Parallel()
	t.Run("before the response", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "")
		c := newCounterpart(s, ", mdn: {mode: async, wait: 1m}", "")
		c.receipts = c.postReceipt
		s.start()
		m := s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
		if m.State != string(queue.Delivered) || m.Proof != string(queue.ProofReceipt) || c.visited() != 1 {
			t.Errorf("%s, proof %q after %d requests", m.State, m.Proof, c.visited())
		}
		reckon(s, c, m.ID)
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "")
		c := newCounterpart(s, ", mdn: {mode: async, wait: 1s}", "")
		c.receipts = func(*as2.Answer) {}
		s.start()
		m := s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
		if m.State != string(queue.Dead) || !m.Uncertain || c.visited() != 2 {
			t.Errorf("%s, uncertain %v after %d requests; want a letter after one repeat", m.State, m.Uncertain, c.visited())
		}
		var l letterView
		s.get("/letters/"+m.Letter, nil, &l)
		if l.Reason != fault.ReasonReceiptMissing {
			t.Errorf("reason %s", l.Reason)
		}
		reckon(s, c, m.ID)
	})
}

// TestFaultUnknownHeld: a partner that forgets Message-IDs gets a document
// whose outcome is unknown once, and a person decides; also after a crash.
func TestFaultUnknownHeld(t *testing.T) {
	t.Parallel()
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash ", crash), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			c := newCounterpart(s, ", duplicate_window: none", "lane: {on_unknown: hold}\n")
			c.forgetful = true
			reached := make(chan struct{})
			c.play(func(v *visit) {
				v.read()
				v.process()
				if crash {
					close(reached)
					v.wait()
				}
				v.reset()
			})
			s.start()
			m := s.sent("northwind", "INV-1", []byte("an invoice"))
			if crash {
				<-reached
				s.kill()
				s.start()
			}
			m = s.end(m.ID)
			var l letterView
			s.get("/letters/"+m.Letter, nil, &l)
			if m.State != string(queue.Dead) || !m.Uncertain || l.Reason != fault.ReasonUnknownOutcome {
				t.Errorf("%s, uncertain %v, reason %s", m.State, m.Uncertain, l.Reason)
			}
			if c.visited() != 1 || c.booked()[m.MessageID] != 1 {
				t.Errorf("%d requests, booked %d times; want one of each", c.visited(), c.booked()[m.MessageID])
			}
			reckon(s, c, m.ID)
		})
	}
}

// TestFaultBeforeTheBody: a connection that is cut at once is never told as
// certain if a byte of the body may have left.
func TestFaultBeforeTheBody(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "retry: {attempts: 2}\n")
	c.play((*visit).reset)
	s.start()
	m := s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
	unknown := false
	for _, a := range m.Attempts {
		unknown = unknown || a.Class == string(retry.Unknown)
		if a.Class != string(retry.Unknown) && a.Class != string(retry.Transient) {
			t.Errorf("attempt %d is %s", a.N, a.Class)
		}
	}
	if m.State != string(queue.Dead) || m.Uncertain != unknown || len(m.Attempts) != 2 {
		t.Errorf("%s, uncertain %v with attempts %+v", m.State, m.Uncertain, m.Attempts)
	}
	reckon(s, c, m.ID)
}
