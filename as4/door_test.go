package as4

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"edigw/as4/ebms"
	"edigw/internal/scratch"
	"edigw/internal/testfixture"
)

// TestDoor: what is no message is answered by its status, before anything of it
// is believed or much of it is read.
func TestDoor(t *testing.T) {
	t.Parallel()
	usual := func() *http.Request { return craft(plainPart("a@x", "text/plain", "x")).request(t) }
	for name, tc := range map[string]struct {
		change func(r *http.Request)
		status int
		says   string
	}{
		"GET":                     {func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed, "POST"},
		"two Content-Types":       {func(r *http.Request) { r.Header.Add("Content-Type", "text/html") }, http.StatusBadRequest, "two Content-Type"},
		"no Content-Type":         {func(r *http.Request) { r.Header.Del("Content-Type") }, http.StatusUnsupportedMediaType, "application/soap+xml"},
		"an AS2 message":          {func(r *http.Request) { r.Header.Set("Content-Type", "application/pkcs7-mime") }, http.StatusUnsupportedMediaType, "application/soap+xml"},
		"compressed as a whole":   {func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, http.StatusUnsupportedMediaType, "without Content-Encoding"},
		"identity is no encoding": {func(r *http.Request) { r.Header.Set("Content-Encoding", "identity") }, http.StatusOK, "Receipt"},
		"too many fields": {func(r *http.Request) {
			for i := range 300 {
				r.Header.Set(fmt.Sprint("X-", i), "x")
			}
		}, http.StatusRequestHeaderFieldsTooLarge, ""},
		"no boundary":      {func(r *http.Request) { r.Header.Set("Content-Type", "multipart/related") }, http.StatusOK, codeMIME},
		"another boundary": {func(r *http.Request) { r.Header.Set("Content-Type", "multipart/related; boundary=other") }, http.StatusOK, codeMIME},
		"start that names no part": {func(r *http.Request) {
			r.Header.Set("Content-Type", `multipart/related; boundary="=_crafted"; start="<nobody>"`)
		}, http.StatusOK, "no part has the Content-ID"},
		"root that is no envelope": {func(r *http.Request) {
			r.Header.Set("Content-Type", `multipart/related; boundary="=_crafted"; start="<a@x>"`)
		}, http.StatusOK, codeMIME},
		"charset":                   {func(r *http.Request) { r.Header.Set("Content-Type", "application/soap+xml; charset=utf-16") }, http.StatusOK, "only UTF-8"},
		"no XML":                    {body("hello"), http.StatusBadRequest, "not well-formed"},
		"empty":                     {body(""), http.StatusBadRequest, "not well-formed"},
		"other XML":                 {body("<Order/>"), http.StatusInternalServerError, "VersionMismatch"},
		"SOAP 1.1":                  {body(`<e:Envelope xmlns:e="` + ebms.SOAP11 + `"><e:Body/></e:Envelope>`), http.StatusInternalServerError, "VersionMismatch"},
		"an envelope beyond bounds": {body("<a>" + strings.Repeat(" ", 5<<20) + "</a>"), http.StatusBadRequest, "too large"},
		"body broken off": {func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 500), iotest.ErrReader(io.ErrUnexpectedEOF)))
		}, http.StatusBadRequest, "broke off"},
		"broken off behind the envelope": {func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, r.ContentLength-5), iotest.ErrReader(errors.New("connection reset"))))
		}, http.StatusBadRequest, "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, r := &receiver{p: fromAcmePlain()}, usual()
			tc.change(r)
			res := serve(receiverHandler(t, m), r)
			if body := readBody(t, res); res.StatusCode != tc.status || !bytes.Contains(body, []byte(tc.says)) {
				t.Errorf("status %d: %.600s", res.StatusCode, body)
			}
			if wanted := tc.says == "Receipt"; (len(m.received) > 0) != wanted {
				t.Errorf("%d received", len(m.received))
			}
		})
	}
}

