package main

import (
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"edigw/internal/testpki"
	"edigw/lane/evidence/evidencetest"
	"edigw/queue"
)

// markup is what a page has between its words.
var markup = regexp.MustCompile(`<[^>]*>|\s+`)

// says wants texts in the words of a page, in any order.
func (v visitor) says(t *testing.T, path string, texts ...string) {
	t.Helper()
	page := strings.Join(strings.Fields(markup.ReplaceAllString(html.UnescapeString(v.read(t, path)), " ")), " ")
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("%s does not say %q:\n%s", path, text, page)
			return
		}
	}
}

// received is the only message that a site received.
func onlyReceived(s *site) messageView {
	s.Helper()
	list := everything[messageView](s, "/messages", query("direction", "in"))
	if len(list) != 1 {
		s.Fatalf("%d messages were received", len(list))
	}
	return s.message(list[0].ID)
}

// TestAS4IsSeen: what was sent by AS4, and its proof, from every side: console,
// API, commands, at both ends.
func TestAS4IsSeen(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settle(p.acme, "http://"+p.north.receive, `service: {value: Orders, type: "urn:example:services"}`, "action: Deliver", `agreement: {value: "https://agreements.example/1"}`, "properties: {originalSender: acme}")
	p.settle(p.north, "http://"+p.acme.receive, "receive: {collaboration: any}")
	p.start()
	m := p.delivered(p.acme, p.north, p.acme.sent("north", "PO-1", []byte("an order")), "an order")
	h := m.AS4
	if h == nil || h.From.IDs[0].Value != "urn:example:ids:acme" || h.Service.Value != "Orders" || h.Service.Type != "urn:example:services" || h.Action != "Deliver" || h.Agreement == nil || len(h.Payloads) != 1 || len(h.Properties) != 1 {
		t.Fatalf("the API tells of the header %+v", h)
	}
	ack := m.Attempts[0].Ack
	if ack == nil || !ack.Positive || ack.Signer == "" || len(ack.References) != 3 {
		t.Fatalf("the API tells of the receipt %+v", ack)
	}
	for _, r := range ack.References {
		if !r.Equal || r.Sent == "" || r.Sent != r.Acknowledged {
			t.Errorf("reference %+v", r)
		}
	}
	digest := ack.References[2].Sent
	p.acme.reads([]string{"service     Orders (urn:example:services), action Deliver", "agreement   https://agreements.example/1", "property    originalSender: acme", "acknowledged  cid:part1-", digest}, nil, "message", "show", m.ID)
	p.acme.reads([]string{"BusinessInfo.Service                  Orders (urn:example:services)", "MEPBinding                            push", "Security.SendReceipt.NonRepudiation   true"}, nil, "partner", "show", "north")
	p.acme.reads([]string{"north answers"}, nil, "doctor", "--all-partners")
	in := onlyReceived(p.north)
	if in.AS4 == nil || in.AS4.To.IDs[0].Value != "urn:example:ids:north" || in.AS4.Action != "Deliver" || in.AS4.ConversationID != h.ConversationID {
		t.Errorf("the API tells of the received header %+v", in.AS4)
	}
	p.north.reads([]string{"from        urn:example:ids:acme as http://docs.oasis-open.org/", "service     Orders", "answered    receipt"}, nil, "message", "show", in.ID)

	v := operatorOf(t, p.acme)
	v.says(t, "/messages/"+m.ID, "receipt signed by north, digest matches", "Its ebMS header", "Service Orders (urn:example:services)", "Property originalSender acme", "Digests, part by part", "equal: "+digest)
	v.says(t, "/partners/north", "P-Mode", "BusinessInfo.Action Deliver", "Initiator.Party urn:example:ids:acme")
	operatorOf(t, p.north).says(t, "/messages/"+in.ID, "Its ebMS header", "Action Deliver", "We answered receipt", "Our receipt in the response")

	file := filepath.Join(t.TempDir(), "evidence.zip")
	if code, text := p.acme.run("message", "evidence", m.ID, "-o", file); code != exitFine {
		t.Fatalf("evidence: %d %s", code, text)
	}
	dir, _ := evidencetest.Unzip(t, func(w io.Writer) error {
		b, err := os.ReadFile(file)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	})
	if failed := evidencetest.Failing(t, dir, "openssl", "xmlsec1", "gzip", "cmp"); len(failed) > 0 || len(evidencetest.Commands(t, dir)) < 10 {
		t.Errorf("fails %q of\n%s", failed, evidencetest.Read(t, dir, "VERIFY.txt"))
	}
}

