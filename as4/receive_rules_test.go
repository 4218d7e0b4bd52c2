package as4

import (
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/scratch"
)

// post has a message received and gives what is answered.
func post(t testing.TB, h *Handler, r Rendition, wire []byte) *http.Response {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://edi.northwind.example/as4", bytes.NewReader(wire))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", r.ContentType)
	return serve(h, req)
}

// TestRoundTrip: what we build we receive, whatever the algorithms, and the
// receipt that goes back is proof to whoever sent it.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	x25519, opener := northX()
	for name, change := range map[string]func(send, receive *PMode){
		"RSA": func(*PMode, *PMode) {},
		"row 13: elliptic curves, both ways": func(s, r *PMode) {
			s.Sign = wssec.Signing{Key: acmeEC().key, Certificate: acmeEC().cert, Algorithm: wssec.ECDSASHA256}
			r.Verify = []*x509.Certificate{acmeEC().cert}
			r.Sign = wssec.Signing{Key: northEC().key, Certificate: northEC().cert, Algorithm: wssec.ECDSASHA256, Token: wssec.TokenPKIPath}
			s.Verify = []*x509.Certificate{northEC().cert}
			s.Receive.Algorithms = []wssec.SignatureAlgorithm{wssec.ECDSASHA256} // no other will do
			s.Encrypt = wssec.Encrypting{Recipient: northEC().cert, Cipher: wssec.AES128GCM, Transport: wssec.KeyTransport{Method: "ecdh-es"}}
			r.Decrypt = []wssec.Opener{northEC().opener()}
		},
		"row 13: Ed25519 and X25519": func(s, r *PMode) {
			s.Sign = wssec.Signing{Key: acmeEd().key, Certificate: acmeEd().cert, Algorithm: wssec.Ed25519}
			r.Verify = []*x509.Certificate{acmeEd().cert}
			r.Sign = wssec.Signing{Key: northEd().key, Certificate: northEd().cert, Algorithm: wssec.Ed25519}
			s.Verify = []*x509.Certificate{northEd().cert}
			s.Receive.Algorithms = []wssec.SignatureAlgorithm{wssec.Ed25519}
			s.Encrypt = wssec.Encrypting{Recipient: x25519, Cipher: wssec.AES128GCM, Transport: wssec.KeyTransport{Method: "x25519"}}
			r.Decrypt = []wssec.Opener{opener}
		},
		"AES-256, not compressed": func(s, _ *PMode) { s.Encrypt.Cipher, s.Compress = wssec.AES256GCM, false },
		"signed alone":            func(s, r *PMode) { s.Encrypt.Cipher, r.Receive.Encrypted = "", false },
		"reception awareness": func(s, r *PMode) {
			s.Receipt.NonRepudiation, r.Receive.Receipt.NonRepudiation = false, false
		},
		"nothing": func(s, r *PMode) {
			s.Encrypt.Cipher, s.Sign.Algorithm, s.Receipt = "", "", ReceiptRequest{Mode: ReceiptSync}
			r.Receive = Receive{Receipt: ReceiptRequest{Mode: ReceiptSync}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send, receive := toNorthwind(), fromAcme()
			receive.FileNameProperty = send.FileNameProperty
			change(&send, &receive)
			d := orderDocument()
			var want []string
			for name, content := range contents() {
				d.Payloads = append(d.Payloads, payload("application/octet-stream", name+".bin", content))
				want = append(want, string(content))
			}
			r, wire := mustBuild(t, send, d)
			m := &receiver{p: receive}
			res := post(t, receiverHandler(t, m), r, wire)
			ack, signal := VerifySignal(res.Header, readBody(t, res), []Rendition{r}, send, testNow)
			if ack.Verdict != fault.AckTrusted || !ack.Positive {
				t.Fatalf("verdict %q: %s", ack.Verdict, signal.Problem)
			}
			got, payloads := m.last(t)
			if !got.Accepted || !slices.Equal(payloads, want) {
				t.Fatalf("received %d payloads: %s", len(payloads), got.Problem)
			}
			if got.Signed != (send.Sign.Algorithm != "") || got.Encrypted != (send.Encrypt.Cipher != "") || got.Compressed != send.Compress {
				t.Errorf("signed %t, encrypted %t, compressed %t", got.Signed, got.Encrypted, got.Compressed)
			}
			for i, p := range got.Payloads {
				if p.FileName != d.Payloads[i].FileName || p.ContentType != "application/octet-stream" || p.Size != d.Payloads[i].Size {
					t.Errorf("payload %d: %+v", i, p)
				}
			}
		})
	}
}

