package main

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/as2"
	"edigw/internal/exchange"
	"edigw/internal/testfixture"
	"edigw/queue"
)

// posting signs webhooks; made for tests.
const posting = "test material of the webhook, 32"

// erp is a system behind a webhook that recognises repeats by webhook-id, as
// docs/webhook.md asks for. It misbehaves once for each document, in turn.
type erp struct {
	site   *site
	server *httptest.Server
	held   chan struct{} // closed when the second document is held
	over   chan struct{}

	mu     sync.Mutex
	booked map[string]string // content by webhook-id
	visits map[string]int    // by webhook-id
	order  []string          // ids in the order of their first visit
	got    []arrivedPost
}

type arrivedPost struct {
	id, stamp, signature string
	body                 []byte
}

func newERP(s *site) *erp {
	e := &erp{site: s, held: make(chan struct{}), over: make(chan struct{}), booked: map[string]string{}, visits: map[string]int{}}
	e.server = httptest.NewServer(e)
	s.Cleanup(func() {
		close(e.over)
		e.server.CloseClientConnections()
		e.server.Close()
	})
	return e
}

// ServeHTTP books a document unless it has done so, and then answers, or not.
func (e *erp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p := arrivedPost{r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), r.Header.Get("webhook-signature"), body}
	e.mu.Lock()
	if e.visits[p.id]++; e.visits[p.id] == 1 {
		e.order = append(e.order, p.id)
		e.booked[p.id] = string(body)
	}
	e.got = append(e.got, p)
	first, turn := e.visits[p.id] == 1, len(e.order)
	e.mu.Unlock()
	switch {
	case first && turn == 1: // it has it, and the answer is lost
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	case first && turn == 2: // it has it, and the gateway dies before the answer
		close(e.held)
		select {
		case <-r.Context().Done():
		case <-e.over:
		}
	case first && turn == 3:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (e *erp) contents() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := map[string]int{}
	for _, content := range e.booked {
		all[content]++
	}
	return all
}

func (e *erp) arrivals() []arrivedPost {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]arrivedPost(nil), e.got...)
}

// message makes one that the partner sends: bytes that may go out more than once.
func (c *counterpart) message(id, content string, change ...func(*as2.Document)) (as2.Agreement, as2.Rendition, []byte) {
	c.site.Helper()
	a := c.agreement
	a.URL, a.Encrypt, a.Recipients = "http://"+c.site.receive+"/as2", "aes256-cbc", []*x509.Certificate{c.site.own.Cert}
	a.MDN = as2.MDNRequest{Mode: as2.MDNSync, Signed: true, Algorithm: crypto.SHA256}
	var wire bytes.Buffer
	d := as2.Document{MessageID: "<" + id + "@northwind.example>", ContentType: "application/edi-x12", FileName: id + ".x12", Size: int64(len(content)), Date: time.Now()}
	for _, f := range change {
		f(&d)
	}
	r, err := as2.Build(&wire, a, d, strings.NewReader(content), time.Now(), nil)
	if err != nil {
		c.site.Fatal(err)
	}
	return a, r, wire.Bytes()
}

// post sends such a message once and wants a positive receipt.
func (c *counterpart) post(a as2.Agreement, r as2.Rendition, wire []byte) {
	c.site.Helper()
	reply, o := as2.Send(c.site.Context(), http.DefaultClient, a, r, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(wire)), nil }, exchange.Limits{})
	o, _ = as2.Interpret(o, reply, []as2.Rendition{r}, a)
	if o.Ack == nil || !o.Ack.Positive || o.Ack.Verdict != "trusted" {
		c.site.Fatalf("status %d, %s, acknowledgement %+v", o.Status, o.Detail, o.Ack)
	}
}

// bySomebodyElse is the signature that openssl computes.
func bySomebodyElse(t *testing.T, key string, p arrivedPost) string {
	t.Helper()
	cmd := exec.Command("openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:"+hex.EncodeToString([]byte(key)), "-binary")
	cmd.Stdin = io.MultiReader(strings.NewReader(p.id+"."+p.stamp+"."), bytes.NewReader(p.body))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return "v1," + base64.StdEncoding.EncodeToString(out)
}