// body puts another body in place, as a bare envelope.
func body(text string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Content-Type", envelopeType)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

// TestBodyLimit: a message beyond the limit is refused with a status, however it
// is sent, and what unpacks beyond it with an error.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	m := &receiver{p: fromAcmePlain()}
	h := receiverHandler(t, m)
	h.o.Body = 100 << 10
	long := strings.Repeat("0123456789", 20_000)
	if res := serve(h, craft(plainPart("a@x", "application/octet-stream", long)).request(t)); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
	two := long[:60<<10]
	c := craft(zippedPart("a@x", "text/plain", two), zippedPart("b@x", "text/plain", two))
	if answer, e := answered(t, serve(h, c.request(t))); answer != codeCompression || !strings.Contains(e.Detail, `"cid:b@x"`) {
		t.Errorf("answered %s: %s", answer, e.Detail)
	}
}

// TestStrangers: they learn nothing, get nothing signed, are counted, and do not
// flood the log; nothing large is taken from them.
func TestStrangers(t *testing.T) {
	t.Parallel()
	m := &receiver{p: fromAcmePlain()}
	h, log, counted := receiverHandler(t, m), &lines{}, 0
	h.o.Log, h.o.Stranger = slog.New(log), func() { counted++ }
	c := craft(plainPart("a@x", "application/octet-stream", strings.Repeat("x", 3<<20)))
	c.user.From.IDs = []ebms.PartyID{{Value: "urn:nobody"}}
	for range 3 {
		req := c.request(t)
		rest := &countingReader{Reader: req.Body}
		req.Body = io.NopCloser(rest)
		res := serve(h, req)
		body := readBody(t, res)
		env, err := parseEnvelope(body, 1<<20)
		if err != nil || res.StatusCode != http.StatusOK || env.Errors().Errors[0].Code != codeValue || env.Errors().RefToMessageID != c.user.MessageID {
			t.Fatalf("status %d: %s", res.StatusCode, body)
		}
		if bytes.Contains(body, []byte("Signature")) || rest.n < 1<<20 || rest.n > 2<<20 {
			t.Errorf("signed, or %d bytes were read", rest.n)
		}
	}
	c.user.From.IDs[0].Value = "urn:somebody"
	serve(h, c.request(t))
	m.now = m.now.Add(time.Minute)
	serve(h, c.request(t))
	if counted != 5 || len(m.received) != 0 || fmt.Sprint(log.n) != "[1 1 1]" {
		t.Errorf("%d counted, %d received, lines for %v", counted, len(m.received), log.n)
	}
}

type countingReader struct {
	io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// lines is a log that keeps how many times each line stands for.
type lines struct {
	text   []string
	detail []string
	n      []int64
}

// Enabled implements slog.Handler.
func (*lines) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.text = append(l.text, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "since_last_line":
			l.n = append(l.n, a.Value.Int64())
		case "detail", "from":
			l.detail = append(l.detail, a.Value.String())
		}
		return true
	})
	return nil
}

// TestFaultsOfOursMakeNoFlood: a disk that fails meets every request.
func TestFaultsOfOursMakeNoFlood(t *testing.T) {
	t.Parallel()
	m := &receiver{p: fromAcmePlain(), fail: errDisk}
	h, log := receiverHandler(t, m), &lines{}
	h.o.Log = slog.New(log)
	send := func() {
		t.Helper()
		if res := serve(h, craft(plainPart("a@x", "text/plain", "x")).request(t)); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("status %d", res.StatusCode)
		}
	}
	for range 5 {
		send()
	}
	m.now = m.now.Add(time.Minute)
	send()
	if fmt.Sprint(log.n) != "[1 5]" {
		t.Errorf("%v requests in lines %q", log.n, log.text)
	}
}