// TestRow5DuplicateGetsTheSameReceipt: a retry is not delivered again and gets
// the stored receipt; under another P-Mode too, since the first was accepted.
func TestRow5DuplicateGetsTheSameReceipt(t *testing.T) {
	t.Parallel()
	r, wire := mustBuild(t, toNorthwind(), orderDocument(payload("text/plain", "", []byte("x"))))
	m := &receiver{p: fromAcme()}
	h := receiverHandler(t, m)
	first := readBody(t, post(t, h, r, wire))
	again := readBody(t, post(t, h, r, wire))
	m.p.Verify = []*x509.Certificate{stranger().cert}
	later := readBody(t, post(t, h, r, wire))
	if len(m.received) != 1 || !bytes.Equal(first, again) || !bytes.Equal(first, later) || !bytes.Contains(first, []byte("NonRepudiationInformation")) {
		t.Errorf("%d received; answered %d, %d and %d bytes", len(m.received), len(first), len(again), len(later))
	}
	m.p = fromAcme()
	r, wire = mustBuild(t, toNorthwind(), orderDocument(payload("text/plain", "", []byte("y"))))
	answer, e := answered(t, post(t, h, r, wire))
	if answer != codeOther || !strings.Contains(e.Detail, "used before for other content") || len(m.received) != 1 {
		t.Errorf("other content: answered %s: %s, %d received", answer, e.Detail, len(m.received))
	}
}

// TestRow27FailedDeliveryIsNotAnswered: what could not be kept gets no receipt,
// neither at first nor as if it were a duplicate; the partner is asked to try
// again, and what he sends then is received.
func TestRow27FailedDeliveryIsNotAnswered(t *testing.T) {
	t.Parallel()
	r, wire := mustBuild(t, toNorthwind(), orderDocument(payload("text/plain", "", []byte("x"))))
	m := &receiver{p: fromAcme(), fail: errDisk}
	h := receiverHandler(t, m)
	for range 2 {
		res := post(t, h, r, wire)
		if body := readBody(t, res); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || bytes.Contains(body, []byte("Receipt")) {
			t.Errorf("status %d: %s", res.StatusCode, body)
		}
	}
	m.fail = nil
	if answer, _ := answered(t, post(t, h, r, wire)); answer != "receipt" || len(m.received) != 1 {
		t.Errorf("answered %s, %d received", answer, len(m.received))
	}
}

// TestAnswersGoWhereTheyShould: into the response, to the partner's address, or
// nowhere. Errors are always told at once.
func TestAnswersGoWhereTheyShould(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode   ReceiptMode
		spoil  bool
		test   bool
		status int
		body   string // what the response holds
		owed   string
	}{
		"sync":                {mode: ReceiptSync, status: http.StatusOK, body: "NonRepudiationInformation"},
		"async":               {mode: ReceiptAsync, status: http.StatusAccepted, owed: "https://as4.acme.example/msh"},
		"none":                {mode: ReceiptNone, status: http.StatusAccepted},
		"refused, async":      {mode: ReceiptAsync, spoil: true, status: http.StatusOK, body: "EBMS:0101"},
		"refused, none":       {mode: ReceiptNone, spoil: true, status: http.StatusOK, body: "EBMS:0101"},
		"test service":        {mode: ReceiptSync, test: true, status: http.StatusOK, body: "NonRepudiationInformation"},
		"test service, async": {mode: ReceiptAsync, test: true, status: http.StatusOK, body: "NonRepudiationInformation"},
		"test service, none":  {mode: ReceiptNone, test: true, status: http.StatusAccepted},
		"test, refused":       {mode: ReceiptSync, test: true, spoil: true, status: http.StatusOK, body: "EBMS:0101"},
		"test, refused, none": {mode: ReceiptNone, test: true, spoil: true, status: http.StatusOK, body: "EBMS:0101"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := orderDocument(payload("text/plain", "", []byte("x")))
			if tc.test {
				d = Ping("ping-1@edi.acme.example", testNow)
			}
			r, wire := mustBuild(t, toNorthwind(), d)
			m := &receiver{p: fromAcme()}
			m.p.Receive.Receipt.Mode = tc.mode
			if tc.spoil {
				m.p.Verify = []*x509.Certificate{stranger().cert}
			}
			res := post(t, receiverHandler(t, m), r, wire)
			body := readBody(t, res)
			if res.StatusCode != tc.status || !bytes.Contains(body, []byte(tc.body)) || tc.body == "" && len(body) > 0 {
				t.Errorf("status %d: %.200q", res.StatusCode, body)
			}
			if tc.test {
				if len(m.received) != 0 || len(m.tested) > 0 == tc.spoil || !tc.spoil && !slices.Equal(m.tested, []string{"p1"}) {
					t.Errorf("%d received, tested %q", len(m.received), m.tested)
				}
				return
			}
			if got, _ := m.last(t); tc.owed != "" && (got.Answer == nil || got.Answer.URL != tc.owed || got.Answer.Status != 0) {
				t.Errorf("owed %+v", got.Answer)
			}
			if len(m.tested) != 0 {
				t.Error("a message counts as a test")
			}
		})
	}
}