// TestAS4RefusalIsExplained, where it was made and where it came: the code, what
// it means and what to do, and the metric.
func TestAS4RefusalIsExplained(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settle(p.acme, "http://"+p.north.receive, "action: Unheard")
	p.settle(p.north, "http://"+p.acme.receive)
	p.start()
	m := p.acme.end(p.acme.sent("north", "PO-1", []byte("an order")).ID)
	if ack := m.Attempts[0].Ack; ack == nil || ack.Positive || len(ack.Errors) != 1 || ack.Errors[0].Code != "EBMS:0001" || ack.Errors[0].Name != "ValueNotRecognized" || ack.Errors[0].Severity != "failure" || ack.Errors[0].Remedy == "" {
		t.Fatalf("the API tells %+v", ack)
	}
	in := onlyReceived(p.north)
	meaning := "A value in the header is none that the receiver knows"
	p.acme.reads([]string{"EBMS:0001 ValueNotRecognized (failure): " + meaning, "Compare the settings of this partner with theirs"}, []string{"status 200"}, "message", "show", m.ID)
	p.north.reads([]string{"We refused it: it names something that was not settled with them", "answered    EBMS:0001", meaning}, nil, "message", "show", in.ID)
	operatorOf(t, p.acme).says(t, "/messages/"+m.ID, "Partner refused: \"EBMS:0001 ValueNotRecognized", "Do this: EBMS:0001 ValueNotRecognized: "+meaning, "They refused it, and we believe the refusal", "Action is Unheard; settled is")
	operatorOf(t, p.north).says(t, "/messages/"+in.ID, "We refused it: it names something that was not settled with them", "We answered EBMS:0001", meaning, "Action Unheard", "as4.receive.also")
	if p.acme.metric("edigw_ebms_errors_total", "partner", "north", "code", "EBMS:0001", "direction", "out") != 1 || p.north.metric("edigw_ebms_errors_total", "partner", "acme", "code", "EBMS:0001", "direction", "in") != 1 {
		t.Error("the metric does not show it")
	}
}

// newSigner makes a site sign with a key that nobody knows; it still decrypts with
// the one of before.
func (s *site) newSigner() testpki.Identity {
	s.Helper()
	i := testpki.SelfSigned(s, testpki.RSA(s, 3), "NORTH-2027", testpki.Valid())
	s.write("keys/new.pem", string(i.KeyPEM(s))+string(i.CertPEM()))
	s.replace("edigw.yaml", "keys: [{use: [sign, decrypt], file: keys/own.pem}]", "keys: [{use: decrypt, file: keys/own.pem}, {use: sign, file: keys/new.pem}]")
	return i
}

// TestAS4ReceiptByAStranger: the partner signs receipts with a new certificate. It
// is shown beside the old one, compared, imported, and the receipt is good.
func TestAS4ReceiptByAStranger(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settleBoth()
	stranger := p.north.newSigner()
	p.start()
	m := p.acme.end(p.acme.sent("north", "PO-1", []byte("an order")).ID)
	l := p.acme.letter()
	if m.State != string(queue.Dead) || l.Reason != "receipt-invalid" {
		t.Fatalf("%s, %s", m.State, l.Reason)
	}
	operatorOf(t, p.acme).trusts(t, l.ID, m.ID, p.north.own.Cert, stranger.Cert)
	p.delivered(p.acme, p.north, m, "an order")
	audited(p.acme, "certificate imported to verify")
}

// TestAS4MessageByAStranger: the same for a message of theirs, which is processed
// again; until then the page says what its signature came to.
func TestAS4MessageByAStranger(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.settleBoth()
	stranger := p.north.newSigner()
	p.start()
	m := p.north.end(p.north.sent("acme", "INV-1", []byte("an invoice")).ID)
	if m.State != string(queue.Dead) || m.Attempts[0].Ack == nil || m.Attempts[0].Ack.EBMS != "EBMS:0101" {
		t.Fatalf("%s, %+v", m.State, m.Attempts)
	}
	l := p.acme.letter()
	v := operatorOf(t, p.acme)
	v.says(t, "/messages/"+l.Message, "signed by an unknown certificate", "We answered EBMS:0101", "EBMS:0101 FailedAuthentication")
	v.trusts(t, l.ID, l.Message, p.north.own.Cert, stranger.Cert)
	p.acme.await("the document is in the inbox", func() bool { return len(arrivedAt(p.acme)) == 1 })
}

// TestCodesOfPartnersMakeNoSeries: a partner may write whatever he likes as a code.
func TestCodesOfPartnersMakeNoSeries(t *testing.T) {
	t.Parallel()
	c := newEBMSErrors()
	for _, code := range []string{"EBMS:0101", "0101", "EBMS:9999", "<b>", "env:Sender", ""} {
		c.count("north", code, queue.Out)
	}
	for code, want := range map[string]float64{"EBMS:0101": 2, "other": 3} {
		if got := testutil.ToFloat64(c.WithLabelValues("north", code, "out")); got != want {
			t.Errorf("%s: %v, want %v", code, got, want)
		}
	}
	if n := testutil.CollectAndCount(c); n != 2 {
		t.Errorf("%d series", n)
	}
}
