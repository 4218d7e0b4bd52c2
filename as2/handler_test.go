package as2

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"edigw/as2/smime"
	"edigw/fault"
)

func TestOnlyPOST(t *testing.T) {
	t.Parallel()
	h := testHandler(t, &memory{})
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodOptions} {
		res := serve(h, httptest.NewRequest(method, "/as2", nil))
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, res.StatusCode, res.Header.Get("Allow"))
		}
		if body := readBody(t, res); method == http.MethodGet && !bytes.Contains(body, []byte("AS2")) {
			t.Errorf("%s says %q", method, body)
		}
	}
}

func TestHeaderIsBounded(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	r, wire := mustBuild(t, a, []byte("ISA~"))
	for name, spoil := range map[string]func(http.Header){
		"one large field": func(h http.Header) { h.Set("X-Large", strings.Repeat("x", 1<<20)) },
		"many fields": func(h http.Header) {
			for range 1000 {
				h.Add("X-Many", "x")
			}
		},
	} {
		m := &memory{agreement: fromAcme()}
		req := wireRequest(t, r, wire)
		spoil(req.Header)
		if res := serve(testHandler(t, m), req); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge || len(m.received) > 0 {
			t.Errorf("%s: status %d, %d received", name, res.StatusCode, len(m.received))
		}
	}
}

// TestPartHeaderIsBounded: a signed part with a header of 1 MB.
func TestPartHeaderIsBounded(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Encrypt = ""
	d := orderDocument([]byte("ISA~"))
	d.ContentType = "application/edi-x12; x=" + strings.Repeat("x", 1<<20)
	var wire bytes.Buffer
	r, err := Build(&wire, a, d, strings.NewReader("ISA~"), testNow, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{agreement: fromAcme()}
	m.agreement.Receive.Encrypted = false
	if _, state := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire.Bytes()))); state != "processed/error: unexpected-processing-error" {
		t.Errorf("answered %q", state)
	}
}

func TestBodyIsBounded(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	h := testHandler(t, m)
	h.o.Body = 1000
	r, wire := mustBuild(t, toNorthwind(), contents()["usual"])
	if res := serve(h, wireRequest(t, r, wire)); res.StatusCode != http.StatusRequestEntityTooLarge || len(m.received) > 0 {
		t.Errorf("status %d, %d received", res.StatusCode, len(m.received))
	}
}

// TestRow23Row49DuplicateGetsTheSameMDN: RFC 4130 §5.5.
func TestRow23Row49DuplicateGetsTheSameMDN(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	h := testHandler(t, m)
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	first := serve(h, wireRequest(t, r, wire))
	second := serve(h, wireRequest(t, r, wire))
	if a, b := readBody(t, first), readBody(t, second); !bytes.Equal(a, b) || first.Header.Get("Message-ID") != second.Header.Get("Message-ID") {
		t.Errorf("the second MDN differs:\n%s\n%s", a, b)
	}
	m.agreement.Verify = []*x509.Certificate{stranger().cert}
	if _, state := dispositionOf(t, serve(h, wireRequest(t, r, wire))); state != "processed" {
		t.Errorf("the same bytes after a change of certificates: %q", state)
	}
	if len(m.received) != 1 {
		t.Errorf("%d documents delivered, want 1", len(m.received))
	}
}

// TestDuplicateIsNotToldToBeRefused: the first copy asked for no receipt and was
// accepted; the same bytes, which do not verify today, ask for one.
func TestDuplicateIsNotToldToBeRefused(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	h := testHandler(t, m)
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	silent := wireRequest(t, r, wire)
	silent.Header.Del("Disposition-Notification-To")
	if res := serve(h, silent); res.StatusCode != http.StatusOK || len(m.received) != 1 {
		t.Fatalf("status %d, %d received", res.StatusCode, len(m.received))
	}
	m.agreement.Verify = []*x509.Certificate{stranger().cert}
	res := serve(h, wireRequest(t, r, wire))
	if body := readBody(t, res); res.StatusCode != http.StatusOK || len(body) > 0 || len(m.received) != 1 {
		t.Errorf("status %d, told %q", res.StatusCode, body)
	}
}

