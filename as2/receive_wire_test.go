package as2

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// dial posts a message byte for byte: head is what stands before the body.
func dial(t *testing.T, h http.Handler, head string, wire []byte) *http.Response {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(c)
	if _, err := io.WriteString(c, head); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(head, "100-continue") { // nothing of the body before they say so
		line, err := br.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := br.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Write(wire); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestHeadersOnTheWire: folded fields, lower-case names, needless quotes and
// Expect: 100-continue, as they come through the server.
func TestHeadersOnTheWire(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Encrypt = ""
	r, wire := mustBuild(t, a, []byte("ISA~"))
	fields := map[string]string{}
	for _, f := range r.Headers {
		fields[f.Name] = f.Value
	}
	head := func(change func(map[string]string)) string {
		all := map[string]string{}
		for k, v := range fields {
			all[k] = v
		}
		change(all)
		text := "POST /as2 HTTP/1.1\r\nHost: as2.northwind.example\r\n"
		for k, v := range all {
			text += k + ": " + v + "\r\n"
		}
		return text + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(wire))
	}
	for name, change := range map[string]func(map[string]string){
		"row 6: folded Content-Type with its boundary": func(h map[string]string) {
			h["Content-Type"] = strings.ReplaceAll(h["Content-Type"], "; ", ";\r\n\t ")
		},
		"lower-case names, no version": func(h map[string]string) {
			for k, v := range h {
				delete(h, k)
				h[strings.ToLower(k)] = v
			}
			delete(h, "as2-version")
		},
		"row 13: names quoted needlessly": func(h map[string]string) { h["AS2-From"], h["AS2-To"] = `"ACME-AS2"`, `"NORTHWIND"` },
		"row 53: asks before the body":    func(h map[string]string) { h["Expect"] = "100-continue" },
		"folded options of the receipt": func(h map[string]string) {
			h["Disposition-Notification-Options"] = "signed-receipt-protocol=optional,\r\n pkcs7-signature;\r\n signed-receipt-micalg=optional,\r\n sha256"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &memory{agreement: fromAcme()}
			m.agreement.Receive = Receive{Signed: true}
			mdn, state := dispositionOf(t, dial(t, testHandler(t, m), head(change), wire))
			if state != "processed" || !mdn.Signed || mdn.To != "ACME-AS2" {
				t.Errorf("answered %q, signed %t, to %q", state, mdn.Signed, mdn.To)
			}
		})
	}
}

// lines is a log that keeps its messages.
type lines struct {
	mu   sync.Mutex
	text []string
	n    []int64 // since_last_line
}

func (*lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *lines) WithGroup(string) slog.Handler          { return l }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "since_last_line" {
			l.n = append(l.n, a.Value.Int64())
		}
		return true
	})
	return nil
}

// TestStrangersMakeNoNoise: each gets his answer and is counted, the log has one
// line a minute of each pair of names; a probe of the address has none.
func TestStrangersMakeNoNoise(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	h, log, counted, now := testHandler(t, m), &lines{}, 0, testNow
	h.o.Log, h.o.Stranger, h.o.Now = slog.New(log), func() { counted++ }, func() time.Time { return now }
	post := func(from string) {
		t.Helper()
		a := toNorthwind()
		a.From = from
		r, wire := mustBuild(t, a, []byte("ISA~"))
		mdn, state := dispositionOf(t, serve(h, wireRequest(t, r, wire)))
		if state != "processed/error: unknown-trading-relationship" || mdn.Signed {
			t.Errorf("answered %q, signed %t", state, mdn.Signed)
		}
	}
	for range 5 {
		post("SOMEBODY")
	}
	post("NOBODY")
	now = now.Add(time.Minute)
	post("SOMEBODY")
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
		serve(h, httptest.NewRequest(method, "/as2", nil))
	}
	serve(h, httptest.NewRequest(http.MethodPost, "/as2", strings.NewReader("are you there?")))
	if fmt.Sprint(log.n) != "[1 1 5]" || len(log.text) != 3 || counted != 7 || len(m.received) != 0 {
		t.Errorf("lines %q for %v messages, %d counted, %d received", log.text, log.n, counted, len(m.received))
	}
}