// TestAKeyOfOursThatIsMissing: nothing is accepted that cannot be answered.
func TestAKeyOfOursThatIsMissing(t *testing.T) {
	t.Parallel()
	m := &receiver{p: fromAcmePlain()}
	m.p.Sign.Key, m.p.Sign.Certificate = nil, nil
	if res := serve(receiverHandler(t, m), craft(plainPart("a@x", "text/plain", "x")).request(t)); res.StatusCode != http.StatusServiceUnavailable || len(m.received) != 0 {
		t.Errorf("status %d, %d received", res.StatusCode, len(m.received))
	}
}

// TestClientCertificate: a partner of whom one is asked for is let in with it
// alone, and what stands behind the envelope is not kept before.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	right, wrong := acmeEC(), northEC()
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
		"none will do":          {listed: []*x509.Certificate{}, shown: &right, status: http.StatusForbidden, says: "with the client certificate serial"},
		"no TLS":                {listed: []*x509.Certificate{right.cert}, plain: true, status: http.StatusForbidden, says: "without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &receiver{p: fromAcmePlain()}
			m.p.Receive.Clients = tc.listed
			server := httptest.NewUnstartedServer(receiverHandler(t, m))
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
			contentType, body := craft(plainPart("a@x", "text/plain", "x")).compose(t)
			res, err := client.Post(server.URL, contentType, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			got, _ := m.last(t)
			if res.StatusCode != tc.status || got.Accepted != (tc.says == "") || !strings.Contains(got.Problem, tc.says) || got.Unread == got.Accepted {
				t.Errorf("status %d, accepted %t: %s", res.StatusCode, got.Accepted, got.Problem)
			}
		})
	}
}

// disk has so many bytes for everybody.
type disk struct {
	size  int64
	rooms *scratch.Rooms
}

// Room implements scratch.Room.
func (d *disk) Room() (int64, error) { return d.size - d.rooms.Written(), nil }

// TestNoRoom: a message for which there is none is refused before it is read, is
// to be sent again later, and is told once. Strangers cannot take the room of
// partners: an envelope needs none.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	d := &disk{size: 64 << 20} // 16 MB for a partner
	d.rooms = scratch.NewRooms(d)
	m := &receiver{p: fromAcmePlain()}
	h, told := receiverHandler(t, m), []string{}
	h.o.Room, h.o.Crowded = d.rooms, func(partner string, _ error) { told = append(told, partner) }
	big := craft(plainPart("a@x", "application/octet-stream", strings.Repeat("x", 17<<20)))
	for range 2 {
		req := big.request(t)
		rest := &countingReader{Reader: req.Body}
		req.Body = io.NopCloser(rest)
		if res := serve(h, req); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("status %d", res.StatusCode)
		}
		if rest.n > lingering+1<<20 {
			t.Errorf("%d bytes were read", rest.n)
		}
	}
	if fmt.Sprint(told) != "[p1]" || d.rooms.Granted() != 0 {
		t.Errorf("told %q, %d bytes are still granted", told, d.rooms.Granted())
	}
	strangers := d.rooms.Space(t.TempDir(), "", "")
	defer strangers.Close()
	if _, err := strangers.New().Write(make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	small := craft(plainPart("a@x", "application/octet-stream", strings.Repeat("x", 1<<20)))
	if answer, e := answered(t, serve(h, small.request(t))); answer != "receipt" {
		t.Errorf("strangers have their room: answered %s: %s", answer, e.Detail)
	}
	if d.rooms.Granted() != 16<<20 {
		t.Errorf("%d bytes are still granted", d.rooms.Granted())
	}
}