func TestKeptHeadersHoldNoCredentials(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	req := wireRequest(t, r, wire)
	req.SetBasicAuth("acme", "s3cret")
	serve(testHandler(t, m), req)
	if got, _ := m.last(t); got.Header.Get("Authorization") != "" || got.Header.Get("AS2-From") == "" {
		t.Errorf("kept: %v", got.Header)
	}
}

// TestRefusedMessageIsNoDuplicate: once the certificate is mended the same
// message goes through.
func TestRefusedMessageIsNoDuplicate(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	good := m.agreement.Verify
	m.agreement.Verify = []*x509.Certificate{stranger().cert}
	h := testHandler(t, m)
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	if _, state := dispositionOf(t, serve(h, wireRequest(t, r, wire))); state != "processed/error: authentication-failed" {
		t.Fatalf("answered %q", state)
	}
	m.agreement.Verify = good
	if _, state := dispositionOf(t, serve(h, wireRequest(t, r, wire))); state != "processed" {
		t.Errorf("answered %q", state)
	}
}

// TestInboxDown: no MDN says that we hold what we do not hold.
func TestInboxDown(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme(), fail: true}
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	res := serve(testHandler(t, m), wireRequest(t, r, wire))
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || bytes.Contains(readBody(t, res), []byte("disk")) {
		t.Errorf("status %d, header %v", res.StatusCode, res.Header)
	}
}

// TestScratchFull is our own fault too.
func TestScratchFull(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	h := testHandler(t, m)
	h.o.Scratch = h.o.Scratch + "/gone"
	r, wire := mustBuild(t, toNorthwind(), contents()["binary"])
	if res := serve(h, wireRequest(t, r, wire)); res.StatusCode != http.StatusServiceUnavailable || len(m.received) > 0 {
		t.Errorf("status %d, %d received", res.StatusCode, len(m.received))
	}
}

// TestBodyBreaksOff: half a message is no message.
func TestBodyBreaksOff(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	req := wireRequest(t, r, wire)
	req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(wire[:100]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if res := serve(testHandler(t, m), req); res.StatusCode != http.StatusBadRequest || len(m.received) > 0 {
		t.Errorf("status %d, %d received", res.StatusCode, len(m.received))
	}
}

// TestUnknownNames: an unsigned MDN, whatever was asked, and nowhere but in the
// response.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.From = "SOMEBODY"
	a.MDN.Mode, a.MDN.URL = MDNAsync, "http://169.254.169.254/latest"
	for _, content := range [][]byte{[]byte("ISA~"), make([]byte, 3<<20)} {
		r, wire := mustBuild(t, a, content)
		m := &memory{agreement: fromAcme()}
		mdn, state := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire)))
		if state != "processed/error: unknown-trading-relationship" || mdn.Signed || mdn.OriginalMessageID != r.MessageID || mdn.To != "SOMEBODY" {
			t.Errorf("answered %q, signed %t: %+v", state, mdn.Signed, mdn)
		}
		if len(m.received) > 0 {
			t.Error("something was received")
		}
	}
	a.MDN = MDNRequest{}
	r, wire := mustBuild(t, a, []byte("ISA~"))
	if res := serve(testHandler(t, &memory{agreement: fromAcme()}), wireRequest(t, r, wire)); res.StatusCode != http.StatusForbidden {
		t.Errorf("without an MDN: status %d", res.StatusCode)
	}
}