// TestClientCertificate: a partner of whom one is asked for is let in with it
// alone, and nothing of the message is read before.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	right, wrong := elliptic1(), stranger()
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	for name, tc := range map[string]struct {
		listed []*x509.Certificate
		plain  bool
		shown  *pair
		status int
		says   string
	}{
		"none is asked for":     {status: http.StatusOK},
		"the one that is asked": {listed: []*x509.Certificate{acme().cert, right.cert}, shown: &right, status: http.StatusOK},
		"another":               {listed: []*x509.Certificate{right.cert}, shown: &wrong, status: http.StatusForbidden, says: "with the client certificate serial"},
		"none":                  {listed: []*x509.Certificate{right.cert}, status: http.StatusForbidden, says: "without a client certificate"},
		"no TLS":                {listed: []*x509.Certificate{right.cert}, plain: true, status: http.StatusForbidden, says: "without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &memory{agreement: fromAcme()}
			m.agreement.Receive.Clients = tc.listed
			server := httptest.NewUnstartedServer(testHandler(t, m))
			server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
			if tc.plain {
				server.Start()
			} else {
				server.StartTLS()
			}
			defer server.Close()
			client := server.Client()
			if tc.shown != nil {
				client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{{Certificate: [][]byte{tc.shown.cert.Raw}, PrivateKey: tc.shown.key}}
			}
			req, err := http.NewRequest(http.MethodPost, server.URL, bytes.NewReader(wire))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Headers {
				req.Header.Set(f.Name, f.Value)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			got, _ := m.last(t)
			refused := tc.status == http.StatusForbidden
			if res.StatusCode != tc.status || got.Accepted == refused || got.Unread != refused || got.MessageID != r.MessageID {
				t.Errorf("status %d, received %+v", res.StatusCode, got)
			}
			if refused && (!strings.Contains(got.Problem, tc.says) || !strings.Contains(got.Problem, "tls.inbound") || len(m.wires[0]) > 0) {
				t.Errorf("problem %q, %d bytes kept", got.Problem, len(m.wires[0]))
			}
		})
	}
}

// TestLayersAreFreed: of a large message two layers are on the disk at a time,
// beside the request itself; at the end one is.
func TestLayersAreFreed(t *testing.T) {
	t.Parallel()
	content := noise(2 << 20)
	a := toNorthwind()
	a.Compress = CompressAfterSign
	r, wire := mustBuild(t, a, content)
	d := newDisk(200 << 20)
	m := &memory{agreement: fromAcme()}
	h := testHandler(t, m)
	h.o.Room = d.rooms
	var left int64
	h.o.Inbox = looking{m, func() { left = d.rooms.Written() }}
	if _, state := dispositionOf(t, serve(h, wireRequest(t, r, wire))); state != "processed" {
		t.Fatalf("answered %q", state)
	}
	if most := int64(len(wire) + len(content) + 64<<10); left > most {
		t.Errorf("%d bytes on the disk when the message was open; a request of %d and one layer are %d", left, len(wire), most)
	}
}

// looking is an inbox that looks at something before it receives.
type looking struct {
	*memory
	look func()
}

func (l looking) Receive(ctx context.Context, r Received) (*Answer, bool, error) {
	l.look()
	return l.memory.Receive(ctx, r)
}

// TestReopen opens a kept request under other settings than those that it was
// refused under; nothing of it goes through the inbox by itself.
func TestReopen(t *testing.T) {
	t.Parallel()
	for _, content := range [][]byte{[]byte("ISA~"), noise(300 << 10)} {
		m := &memory{agreement: fromAcme()}
		good := m.agreement.Verify
		m.agreement.Verify = []*x509.Certificate{stranger().cert}
		h := testHandler(t, m)
		r, wire := mustBuild(t, toNorthwind(), content)
		if _, state := dispositionOf(t, serve(h, wireRequest(t, r, wire))); state != "processed/error: authentication-failed" {
			t.Fatalf("answered %q", state)
		}
		first, _ := m.last(t)
		k := Kept{Header: first.Header, Body: bytes.NewReader(wire), Size: int64(len(wire)), SHA256: first.WireSHA256}
		open := func() (rec Received, payload []byte) {
			t.Helper()
			if err := h.Reopen(k, func(r Received) (err error) {
				if rec = r; r.Payload != nil {
					payload, err = io.ReadAll(r.Payload)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return rec, payload
		}
		if rec, _ := open(); rec.Accepted || rec.Problem != first.Problem {
			t.Errorf("under the same settings: %+v", rec)
		}
		m.agreement.Verify = good
		rec, payload := open()
		if !rec.Accepted || !bytes.Equal(payload, content) || rec.MessageID != r.MessageID || !rec.MIC.Equal(r.MICs[0]) || rec.Answer.Disposition != processed().String() {
			t.Errorf("under today's settings: %+v", rec)
		}
		m.agreement.To = "SOMEBODY-ELSE"
		if err := h.Reopen(k, func(Received) error { t.Error("opened"); return nil }); !errors.Is(err, ErrNoAgreement) {
			t.Errorf("without an agreement: %v", err)
		}
		if len(m.received) != 1 {
			t.Errorf("%d messages went through the inbox", len(m.received))
		}
	}
}
