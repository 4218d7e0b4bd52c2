package inbox

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/testpki"
)

// port is a receiver with one partner whose certificate may change.
type port struct {
	*house
	handler *as2.Handler
	sends   as2.Agreement // how the partner sends
	mu      sync.Mutex
	takes   as2.Agreement
}

func openPort(t *testing.T) *port {
	t.Helper()
	ours := testpki.SelfSigned(t, testpki.RSA(t, 0), "acme.example", testpki.Valid())
	theirs := testpki.SelfSigned(t, testpki.RSA(t, 1), "northwind.example", testpki.Valid())
	other := testpki.SelfSigned(t, testpki.RSA(t, 2), "stranger.example", testpki.Valid())
	p := &port{house: open(t)}
	p.sends = as2.Agreement{
		From: "NORTHWIND", To: "ACME", URL: "https://edi.acme.example/as2", Sign: crypto.SHA256, Encrypt: smime.AES256CBC,
		MDN:        as2.MDNRequest{Mode: as2.MDNSync, Signed: true},
		SigningKey: theirs.Key, SigningCertificate: theirs.Cert, Recipients: []*x509.Certificate{ours.Cert}, Verify: []*x509.Certificate{ours.Cert},
	}
	p.takes = as2.Agreement{
		From: "ACME", To: "NORTHWIND", Receive: as2.Receive{Signed: true, ReceiptURLs: []string{"https://as2.northwind.example/mdn"}},
		SigningKey: ours.Key, SigningCertificate: ours.Cert, Verify: []*x509.Certificate{other.Cert},
		Decrypt: []smime.Recipient{{Certificate: ours.Cert, Key: ours.Key.(crypto.Decrypter)}},
	}
	p.wire(t)
	return p
}

// wire joins receiver and inbox.
func (p *port) wire(t *testing.T) {
	t.Helper()
	h, err := as2.NewHandler(as2.Options{Partners: p, Inbox: p.Inbox, Acks: p.Inbox, Scratch: t.TempDir(), Domain: "edi.acme.example", Now: p.now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p.handler, p.Inbox.Opener = h, h
}

func (p *port) ByNames(from, to string) (as2.Agreement, string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.takes, "northwind", from == p.takes.To && to == p.takes.From
}

// mend puts the partner's certificate on file.
func (p *port) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takes.Verify = []*x509.Certificate{p.sends.SigningCertificate}
}

// send posts a document and gives what the receipt says of it.
func (p *port) send(id, content string) (build as2.Rendition, header http.Header, receipt []byte) {
	p.t.Helper()
	var wire bytes.Buffer
	d := as2.Document{MessageID: id, ContentType: "application/edi-x12", FileName: "order.x12", Size: int64(len(content)), Token: "t1", Date: p.now()}
	build, err := as2.Build(&wire, p.sends, d, strings.NewReader(content), p.now(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "/as2", &wire)
	for _, f := range build.Headers {
		req.Header.Set(f.Name, f.Value)
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, req)
	p.couriers.work.Wait()
	header = http.Header{}
	for name, v := range w.Result().Header {
		header[http.CanonicalHeaderKey(name)] = v
	}
	return build, header, w.Body.Bytes()
}

// disposition is what a receipt says, verified as the partner does.
func (p *port) disposition(build as2.Rendition, header http.Header, receipt []byte) string {
	p.t.Helper()
	ack, mdn := as2.VerifyMDN(header, receipt, []as2.Rendition{build}, p.sends)
	if ack.Verdict != fault.AckTrusted {
		p.t.Errorf("the receipt is %q: %s", ack.Verdict, mdn.Problem)
	}
	return mdn.Disposition.State()
}

func (p *port) process(id string) error {
	p.t.Helper()
	err := p.Process(context.Background(), id, kim, "certificate imported")
	p.couriers.work.Wait()
	return err
}

var kim = fault.Actor{Name: "kim"}