// TestFileNameBeyondASCII goes out in both spellings and comes back whole.
func TestFileNameBeyondASCII(t *testing.T) {
	t.Parallel()
	d := orderDocument([]byte("x"))
	d.FileName = "Bestellung 'März' 100%.edi"
	var wire bytes.Buffer
	r, err := Build(&wire, toNorthwind(), d, strings.NewReader("x"), testNow, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{agreement: fromAcme()}
	serve(testHandler(t, m), wireRequest(t, r, wire.Bytes()))
	if got, _ := m.last(t); got.FileName != d.FileName {
		t.Errorf("file name %q, want %q", got.FileName, d.FileName)
	}
	if !strings.Contains(r.Entity.Header, `filename="Bestellung 'M_rz' 100%.edi"; filename*=UTF-8''Bestellung%20%27M%C3%A4rz%27%20100%25.edi`) {
		t.Errorf("header %q", r.Entity.Header)
	}
}

// TestNotAS2: as2.md §2.1 #15.
func TestNotAS2(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	h := testHandler(t, m)
	if res := serve(h, httptest.NewRequest(http.MethodPost, "/as2", strings.NewReader("hello"))); res.StatusCode != http.StatusBadRequest {
		t.Errorf("no names: status %d", res.StatusCode)
	}
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	for _, name := range []string{"AS2-From", "AS2-To", "Message-ID"} {
		req := wireRequest(t, r, wire)
		req.Header.Add(name, "OTHER")
		if res := serve(h, req); res.StatusCode != http.StatusBadRequest || len(m.received) > 0 {
			t.Errorf("two %s: status %d", name, res.StatusCode)
		}
	}
}

// TestAsynchronousMDN: the message is answered at once, the MDN is owed, and
// arrives by a request of its own.
func TestAsynchronousMDN(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.MDN.Mode, a.MDN.URL = MDNAsync, "https://edi.acme.example/as2"
	r, wire := mustBuild(t, a, []byte("ISA~"))
	if r.Ack != fault.AckAsync || r.Token != "tok-1" {
		t.Errorf("rendition asks %q with token %q", r.Ack, r.Token)
	}
	m := &memory{agreement: fromAcme()}
	m.agreement.Receive.ReceiptURLs = []string{"https://edi.acme.example/as2"}
	res := serve(testHandler(t, m), wireRequest(t, r, wire))
	if body := readBody(t, res); res.StatusCode != http.StatusOK || len(body) > 0 {
		t.Fatalf("status %d with %d bytes", res.StatusCode, len(body))
	}
	got, _ := m.last(t)
	if got.Answer == nil || got.Answer.URL != "https://edi.acme.example/as2?t=tok-1" {
		t.Fatalf("owed: %+v", got.Answer)
	}
	// The MDN comes back to us.
	req := httptest.NewRequest(http.MethodPost, got.Answer.URL, bytes.NewReader(got.Answer.Body))
	for _, f := range got.Answer.Headers {
		req.Header.Set(f.Name, f.Value)
	}
	ours := &memory{agreement: a}
	if res := serve(testHandler(t, ours), req); res.StatusCode != http.StatusOK {
		t.Fatalf("MDN answered %d", res.StatusCode)
	}
	if len(ours.acks) != 1 {
		t.Fatalf("%d acknowledgements", len(ours.acks))
	}
	ack := ours.acks[0]
	if ack.Token != r.Token || ack.MessageID != r.MessageID || ack.From != "NORTHWIND" || ack.To != "ACME-AS2" {
		t.Errorf("acknowledgement %+v", ack)
	}
	verdict, mdn := VerifyMDN(ack.Header, ack.Body, []Rendition{r}, a)
	if verdict.Verdict != fault.AckTrusted || !verdict.Positive || verdict.Digest != r.MICs[0].String() {
		t.Errorf("verdict %q of %q: %s", verdict.Verdict, verdict.Digest, mdn.Problem)
	}
	ours.fail = true
	req.Body = io.NopCloser(bytes.NewReader(got.Answer.Body))
	if res := serve(testHandler(t, ours), req); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("MDN that cannot be kept answered %d", res.StatusCode)
	}
	req.Body = io.NopCloser(bytes.NewReader(append(got.Answer.Body, make([]byte, 2<<20)...)))
	if res := serve(testHandler(t, ours), req); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("MDN of 2 MiB answered %d", res.StatusCode)
	}
}

// TestReceiptAddressNotListed: refused in the response, nothing is delivered that
// the sender would believe lost.
func TestReceiptAddressNotListed(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.MDN.Mode, a.MDN.URL = MDNAsync, "https://evil.example/as2"
	r, wire := mustBuild(t, a, []byte("ISA~"))
	m := &memory{agreement: fromAcme()}
	mdn, state := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire)))
	got, _ := m.last(t)
	if state != "processed/error: unexpected-processing-error" || !mdn.Signed || got.Accepted || !strings.Contains(got.Problem, "receipt_urls") {
		t.Errorf("answered %q: %+v", state, got)
	}
	if words := string(got.Answer.Body); !strings.Contains(words, receiptNotAgreed) || strings.Contains(words, "receipt_urls") {
		t.Errorf("the sender reads %q; want that the address was not agreed, in words without our settings", words)
	}
}