// TestRow3ErrorsAreSigned: partners drop errors that are not.
func TestRow3ErrorsAreSigned(t *testing.T) {
	t.Parallel()
	r, wire := mustBuild(t, toNorthwind(), orderDocument(payload("text/plain", "", []byte("x"))))
	m := &receiver{p: fromAcme()}
	m.p.Service.Value = "Invoices"
	res := post(t, receiverHandler(t, m), r, wire)
	ack, signal := VerifySignal(res.Header, readBody(t, res), []Rendition{r}, toNorthwind(), testNow)
	if ack.Verdict != fault.AckTrusted || ack.Positive || ack.EBMS != codeValue || ack.Signer != Fingerprint(northwind().cert) || ack.Ref != r.MessageID {
		t.Errorf("verdict %q on %s about %s: %s", ack.Verdict, ack.EBMS, ack.Ref, signal.Problem)
	}
}

// TestSigners: who counts, and what is said of who does not.
func TestSigners(t *testing.T) {
	t.Parallel()
	authority := validPair("ca.example", mustP256())
	issue := func(name string) pair {
		return newPair(name, acmeEC().key, testNow.AddDate(-1, 0, 0), testNow.AddDate(1, 0, 0), &authority)
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority.cert)
	bound := func(p *PMode) { p.Verify, p.Authorities, p.SubjectIsParty = nil, pool, true }
	for name, tc := range map[string]struct {
		signer  pair
		p       func(*PMode)
		code    string
		says    string
		claimed bool
	}{
		"pinned":                                   {signer: acme(), code: "receipt"},
		"not pinned":                               {signer: stranger(), code: codeSender, says: "CN=stranger.example", claimed: true},
		"pinned once":                              {signer: stranger(), p: func(p *PMode) { p.Lapsed = []*x509.Certificate{stranger().cert} }, code: codeSender, says: "not in force now", claimed: true},
		"of an authority, for the party":           {signer: issue("ACME"), p: bound, code: "receipt"},
		"of an authority, for another party":       {signer: issue("OTHER"), p: bound, code: codeSender, says: `the certificate is for "OTHER"`, claimed: true},
		"of no authority that counts":              {signer: acmeEC(), p: bound, code: codeSender, says: "not below an authority", claimed: true},
		"of an authority, where it does not count": {signer: issue("ACME"), code: codeSender, says: "signed by the certificate of CN=ACME", claimed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := craft(plainPart("a@x", "text/plain", "x"))
			c.sign = wssec.Signing{Key: tc.signer.key, Certificate: tc.signer.cert, Algorithm: wssec.RSASHA256}
			// Our own certificate comes along, and is nobody's who signed.
			c.seal = wssec.Encrypting{Recipient: northwind().cert, Cipher: wssec.AES128GCM, Token: wssec.TokenBST}
			if tc.signer.cert.PublicKeyAlgorithm == x509.ECDSA {
				c.sign.Algorithm = wssec.ECDSASHA256
			}
			m := &receiver{p: fromAcmePlain()}
			if tc.p != nil {
				tc.p(&m.p)
			}
			answer, e := answered(t, serve(receiverHandler(t, m), c.request(t)))
			got, _ := m.last(t)
			if answer != tc.code || !strings.Contains(got.Problem, tc.says) || strings.Contains(e.Detail, "CN=") {
				t.Errorf("answered %s: %s; problem %q", answer, e.Detail, got.Problem)
			}
			if tc.claimed != (len(got.Claims) == 1) || tc.claimed && !bytes.Equal(got.Claims[0].Certificate, tc.signer.cert.Raw) {
				t.Errorf("claims: %+v", got.Claims)
			}
		})
	}
}