// TestReceivedDocumentsReachTheWebhook: documents come over AS2 and go to the
// ERP. Answers are lost, the gateway is killed, the partner repeats himself; each
// document has one effect.
func TestReceivedDocumentsReachTheWebhook(t *testing.T) {
	t.Parallel()
	testfixture.Program(t, "openssl")
	s := newSite(t, "")
	e := newERP(s)
	s.write("secrets/erp", "whsec_"+base64.StdEncoding.EncodeToString([]byte(posting)))
	c := newCounterpart(s, "", "inbox: {webhook: {url: \""+e.server.URL+"/in\", secret_file: ../secrets/erp}}\n")
	s.start()
	want := map[string]int{}
	var again func()
	for i := range 5 {
		content := string(invoice(i + 1))
		want[content] = 1
		a, r, wire := c.message(fmt.Sprint("order-", i), content)
		c.post(a, r, wire)
		switch i {
		case 0:
			again = func() { c.post(a, r, wire) }
			s.await("the first document came twice", func() bool { return len(e.arrivals()) == 2 })
			again()
		case 1:
			<-e.held
			s.kill()
			s.start()
			again()
		}
	}
	received := query("direction", "in")
	var in []messageView
	s.await("every document is delivered", func() bool {
		in = everything[messageView](s, "/messages", received)
		for _, m := range in {
			if m.State != string(queue.Delivered) {
				return false
			}
		}
		return len(in) == 5
	})
	again()
	if got := e.contents(); !maps.Equal(got, want) {
		t.Errorf("booked: %d contents, want %d, each once", len(got), len(want))
	}
	ids := map[string]bool{}
	for _, m := range in {
		ids[m.ID] = true
		if m.Detail != "taken by the webhook" {
			t.Errorf("message %s: %s", m.ID, m.Detail)
		}
	}
	all := e.arrivals()
	if len(all) != 8 { // 5, and a repeat after each fault
		t.Errorf("%d posts", len(all))
	}
	for _, p := range all {
		if !ids[p.id] || p.signature != bySomebodyElse(t, posting, p) {
			t.Errorf("post %s at %s is signed %s", p.id, p.stamp, p.signature)
		}
	}
	if files, err := filepath.Glob(s.path("inbox", "northwind", "*", "*")); err != nil || len(files) != 0 {
		t.Errorf("in the folder: %v, %v", files, err)
	}
	for _, m := range s.settled() {
		if m.State != string(queue.Delivered) || m.Proof != string(queue.ProofHTTP) || m.Kind != string(queue.KindWebhook) {
			t.Errorf("post %s, a %s, is %s by %q", m.ID, m.Kind, m.State, m.Proof)
		}
	}
	if n := s.metric("edigw_messages_total", "direction", "in", "state", "delivered"); n < 3 {
		t.Errorf("edigw_messages_total counts %v received documents that were delivered since the restart", n)
	}
}

// TestReceivedFilesLieInTheFolder: a message of several files (RFC 6362) comes over
// AS2; each file lies in the folder, with facts that name the others.
func TestReceivedFilesLieInTheFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	drawing := bytes.Repeat([]byte("%PDF-1.7 \x00\r\n\xff"), 5000)
	content := "--b\r\nContent-Type: application/edi-x12\r\nContent-Disposition: attachment; filename=order.x12\r\n\r\n" + string(invoice(1)) +
		"\r\n--b\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=drawing.pdf\r\n\r\n" +
		base64.StdEncoding.EncodeToString(drawing) + "\r\n--b--\r\n"
	c.post(c.message("files", content, func(d *as2.Document) {
		d.ContentType, d.FileName = `multipart/related; type="application/edi-x12"; boundary="b"`, ""
	}))
	var in []messageView
	s.await("the files lie in the folder", func() bool {
		in = everything[messageView](s, "/messages", query("direction", "in"))
		return len(in) == 1 && in[0].State == string(queue.Delivered)
	})
	want := map[string][]byte{"order.x12": invoice(1), "drawing.pdf": drawing}
	files, err := filepath.Glob(s.path("inbox", "northwind", "*", "*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for n, name := range []string{"order.x12", "drawing.pdf"} {
		file := filepath.Join(filepath.Dir(files[0]), name)
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want[name]) {
			t.Errorf("%s: %d bytes, want %d, %v", name, len(got), len(want[name]), err)
		}
		var facts struct {
			ID, SHA256 string
			Part       int
			Size       int
			Files      []string
		}
		text, err := os.ReadFile(file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &facts); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(want[name])
		if facts.ID != in[0].ID || facts.Part != n+1 || facts.Size != len(want[name]) || facts.SHA256 != hex.EncodeToString(sum[:]) || fmt.Sprint(facts.Files) != "[order.x12 drawing.pdf]" {
			t.Errorf("facts of %s: %s", name, text)
		}
	}
}
