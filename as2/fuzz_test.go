package as2

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/internal/scratch"
)

// FuzzParseMDN: nothing unsigned is ever trusted where a signature was asked,
// and what is read is bounded and clean.
func FuzzParseMDN(f *testing.F) {
	header, body := report("Original-Message-ID: <a@b>\r\nDisposition: x; processed\r\nReceived-Content-MIC: AAAA, sha1\r\n")
	f.Add(header.Get("Content-Type"), body)
	f.Add(`multipart/signed; boundary=s`, []byte("--s\r\nContent-Type: multipart/report; boundary=r\r\n\r\n--r\r\n\r\n--r--\r\n--s\r\nContent-Type: application/pkcs7-signature\r\n\r\n0\x80\r\n--s--"))
	f.Add("message/disposition-notification", []byte("Disposition: x; failed\r\n"))
	a := Agreement{MDN: MDNRequest{Signed: true}}
	sent := []Rendition{{MessageID: "<a@b>"}}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		h := http.Header{"Content-Type": {contentType}}
		ack, m := VerifyMDN(h, body, sent, a)
		if ack.Verdict == fault.AckTrusted {
			t.Fatalf("trusted: %+v", m)
		}
		for _, s := range []string{m.OriginalMessageID, m.Text, m.Reporter, m.Recipient, m.Disposition.String(), ack.Detail, ack.Digest} {
			if len(s) > 8<<10 || strings.ContainsAny(s, "\r\n\x00") {
				t.Fatalf("not clean: %.100q", s)
			}
		}
		if again, ok := ParseMDN(h, body); ok && again.OriginalMessageID != m.OriginalMessageID {
			t.Fatalf("two readings: %q and %q", again.OriginalMessageID, m.OriginalMessageID)
		}
	})
}

// FuzzHandler: whatever is posted under the partner's names, nothing unsigned is
// accepted, and the answer is an MDN of ours or a plain refusal.
func FuzzHandler(f *testing.F) {
	plain := "Content-Type: application/edi-x12\r\n\r\nISA~"
	f.Add("application/edi-x12", "", "<a@b>", "", []byte("ISA~"))
	f.Add("multipart/signed; micalg=sha-256; boundary=s", "", "<a@b>", "signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=optional, sha1", []byte("--s\r\n"+plain+"\r\n--s\r\nContent-Type: application/pkcs7-signature\r\n\r\n0\x80\r\n--s--"))
	f.Add("application/pkcs7-mime", "base64", "a b", "", []byte("MIAGCSqGSIb3DQEHA6CA"))
	var z bytes.Buffer
	if err := compress(&z, func(w io.Writer) error { _, err := w.Write([]byte(plain)); return err }); err != nil {
		f.Fatal(err)
	}
	f.Add("application/pkcs7-mime; smime-type=compressed-data", "", "<a@b>", "", z.Bytes())
	m := &memory{agreement: fromAcme()}
	m.agreement.SigningKey, m.agreement.SigningCertificate = elliptic1().key, elliptic1().cert
	h := testHandler(f, m)
	f.Fuzz(func(t *testing.T, contentType, encoding, id, options string, body []byte) {
		m.mu.Lock()
		m.received, m.payloads, m.wires, m.acks = nil, nil, nil, nil
		m.mu.Unlock()
		for _, policy := range []Receive{{Signed: true}, {}} {
			m.agreement.Receive = policy
			req := httptest.NewRequest(http.MethodPost, "/as2", bytes.NewReader(body))
			req.Header = http.Header{
				"As2-From": {"ACME-AS2"}, "As2-To": {"NORTHWIND"}, "Message-Id": {id}, "Content-Type": {contentType},
				"Content-Transfer-Encoding": {encoding}, "Disposition-Notification-To": {"x"}, "Disposition-Notification-Options": {options},
			}
			res := serve(h, req)
			if res.StatusCode >= 500 {
				t.Fatalf("status %d", res.StatusCode)
			}
			for _, r := range m.received {
				if r.Accepted && policy.Signed {
					t.Fatalf("accepted without a signature: %+v", r)
				}
				if r.Accepted && CheckMessageID(r.MessageID) != nil {
					t.Fatalf("accepted under %q", r.MessageID)
				}
			}
		}
	})
}

// TestRow14ReceiveHasConstantMemory: a large message takes no more of it than a
// small one.
func TestRow14ReceiveHasConstantMemory(t *testing.T) {
	const size = 32 << 20
	a := toNorthwind()
	d := orderDocument(nil)
	d.Size = size
	space := (*scratch.Rooms)(nil).Space(t.TempDir(), "", "")
	defer space.Close()
	wire := space.New()
	r, err := Build(wire, a, d, &zeros{size: size}, testNow, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := testHandler(t, &memory{agreement: fromAcme()})
	h.o.Inbox = discard{}
	state := ""
	grown := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			req := httptest.NewRequest(http.MethodPost, "/as2", wire.Open())
			for _, f := range r.Headers {
				req.Header.Set(f.Name, f.Value)
			}
			_, state = dispositionOf(t, serve(h, req))
		}
	}).AllocedBytesPerOp()
	if state != "processed" {
		t.Errorf("answered %q", state)
	}
	if grown > 4<<20 {
		t.Errorf("receiving %d bytes allocates %d", size, grown)
	}
}