// TestRow51ReportNamesTheReference: which part does not fit, what its digest is
// and what the signature has.
func TestRow51ReportNamesTheReference(t *testing.T) {
	t.Parallel()
	c := craft(plainPart("a@x", "application/octet-stream", "right"), plainPart("b@x", "application/octet-stream", "right"))
	c.parts[1].raw = []byte("wrong")
	m := &receiver{p: fromAcmePlain()}
	serve(receiverHandler(t, m), c.request(t))
	got, _ := m.last(t)
	if len(got.Report) != 4 || strings.Contains(got.Report[2], "changed") || !strings.HasPrefix(got.Report[3], "cid:b@x") || !strings.Contains(got.Report[3], "changed after it was signed") {
		t.Errorf("reported %q", got.Report)
	}
}

// TestOneAnswerForDecryption: whatever is wrong with what was encrypted, the
// sender reads the same.
func TestOneAnswerForDecryption(t *testing.T) {
	t.Parallel()
	spoil := map[string]func(*crafted){
		"ciphertext": func(c *crafted) { c.wire = func(b []byte) []byte { b[len(b)-40] ^= 1; return b } },
		"tag":        func(c *crafted) { c.wire = func(b []byte) []byte { b[len(b)-18] ^= 1; return b } },
		"too short": func(c *crafted) {
			c.wire = func(b []byte) []byte { return append(b[:len(b)-40], "\r\n--=_crafted--\r\n"...) }
		},
		"key": func(c *crafted) {
			c.after = func(s string) string {
				at := strings.Index(s, "CipherValue>") + 40
				return s[:at] + flipped(s[at]) + s[at+1:]
			}
		},
		"recipient": func(c *crafted) { c.seal.Recipient = stranger().cert },
	}
	told := map[string]bool{}
	for name, change := range spoil {
		c := craft(plainPart("a@x", "application/octet-stream", "the content of the document"))
		c.seal = wssec.Encrypting{Recipient: northwind().cert, Cipher: wssec.AES128GCM}
		change(c)
		m := &receiver{p: fromAcme()}
		answer, e := answered(t, serve(receiverHandler(t, m), c.request(t)))
		if answer != codeDecryption {
			t.Errorf("%s: answered %s: %s", name, answer, e.Detail)
		}
		told[e.Description+e.Detail] = true
	}
	if len(told) != 1 {
		t.Errorf("told %v", told)
	}
}

func flipped(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// TestReopen: a refused message is opened again as it was kept, and accepted once
// what was wrong is mended.
func TestReopen(t *testing.T) {
	t.Parallel()
	content := contents()["binary"]
	r, wire := mustBuild(t, toNorthwind(), orderDocument(payload("text/plain", "a.txt", content)))
	m := &receiver{p: fromAcme()}
	m.p.Verify = []*x509.Certificate{stranger().cert}
	h := receiverHandler(t, m)
	d := &disk{size: 64 << 20}
	d.rooms = scratch.NewRooms(d)
	h.o.Room = d.rooms
	post(t, h, r, wire)
	refused, _ := m.last(t)
	kept := Kept{Header: refused.Header, Body: bytes.NewReader(m.wires[0]), Size: refused.WireSize, SHA256: refused.WireSHA256}
	m.p.Verify = []*x509.Certificate{acme().cert}
	err := h.Reopen(kept, func(rec Received) error {
		got, err := io.ReadAll(rec.Payloads[0].Content)
		if !rec.Accepted || !bytes.Equal(got, content) || rec.Answer == nil || rec.Answer.Signal != "receipt" || rec.WireSHA256 != r.SHA256 {
			t.Errorf("reopened %d bytes, %v: %s", len(got), err, rec.Problem)
		}
		return errDisk
	})
	if !errors.Is(err, errDisk) {
		t.Errorf("what take says is lost: %v", err)
	}
	if d.rooms.Granted() != 0 {
		t.Errorf("%d bytes are still granted", d.rooms.Granted())
	}
	m.p.To.IDs = []ebms.PartyID{{Value: "urn:someone:else"}}
	if err := h.Reopen(kept, nil); !errors.Is(err, ErrNoPMode) {
		t.Errorf("of unknown parties: %v", err)
	}
	kept.Body, kept.Size = strings.NewReader("nothing"), 7
	if err := h.Reopen(kept, nil); !errors.Is(err, ErrNoPMode) {
		t.Errorf("of what is no message: %v", err)
	}
}