// TestPolicy: what is less than agreed is refused, what cannot be
// opened is told why.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		send func(*Agreement)
		take func(*Agreement)
		want string
	}{
		"unsigned":              {func(a *Agreement) { a.Sign, a.Encrypt = 0, "" }, func(a *Agreement) { a.Receive.Encrypted = false }, "processed/error: insufficient-message-security"},
		"encrypted, unsigned":   {func(a *Agreement) { a.Sign = 0 }, nil, "processed/error: insufficient-message-security"},
		"unencrypted":           {func(a *Agreement) { a.Encrypt = "" }, nil, "processed/error: insufficient-message-security"},
		"weak digest":           {func(a *Agreement) { a.Sign = crypto.SHA1 }, nil, "processed/error: insufficient-message-security"},
		"weak digest by name":   {func(a *Agreement) { a.Sign = crypto.SHA1 }, func(a *Agreement) { a.Receive.Digest = crypto.SHA1 }, "processed"},
		"not strong enough":     {nil, func(a *Agreement) { a.Receive.Digest = crypto.SHA512 }, "processed/error: insufficient-message-security"},
		"stranger":              {func(a *Agreement) { a.SigningKey, a.SigningCertificate = stranger().key, stranger().cert }, nil, "processed/error: authentication-failed"},
		"for somebody else":     {func(a *Agreement) { a.Recipients = []*x509.Certificate{stranger().cert} }, nil, "processed/error: decryption-failed"},
		"certificate roll-over": {nil, func(a *Agreement) { a.Verify = []*x509.Certificate{stranger().cert, acme().cert} }, "processed"},
		"key roll-over": {nil, func(a *Agreement) {
			a.Decrypt = append([]smime.Recipient{{Certificate: stranger().cert, Key: stranger().key.(crypto.Decrypter)}}, a.Decrypt...)
		}, "processed"},
		"wrong key":              {nil, func(a *Agreement) { a.Decrypt[0].Key = stranger().key.(crypto.Decrypter) }, "processed/error: decryption-failed"},
		"no key for the receipt": {nil, func(a *Agreement) { a.SigningKey = nil }, "failed/failure: unsupported format"},
	} {
		out, in := toNorthwind(), fromAcme()
		if tc.send != nil {
			tc.send(&out)
		}
		if tc.take != nil {
			tc.take(&in)
		}
		r, wire := mustBuild(t, out, []byte("ISA~"))
		m := &memory{agreement: in}
		_, state := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire)))
		if state != tc.want {
			got, _ := m.last(t)
			t.Errorf("%s: answered %q, want %q (%s)", name, state, tc.want, got.Problem)
		}
	}
}

// TestDamagedCiphertext: one answer whatever was changed in the encrypted
// content or the key.
func TestDamagedCiphertext(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Sign = 0
	r, wire := mustBuild(t, a, []byte("ISA~"))
	m := &memory{agreement: fromAcme()}
	m.agreement.Receive = Receive{}
	h := testHandler(t, m)
	refused := 0
	for i := len(wire) - 300; i < len(wire); i += 5 {
		bad := bytes.Clone(wire)
		bad[i] ^= 0x40
		_, state := dispositionOf(t, serve(h, wireRequest(t, r, bad)))
		if state == "processed" {
			continue // nothing protects what is not signed
		}
		refused++
		if state != "processed/error: decryption-failed" {
			t.Errorf("byte %d: %q", i, state)
		}
	}
	if refused < 10 {
		t.Errorf("only %d of 60 changes were noticed", refused)
	}
	for _, cut := range []int{10, 100, len(wire) - 1} {
		if _, state := dispositionOf(t, serve(h, wireRequest(t, r, wire[:cut]))); state != "processed/error: decryption-failed" {
			t.Errorf("cut at %d: %q", cut, state)
		}
	}
}

func TestNewHandlerNeedsItsParts(t *testing.T) {
	t.Parallel()
	if h, err := NewHandler(Options{}); err == nil {
		t.Errorf("got %v", h)
	}
}
