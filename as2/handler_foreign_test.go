package as2

import (
	"bufio"
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"edigw/as2/smime"
	"edigw/fault"
)

// hostilePartner is how EDIGW receives from PARTNER.
func hostilePartner(t *testing.T) Agreement {
	t.Helper()
	cert := readCert(t, foreign(t, "hostile", "keys", "gateway.crt.pem"))
	key := readKey(t, foreign(t, "hostile", "keys", "gateway.key.pem"))
	return Agreement{
		From: "EDIGW", To: "PARTNER", Receive: Receive{Signed: true},
		SigningKey: key, SigningCertificate: cert,
		Verify:  []*x509.Certificate{readCert(t, foreign(t, "hostile", "keys", "partner.crt.pem"))},
		Decrypt: []smime.Recipient{{Certificate: cert, Key: key}},
	}
}

func readRequest(t *testing.T, raw []byte) *http.Request {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestHostileMessages gives each hostile message to the receiver: the answer and
// the bounds of the manifest must hold, and nothing evil may be delivered.
func TestHostileMessages(t *testing.T) {
	rows := 0
	for _, row := range manifest(t, foreign(t, "hostile", "manifest.tsv")) {
		if !strings.HasPrefix(row["file"], "as2/") {
			continue
		}
		rows++
		t.Run(strings.TrimPrefix(row["file"], "as2/"), func(t *testing.T) {
			m := &memory{agreement: hostilePartner(t)}
			if strings.Contains(row["file"], "compressed") {
				m.agreement.Receive = Receive{}
			}
			h := testHandler(t, m)
			req := readRequest(t, readFile(t, foreign(t, "hostile", row["file"])))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			res := serve(h, req)
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
				t.Errorf("allocated %d bytes", grown)
			}
			checkHostile(t, row, m, res)
		})
	}
	if rows == 0 {
		t.Fatal("no message in the manifest")
	}
}

func checkHostile(t *testing.T, row map[string]string, m *memory, res *http.Response) {
	t.Helper()
	body := readBody(t, res)
	r, err := readMDN(res.Header, body)
	if res.StatusCode != http.StatusOK || r.notifications != 1 || !r.Signed {
		t.Fatalf("status %d, want 200 with a signed MDN: %v", res.StatusCode, err)
	}
	if r.Disposition.State() != row["answer"] {
		t.Errorf("answered %q, want %q", r.Disposition.State(), row["answer"])
	}
	got, payload := m.last(t)
	sum := sha256.Sum256(payload)
	ok := row["expect"] == "ok"
	switch {
	case got.Accepted != ok:
		t.Errorf("accepted: %t, expected %s (%s)", got.Accepted, row["expect"], got.Problem)
	case ok && hex.EncodeToString(sum[:]) != row["payload_sha256"]:
		t.Errorf("delivered another document: %.200q", payload)
	case ok && !r.MIC.Equal(MIC{row["mic_alg"], row["mic"]}):
		t.Errorf("MIC %s, want %s, %s", r.MIC, row["mic"], row["mic_alg"])
	case !ok && (got.Payload != nil || got.Problem == "" || got.Reason == "" || r.MIC != MIC{}):
		t.Errorf("refused with payload %v, problem %q, reason %q, MIC %s", got.Payload, got.Problem, got.Reason, r.MIC)
	}
	if bytes.Contains(payload, []byte("EVIL")) {
		t.Error("EVIL-1 was delivered")
	}
	// Our own answer must stand before the strictest reader, as the partner.
	sent := []Rendition{{MessageID: got.MessageID, MICs: []MIC{got.MIC}}}
	a := Agreement{MDN: MDNRequest{Signed: true}, Verify: []*x509.Certificate{m.agreement.SigningCertificate}}
	want := fault.AckTrusted
	if got.MessageID == "" {
		want = fault.AckMalformed // such an id is not echoed
	}
	if ack, mdn := VerifyMDN(res.Header, body, sent, a); ack.Verdict != want {
		t.Errorf("our MDN is %q: %s", ack.Verdict, mdn.Problem)
	}
}

// openAS2Partner is how the recorded receiver knew the recorded sender.
func openAS2Partner(t *testing.T) Agreement {
	t.Helper()
	cert, key := readCert(t, foreign(t, "as2", "keys", "server.crt")), readKey(t, foreign(t, "as2", "keys", "server.key"))
	return Agreement{
		From: "SERVER", To: "CLIENT", Receive: Receive{Signed: true},
		SigningKey: key, SigningCertificate: cert,
		Verify:  []*x509.Certificate{readCert(t, foreign(t, "as2", "keys", "client.crt"))},
		Decrypt: []smime.Recipient{{Certificate: cert, Key: key}},
	}
}

// TestCapturedMessages receives what OpenAS2 sent, encrypted and with the outer
// layer taken off (as2.md §3 rows 43, 55, 63, 75: no line end may change).
func TestCapturedMessages(t *testing.T) {
	t.Parallel()
	rows := 0
	for _, row := range manifest(t, foreign(t, "as2", "manifest.tsv")) {
		raw := readFile(t, foreign(t, "as2", row["file"]))
		header := http.Header{}
		switch {
		case strings.HasSuffix(row["file"], ".pkcs7"):
			header.Set("Content-Type", `application/pkcs7-mime; smime-type=enveloped-data; name="smime.p7m"`)
		case strings.HasSuffix(row["file"], ".mime"):
			head, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
			for _, line := range strings.Split(strings.ReplaceAll(string(head), "\r\n\t", "\t"), "\r\n") {
				name, value, _ := strings.Cut(line, ":")
				header.Set(name, strings.TrimSpace(value))
			}
			raw = body
		default:
			continue
		}
		rows++
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			m := &memory{agreement: openAS2Partner(t)}
			m.agreement.Receive.Encrypted = strings.HasPrefix(row["kind"], "enveloped")
			req, err := http.NewRequest(http.MethodPost, "/as2", bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = header
			header.Set("AS2-From", "CLIENT")
			header.Set("AS2-To", "SERVER")
			header.Set("Message-ID", "<capture@client.example>")
			header.Set("Disposition-Notification-To", "x")
			header.Set("Disposition-Notification-Options", "signed-receipt-protocol=optional,pkcs7-signature;signed-receipt-micalg=optional,sha256")
			mdn, state := dispositionOf(t, serve(testHandler(t, m), req))
			got, payload := m.last(t)
			if state != "processed" || !got.Accepted {
				t.Fatalf("%s: %s", state, got.Problem)
			}
			if sum := sha256.Sum256(payload); hex.EncodeToString(sum[:]) != row["payload_sha256"] {
				t.Errorf("payload is %q", payload)
			}
			if !mdn.MIC.Equal(MIC{row["mic_alg"], row["mic"]}) {
				t.Errorf("MIC %s, want %s", mdn.MIC, row["mic"])
			}
			if mdn.MIC.Algorithm != "sha256" || mdn.Digest != crypto.Hash(0) {
				t.Errorf("MIC is spelled %q, want the partner's sha256", mdn.MIC.Algorithm)
			}
		})
	}
	if rows == 0 {
		t.Fatal("no message in the manifest")
	}
}