// TestEnvelopeFixtures: the examples of the OASIS AS4 profile, as a product ships
// them, get the verdicts of their manifest.
func TestEnvelopeFixtures(t *testing.T) {
	t.Parallel()
	dir := testfixture.Path(t, "as4")
	for _, row := range testfixture.Table(t, filepath.Join(dir, "manifest.tsv")) {
		if !strings.HasPrefix(row["file"], "envelopes/") {
			continue
		}
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			m := &receiver{}
			ids := func(id string) ebms.Party {
				return ebms.Party{IDs: []ebms.PartyID{{Value: id, Type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}}}
			}
			m.p = PMode{From: ids("5209999001295"), To: ids("5209999001264"), Collaboration: Collaboration{Service: ebms.Service{Value: ebms.DefaultService}, Action: ebms.DefaultAction}}
			m.p.Receive.Receipt.Mode = ReceiptSync
			h := receiverHandler(t, m)
			send := func() *http.Response {
				req := httptest.NewRequest(http.MethodPost, "/as4", bytes.NewReader(testfixture.Read(t, filepath.Join(dir, row["file"]))))
				req.Header.Set("Content-Type", envelopeType)
				return serve(h, req)
			}
			answer, e := answered(t, send())
			switch filepath.Base(row["file"]) {
			case "UserMessage12.xml":
				got, payloads := m.last(t)
				if answer != "receipt" || got.MessageID != row["message_id"] || len(payloads) != 1 || !strings.Contains(payloads[0], "CrossIndustryInvoice") {
					t.Errorf("answered %s: %s %s", answer, e.Detail, got.Problem)
				}
				m.p.Receive.Signed = true
				m.answers = nil
				if answer, e := answered(t, send()); answer != codePolicy {
					t.Errorf("where a signature was settled: answered %s: %s", answer, e.Detail)
				}
			case "UserMessageWithCompressedPayload12.xml":
				if answer != "env:Sender" || len(m.received) != 0 {
					t.Errorf("answered %s: %s", answer, e.Detail)
				}
			case "PullRequest12.xml":
				if answer != "env:MustUnderstand" {
					t.Errorf("answered %s: %s", answer, e.Detail)
				}
			default:
				t.Error("this envelope is new: say what becomes of it")
			}
		})
	}
}

// TestLargeEnvelopes: what they hold of the memory is bounded, for all and for
// one address; usual ones are not counted, and what was held is given back.
func TestLargeEnvelopes(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	all := envelopes{limit: most}
	take := func(address string, n int64) (*envelopeShare, error) {
		s := &envelopeShare{of: &all, address: address}
		return s, errors.Join(s.grow(n/2), s.grow(n-n/2))
	}
	if s, err := take("1", usualEnvelope); err != nil || s.held != 0 {
		t.Errorf("a usual one holds %d: %v", s.held, err)
	}
	a, err := take("1", usualEnvelope+most/2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take("1", usualEnvelope+1); !errors.Is(err, scratch.ErrNoRoom) || !strings.Contains(err.Error(), "those from 1") {
		t.Errorf("an address that has its half: %v", err)
	}
	b, err := take("2", usualEnvelope+most/2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take("3", usualEnvelope+1); !errors.Is(err, scratch.ErrNoRoom) {
		t.Errorf("more than all: %v", err)
	}
	a.free()
	if c, err := take("3", usualEnvelope+1); err != nil || c.held != 1 {
		t.Errorf("what was given back is not to be had: %v", err)
	} else {
		c.free()
	}
	b.free()
	if all.held != 0 || len(all.addresses) != 0 {
		t.Errorf("left: %d, %v", all.held, all.addresses)
	}
	m := &receiver{p: fromAcmePlain()}
	h := receiverHandler(t, m)
	h.envelopes.held = h.envelopes.limit
	large := craft()
	large.body, large.user.Parts = "<Order>"+strings.Repeat("x", 100<<10)+"</Order>", []ebms.PartInfo{{}}
	if res := serve(h, large.request(t)); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("status %d", res.StatusCode)
	}
	h.envelopes.held = 0
	if answer, e := answered(t, serve(h, large.request(t))); answer != "receipt" || h.envelopes.held != 0 {
		t.Errorf("answered %s: %s; %d bytes are held", answer, e.Detail, h.envelopes.held)
	}
}
