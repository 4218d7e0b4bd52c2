package main

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/queue"
)

// sender is the partner northwind as one who sends to us.
type sender struct {
	*counterpart
	sends as2.Agreement
}

// newSender makes the partner. The site holds an old certificate of theirs
// until renew.
func newSender(s *site, more string) *sender {
	s.Helper()
	c := newCounterpart(s, more, "")
	old := testpki.SelfSigned(s, testpki.RSA(s, 2), "NORTHWIND", testpki.Valid())
	s.write("keys/northwind.crt", string(old.CertPEM()))
	return &sender{c, as2.Agreement{
		From: "NORTHWIND", To: "ACME-AS2", Sign: crypto.SHA256, Encrypt: smime.AES256CBC, MDN: as2.MDNRequest{Mode: as2.MDNSync, Signed: true},
		SigningKey: c.agreement.SigningKey, SigningCertificate: c.agreement.SigningCertificate,
		Recipients: []*x509.Certificate{s.own.Cert}, Verify: []*x509.Certificate{s.own.Cert},
	}}
}

// renew puts their certificate of today in place.
func (c *sender) renew() {
	c.site.Helper()
	c.site.write("keys/northwind.crt", string(testpki.Identity{Key: c.sends.SigningKey, Cert: c.sends.SigningCertificate}.CertPEM()))
	if code, text := c.site.run("reload"); code != exitFine {
		c.site.Fatalf("reload: %d, %s", code, text)
	}
}

// send posts a document; disposition is what the receipt in the response says,
// empty if there is none.
func (c *sender) send(id, content string) (disposition string) {
	c.site.Helper()
	req, build := c.request("http://"+c.site.receive, id, content)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.site.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		c.site.Fatalf("status %d, %v: %s", res.StatusCode, err, body)
	}
	if len(body) == 0 {
		return ""
	}
	ack, mdn := as2.VerifyMDN(res.Header, body, []as2.Rendition{build}, c.sends)
	if ack.Verdict != fault.AckTrusted {
		c.site.Errorf("the receipt is %q: %s", ack.Verdict, mdn.Problem)
	}
	return mdn.Disposition.State()
}

// request is a document as it is posted to an address.
func (c *sender) request(base, id, content string) (*http.Request, as2.Rendition) {
	c.site.Helper()
	var wire bytes.Buffer
	d := as2.Document{MessageID: id, ContentType: "application/edi-x12", FileName: "order.x12", Size: int64(len(content)), Token: "t1"}
	build, err := as2.Build(&wire, c.sends, d, strings.NewReader(content), time.Now(), nil)
	if err != nil {
		c.site.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, base+"/as2", &wire)
	if err != nil {
		c.site.Fatal(err)
	}
	for _, f := range build.Headers {
		req.Header.Set(f.Name, f.Value)
	}
	return req, build
}

// letter is the only open letter.
func (s *site) letter() letterView {
	s.Helper()
	open := everything[letterView](s, "/letters", query("status", "open"))
	if len(open) != 1 {
		s.Fatalf("open letters: %+v", open)
	}
	return open[0]
}

const orderX12 = "ISA*00*          *00*          *ZZ*NORTHWIND      *ZZ*ACME-AS2       *261201*0800*U*00401*000000042*0*P*>~GS*PO*NORTHWIND*ACME*20261201*0800*1*X*004010~ST*850*0001~BEG*00*SA*PO-4711**20261201~SE*3*0001~GE*1*1~IEA*1*000000042~"

// TestProcessAgainFromTheCommandLine: a message that was refused because their
// certificate had changed goes on once that is on file.
func TestProcessAgainFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newSender(s, "")
	s.start()
	if got := c.send("<1@northwind.example>", orderX12); got != "processed/error: authentication-failed" {
		t.Fatalf("answered %q", got)
	}
	l := s.letter()
	if !strings.Contains(l.Detail, smime.Fingerprint(c.sends.SigningCertificate)) {
		t.Errorf("the letter does not name who signed: %s", l.Detail)
	}
	if code, text := s.run("dlq", "process", l.ID, "--yes"); code != exitFailed || !strings.Contains(text, "still refused: the message is signed by serial") {
		t.Errorf("before it is repaired: %d, %s", code, text)
	}
	c.renew()
	if code, text := s.run("dlq", "process", "--partner", "northwind", "--reason", "signature", "--yes", "--why", "certificate imported"); code != exitFine {
		t.Fatalf("%d, %s", code, text)
	}
	s.await("the document is in the inbox", func() bool {
		found, err := filepath.Glob(s.path("inbox", "northwind", "*", "order.x12"))
		if err != nil || len(found) != 1 {
			return false
		}
		text, err := os.ReadFile(found[0])
		return err == nil && string(text) == orderX12
	})
	if code, text := s.run("dlq", "process", l.ID, "--yes"); code != exitFailed || !strings.Contains(text, "closed already") {
		t.Errorf("once more: %d, %s", code, text)
	}
	if got := c.send("<1@northwind.example>", orderX12); got != "processed" {
		t.Errorf("a repeat is answered %q", got)
	}
	var audit page[struct{ Type, Text, Message string }]
	s.get("/audit", nil, &audit)
	told := false
	for _, e := range audit.Items {
		told = told || e.Type == string(queue.EventAccepted) && strings.Contains(e.Text, "learns otherwise only if he sends it again")
	}
	if !told {
		t.Errorf("the audit does not tell who had it opened again: %+v", audit.Items)
	}
	if n := s.metric("edigw_unknown_senders_total"); n != 0 {
		t.Errorf("%v unknown senders", n)
	}
	c.sends.From = "SOMEBODY"
	if got := c.sendUnknown(); got != "processed/error: unknown-trading-relationship" || s.metric("edigw_unknown_senders_total") != 1 {
		t.Errorf("a stranger is answered %q, counted %v", got, s.metric("edigw_unknown_senders_total"))
	}
}

// sendUnknown posts a message whose receipt nobody signs.
func (c *sender) sendUnknown() string {
	c.site.Helper()
	c.sends.MDN.Signed = false
	return c.send("<2@northwind.example>", orderX12)
}

// TestReceiptThatWeOweIsRetriedAndReplayed like anything that is sent.
func TestReceiptThatWeOweIsRetriedAndReplayed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newSender(s, ", receive: {receipt_urls: [\"http://127.0.0.1/\"]}")
	c.site.write("partners/northwind.yaml", strings.Replace(read(s, "partners/northwind.yaml"), "http://127.0.0.1/", c.server.URL, 1))
	s.write("keys/northwind.crt", string(testpki.Identity{Key: c.sends.SigningKey, Cert: c.sends.SigningCertificate}.CertPEM()))
	c.sends.MDN.Mode, c.sends.MDN.URL = as2.MDNAsync, c.server.URL+"/mdn"
	c.play(func(v *visit) {
		v.read()
		if v.n < 3 {
			http.Error(v.w, "busy", http.StatusServiceUnavailable)
			return
		}
		http.Error(v.w, "moved away", http.StatusGone)
	})
	s.start()
	if got := c.send("<1@northwind.example>", orderX12); got != "" {
		t.Fatalf("answered %q in the response", got)
	}
	s.await("the receipt is a letter", func() bool { return len(everything[letterView](s, "/letters", query("status", "open"))) == 1 })
	l := s.letter()
	if n := c.visited(); n != 3 || l.Reason != fault.ReasonRejected {
		t.Errorf("%d tries, reason %s", n, l.Reason)
	}
	taken := make(chan []byte, 1)
	c.play(func(v *visit) {
		v.read()
		taken <- v.body
	})
	if code, text := s.run("dlq", "replay", l.ID, "--wait"); code != exitFine {
		t.Fatalf("%d, %s", code, text)
	}
	if body := <-taken; !bytes.Contains(body, []byte("Original-Message-ID: <1@northwind.example>")) {
		t.Errorf("the partner got %s", body)
	}
}

func read(s *site, name string) string {
	s.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}
